use std::sync::Arc;

use super::SoftActorCritic;
use crate::env::{EnvSpec, Space};
use crate::error::{Error, Result};
use crate::options::{Kind, Options, Range, Table, options};
use crate::policy::Actions;
use crate::rl::actor_critic::MOST;
use crate::rl::{Learner, LearnerContext, LearnerEntry, MakeLearner};

options! {
    /// The options of soft actor-critic.
    pub struct SacOptions {
        /// The step size of the optimiser.
        learning_rate: f64 = Kind::Number(Range::POSITIVE), defaulted "0.001";
        /// Transitions that are remembered.
        buffer_size: usize = Kind::Count(1, 100_000_000), defaulted "1000000";
        /// The first steps, with actions drawn at random, before anything is learnt.
        learning_starts: usize = Kind::Count(1, MOST), defaulted "1000";
        /// Transitions of an update.
        batch_size: usize = Kind::Count(1, 65_536), defaulted "64";
        /// How far the critics that targets come from move towards those that learn, in an update.
        tau: f64 = Kind::Number(Range::SHARE), defaulted "0.005";
        /// The discount that is learnt with, unless the problem's is less.
        gamma: f64 = Kind::Number(Range::UNIT), defaulted "0.99";
        /// Steps played in each environment between updates; in all streams together where there are some.
        train_freq: usize = Kind::Count(1, MOST), defaulted "64";
        /// Updates after as many steps.
        gradient_steps: usize = Kind::Count(1, MOST), defaulted "64";
        /// The weight of entropy against returns of deviation 10; the first one where it is learnt.
        ent_coef: f64 = Kind::Number(Range::POSITIVE), defaulted "0.1";
        /// Whether the weight of entropy is learnt.
        learn_ent_coef: bool = Kind::Flag, defaulted "true";
        /// The entropy that its weight is learnt for; by default −1 for each number of an action, or half of the largest where actions are counted.
        target_entropy: Option<f64> = Kind::Number(Range::ANY), optional "-1";
        /// The weight of visits to what is new, against returns of deviation 10.
        novelty_coef: f64 = Kind::Number(Range::FROM_ZERO), defaulted "1";
        /// Units of each hidden layer.
        net_arch: Vec<usize> = Kind::Counts(1, 65_536), defaulted "[64, 64]";
        /// Networks that learn the same, of which the most pessimistic is believed; by default 1 where actions are counted, or 2 where they are numbers.
        n_critics: Option<usize> = Kind::Count(1, 16), optional "2";
    }
}

pub(in crate::rl) static ENTRY: LearnerEntry = LearnerEntry {
    name: "sac",
    about: "networks learnt by soft actor-critic from every step of every policy: the default where actions are numbers",
    keys: SacOptions::KEYS,
    read: |given| Ok(Arc::new(SacOptions::read(given)?)),
};

impl MakeLearner for SacOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn make(&self, context: LearnerContext) -> Result<Box<dyn Learner>> {
        let LearnerContext { envs, gamma, limit, finite_horizon, streams, rng, .. } = context;
        let learner = SoftActorCritic::new(envs, gamma, limit, self.clone(), rng)?.in_streams(streams);
        Ok(Box::new(match finite_horizon {
            Some(horizon) => learner.finite_horizon(horizon),
            None => learner,
        }))
    }

    fn table(&self, env: &EnvSpec) -> Table {
        let (target_entropy, n_critics) =
            (Some(self.entropy(env.actions())), Some(self.critics(env.actions())));
        Options::table(&Self { target_entropy, n_critics, ..self.clone() })
    }

    fn is_batched(&self) -> bool {
        true
    }

    fn check(&self, env: &EnvSpec) -> Result<()> {
        actions(env.actions()).map(drop)
    }
}

impl SacOptions {
    /// What the weight of entropy is learnt for.
    pub(super) fn entropy(&self, actions: &Space) -> f64 {
        let by_default = match actions {
            Space::Discrete(count) => SHARE_OF_LARGEST * (*count as f64).ln(),
            Space::Continuous(bounds) => -(bounds.len() as f64),
        };
        self.target_entropy.unwrap_or(by_default)
    }

    /// Pessimism is for actors that climb on what a critic overrates. One that sums over all actions does not, and is kept
    /// from trying what it is not sure of.
    pub(super) fn critics(&self, actions: &Space) -> usize {
        self.n_critics.unwrap_or(if actions.count().is_some() { 1 } else { 2 })
    }
}

/// The part of the largest entropy that is kept where actions are counted.
const SHARE_OF_LARGEST: f64 = 0.5;

/// How a network's outputs become actions of a space, unless they are numbers without bounds.
pub(crate) fn actions(space: &Space) -> Result<Actions> {
    let is_finite = |(low, high): &(f64, f64)| low.is_finite() && high.is_finite() && low <= high;
    match space {
        Space::Discrete(_) => Ok(Actions::Categorical),
        Space::Continuous(bounds) if bounds.iter().all(is_finite) => Ok(Actions::Squashed(bounds.clone())),
        Space::Continuous(_) => Err(Error::Unsuitable {
            learner: "soft actor-critic",
            needs: "actions that can be counted, or numbers within bounds",
            instead: "\"ppo\" or \"a2c\"",
        }),
    }
}
