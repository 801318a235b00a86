//! The λ-players: they name a half-space that contains the target set, and learn from the answers.

mod blackwell;
mod frank_wolfe;
mod fully_corrective;
mod hedge;
pub(crate) mod master;
pub(crate) mod mean;
mod ogd;
mod projection;
mod units;

use std::fmt;
use std::sync::Arc;

pub use blackwell::{Blackwell, BlackwellOptions};
pub use frank_wolfe::{FrankWolfe, FrankWolfeOptions};
pub use fully_corrective::{FullyCorrective, FullyCorrectiveOptions};
pub use hedge::{Hedge, HedgeOptions, HedgeRate};
pub use ogd::{MomentumOptions, Ogd, OgdOptions, OnlineGradient, StepRule, Steps};
pub use projection::{Projection, ProjectionOptions};

use crate::error::{Error, Result};
use crate::measurement::{Measures, Selection, Spread};
use crate::options::{Given, Registered, Result as OptionResult, Table};
use crate::set::{ConvexSet, Errors, Product, SharedSet, placed};
use crate::state::{Checkpoint, Loader, Saver};
use crate::utility::Criterion;
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
pub trait Player: Checkpoint {
    /// λₜ and its half-space.
    fn decision(&self) -> &Decision;

    /// Takes the answer ẑₜ and moves on to λₜ₊₁. `spread` is what stands behind it, unless it is exact.
    fn observe(&mut self, z_hat: &[f64], spread: Option<&Spread>) -> Result<()>;

    /// With which weights the answers so far are mixed.
    fn weights(&self) -> Weights;

    /// The margin it keeps from the set's edge, where it allows for answers that are estimates.
    fn margin(&mut self) -> Option<&mut dyn Margin> {
        None
    }

    /// How it goes for an objective, where it can.
    fn pursuit(&mut self) -> Option<&mut dyn Pursuit> {
        None
    }
}

impl fmt::Debug for dyn Player {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Player").field("decision", self.decision()).finish_non_exhaustive()
    }
}

/// The weights of a mixture, by the numbers of its answers, which are counted from 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Weights {
    /// All answers alike.
    Uniform,
    /// These, and no others.
    Listed(Vec<(usize, f64)>),
}

/// A player that allows for the errors of estimated answers: it aims at a smaller set than the target.
pub trait Margin {
    /// Whether any answer in the mixture is an estimate, so that less than the set is aimed at.
    fn is_uncertain(&self) -> bool;

    /// The distance of the mixture from what is aimed at.
    fn distance(&self) -> f64;

    /// Takes better estimates of earlier answers, given by their numbers.
    fn revise(&mut self, answers: Vec<(usize, Vec<f64>, Spread)>) -> Result<()>;

    /// Keeps further away from the set's edge from now on. `false` where that is not possible: the margin is as wide as
    /// it may be, or no part of the set can be tightened.
    fn increase_margin(&mut self) -> Result<bool>;
}

/// A player that can maximise a function of the last measurements, which the set must leave free.
pub trait Pursuit {
    /// From now on the mixture is the best point of hull ∩ aim, and the decision its price vector λ = (y, −g) for the
    /// function's gradient g there: y·z ≤ offset on the aim, with equality at the mixture.
    fn pursue(&mut self) -> Result<()>;

    /// Whether it does so already.
    fn is_pursuing(&self) -> bool;
}

/// The options of a player, which make one for any set.
pub trait MakePlayer: fmt::Debug + Send + Sync {
    /// Its registered name.
    fn name(&self) -> &str;

    /// A player for `set`.
    fn make(&self, set: &SharedSet, context: &PlayerContext) -> Result<Box<dyn Player>>;

    /// Every option as it is in force for `set`.
    fn table(&self, set: &SharedSet, context: &PlayerContext) -> Result<Table>;

    /// Whether its players go for an objective.
    fn takes_objective(&self) -> bool {
        false
    }

    /// The most rounds it plays unless told otherwise.
    fn rounds(&self) -> usize {
        20_000
    }
}

/// What a player may know of the problem.
#[derive(Clone, Copy)]
pub struct PlayerContext<'a> {
    /// What is measured.
    pub measures: &'a Measures,
    /// Which measurements the set is about.
    pub selection: &'a Selection,
    /// A bound on the measurements of all policies, where that is known; finding it takes a plan.
    pub radius: &'a dyn Fn() -> Result<Option<f64>>,
    /// The most rounds to play.
    pub rounds: usize,
    /// Whether the oracle learns.
    pub is_learning: bool,
    /// What is maximised, where there is an objective.
    pub criterion: Option<&'a Criterion>,
}

impl fmt::Debug for PlayerContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("PlayerContext").field("rounds", &self.rounds).finish_non_exhaustive()
    }
}

/// A kind of player that problems can name.
pub type PlayerEntry = Registered<fn(&Given) -> OptionResult<Arc<dyn MakePlayer>>>;

/// The players that problems can name, in the order in which they are listed.
pub(crate) static ENTRIES: [&PlayerEntry; 7] = [
    &fully_corrective::ENTRY,
    &ogd::ENTRY,
    &ogd::MOMENTUM_ENTRY,
    &blackwell::ENTRY,
    &hedge::ENTRY,
    &projection::ENTRY,
    &frank_wolfe::ENTRY,
];

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

/// Whether a margin can be kept from the edge of any block of the set, as [`aim`] does.
fn keeps_margin(set: &SharedSet) -> bool {
    set.blocks().map_or_else(|| set.can_tighten(), |blocks| blocks.iter().any(keeps_margin))
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
