use crate::vector::{add_scaled, dot};

/// States up to which a chain may be solved by elimination.
pub(super) const SMALL: usize = 1 << 11;
/// Multiplications for each entry of a chain up to which it is.
const ELIMINATION: usize = 64;

/// How far from the diagonal the entries of a chain are.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    count: usize,
    below: usize,
    above: usize,
}

impl Reach {
    /// The reach of so many states with these entries. `None` where elimination would take too long.
    pub fn of(count: usize, entries: impl Iterator<Item = (usize, usize)>) -> Option<Self> {
        if count > SMALL {
            return None;
        }
        let (mut below, mut above, mut number) = (0, 0, count);
        for (i, j) in entries {
            below = below.max(i.saturating_sub(j));
            above = above.max(j.saturating_sub(i));
            number += 1;
        }
        (count * below * above <= ELIMINATION * number).then_some(Self { count, below, above })
    }
}

/// I − γP of a chain by its diagonals, for elimination: that is fastest where neighbours have numbers that are close, as on a
/// narrow map.
#[derive(Default)]
pub(super) struct Band {
    entries: Vec<f64>,
    /// Diagonals below the main one, and above.
    below: usize,
    above: usize,
}

impl Band {
    /// Begins anew with I.
    pub fn clear(&mut self, reach: Reach) {
        let Reach { count, below, above } = reach;
        (self.below, self.above) = (below, above);
        self.entries.clear();
        self.entries.resize(count * (below + 1 + above), 0.0);
        self.entries.iter_mut().skip(below).step_by(below + 1 + above).for_each(|entry| *entry = 1.0);
    }

    /// Takes off an entry of γP, which must be within reach.
    #[inline(always)]
    pub fn subtract(&mut self, i: usize, j: usize, weight: f64) {
        self.entries[i * (self.below + self.above) + self.below + j] -= weight;
    }

    /// Solves for x, which is the right-hand side before. I − γP needs no pivots. The entries are spent on it.
    pub fn solve(&mut self, x: &mut [f64]) {
        let Self { entries, below, above } = self;
        let (count, below, above, width) = (x.len(), *below, *above, *below + 1 + *above);
        for k in 0..count {
            let (upper, lower) = entries.split_at_mut((k + 1) * width);
            let (pivot, after) = (upper[k * width + below], &upper[k * width + below + 1..]);
            for (step, row) in lower.chunks_exact_mut(width).take(below).enumerate() {
                let row = &mut row[below - 1 - step..];
                if row[0] != 0.0 {
                    let factor = row[0] / pivot;
                    add_scaled(&mut row[1..=above], -factor, after);
                    x[k + 1 + step] -= factor * x[k];
                }
            }
        }
        for (k, row) in entries.chunks_exact(width).enumerate().rev() {
            let after = above.min(count - 1 - k);
            let known = dot(&row[below + 1..][..after], &x[k + 1..][..after]);
            x[k] = (x[k] - known) / row[below];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{below, generator, unit};

    /// Both solves, judged by their residuals, on random chains with entries on either side of the diagonal.
    #[test]
    fn elimination_solves_both_equations() {
        let rng = &mut generator(1);
        for (count, far) in [(1, 1), (7, 2), (60, 8), (60, 3)] {
            let mut entries = Vec::new();
            for (i, weight) in (0..count).flat_map(|i| [(i, 0.3), (i, 0.3), (i, 0.39)]) {
                let j = (i + below(2 * far, rng)).saturating_sub(far).min(count - 1);
                entries.push((i, j, weight));
            }
            let b: Vec<f64> = (0..count).map(|_| unit(rng) - 0.5).collect();
            let mut band = Band::default();
            for is_transposed in [false, true] {
                let places =
                    entries.iter().map(|&(i, j, w)| if is_transposed { (j, i, w) } else { (i, j, w) });
                band.clear(Reach::of(count, places.clone().map(|(i, j, _)| (i, j))).unwrap());
                places.clone().for_each(|(i, j, weight)| band.subtract(i, j, weight));
                let mut x = b.clone();
                band.solve(&mut x);
                let mut residual: Vec<f64> = b.iter().zip(&x).map(|(b, x)| b - x).collect();
                places.for_each(|(i, j, weight)| residual[i] += weight * x[j]);
                assert!(residual.iter().all(|r| r.abs() <= 1e-13), "{count} states, {is_transposed}");
            }
        }
        assert!(Reach::of(SMALL + 1, std::iter::empty()).is_none());
        assert!(Reach::of(1000, [(0, 999), (999, 0)].into_iter()).is_none());
    }
}
