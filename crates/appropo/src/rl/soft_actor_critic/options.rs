use std::sync::Arc;

use super::SoftActorCritic;
use crate::env::{EnvSpec, Space};
use crate::error::{Error, Result};
use crate::options::{Kind, Options, Range, Table, options};
use crate::rl::actor_critic::MOST;
use crate::rl::{Learner, LearnerContext, LearnerEntry, MakeLearner};

options! {
    /// The options of soft actor-critic.
    pub struct SacOptions {
        /// The step size of the optimiser.
        learning_rate: f64 = Kind::Number(Range::POSITIVE), defaulted "0.0003";
        /// Transitions that are remembered.
        buffer_size: usize = Kind::Count(1, 100_000_000), defaulted "1000000";
        /// The first steps, with actions drawn at random, before anything is learnt.
        learning_starts: usize = Kind::Count(1, MOST), defaulted "1000";
        /// Transitions of an update.
        batch_size: usize = Kind::Count(1, 65_536), defaulted "128";
        /// How far the critics that targets come from move towards those that learn, in an update.
        tau: f64 = Kind::Number(Range::SHARE), defaulted "0.005";
        /// The discount that is learnt with, unless the problem's is less.
        gamma: f64 = Kind::Number(Range::UNIT), defaulted "0.99";
        /// Steps played in each environment between updates.
        train_freq: usize = Kind::Count(1, MOST), defaulted "64";
        /// Updates after as many steps.
        gradient_steps: usize = Kind::Count(1, MOST), defaulted "64";
        /// The weight of entropy against returns of deviation 10; the first one where it is learnt.
        ent_coef: f64 = Kind::Number(Range::POSITIVE), defaulted "0.1";
        /// Whether the weight of entropy is learnt.
        learn_ent_coef: bool = Kind::Flag, defaulted "true";
        /// The entropy that its weight is learnt for; by default −1 for each number of an action.
        target_entropy: Option<f64> = Kind::Number(Range::ANY), optional "-1";
        /// Units of each hidden layer.
        net_arch: Vec<usize> = Kind::Counts(1, 65_536), defaulted "[128, 128]";
        /// Networks that learn the same; the most pessimistic is believed.
        n_critics: usize = Kind::Count(1, 16), defaulted "2";
    }
}

pub(in crate::rl) static ENTRY: LearnerEntry = LearnerEntry {
    name: "sac",
    about: "networks learnt by soft actor-critic from every step of every policy; for actions that are numbers",
    keys: SacOptions::KEYS,
    read: |given| Ok(Arc::new(SacOptions::read(given)?)),
};

impl MakeLearner for SacOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn make(&self, context: LearnerContext) -> Result<Box<dyn Learner>> {
        let LearnerContext { envs, gamma, limit, finite_horizon, rng, .. } = context;
        let learner = SoftActorCritic::new(envs, gamma, limit, self.clone(), rng)?;
        Ok(Box::new(match finite_horizon {
            Some(horizon) => learner.finite_horizon(horizon),
            None => learner,
        }))
    }

    fn table(&self, env: &EnvSpec) -> Table {
        let target_entropy = Some(self.entropy(env.actions().entries()));
        Options::table(&Self { target_entropy, ..self.clone() })
    }

    fn check(&self, env: &EnvSpec) -> Result<()> {
        bounds(env.actions()).map(drop)
    }
}

impl SacOptions {
    /// What the weight of entropy is learnt for, with actions of so many numbers.
    pub(super) fn entropy(&self, width: usize) -> f64 {
        self.target_entropy.unwrap_or(-(width as f64))
    }
}

/// The bounds of actions that are numbers within bounds.
pub(super) fn bounds(actions: &Space) -> Result<&[(f64, f64)]> {
    let is_finite = |(low, high): &(f64, f64)| low.is_finite() && high.is_finite() && low <= high;
    match actions {
        Space::Continuous(bounds) if bounds.iter().all(is_finite) => Ok(bounds),
        _ => Err(Error::Unsuitable {
            learner: "soft actor-critic",
            needs: "actions that are numbers within bounds",
            instead: "\"ppo\" or \"a2c\"",
        }),
    }
}
