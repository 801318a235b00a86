use super::Concave;
use crate::set::{Cone, Conic};

/// f(x) = −‖x − c‖², the negative squared distance.
#[derive(Debug, Clone, PartialEq)]
pub struct SquaredDistance {
    /// c.
    pub center: Vec<f64>,
}

impl Concave for SquaredDistance {
    fn dim(&self) -> usize {
        self.center.len()
    }

    fn value(&self, x: &[f64]) -> f64 {
        -x.iter().zip(&self.center).map(|(x, c)| (x - c).powi(2)).sum::<f64>()
    }

    fn gradient(&self, x: &[f64], out: &mut [f64]) {
        for (out, (x, c)) in out.iter_mut().zip(x.iter().zip(&self.center)) {
            *out = 2.0 * (c - x);
        }
    }

    fn curvature(&self, _: &[f64], d: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(d).for_each(|(out, d)| *out = -2.0 * d);
    }

    fn hypograph(&self) -> Conic {
        let n = self.dim();
        let mut form = Conic::free(n + 1);
        // With s = −t: ‖x − c‖² ≤ s is ‖(2(x − c), s − 1)‖ ≤ s + 1.
        let apart = self.center.iter().enumerate().map(|(i, c)| (vec![(i, -2.0)], -2.0 * c));
        let rows = [(vec![(n, 1.0)], 1.0), (vec![(n, 1.0)], -1.0)];
        form.constrain(Cone::SecondOrder(n + 2), rows.into_iter().chain(apart));
        form
    }
}
