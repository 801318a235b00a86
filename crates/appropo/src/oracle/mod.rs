//! Oracles: who answers the λ-player.

mod cache;
mod exact;
mod model;
mod monte_carlo;
mod positive;

pub use cache::Cache;
pub use exact::{Exact, Planner};
pub use model::{Imagined, Model, ModelOptions};
pub use monte_carlo::MonteCarlo;
pub use positive::{Positive, PositiveOptions};

use crate::certificate::Bound;
use crate::error::{Error, Result};
use crate::measurement::Spread;
use crate::policy::Mixed;
use crate::state::{Loader, Saved, Saver};

/// An answer to λ: a policy, its measurements, and what is known of all others.
#[derive(Debug)]
pub struct Response<P> {
    /// π, a copy that nothing else changes; the paper's footnote allows it to be a mixture.
    pub policy: Mixed<P>,
    /// ẑ, its long-term measurement or an estimate.
    pub z_hat: Vec<f64>,
    /// What stands behind ẑ; `None` where it is exact.
    pub spread: Option<Spread>,
    /// A certified lower bound on λ·Z̄ over all policies, where the oracle can give one.
    pub bound: Option<Bound>,
    /// Whether the oracle's budget ended before it found what was asked for: the problem is empirically infeasible.
    pub gave_up: bool,
}

impl<P> Clone for Response<P> {
    fn clone(&self) -> Self {
        Self {
            policy: self.policy.clone(),
            z_hat: self.z_hat.clone(),
            spread: self.spread.clone(),
            bound: self.bound.clone(),
            gave_up: self.gave_up,
        }
    }
}

/// A model of the world that answers as an oracle does, and that playing makes better.
pub trait Imagine {
    /// Who answers in the model as it is.
    type Oracle: Respond;

    /// The oracle of the model. What it proves, it proves of the model only.
    fn imagined(&mut self) -> Result<&mut Self::Oracle>;

    /// Plays a mixed policy once, for as long as it matters.
    fn practise(&mut self, mixture: &Mixed<<Self::Oracle as Respond>::Policy>) -> Result<()>;

    /// Tries everything once more.
    fn explore(&mut self) -> Result<()>;

    /// Whether no more steps can be taken.
    fn is_spent(&self) -> bool;

    /// How much episodes differed in the world so far, entry by entry; not finite below two episodes.
    fn deviations(&self) -> Vec<f64>;

    /// What a mixed policy measures in another model, drawn from those that may as well be true. Draws are numbered; until
    /// more is played, the same number gives the same model.
    fn doubt(&self, mixture: &Mixed<<Self::Oracle as Respond>::Policy>, draw: usize) -> Result<Vec<f64>>;

    /// Steps taken in the world so far.
    fn samples(&self) -> u64;

    /// Writes what is needed to go on later.
    fn save(&self, _: &mut Saver) -> Result<()> {
        Err(Error::Unsaved { what: "this model" })
    }

    /// Takes it back, into a model made with the same settings.
    fn load(&mut self, _: &mut Loader) -> Result<()> {
        Err(Error::Unsaved { what: "this model" })
    }
}

/// The best-response and the positive-response oracle.
pub trait Respond {
    /// The kind of policy it finds.
    type Policy: Saved + Send + Sync + 'static;

    /// A policy for the scalar reward −λ·z. A best-response oracle maximises it; a positive-response oracle
    /// may stop at any policy with λ·ẑ ≤ `offset`.
    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response<Self::Policy>>;

    /// Plays to know an answer of this weight in the mixture better.
    fn investigate(&mut self, _policy: &Mixed<Self::Policy>, _weight: f64) -> Result<()> {
        Ok(())
    }

    /// ẑ of an earlier answer, where it is known better than it was.
    fn measure_again(&mut self, _policy: &Mixed<Self::Policy>) -> Result<Option<(Vec<f64>, Spread)>> {
        Ok(None)
    }

    /// What fresh episodes of a mixture measure; nothing where the oracle plays none.
    fn play_afresh(&mut self, _mixture: &Mixed<Self::Policy>) -> Result<Option<(Vec<f64>, Spread)>> {
        Ok(None)
    }

    /// Goes on from this policy, where the oracle learns.
    fn start_from(&mut self, _policy: &Mixed<Self::Policy>) -> Result<()> {
        Ok(())
    }

    /// Steps taken in the world so far.
    fn samples(&self) -> u64 {
        0
    }

    /// Whether the policy could be one of its own: it knows the states and actions of the same world.
    fn fits(&self, _policy: &Self::Policy) -> bool {
        true
    }

    /// Writes what is needed to go on later.
    fn save(&self, _: &mut Saver) -> Result<()> {
        Err(Error::Unsaved { what: "this oracle" })
    }

    /// Takes it back, into an oracle made with the same settings.
    fn load(&mut self, _: &mut Loader) -> Result<()> {
        Err(Error::Unsaved { what: "this oracle" })
    }
}

/// Whether all policies of a mixture could be the oracle's.
pub(crate) fn fits<O: Respond>(oracle: &O, mixture: &Mixed<O::Policy>) -> bool {
    mixture.parts().iter().all(|(_, policy)| oracle.fits(policy))
}
