use std::sync::Arc;

use super::ActorCritic;
use super::{ActorCriticOptions, Collect, Critic, MOST, OptimizerKind, Schedule, Update};
use crate::env::EnvSpec;
use crate::error::Result;
use crate::nn::Activation;
use crate::options::{Kind, Options, Range, Table, options};
use crate::rl::{Learner, LearnerContext, LearnerEntry, MakeLearner};

options! {
    /// The options of advantage actor-critic.
    pub struct A2cOptions {
        /// The step size of the optimiser.
        learning_rate: f64 = Kind::Number(Range::POSITIVE), defaulted "0.003";
        /// How the learning rate goes on.
        learning_rate_schedule: Schedule = Kind::Word(Schedule::WORDS), defaulted "\"constant\"";
        /// The discount that is learnt with, unless the problem's is less: without one, the noise of a whole episode stands behind every action.
        gamma: f64 = Kind::Number(Range::UNIT), defaulted "0.99";
        /// Steps played in each environment between updates.
        n_steps: usize = Kind::Count(1, MOST), defaulted "16";
        /// λ of generalised advantages: 0 is one step ahead, 1 the whole episode.
        gae_lambda: f64 = Kind::Number(Range::UNIT), defaulted "0.9";
        /// The weight of the policy's entropy in the loss.
        ent_coef: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0.01";
        /// The weight of the critic's error in the loss.
        vf_coef: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0.5";
        /// The largest norm of a gradient.
        max_grad_norm: f64 = Kind::Number(Range::POSITIVE), defaulted "0.5";
        /// The weight of visits to what is new, against returns of deviation 1.
        novelty_coef: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0.3";
        /// The weight of learning again from kept steps that went better than expected, whatever λ they were played for.
        imitation_coef: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0.3";
        /// Whether advantages are brought to mean 0 and deviation 1.
        normalize_advantage: bool = Kind::Flag, defaulted "false";
        /// Whether observations that are numbers are brought to mean 0 and deviation 1.
        norm_obs: bool = Kind::Flag, defaulted "true";
        /// Whether rewards are divided by the deviation of their discounted sums.
        norm_reward: bool = Kind::Flag, defaulted "true";
        /// Units of each hidden layer.
        net_arch: Vec<usize> = Kind::Counts(1, 100_000), defaulted "[128]";
        /// The activation of hidden layers.
        activation_fn: Activation = Kind::Word(Activation::WORDS), defaulted "\"relu\"";
        /// How a gradient becomes a step.
        optimizer: OptimizerKind = Kind::Word(OptimizerKind::WORDS), defaulted "\"adam\"";
        /// What the critic predicts.
        critic: Critic = Kind::Word(Critic::WORDS), defaulted "\"reward\"";
        /// The share of the latest updates whose weights are averaged where an answer is one policy (`learned.iterates = false`); 0 takes the last.
        weight_averaging: f64 = Kind::Number(Range::UNIT), defaulted "0.1";
    }
}

pub(in crate::rl) static ENTRY: LearnerEntry = LearnerEntry {
    name: "a2c",
    about: "a network learnt by advantage actor-critic",
    keys: A2cOptions::KEYS,
    read: |given| Ok(Arc::new(A2cOptions::read(given)?)),
};

impl MakeLearner for A2cOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn is_batched(&self) -> bool {
        true
    }

    fn make(&self, context: LearnerContext) -> Result<Box<dyn Learner>> {
        let options = ActorCriticOptions {
            net_arch: self.net_arch.clone(),
            activation: self.activation_fn,
            optimizer: self.optimizer.into(),
            learning_rate: self.learning_rate,
            learning_rate_schedule: self.learning_rate_schedule,
            gamma: self.gamma,
            n_steps: Collect::Steps(self.n_steps),
            gae_lambda: self.gae_lambda,
            ent_coef: self.ent_coef as f32,
            vf_coef: self.vf_coef as f32,
            max_grad_norm: self.max_grad_norm as f32,
            novelty_coef: self.novelty_coef as f32,
            imitation_coef: self.imitation_coef as f32,
            normalize_advantage: self.normalize_advantage,
            norm_obs: self.norm_obs,
            norm_reward: self.norm_reward,
            norm_value: true,
            critic: self.critic,
            weight_averaging: self.weight_averaging,
            reuse_rows: 0,
            update: Update::A2c,
        };
        ActorCritic::for_context(context, options)
    }

    fn table(&self, _: &EnvSpec) -> Table {
        Options::table(self)
    }
}

impl ActorCritic {
    /// Advantage actor-critic (Mnih et al. 2016): one step along the gradient of ln π(a|s)·A over the batch.
    pub(super) fn a2c_update(&mut self) -> Result<()> {
        self.normalize_advantages();
        self.accumulate(0..self.order.len(), |_, _, advantage| -advantage);
        self.step()
    }
}
