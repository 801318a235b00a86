use super::Concave;
use crate::set::{Cone, Conic};

/// f(x) = −Σ xᵢ ln xᵢ for x ≥ 0, in nats. Of a distribution it is the entropy.
///
/// Below 10⁻¹² each term goes on as its tangent there, so that what no policy has done yet has a large but finite price.
/// That adds at most 10⁻¹² an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entropy {
    /// Entries of x.
    pub dim: usize,
}

const LEAST: f64 = 1e-12;

fn slope(x: f64) -> f64 {
    -x.max(LEAST).ln() - 1.0
}

fn term(x: f64) -> f64 {
    if x >= LEAST { -x * x.ln() } else { -LEAST * LEAST.ln() + slope(LEAST) * (x - LEAST) }
}

impl Concave for Entropy {
    fn dim(&self) -> usize {
        self.dim
    }

    fn value(&self, x: &[f64]) -> f64 {
        x.iter().map(|x| term(*x)).sum()
    }

    fn gradient(&self, x: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(x).for_each(|(out, x)| *out = slope(*x));
    }

    fn curvature(&self, x: &[f64], d: &[f64], out: &mut [f64]) {
        for (out, (x, d)) in out.iter_mut().zip(x.iter().zip(d)) {
            *out = if *x >= LEAST { -d / x } else { 0.0 };
        }
    }

    fn hypograph(&self) -> Conic {
        let n = self.dim;
        let mut form = Conic::free(n + 1);
        let terms = form.auxiliary(n);
        // tᵢ ≤ −xᵢ ln xᵢ is xᵢ exp(tᵢ/xᵢ) ≤ 1.
        for i in 0..n {
            form.constrain(
                Cone::Exponential,
                [(vec![(terms + i, -1.0)], 0.0), (vec![(i, -1.0)], 0.0), (vec![], 1.0)],
            );
        }
        let sum = (0..n).map(|i| (terms + i, -1.0)).chain([(n, 1.0)]).collect();
        form.constrain(Cone::Nonnegative(1), [(sum, 0.0)]);
        form
    }
}
