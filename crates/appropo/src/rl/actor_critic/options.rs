use super::Collect;
use crate::nn::{Activation, Rule};
use crate::options::{setters, words};

words! {
    /// How the learning rate goes on.
    pub enum Schedule {
        /// as it is
        Constant = "constant",
        /// down to 0 in proportion to the steps that are left
        Linear = "linear",
    }
}

words! {
    /// What the critic predicts.
    pub enum Critic {
        /// the value of the scalar reward
        Reward = "reward",
        /// the long-term value of every measurement, a head an entry: a new λ combines them anew
        Measurements = "measurements",
    }
}

/// How a batch changes the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Update {
    /// One step along the policy gradient (Mnih et al. 2016).
    A2c,
    /// Steps that keep the policy near the one that played (Schulman et al. 2017).
    Ppo {
        /// How far the ratio of probabilities may move from 1.
        clip_range: f32,
        /// Passes over the batch.
        n_epochs: usize,
        /// Rows of a step.
        batch_size: usize,
        /// How far the policy may have moved when another pass begins; infinite where that is no matter.
        target_kl: f64,
    },
}

/// The settings of an actor-critic learner. [`A2cOptions`](super::A2cOptions) and [`PpoOptions`](super::PpoOptions) are what problems state.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ActorCriticOptions {
    /// Units of each hidden layer.
    pub net_arch: Vec<usize>,
    /// Their activation.
    pub activation: Activation,
    /// How a gradient becomes a step.
    pub optimizer: Rule,
    /// The learning rate.
    pub learning_rate: f64,
    /// How it goes on.
    pub learning_rate_schedule: Schedule,
    /// The discount that is learnt with, unless the problem's is less.
    pub gamma: f64,
    /// How much is played between updates.
    pub n_steps: Collect,
    /// λ of generalised advantages: 0 is one step ahead, 1 the whole episode.
    pub gae_lambda: f64,
    /// The weight of the policy's entropy.
    pub ent_coef: f32,
    /// The weight of the critic's error.
    pub vf_coef: f32,
    /// The largest norm of a gradient.
    pub max_grad_norm: f32,
    /// The weight of what is new among the observations, against returns of deviation 1.
    pub novelty_coef: f32,
    /// The weight of learning again from what went better than expected.
    pub imitation_coef: f32,
    /// Whether advantages are brought to mean 0 and deviation 1.
    pub normalize_advantage: bool,
    /// Whether observations that are numbers are brought to mean 0 and deviation 1.
    pub norm_obs: bool,
    /// Whether rewards are divided by the deviation of their discounted sums; needs `norm_value`.
    pub norm_reward: bool,
    /// Whether the critic predicts in units of that deviation, whatever rewards are.
    pub norm_value: bool,
    /// What the critic predicts.
    pub critic: Critic,
    /// The share of the latest updates whose weights are averaged where one policy is handed out.
    pub weight_averaging: f64,
    /// The rows up to which PPO learns from earlier batches, too, where one has fewer.
    pub reuse_rows: usize,
    /// How a batch changes the network.
    pub update: Update,
}

impl ActorCriticOptions {
    /// The paper's A2C: 128 ReLU units, learning rate 1e-2, one step of learning a batch, rewards as they are.
    pub fn a2c() -> Self {
        Self {
            net_arch: vec![128],
            activation: Activation::Relu,
            optimizer: Rule::ADAM,
            learning_rate: 1e-2,
            learning_rate_schedule: Schedule::Constant,
            gamma: 0.99,
            n_steps: Collect::Steps(5),
            gae_lambda: 1.0,
            ent_coef: 0.01,
            vf_coef: 0.5,
            max_grad_norm: 0.5,
            novelty_coef: 0.0,
            imitation_coef: 0.0,
            normalize_advantage: false,
            norm_obs: true,
            norm_reward: false,
            norm_value: false,
            critic: Critic::Reward,
            weight_averaging: 0.0,
            reuse_rows: 0,
            update: Update::A2c,
        }
    }

    /// PPO with the usual settings.
    pub fn ppo() -> Self {
        Self {
            net_arch: vec![64, 64],
            activation: Activation::Tanh,
            learning_rate: 1e-3,
            n_steps: Collect::Steps(64),
            gae_lambda: 0.95,
            normalize_advantage: true,
            norm_reward: true,
            norm_value: true,
            weight_averaging: 0.1,
            reuse_rows: 2048,
            update: Update::Ppo { clip_range: 0.2, n_epochs: 10, batch_size: 64, target_kl: 0.02 },
            ..Self::a2c()
        }
    }
}

setters!(ActorCriticOptions {
    net_arch: Vec<usize>,
    activation: Activation,
    optimizer: Rule,
    learning_rate: f64,
    learning_rate_schedule: Schedule,
    gamma: f64,
    n_steps: Collect,
    gae_lambda: f64,
    ent_coef: f32,
    vf_coef: f32,
    max_grad_norm: f32,
    novelty_coef: f32,
    imitation_coef: f32,
    normalize_advantage: bool,
    norm_obs: bool,
    norm_reward: bool,
    norm_value: bool,
    critic: Critic,
    weight_averaging: f64,
    reuse_rows: usize,
    update: Update,
});

words! {
    /// How a gradient becomes a step.
    pub enum OptimizerKind {
        /// Kingma and Ba 2015
        Adam = "adam",
        /// as in the first A2C
        RmsProp = "rmsprop",
    }
}

impl From<OptimizerKind> for Rule {
    fn from(kind: OptimizerKind) -> Self {
        match kind {
            OptimizerKind::Adam => Rule::ADAM,
            OptimizerKind::RmsProp => Rule::RMS_PROP,
        }
    }
}
