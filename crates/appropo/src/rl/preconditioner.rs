//! Triangles of a chain's matrix, and what it is nearly.

/// A = I − γP by its diagonal and what stands before and after it.
pub(super) struct Split {
    /// γP to states that come before, and to those that come after.
    pub earlier: Triangle,
    pub later: Triangle,
    /// 1 − γP(s, s).
    pub diagonal: Vec<f64>,
}

impl Split {
    /// out = b − A x, or with Aᵀ.
    pub fn residual(&self, b: &[f64], x: &[f64], transposed: bool, out: &mut [f64]) {
        out.copy_from_slice(b);
        for i in 0..x.len() {
            out[i] -= self.diagonal[i] * x[i];
            if transposed {
                self.earlier.add(i, x[i], out);
                self.later.add(i, x[i], out);
            } else {
                out[i] += self.earlier.product(i, x) + self.later.product(i, x);
            }
        }
    }
}

/// One side of the diagonal, by compressed rows.
pub(super) struct Triangle {
    rows: Vec<u32>,
    columns: Vec<u32>,
    weights: Vec<f64>,
}

impl Triangle {
    pub fn new(rows: usize) -> Self {
        let mut first = Vec::with_capacity(rows + 1);
        first.push(0);
        Self { rows: first, columns: Vec::new(), weights: Vec::new() }
    }

    /// Its columns as rows.
    pub fn transposed(&self) -> Self {
        let count = self.rows.len() - 1;
        let mut rows = vec![0u32; count + 1];
        self.columns.iter().for_each(|j| rows[*j as usize + 1] += 1);
        for i in 0..count {
            rows[i + 1] += rows[i];
        }
        let (mut columns, mut weights) = (vec![0; self.columns.len()], vec![0.0; self.columns.len()]);
        let mut place = rows.clone();
        for i in 0..count {
            for (j, weight) in self.row(i) {
                let at = place[j] as usize;
                (columns[at], weights[at]) = (i as u32, weight);
                place[j] += 1;
            }
        }
        Self { rows, columns, weights }
    }

    pub fn push(&mut self, column: u32, weight: f64) {
        self.columns.push(column);
        self.weights.push(weight);
    }

    pub fn end_row(&mut self) {
        self.rows.push(self.columns.len() as u32);
    }

    #[inline(always)]
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let (start, end) = (self.rows[i] as usize, self.rows[i + 1] as usize);
        let columns = self.columns[start..end].iter().map(|j| *j as usize);
        columns.zip(self.weights[start..end].iter().copied())
    }

    /// The product of a row with x.
    #[inline(always)]
    pub fn product(&self, i: usize, x: &[f64]) -> f64 {
        self.row(i).map(|(j, weight)| weight * x[j]).sum()
    }

    /// Adds a row, times a number.
    #[inline(always)]
    pub fn add(&self, i: usize, factor: f64, out: &mut [f64]) {
        self.row(i).for_each(|(j, weight)| out[j] += weight * factor);
    }
}

/// M, which is close to A = diagonal + L + U, and soon solved for. Iterations of M⁻¹ converge wherever the chain ends or is
/// discounted (Meijerink and van der Vorst 1977).
pub(super) struct Preconditioner {
    /// D, and 1 divided by it: states wait for each other, and for a division they would wait long.
    pivots: Vec<f64>,
    inverse: Vec<f64>,
    is_incomplete: bool,
}

impl Preconditioner {
    /// M = D + L with A's diagonal: a Gauss–Seidel sweep.
    pub fn lower(a: &Split) -> Self {
        Self::with(a.diagonal.clone(), false)
    }

    /// M = (D + L)D⁻¹(D + U) with M's diagonal equal to A's: elimination without the entries that would fill in (Pommerell and
    /// Fichtner 1994). It takes half as long again, and is exact for walks on a line.
    pub fn incomplete(a: &Split) -> Self {
        let Split { earlier, later, diagonal } = a;
        let back = later.transposed();
        let (mut pivots, mut row) = (diagonal.to_vec(), vec![0.0; diagonal.len()]);
        for i in 0..diagonal.len() {
            earlier.add(i, 1.0, &mut row);
            let taken: f64 = back.row(i).map(|(j, weight)| weight * row[j] / pivots[j]).sum();
            earlier.row(i).for_each(|(j, _)| row[j] = 0.0);
            // By rounding, nothing may be left in a chain that hardly ever ends.
            if taken < diagonal[i] {
                pivots[i] -= taken;
            }
        }
        Self::with(pivots, true)
    }

    fn with(pivots: Vec<f64>, is_incomplete: bool) -> Self {
        let inverse = pivots.iter().map(|d| 1.0 / d).collect();
        Self { pivots, inverse, is_incomplete }
    }

