use super::registration::{SetEntry, made};
use super::{Cone, Conic, ConvexSet, Derivative};
use crate::error::{Error, Result, in_range};
use crate::options::{Key, Kind, Range};

/// {x ≥ 0 : Σ xᵢ = total}; total 1 is the probability simplex.
///
/// Projection: max(x − θ, 0), with θ found by sorting (Held, Wolfe and Crowder 1974).
#[derive(Debug, Clone, PartialEq)]
pub struct Simplex {
    dim: usize,
    total: f64,
}

impl Simplex {
    /// The probability simplex over `dim` outcomes.
    pub fn probability(dim: usize) -> Result<Self> {
        Self::new(dim, 1.0)
    }

    /// The simplex of sum `total` ≥ 0.
    pub fn new(dim: usize, total: f64) -> Result<Self> {
        in_range("total", total, total >= 0.0, "0 or more")?;
        if dim == 0 {
            return Err(Error::EmptySet { what: "a simplex over no outcomes" });
        }
        Ok(Self { dim, total })
    }
}

/// The θ at which Σ max(xᵢ − θ, 0) = total.
pub(super) fn threshold(x: &[f64], total: f64) -> f64 {
    let mut sorted = x.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    // Sums are taken relative to the largest entry, so that far points lose no digits.
    let largest = sorted[0];
    let (mut sum, mut theta) = (0.0, -total);
    for (i, &v) in sorted.iter().enumerate() {
        sum += v - largest;
        let candidate = (sum - total) / (i + 1) as f64;
        if v - largest <= candidate {
            break;
        }
        theta = candidate;
    }
    largest + theta
}

/// The derivative of the projection: on the support, d less its mean.
pub(super) fn derivative<'a>(x: &[f64], total: f64) -> Derivative<'a> {
    let theta = threshold(x, total);
    let support: Vec<bool> = x.iter().map(|x| *x > theta).collect();
    let count = support.iter().filter(|s| **s).count().max(1) as f64;
    Box::new(move |d, out| {
        let mean = d.iter().zip(&support).filter(|(_, s)| **s).map(|(d, _)| d).sum::<f64>() / count;
        for i in 0..d.len() {
            out[i] = if support[i] { d[i] - mean } else { 0.0 };
        }
    })
}

impl ConvexSet for Simplex {
    fn requirement(&self) -> String {
        format!("in the simplex of sum {}", self.total)
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        let theta = threshold(x, self.total);
        for (out, x) in out.iter_mut().zip(x) {
            *out = (x - theta).max(0.0);
        }
    }

    fn project_recession(&self, _: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }

    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        derivative(x, self.total)
    }

    fn radius(&self) -> Option<f64> {
        Some(self.total)
    }

    fn conic(&self) -> Option<Conic> {
        let mut form = Conic::free(self.dim);
        form.constrain(Cone::Zero(1), [((0..self.dim).map(|i| (i, 1.0)).collect(), self.total)]);
        form.constrain(Cone::Nonnegative(self.dim), (0..self.dim).map(|i| (vec![(i, -1.0)], 0.0)));
        Some(form)
    }
}

pub(crate) static ENTRIES: [SetEntry; 1] = [SetEntry {
    key: Key::optional("simplex", Kind::Table(&TOTAL), "{ total = 1 }", "x ≥ 0, Σ xᵢ = total."),
    make: |entry, space| made(entry, Simplex::new(space.dim, entry.table(&TOTAL)?.number("total")?)),
}];

static TOTAL: [Key; 1] =
    [Key::defaulted("total", Kind::Number(Range::FROM_ZERO), "1", "The sum of all entries.")];
