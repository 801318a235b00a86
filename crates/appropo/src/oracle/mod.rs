//! Oracles: who answers the λ-player.

mod aim;
mod answers;
mod ascent;
mod cache;
mod confirm;
mod exact;
mod external;
mod guard;
mod learned;
mod logged_network;
mod logged_table;
mod model;
mod monte_carlo;
mod universal;

pub use aim::WithinSet;
pub use ascent::PolicyAscent;
pub use cache::Cache;
pub use exact::{Exact, ExactOptions, Planner};
pub use external::{Answer, ExternalOracle, NAME as EXTERNAL};
pub use learned::{Learned, LearnedOptions, LearnedOracle};
pub(crate) use logged_network::{LoggedNetwork, NetworkFit};
pub use logged_table::LoggedTable;
pub use model::{Model, ModelOptions, ModelOracle};
pub use monte_carlo::MonteCarlo;
pub use universal::{Universal, UniversalOptions};

pub(crate) use confirm::{gives_hope, is_sure, least_deviations};
pub(crate) use guard::outward;

use std::fmt;
use std::sync::Arc;

use crate::certificate::Bound;
use crate::env::{EnvSpec, Environment, Interruptible, Selected, StopSignal};
use crate::error::Result;
use crate::measurement::{Discounting, Estimate, Selection, Spread};
use crate::options::{Given, Registered, Result as OptionResult, Table};
use crate::policy::{AnyPolicy, Mixed};
use crate::random::Generator;
use crate::rl::actor_critic::Aim;
use crate::rl::workers::{Sampling, Streams};
use crate::set::SharedSet;
use crate::state::Checkpoint;

/// An answer to λ: a policy, its measurements, and what is known of all others.
#[derive(Debug, Clone)]
pub struct Response {
    /// π, a copy that nothing else changes; the paper's footnote allows it to be a mixture.
    pub policy: Mixed,
    /// ẑ, its long-term measurement or an estimate.
    pub z_hat: Vec<f64>,
    /// What stands behind ẑ; `None` where it is exact.
    pub spread: Option<Spread>,
    /// A certified lower bound on λ·Z̄ over all policies, where the oracle can give one.
    pub bound: Option<Bound>,
    /// Whether the oracle's budget ended before it found what was asked for: the problem is empirically infeasible.
    pub gave_up: bool,
}

/// The best-response and the positive-response oracle.
pub trait Respond: Checkpoint {
    /// A policy for the scalar reward −λ·z. A best-response oracle maximises it; a positive-response oracle
    /// may stop at any policy with λ·ẑ ≤ `offset`.
    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response>;

    /// Works on the answer for a while; `None` where it is not there yet. Asked the same again, it goes on.
    fn work(&mut self, lam: &[f64], offset: f64) -> Result<Option<Response>> {
        self.respond(lam, offset).map(Some)
    }

    /// Steps taken in the environment so far.
    fn samples(&self) -> u64 {
        0
    }

    /// Better estimates of its answers, where they are estimates that more episodes make better.
    fn estimates(&mut self) -> Option<&mut dyn Reestimate> {
        None
    }

    /// How it follows a λ that moves, where it learns and can.
    fn following(&mut self) -> Option<&mut dyn Follow> {
        None
    }

    /// Goes on from this policy at the next answer, where the oracle learns.
    fn start_from(&mut self, _policy: &Mixed) -> Result<()> {
        Ok(())
    }

    /// Whether a policy that was saved could be one of its own: it knows the states and actions of the same world.
    fn fits(&self, _policy: &AnyPolicy) -> bool {
        true
    }
}

impl fmt::Debug for dyn Respond {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Respond").field("samples", &self.samples()).finish_non_exhaustive()
    }
}

/// An oracle that plays its policies again to know them better.
pub trait Reestimate {
    /// Plays an answer of this weight in the mixture again.
    fn investigate(&mut self, policy: &Mixed, weight: f64) -> Result<()>;

    /// ẑ of an earlier answer, where it is known better than when it was last told.
    fn measure_again(&mut self, policy: &Mixed) -> Option<(Vec<f64>, Spread)>;

    /// Fresh episodes of a mixture, until they are enough or as many as are in proportion to the budget.
    fn play_afresh(&mut self, mixture: &Mixed, is_enough: &dyn Fn(&Estimate) -> bool) -> Result<Estimate>;
}

