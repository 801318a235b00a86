use super::{Cone, ConvexSet};

/// A polyhedral set as the half-spaces aⱼ·x ≤ bⱼ that it is the intersection of, with normals of length 1.
///
/// Bounds, half-spaces, slabs, polytopes, simplices and products of them have such faces; a ball has none.
#[derive(Debug, Clone, PartialEq)]
pub struct Faces {
    dim: usize,
    /// The entries of aⱼ that are not 0, and bⱼ.
    rows: Vec<(Vec<(usize, f64)>, f64)>,
}

impl Faces {
    /// Those of a set; `None` where it has no such form, or is all of the space.
    pub fn of(set: &(impl ConvexSet + ?Sized)) -> Option<Self> {
        let form = set.conic()?;
        if form.variables > form.dim {
            return None;
        }
        let mut rows = Vec::new();
        let mut unread = form.rows.into_iter();
        for cone in &form.cones {
            let (count, signs): (usize, &[f64]) = match cone {
                Cone::Nonnegative(count) => (*count, &[1.0]),
                Cone::Zero(count) => (*count, &[1.0, -1.0]),
                Cone::SecondOrder(_) | Cone::Exponential => return None,
            };
            for (row, b) in unread.by_ref().take(count) {
                let largest = row.iter().fold(0.0, |m: f64, (_, a)| m.max(a.abs()));
                // Divided by the largest entry first, no square overflows.
                let length = largest * row.iter().map(|(_, a)| (a / largest).powi(2)).sum::<f64>().sqrt();
                // A row of zeros bounds nothing.
                if largest > 0.0 {
                    let normal = |sign: f64| row.iter().map(|(i, a)| (*i, sign * a / length)).collect();
                    rows.extend(signs.iter().map(|sign| (normal(*sign), sign * b / length)));
                }
            }
        }
        (!rows.is_empty()).then_some(Self { dim: form.dim, rows })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The entries of x.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// aⱼ, by its entries that are not 0, and bⱼ.
    pub fn rows(&self) -> &[(Vec<(usize, f64)>, f64)] {
        &self.rows
    }

    /// aⱼ·x − bⱼ for every face: how far x lies beyond it, or negative how much room there is before it.
    pub fn violations<'a>(&'a self, x: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.rows.iter().map(|(row, b)| row.iter().map(|(i, a)| a * x[*i]).sum::<f64>() - b)
    }

    /// The room before the nearest face; negative outside, by the distance from the farthest half-space.
    pub fn margin(&self, x: &[f64]) -> f64 {
        -self.violations(x).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Σ wⱼaⱼ and Σ wⱼbⱼ: for weights of 0 or more a half-space that contains the set.
    pub fn combination(&self, weights: &[f64]) -> (Vec<f64>, f64) {
        let (mut normal, mut offset) = (vec![0.0; self.dim], 0.0);
        for ((row, b), weight) in self.rows.iter().zip(weights) {
            row.iter().for_each(|(i, a)| normal[*i] += weight * a);
            offset += weight * b;
        }
        (normal, offset)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::set::{AffineSubspace, Ball, Bounds, HalfSpace, Polytope, Product, SharedSet, Similarity};

    #[test]
    fn products_have_the_faces_of_their_blocks() {
        let limits: SharedSet = Arc::new(Bounds::new(vec![0.5, f64::NEG_INFINITY], vec![1.0, 2.0]).unwrap());
        let half: SharedSet = Arc::new(HalfSpace::new(vec![3.0, -4.0], 10.0).unwrap());
        let faces = Faces::of(&Product::new(vec![Arc::clone(&limits), half])).unwrap();
        let mut found: Vec<f64> = faces.violations(&[0.7, 5.0, 10.0, 0.0]).collect();
        found.sort_by(f64::total_cmp);
        for (found, expected) in found.iter().zip([-0.3, -0.2, 3.0, 4.0]) {
            assert!((found - expected).abs() < 1e-15, "{found}, expected {expected}");
        }
        assert_eq!((faces.count(), faces.dim(), faces.margin(&[0.7, 5.0, 10.0, 0.0])), (4, 4, -4.0));
        let halved = Similarity::scale(limits, 0.5).unwrap();
        assert_eq!(Faces::of(&halved).unwrap().margin(&[0.3, 0.0]), 0.3f64 - 0.25);
    }

    #[test]
    fn equations_have_faces_on_both_sides_and_round_sets_none() {
        let line = AffineSubspace::new(2, &[vec![0.0, 2.0]], &[6.0]).unwrap();
        let faces = Faces::of(&line).unwrap();
        assert_eq!(faces.violations(&[9.0, 2.0]).fold(f64::MIN, f64::max), 1.0);
        assert_eq!(faces.margin(&[9.0, 5.0]), -2.0);
        assert_eq!(Faces::of(&Ball::new(vec![0.0], 1.0).unwrap()), None);
        assert_eq!(Faces::of(&Product::new(Vec::new())), None);
        let empty_row = Polytope::new(1, vec![vec![0.0], vec![2.0]], vec![1.0, 4.0]).unwrap();
        assert_eq!(Faces::of(&empty_row).unwrap().rows(), [(vec![(0, 1.0)], 2.0)]);
    }
}
