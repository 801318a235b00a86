//! The λ-players: they name a half-space that contains the target set, and learn from the answers.

mod blackwell;
mod fully_corrective;
pub(crate) mod master;
mod ogd;
mod regret;

use std::ops::Range;
use std::sync::Arc;

pub use blackwell::Blackwell;
pub use fully_corrective::FullyCorrective;
pub use ogd::{Ogd, OnlineGradient, Steps};

use crate::error::{Error, Result};
use crate::measurement::Spread;
use crate::set::{ConvexSet, Errors, Product, SharedSet};
use crate::state::{Loader, Saver};
use crate::vector;

/// λ with the half-space {z : lam·z ≤ offset} that contains the target set.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// λ; the oracle maximises −λ·z.
    pub lam: Vec<f64>,
    /// An upper bound on λ·z over the set.
    pub offset: f64,
}

impl Decision {
    fn save(&self, to: &mut Saver) {
        to.put_all(&self.lam);
        to.put(&self.offset);
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        from.get_finite("a decision", &mut self.lam)?;
        from.get_finite("a decision", std::slice::from_mut(&mut self.offset))
    }
}

/// A player of the repeated game against the oracle.
pub trait Player {
    /// λₜ and its half-space.
    fn decision(&self) -> &Decision;

    /// Takes the answer ẑₜ and moves on to λₜ₊₁. `spread` is what stands behind it, unless it is exact.
    fn observe(&mut self, z_hat: &[f64], spread: Option<&Spread>) -> Result<()>;

    /// Whether it aims at less than the set, because answers are estimates.
    fn is_cautious(&self) -> bool {
        false
    }

    /// The answers that are worth measuring again, with their weights; none where all are taken as they come.
    fn doubts(&self) -> Vec<(usize, f64)> {
        Vec::new()
    }

    /// Takes better estimates of earlier answers, given by their numbers.
    fn revise(&mut self, _answers: Vec<(usize, Vec<f64>, Spread)>) -> Result<()> {
        Ok(())
    }

    /// Keeps further away from the set's edge from now on; says whether it can.
    fn take_more_care(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// The distance of z̄ from what the player aims at: the set, or less of it where answers are uncertain.
    fn distance(&self) -> f64;

    /// The mixture's measurement Σ wᵢẑᵢ so far.
    fn z_bar(&self) -> &[f64];

    /// The mixture's weights: answers are numbered from 0, those not listed have weight 0.
    fn weights(&self) -> Vec<(usize, f64)>;

    /// Whether answer `index` may still get weight.
    fn keeps(&self, index: usize) -> bool;

    /// Regretₜ of the decisions so far against the best fixed one.
    fn regret(&self) -> f64;

    /// Writes what is needed to go on later.
    fn save(&self, _: &mut Saver) -> Result<()> {
        Err(Error::Unsaved { what: "this player" })
    }

    /// Takes it back, into a player made with the same settings.
    fn load(&mut self, _: &mut Loader) -> Result<()> {
        Err(Error::Unsaved { what: "this player" })
    }
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

/// The set to aim at from `x`, where measurements may be off by `errors`: each block is tightened by them, or by as
/// much of them as leaves it any points.
pub(crate) fn aim(set: &SharedSet, x: &[f64], errors: &Errors) -> SharedSet {
    if errors.entries().iter().all(|e| *e == 0.0) {
        return Arc::clone(set);
    }
    if let Some(blocks) = set.blocks() {
        let aims = placed(blocks).map(|(block, range)| aim(block, &x[range.clone()], &errors.block(range)));
        return Arc::new(Product::new(aims.collect()));
    }
    let tightened =
        [1.0, 0.5, 0.25, 0.125].into_iter().find_map(|part| set.tightened(x, &errors.scaled(part)));
    tightened.unwrap_or_else(|| Arc::clone(set))
}

/// Whether `x` lies in the set even if it is off by `errors`; in blocks that are too small for that, whether it may lie
/// in them.
pub(crate) fn holds(set: &SharedSet, x: &[f64], errors: &Errors, tolerance: f64) -> bool {
    match set.blocks() {
        Some(blocks) => placed(blocks)
            .all(|(block, range)| holds(block, &x[range.clone()], &errors.block(range), tolerance)),
        None => match set.tightened(x, errors) {
            Some(inner) => inner.contains(x, tolerance),
            None => set.contains(x, tolerance + 2.0 * vector::norm(errors.entries())),
        },
    }
}

/// Blocks with the entries of a vector that they are about.
fn placed(blocks: &[SharedSet]) -> impl Iterator<Item = (&SharedSet, Range<usize>)> {
    let mut start = 0;
    blocks.iter().map(move |block| {
        let range = start..start + block.dim();
        start = range.end;
        (block, range)
    })
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