/// An oracle that goes on from where it is while λ moves.
pub trait Follow {
    /// Learns for −λ·z for a while; what its last episodes measured, as soon as enough of them are new.
    fn follow(&mut self, lam: &[f64]) -> Result<Option<Estimate>>;

    /// Goes on from a policy drawn at random.
    fn start_afresh(&mut self);

    /// Lets who knows what all of the search is for play from here on, or no longer. `false` where there is no one.
    fn lead(&mut self, is_leading: bool) -> bool;

    /// Those who played these episodes, and what they measured.
    fn players(&self) -> (Mixed, Estimate);

    /// The same as an answer that it remembers.
    fn answer(&mut self, lam: &[f64]) -> Response;
}

/// What a model says of a mixed policy that should lie in a set.
#[derive(Debug, Clone, PartialEq)]
pub enum Confirmation {
    /// It measures this, which is sure to lie there.
    Sure(Vec<f64>),
    /// It measures this, and the steps were too few to tell. What fresh episodes measured, where nothing else is known.
    Unrefuted(Vec<f64>, Option<Estimate>),
    /// It may lie outside. What fresh episodes measured, where they told.
    Refuted(Option<Estimate>),
}

/// A model of the world that answers as an oracle does, and that playing makes better.
pub trait ModelBased: Checkpoint {
    /// The oracle of the model as it is. What it proves, it proves of the model only.
    fn oracle(&mut self) -> Result<&mut dyn Respond>;

    /// Plays a mixed policy once, for as long as it matters.
    fn rollout(&mut self, mixture: &Mixed) -> Result<()>;

    /// Tries every action once more.
    fn explore(&mut self) -> Result<()>;

    /// Whether no more steps can be taken.
    fn is_spent(&self) -> bool;

    /// How much episodes of a mixed policy differ as far as is known, entry by entry; not finite where nothing is.
    fn deviations(&mut self, mixture: &Mixed) -> Result<Vec<f64>>;

    /// Whether a mixed policy lies in the set as far as can be told: in every model that may as well be true, or in fresh
    /// episodes.
    fn confirm(&mut self, mixture: &Mixed, set: &SharedSet, tolerance: f64) -> Result<Confirmation>;

    /// Gets ready to answer a λ that matters, without a step. For models that learn.
    fn prepare(&mut self, _lam: &[f64]) -> Result<()> {
        Ok(())
    }

    /// Adds what so many fresh episodes of a mixed policy measure; fewer where it turns in circles, or the steps end. For
    /// models that confirm by fresh episodes alone.
    fn measure(&mut self, _mixture: &Mixed, _episodes: usize, _to: &mut Estimate) -> Result<()> {
        Ok(())
    }

    /// The mean and the standard deviation of what a mixed policy measures in the models that may as well be true; `None`
    /// where only playing tells.
    fn posterior(&mut self, _mixture: &Mixed) -> Result<Option<(Vec<f64>, Vec<f64>)>> {
        Ok(None)
    }

    /// Whether a policy that was saved could be one of its own.
    fn fits(&self, _policy: &AnyPolicy) -> bool {
        true
    }

    /// Steps taken in the environment so far.
    fn samples(&self) -> u64;
}

/// Episodes that confirm a mixture at most, unless more are asked for.
const MOST_CONFIRMING: usize = 400;

/// How long an episode that confirms is at most, in times 1/(1 − γ): a policy that turns in circles is not to use up the
/// budget, and what comes later counts little.
const LONG: f64 = 3.0;

impl fmt::Debug for dyn ModelBased {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("ModelBased").field("samples", &self.samples()).finish_non_exhaustive()
    }
}

/// The options of an oracle, which make one for any problem.
pub trait MakeOracle: fmt::Debug + Send + Sync {
    /// Its registered name.
    fn name(&self) -> &str;

    /// An oracle for a context.
    fn make(&self, context: OracleContext) -> Result<AnyOracle>;

    /// Whether it can answer in an environment; the error says which can.
    fn check(&self, env: &EnvSpec) -> Result<()>;

    /// Every option as it is in force in an environment, by the name of whose option it is.
    fn tables(&self, env: &EnvSpec) -> Vec<(String, Table)>;

