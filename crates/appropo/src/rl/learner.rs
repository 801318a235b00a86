use std::fmt;
use std::sync::Arc;

use super::actor_critic::Aim;
use super::workers::Streams;
use crate::env::{EnvSpec, Environment};
use crate::error::{Error, Result};
use crate::measurement::Estimate;
use crate::options::{Given, Registered, Result as OptionResult, Table};
use crate::policy::AnyPolicy;
use crate::random::Generator;
use crate::state::{Checkpoint, Loader, Saver};
use crate::vector;

/// A reinforcement-learning algorithm that maximises a scalar reward made of the measurements.
pub trait Learner: Checkpoint {
    /// Plays for a while and learns from it, for the reward weights·z. Every episode that is over goes to `window`.
    /// Returns the number of steps taken.
    fn learn(&mut self, weights: &[f64], window: &mut EpisodeWindow) -> Result<usize>;

    /// A copy of the policy as it is now.
    fn policy(&self) -> AnyPolicy;

    /// What learning has settled on: the mean of the latest policies' parameters, where they have any, and where actions are
    /// numbers without the noise that they explore with. It is mostly better than the last policy, but has not played.
    fn settled_policy(&self) -> AnyPolicy {
        self.policy()
    }

    /// Goes on from another policy, which it found before.
    fn start_from(&mut self, policy: &AnyPolicy) -> Result<()>;

    /// Goes on from a policy drawn at random.
    fn start_afresh(&mut self);

    /// Goes on from a policy that tries more than the present one, where it can.
    fn explore_again(&mut self) {}

    /// Lets who knows the problem's aim play from here on, or no longer; `false` where there is no one.
    fn lead(&mut self, _is_leading: bool) -> bool {
        false
    }

    /// Whether a policy that was saved could be one of its own.
    fn fits(&self, _: &AnyPolicy) -> bool {
        true
    }
}

impl fmt::Debug for dyn Learner {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Learner").finish_non_exhaustive()
    }
}

/// The options of a learner, which make one for any environment.
pub trait MakeLearner: fmt::Debug + Send + Sync {
    /// Its registered name.
    fn name(&self) -> &str;

    /// A learner in the environments of a context.
    fn make(&self, context: LearnerContext) -> Result<Box<dyn Learner>>;

    /// Every option as it is in force in an environment.
    fn table(&self, env: &EnvSpec) -> Table;

    /// Whether it learns from batches of steps under one policy, which workers can play.
    fn is_batched(&self) -> bool {
        false
    }

    /// Whether it can learn in an environment.
    fn check(&self, _env: &EnvSpec) -> Result<()> {
        Ok(())
    }
}

/// Where a learner learns.
#[derive(Debug)]
pub struct LearnerContext<'a> {
    /// The environment as the problem has it.
    pub env: &'a EnvSpec,
    /// The environments to play in at once, alike; they measure what the constraints look at.
    pub envs: Vec<Box<dyn Environment>>,
    /// γ.
    pub gamma: f64,
    /// Steps after which an episode is cut off in any case.
    pub limit: usize,
    /// Set where nothing is measured any more once an episode is cut off: after these steps, or as the environment says.
    pub finite_horizon: Option<Option<usize>>,
    /// Steps that all learning may take.
    pub samples: u64,
    /// What all of the search is for, where that is known.
    pub aim: Option<Arc<dyn Aim>>,
    /// Set where one policy is learnt for every λ, which it sees (actor-critics only): the share of the samples after which it
    /// only plays.
    pub augmented: Option<f64>,
    /// Set where workers play: the streams that `envs` show.
    pub streams: Option<LearnerStreams>,
    /// All random draws.
    pub rng: Generator,
}

/// The streams that workers play for a learner.
#[derive(Debug)]
pub struct LearnerStreams(pub(crate) Streams);

/// A kind of learner that problems can name.
pub type LearnerEntry = Registered<fn(&Given) -> OptionResult<Arc<dyn MakeLearner>>>;

/// The error for a policy that a learner can't go on from.
pub(crate) fn not_its_own(learner: &'static str) -> Error {
    Error::State { problem: format!("the policy is none that {learner} found") }
}

/// The long-term measurements of the last n episodes.
#[derive(Debug, Clone)]
pub struct EpisodeWindow {
    dim: usize,
    most: usize,
    sums: Vec<f64>,
    episodes: usize,
}

impl EpisodeWindow {
    /// Room for the last `most` episodes of `dim` measurements each.
    pub fn new(most: usize, dim: usize) -> Self {
        Self { dim, most, sums: vec![0.0; most * dim], episodes: 0 }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.episodes = 0;
    }

    /// Adds an episode's Σ γⁱ zᵢ.
    pub fn add(&mut self, sum: &[f64]) {
        if self.most > 0 {
            let place = self.episodes % self.most * self.dim;
            self.sums[place..place + self.dim].copy_from_slice(sum);
        }
        self.episodes += 1;
    }

    /// Episodes ever added.
    pub fn episodes(&self) -> usize {
        self.episodes
    }

    /// Whether all the last n are there.
    pub fn is_full(&self) -> bool {
        self.episodes >= self.most
    }

    /// The last n, or as many as there are.
    pub fn sums(&self) -> impl Iterator<Item = &[f64]> {
        self.sums.chunks_exact(self.dim.max(1)).take(self.episodes.min(self.most))
    }

    /// Their mean; 0 without any.
    pub fn mean(&self) -> Vec<f64> {
        self.mean_of_latest(self.most)
    }

    /// The last `count`, or as many as there are, in the order in which they were added.
    pub fn latest(&self, count: usize) -> impl ExactSizeIterator<Item = &[f64]> {
        let count = count.min(self.episodes).min(self.most);
        (self.episodes - count..self.episodes).map(|episode| {
            let place = episode % self.most * self.dim;
            &self.sums[place..place + self.dim]
        })
    }

    /// The mean of the last `count`, or of as many as there are; 0 without any.
    pub fn mean_of_latest(&self, count: usize) -> Vec<f64> {
        let latest = self.latest(count);
        let (share, mut mean) = (1.0 / latest.len() as f64, vec![0.0; self.dim]);
        latest.for_each(|sum| vector::add_scaled(&mut mean, share, sum));
        mean
    }

    pub(crate) fn save(&self, to: &mut Saver) {
        to.put(&self.episodes);
        to.put_all(&self.sums);
    }

    pub(crate) fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.episodes = from.get_count("a number of episodes")?;
        from.get_finite("an episode's measurement", &mut self.sums)
    }

    /// Their mean with its standard error.
    pub fn estimate(&self) -> Estimate {
        let mut estimate = Estimate::new(self.dim);
        self.sums().for_each(|sum| estimate.add(sum));
        estimate
    }
}
