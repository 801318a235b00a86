use std::sync::Arc;

use super::{Concave, Linear};
use crate::set::{Bounds, Product, SharedSet};
use crate::vector;

/// What a search maximises: f of the entries that follow those of the constraints in a measurement z = (z_C, u), or of
/// those per step, f(v/L) with u = (v, L).
///
/// f(v/L) is not concave in (v, L), but it is in what mixtures weigh by their steps; see [`upper_bound`](Self::upper_bound).
#[derive(Debug, Clone)]
pub struct Criterion {
    function: Arc<dyn Concave>,
    is_share: bool,
    is_last: bool,
}

impl Default for Criterion {
    fn default() -> Self {
        Self::last()
    }
}

impl Criterion {
    /// A function of the last entries, or of those per step, which the last of all counts.
    pub fn new(function: Arc<dyn Concave>, is_share: bool) -> Self {
        Self { function, is_share, is_last: false }
    }

    /// The last entry itself.
    pub fn last() -> Self {
        Self { function: Arc::new(Linear { weights: vec![1.0] }), is_share: false, is_last: true }
    }

    /// Whether it is the last entry itself.
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// Whether it is of measurements per step.
    pub fn is_share(&self) -> bool {
        self.is_share
    }

    /// f.
    pub fn function(&self) -> &Arc<dyn Concave> {
        &self.function
    }

    /// How many entries of a measurement it looks at.
    pub fn dim(&self) -> usize {
        self.function.dim() + usize::from(self.is_share)
    }

    /// The constraints' set with the entries of the objective after it, which are free.
    pub fn free(&self, constraints: &SharedSet) -> SharedSet {
        Arc::new(Product::new(vec![Arc::clone(constraints), unbounded(self.dim())]))
    }

    /// The entries of f alone, which are free.
    pub(crate) fn free_function(&self) -> SharedSet {
        unbounded(self.function.dim())
    }

    /// The steps of a measurement, where that matters.
    pub fn steps(&self, z: &[f64]) -> f64 {
        if self.is_share { z.last().copied().unwrap_or(1.0) } else { 1.0 }
    }

    /// What f is taken of.
    pub fn argument(&self, z: &[f64]) -> Vec<f64> {
        let start = z.len() - self.dim();
        let steps = self.steps(z);
        z[start..start + self.function.dim()]
            .iter()
            .map(|v| if self.is_share { v / steps } else { *v })
            .collect()
    }

    /// The value of a measurement.
    pub fn value(&self, z: &[f64]) -> f64 {
        self.function.value(&self.argument(z))
    }

    /// ∇f there.
    pub fn gradient(&self, argument: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; argument.len()];
        self.function.gradient(argument, &mut gradient);
        gradient
    }

    /// About how much the value varies where the entries of a measurement vary by these standard deviations.
    pub fn deviation(&self, z: &[f64], deviations: &[f64]) -> f64 {
        let argument = self.argument(z);
        let gradient = self.gradient(&argument);
        let (start, steps) = (z.len() - self.dim(), self.steps(z));
        let mut slopes: Vec<f64> = gradient.iter().map(|g| g / steps).collect();
        if self.is_share {
            slopes.push(-vector::dot(&gradient, &argument) / steps);
        }
        let square = |(slope, deviation): (&f64, &f64)| (slope * deviation).powi(2);
        slopes.iter().zip(&deviations[start..]).map(square).sum::<f64>().sqrt()
    }

    /// What the price λ·z of a measurement is compared with: a policy at λ·z ≤ offset − level − gain·steps is better by `gain`
    /// than the mixture at `z_bar`, at the prices in force.
    pub fn level(&self, lam: &[f64], z_bar: &[f64]) -> f64 {
        if self.is_share {
            return 0.0;
        }
        let start = z_bar.len() - self.dim();
        -vector::dot(&lam[start..], &z_bar[start..])
    }

    /// By how much a policy that measures `z` is better than the mixture at `z_bar`, at the prices λ in force.
    pub fn gain(&self, lam: &[f64], offset: f64, z_bar: &[f64], z: &[f64]) -> f64 {
        (offset - vector::dot(lam, z) - self.level(lam, z_bar)) / self.steps(z)
    }

    /// The largest value that a policy in the set can have, where y·z_C ≤ offset on the set and λ·Z̄(π) ≥ `least` for all π,
    /// with λ = (y, −g) for g = ∇f(r), or λ = (y, −g, −τ) per step.
    ///
    /// f(u) ≤ f(r) + g·(u − r), and g·u = y·z_C − λ·z ≤ offset − least. Per step g·v + τL ≤ offset − least, where L ≥ 1, so
    /// that g·v/L ≤ −τ + max(0, offset − least).
    pub fn upper_bound(&self, r: &[f64], tau: f64, offset: f64, least: f64) -> f64 {
        if self.is_last {
            return offset - least;
        }
        let tangent = self.function.value(r) - vector::dot(&self.gradient(r), r);
        tangent + if self.is_share { (offset - least).max(0.0) - tau } else { offset - least }
    }

    /// (y, −∇f(r)).
    pub(crate) fn function_prices(&self, y: &[f64], r: &[f64]) -> Vec<f64> {
        y.iter().copied().chain(self.gradient(r).iter().map(|g| -g)).collect()
    }

    /// λ = (y, −∇f(r)), or (y, −∇f(r), −τ) per step.
    pub fn prices(&self, y: &[f64], r: &[f64], tau: f64) -> Vec<f64> {
        let mut lam = self.function_prices(y, r);
        if self.is_share {
            lam.push(-tau);
        }
        lam
    }
}

/// All of ℝⁿ.
fn unbounded(dim: usize) -> SharedSet {
    match Bounds::new(vec![f64::NEG_INFINITY; dim], vec![f64::INFINITY; dim]) {
        Ok(all) => Arc::new(all),
        Err(_) => unreachable!("no bound lies above another"),
    }
}
