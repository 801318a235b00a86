use super::Concave;
use crate::set::{Cone, Conic};
use crate::vector;

/// f(x) = −ln(Σ exp(−βxᵢ))/β: the least entry, less at most ln(n)/β.
#[derive(Debug, Clone, PartialEq)]
pub struct SmoothMinimum {
    /// Entries of x.
    pub dim: usize,
    /// β > 0.
    pub sharpness: f64,
}

impl SmoothMinimum {
    /// The least entry, and exp(−β(xᵢ − least)) with their sum.
    fn excesses(&self, x: &[f64]) -> (f64, Vec<f64>, f64) {
        let least = x.iter().copied().fold(f64::INFINITY, f64::min);
        let excesses: Vec<f64> = x.iter().map(|x| (-self.sharpness * (x - least)).exp()).collect();
        let sum = excesses.iter().sum();
        (least, excesses, sum)
    }
}

impl Concave for SmoothMinimum {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value(&self, x: &[f64]) -> f64 {
        let (least, _, sum) = self.excesses(x);
        least - sum.ln() / self.sharpness
    }

    fn gradient(&self, x: &[f64], out: &mut [f64]) {
        let (_, excesses, sum) = self.excesses(x);
        out.iter_mut().zip(excesses).for_each(|(out, excess)| *out = excess / sum);
    }

    fn curvature(&self, x: &[f64], d: &[f64], out: &mut [f64]) {
        self.gradient(x, out);
        let mean = vector::dot(out, d);
        out.iter_mut().zip(d).for_each(|(out, d)| *out *= -self.sharpness * (d - mean));
    }

    fn hypograph(&self) -> Conic {
        let (n, beta) = (self.dim, self.sharpness);
        let mut form = Conic::free(n + 1);
        let shares = form.auxiliary(n);
        // Σ exp(β(t − xᵢ)) ≤ 1.
        for i in 0..n {
            form.constrain(
                Cone::Exponential,
                [(vec![(n, -beta), (i, beta)], 0.0), (vec![], 1.0), (vec![(shares + i, -1.0)], 0.0)],
            );
        }
        form.constrain(Cone::Nonnegative(1), [((0..n).map(|i| (shares + i, 1.0)).collect(), 1.0)]);
        form
    }
}
