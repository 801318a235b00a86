use std::ops::Range;
use std::sync::Arc;

use super::Concave;
use crate::set::{Cone, Conic};

/// f(x) = Σ wᵢ fᵢ(xᵢ) with wᵢ > 0, each of entries of its own.
#[derive(Debug, Clone)]
pub struct Sum {
    terms: Vec<(f64, Arc<dyn Concave>, Range<usize>)>,
}

impl Sum {
    /// The sum of weighted functions, whose entries follow each other.
    pub fn new(terms: impl IntoIterator<Item = (f64, Arc<dyn Concave>)>) -> Self {
        let mut start = 0;
        let placed = terms.into_iter().map(|(weight, function)| {
            let range = start..start + function.dim();
            start = range.end;
            (weight, function, range)
        });
        Self { terms: placed.collect() }
    }
}

impl Concave for Sum {
    fn dim(&self) -> usize {
        self.terms.last().map_or(0, |(.., range)| range.end)
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.terms.iter().map(|(weight, f, range)| weight * f.value(&x[range.clone()])).sum()
    }

    fn gradient(&self, x: &[f64], out: &mut [f64]) {
        for (weight, f, range) in &self.terms {
            f.gradient(&x[range.clone()], &mut out[range.clone()]);
            out[range.clone()].iter_mut().for_each(|out| *out *= weight);
        }
    }

    fn curvature(&self, x: &[f64], d: &[f64], out: &mut [f64]) {
        for (weight, f, range) in &self.terms {
            f.curvature(&x[range.clone()], &d[range.clone()], &mut out[range.clone()]);
            out[range.clone()].iter_mut().for_each(|out| *out *= weight);
        }
    }

    fn hypograph(&self) -> Conic {
        let n = self.dim();
        let mut form = Conic::free(n + 1);
        let parts = form.auxiliary(self.terms.len());
        for (i, (_, f, range)) in self.terms.iter().enumerate() {
            let place: Vec<usize> = range.clone().chain([parts + i]).collect();
            form.embed(&f.hypograph(), &place);
        }
        let weighted = self.terms.iter().enumerate().map(|(i, (weight, ..))| (parts + i, -weight));
        form.constrain(Cone::Nonnegative(1), [(weighted.chain([(n, 1.0)]).collect(), 0.0)]);
        form
    }
}
