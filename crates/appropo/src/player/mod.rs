//! The λ-players: they name a half-space that contains the target set, and learn from the answers.

mod blackwell;
mod fully_corrective;
pub(crate) mod master;
mod ogd;
mod regret;

pub use blackwell::Blackwell;
pub use fully_corrective::FullyCorrective;
pub use ogd::{Ogd, OnlineGradient, Steps};

use crate::error::{Error, Result};
use crate::set::ConvexSet;
use crate::vector;

/// λ with the half-space {z : lam·z ≤ offset} that contains the target set.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// λ; the oracle maximises −λ·z.
    pub lam: Vec<f64>,
    /// An upper bound on λ·z over the set.
    pub offset: f64,
}

/// A player of the repeated game against the oracle.
pub trait Player {
    /// λₜ and its half-space.
    fn decision(&self) -> &Decision;

    /// Takes the answer ẑₜ and moves on to λₜ₊₁.
    fn observe(&mut self, z_hat: &[f64]) -> Result<()>;

    /// The mixture's measurement Σ wᵢẑᵢ so far.
    fn z_bar(&self) -> &[f64];

    /// The mixture's weights: answers are numbered from 0, those not listed have weight 0.
    fn weights(&self) -> Vec<(usize, f64)>;

    /// Whether answer `index` may still get weight.
    fn keeps(&self, index: usize) -> bool;

    /// Regretₜ of the decisions so far against the best fixed one.
    fn regret(&self) -> f64;
}

/// The decision that separates `x` from the set: λ = (x − Γ(x))/‖x − Γ(x)‖, or 0 if x lies in it.
fn separating(set: &dyn ConvexSet, x: &[f64]) -> Result<Decision> {
    let mut nearest = vec![0.0; x.len()];
    project(set, x, &mut nearest)?;
    let mut lam = vector::difference(x, &nearest);
    let length = vector::norm(&lam);
    if length <= f64::EPSILON * vector::norm(x) {
        return Ok(Decision { lam: vec![0.0; x.len()], offset: 0.0 });
    }
    vector::scale(&mut lam, 1.0 / length);
    let offset = vector::dot(&lam, &nearest);
    Ok(Decision { lam, offset })
}

/// Projects, and refuses what is not finite.
fn project(set: &dyn ConvexSet, x: &[f64], out: &mut [f64]) -> Result<()> {
    set.project(x, out);
    match out.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(entry) => Err(Error::Projection { entry, value: out[entry] }),
    }
}

fn check(set: &dyn ConvexSet, z_hat: &[f64]) -> Result<()> {
    crate::error::dimension("measurement", z_hat.len(), set.dim())?;
    crate::error::finite("measurement", z_hat)
}
