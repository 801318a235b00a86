use super::Concave;
use crate::set::{Cone, Conic};
use crate::vector;

/// f(x) = c·x.
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    /// c.
    pub weights: Vec<f64>,
}

impl Concave for Linear {
    fn dim(&self) -> usize {
        self.weights.len()
    }

    fn value(&self, x: &[f64]) -> f64 {
        vector::dot(&self.weights, x)
    }

    fn gradient(&self, _: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.weights);
    }

    fn curvature(&self, _: &[f64], _: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }

    fn hypograph(&self) -> Conic {
        let t = self.dim();
        let mut form = Conic::free(t + 1);
        let row = self.weights.iter().enumerate().map(|(i, c)| (i, -c)).chain([(t, 1.0)]).collect();
        form.constrain(Cone::Nonnegative(1), [(row, 0.0)]);
        form
    }
}