    /// Whether its answers are estimates by playing.
    fn is_learning(&self) -> bool {
        true
    }

    /// Whether it goes on from where it is while λ moves.
    fn is_following(&self) -> bool {
        false
    }
}

/// How an oracle is played against.
#[derive(Debug)]
pub enum AnyOracle {
    /// It answers every λ.
    Responding(Box<dyn Respond>),
    /// It learns a model in which whole games are played.
    ModelBased(Box<dyn ModelBased>),
}

/// What an oracle is asked about.
pub struct OracleContext<'a> {
    /// The environment.
    pub env: &'a EnvSpec,
    /// Which of its measurements λ weighs.
    pub selection: &'a Selection,
    /// The set that the first of them are to lie in.
    pub set: &'a SharedSet,
    /// How measurements add up along an episode.
    pub discounting: Discounting,
    /// Steps it may take in the environment.
    pub samples: u64,
    /// What all of the search is for, where a learner may know.
    pub aim: Option<Arc<dyn Aim>>,
    /// Set where one policy is learnt for every λ, which it sees: the share of the samples after which it only plays.
    pub augmented: Option<f64>,
    /// Says whether to stop.
    pub stop: Option<StopSignal>,
    /// Set where learners play in streams.
    pub sampling: Option<Sampling>,
    /// All random draws.
    pub rng: &'a mut Generator,
}

impl fmt::Debug for OracleContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { env, selection, samples, .. } = self;
        f.debug_struct("OracleContext")
            .field("env", env)
            .field("selection", selection)
            .field("samples", samples)
            .finish_non_exhaustive()
    }
}

/// Steps after which an episode without a horizon is cut off.
pub const LIMIT: usize = 1000;

impl OracleContext<'_> {
    /// Steps after which an episode is cut off in any case.
    pub fn limit(&self) -> usize {
        self.discounting.horizon().unwrap_or(LIMIT)
    }

    /// Whether nothing is measured any more once an episode is cut off. Without a horizon episodes of our environments are
    /// cut off only because no one can play forever.
    pub fn is_finite_horizon(&self) -> bool {
        self.discounting.horizon().is_some() || self.env.is_external() && self.env.model().is_none()
    }

    /// Streams for a learner, and the environments that show them, measured by what λ weighs.
    fn streams(&self, sampling: &Sampling) -> Result<(Streams, Vec<Box<dyn Environment>>)> {
        let like = self.env.make(self.discounting.horizon())?;
        let (streams, envs) = sampling.streams(like.as_ref());
        let select = |env| Box::new(Selected::new(env, self.selection.clone())) as Box<dyn Environment>;
        Ok((streams, envs.into_iter().map(select).collect()))
    }

    /// An environment to play in, measured by what λ weighs.
    pub fn environment(&self, copy: Option<usize>) -> Result<Box<dyn Environment>> {
        let env = self.env.make_selected(copy, self.selection, self.discounting.horizon())?;
        Ok(interruptible(env, self.env, &self.discounting, self.stop.clone()))
    }
}

/// An environment that ends when it is to stop, and whose episodes must end where nothing cuts them off.
pub(crate) fn interruptible(
    env: Box<dyn Environment>,
    spec: &EnvSpec,
    discounting: &Discounting,
    stop: Option<StopSignal>,
) -> Box<dyn Environment> {
    let is_cut_off = discounting.horizon().is_some() || !spec.is_external() || spec.model().is_some();
    Box::new(Interruptible::new(env, stop, if is_cut_off { usize::MAX } else { LIMIT }))
}

/// A kind of oracle that problems can name. Learners are named as oracles, too.
pub type OracleEntry = Registered<fn(&Given) -> OptionResult<Arc<dyn MakeOracle>>>;

/// The oracles that problems can name besides the learners, in the order in which they are listed.
pub(crate) static ENTRIES: [&OracleEntry; 4] =
    [&exact::ENTRY, &model::ENTRY, &universal::ENTRY, &external::ENTRY];

/// Whether all policies of a mixture could be the oracle's.
pub(crate) fn fits(oracle: &(impl Respond + ?Sized), mixture: &Mixed) -> bool {
    mixture.parts().iter().all(|(_, policy)| oracle.fits(policy))
}