    /// Solves M y = p, or with Mᵀ; `upper` becomes (D + U)y where there is one, or (D + L)ᵀy.
    #[inline(always)]
    pub fn solve(&self, a: &Split, p: &[f64], transposed: bool, upper: &mut [f64], y: &mut [f64]) {
        let Self { pivots, inverse, is_incomplete } = self;
        let Split { earlier, later, .. } = a;
        if transposed {
            upper.copy_from_slice(p);
            if *is_incomplete {
                for i in 0..p.len() {
                    later.add(i, upper[i] * inverse[i], upper);
                }
            }
            y.copy_from_slice(upper);
            for i in (0..p.len()).rev() {
                y[i] *= inverse[i];
                earlier.add(i, y[i], y);
            }
        } else {
            for i in 0..p.len() {
                y[i] = (p[i] + earlier.product(i, y)) * inverse[i];
            }
            if *is_incomplete {
                upper.iter_mut().zip(y.iter().zip(pivots)).for_each(|(upper, (y, d))| *upper = y * d);
                for i in (0..p.len()).rev() {
                    y[i] += later.product(i, y) * inverse[i];
                }
            }
        }
    }

    /// y = M⁻¹p and out = A y, or with the transposed of both. Only the half of A is multiplied that is left of it: A y = p + U y
    /// without factors, and A y = L y + (D + U)y − (D − A's diagonal)y with them (Eisenstat 1981).
    #[inline(always)]
    pub fn times(&self, a: &Split, p: &[f64], transposed: bool, y: &mut [f64], out: &mut [f64]) {
        self.solve(a, p, transposed, out, y);
        if !self.is_incomplete {
            out.copy_from_slice(p);
        } else {
            for i in 0..y.len() {
                out[i] += (a.diagonal[i] - self.pivots[i]) * y[i];
            }
        }
        // A walk that is transposed goes through the factors from the other side.
        let rest = if self.is_incomplete && !transposed { &a.earlier } else { &a.later };
        for i in 0..y.len() {
            match transposed {
                true => rest.add(i, -y[i], out),
                false => out[i] -= rest.product(i, y),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Generator, below, generator, unit};

    fn split(count: usize, entries: &[(usize, usize, f64)]) -> Split {
        let (mut earlier, mut later) = (Triangle::new(count), Triangle::new(count));
        let mut diagonal = vec![1.0; count];
        for i in 0..count {
            for &(_, j, weight) in entries.iter().filter(|(from, _, _)| *from == i) {
                match j {
                    j if j < i => earlier.push(j as u32, weight),
                    j if j > i => later.push(j as u32, weight),
                    _ => diagonal[i] -= weight,
                }
            }
            earlier.end_row();
            later.end_row();
        }
        Split { earlier, later, diagonal }
    }

    fn numbers(count: usize, rng: &mut Generator) -> Vec<f64> {
        (0..count).map(|_| unit(rng) - 0.5).collect()
    }

    /// A y as it is defined, for y = M⁻¹p as it is found, both ways round.
    #[test]
    fn products_are_those_of_the_matrix() {
        let rng = &mut generator(3);
        let count = 40;
        let entries: Vec<_> = (0..4 * count).map(|k| (k % count, below(count, rng), 0.24)).collect();
        let a = split(count, &entries);
        for (preconditioner, is_transposed) in [Preconditioner::lower(&a), Preconditioner::incomplete(&a)]
            .iter()
            .flat_map(|m| [(m, false), (m, true)])
        {
            let (p, zero) = (numbers(count, rng), vec![0.0; count]);
            let [mut y, mut product, mut negative] = [(); 3].map(|()| vec![0.0; count]);
            preconditioner.times(&a, &p, is_transposed, &mut y, &mut product);
            a.residual(&zero, &y, is_transposed, &mut negative);
            for (found, negative) in product.iter().zip(&negative) {
                assert!((found + negative).abs() <= 1e-13, "{found} against {}", -negative);
            }
        }
    }

    /// Nothing fills in on a line, so that its factors are complete.
    #[test]
    fn incomplete_factors_solve_a_walk_on_a_line() {
        let count = 200;
        let mut entries = Vec::new();
        for i in 0..count {
            entries.extend((i > 0).then(|| (i, i - 1, 0.55)));
            entries.extend((i + 1 < count).then(|| (i, i + 1, 0.45)));
        }
        let (a, p) = (split(count, &entries), numbers(count, &mut generator(4)));
        let m = Preconditioner::incomplete(&a);
        for is_transposed in [false, true] {
            let [mut y, mut upper, mut left] = [(); 3].map(|()| vec![0.0; count]);
            m.solve(&a, &p, is_transposed, &mut upper, &mut y);
            a.residual(&p, &y, is_transposed, &mut left);
            let size = crate::vector::largest(&y);
            assert!(left.iter().all(|left| left.abs() <= 1e-13 * size), "{is_transposed}");
        }
    }
}
