//! Actor-critic learning: a policy and its value in one network, improved batch by batch.

mod a2c;
mod batch;
mod ppo;

pub use a2c::A2cOptions;
pub(super) use a2c::ENTRY as A2C_ENTRY;
pub(super) use ppo::ENTRY as PPO_ENTRY;
pub use ppo::PpoOptions;

use std::ops::Range;
use std::sync::Arc;

use super::{Episode, EpisodeWindow, Learner, LearnerContext, not_its_own};
use crate::env::{Environment, Space, Status};
use crate::error::{Result, dimension, finite, in_range};
use crate::nn::{self, Activation, Gains, Head, Inputs, Mlp, Optimizer, Rule, Scratch, Shape};
use crate::options::{setters, words};
use crate::policy::{Actions, AnyPolicy, NetworkPolicy, gaussian_log_density, softmax};
use crate::random::Generator;
use crate::vector;

use crate::state::{Checkpoint, Loader, Saver, misfit};
use batch::Batch;
pub use batch::Collect;

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
    },
}

/// The settings of an actor-critic learner. [`A2cOptions`] and [`PpoOptions`] are what problems state.
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
    /// Whether advantages are brought to mean 0 and deviation 1.
    pub normalize_advantage: bool,
    /// What the critic predicts.
    pub critic: Critic,
    /// How a batch changes the network.
    pub update: Update,
}

impl ActorCriticOptions {
    /// The paper's A2C: 128 ReLU units, learning rate 1e-2, one step of learning a batch.
    pub fn a2c() -> Self {
        Self {
            net_arch: vec![128],
            activation: Activation::Relu,
            optimizer: Rule::ADAM,
            learning_rate: 1e-2,
            n_steps: Collect::Steps(5),
            gae_lambda: 1.0,
            ent_coef: 0.01,
            vf_coef: 0.5,
            max_grad_norm: 0.5,
            normalize_advantage: false,
            critic: Critic::Reward,
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
            update: Update::Ppo { clip_range: 0.2, n_epochs: 10, batch_size: 64 },
            ..Self::a2c()
        }
    }
}

setters!(ActorCriticOptions {
    net_arch: Vec<usize>,
    activation: Activation,
    optimizer: Rule,
    learning_rate: f64,
    n_steps: Collect,
    gae_lambda: f64,
    ent_coef: f32,
    vf_coef: f32,
    max_grad_norm: f32,
    normalize_advantage: bool,
    critic: Critic,
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

/// The most of any count that an option of a learner may be.
pub(super) const MOST: u64 = 10_000_000;

/// An actor-critic learner with the parallel worlds that it plays in.
#[derive(Debug)]
pub struct ActorCritic {
    options: ActorCriticOptions,
    gamma: f32,
    /// Whether nothing is measured any more when an episode is cut off.
    is_finite_horizon: bool,
    /// The steps after which that happens, as far as they are known.
    horizon: Option<usize>,
    network: Arc<Mlp>,
    actions: Actions,
    /// The network's parameters, followed by those of `actions`.
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    optimizer: Optimizer,
    scratch: Scratch,
    /// For one row besides a batch.
    single: Scratch,
    episodes: Vec<Episode>,
    batch: Batch,
    /// Rows of the batch in the order in which they are learnt from.
    order: Vec<u32>,
    /// Inputs of rows on their way through the network.
    inputs: Vec<f32>,
    action: Vec<f64>,
    weights: Vec<f32>,
    rng: Generator,
}

/// Rows that pass through the network at once.
const ROWS: usize = 256;

impl ActorCritic {
    /// A learner that plays in these worlds, which are alike. Episodes are cut off after `limit` steps.
    pub fn new(
        worlds: Vec<Box<dyn Environment>>,
        gamma: f64,
        limit: usize,
        options: ActorCriticOptions,
        rng: Generator,
    ) -> Result<Self> {
        in_range("worlds", worlds.len() as f64, !worlds.is_empty(), "1 or more")?;
        in_range("trace", options.gae_lambda, (0.0..=1.0).contains(&options.gae_lambda), "between 0 and 1")?;
        in_range("discount", gamma, (0.0..=1.0).contains(&gamma), "between 0 and 1")?;
        if let Update::Ppo { clip_range: clip, batch_size: minibatch, .. } = options.update {
            in_range("clip", clip.into(), clip > 0.0, "more than 0")?;
            in_range("minibatch", minibatch as f64, minibatch > 0, "1 or more")?;
        }
        let (observations, space) = (worlds[0].observations(), worlds[0].actions());
        if let Space::Continuous(bounds) = &space
            && let Some((low, high)) = bounds.iter().find(|(low, high)| !(low <= high))
        {
            in_range("the lower bound of an action", *low, false, &format!("at most {high}"))?;
        }
        let dim = worlds[0].measures().dim();
        let inputs = match &observations {
            Space::Discrete(count) => Inputs::OneHot(*count),
            Space::Continuous(bounds) => Inputs::Vector(bounds.len()),
        };
        let heads = match options.critic {
            Critic::Reward => 1,
            Critic::Measurements => dim,
        };
        let policy = space.count().unwrap_or(space.entries());
        let shape = Shape {
            inputs,
            hidden: options.net_arch.clone(),
            activation: options.activation,
            policy,
            value: heads,
        };
        let network = Arc::new(Mlp::new(shape)?);
        let actions = Actions::of(&space);
        let count = network.parameters() + actions.parameters();
        let (rows, num_envs) = match options.n_steps {
            Collect::Steps(steps) => (steps.saturating_mul(worlds.len()), worlds.len()),
            Collect::Episodes(episodes) => (episodes.saturating_mul(limit), 1),
        };
        in_range(
            "rows of a batch",
            rows as f64,
            (1..=10_000_000).contains(&rows),
            "between 1 and 10,000,000",
        )?;
        let chunk = rows.min(ROWS);
        let mut learner = Self {
            gamma: gamma as f32,
            is_finite_horizon: false,
            horizon: None,
            parameters: vec![0.0; count],
            gradient: vec![0.0; count],
            optimizer: Optimizer::new(options.optimizer, options.learning_rate, count)?,
            scratch: network.scratch(chunk.max(num_envs)),
            single: network.scratch(1),
            batch: Batch::new(rows, num_envs, observations.entries(), space.entries(), heads),
            order: Vec::with_capacity(rows),
            inputs: Vec::with_capacity(chunk * observations.entries()),
            action: vec![0.0; space.entries()],
            weights: vec![0.0; heads],
            episodes: worlds.into_iter().map(|world| Episode::new(world, gamma, limit)).collect(),
            rng,
            network,
            actions,
            options,
        };
        learner.start_afresh();
        Ok(learner)
    }

    /// A learner as the options of problems make it.
    fn in_scene(context: LearnerContext, options: ActorCriticOptions) -> Result<Box<dyn Learner>> {
        let LearnerContext { envs, gamma, limit, finite_horizon, rng, .. } = context;
        let learner = Self::new(envs, gamma, limit, options, rng)?;
        Ok(Box::new(match finite_horizon {
            Some(horizon) => learner.finite_horizon(horizon),
            None => learner,
        }))
    }

    /// The same learner where nothing is measured any more when an episode is cut off, after `horizon` steps or as the
    /// world says. What the critic predicts is multiplied by the part of the longest episode that is left: a policy need
    /// not see the time for its value to end with it.
    pub fn finite_horizon(self, horizon: Option<usize>) -> Self {
        Self { is_finite_horizon: true, horizon, ..self }
    }

    /// Plays until the batch is full.
    fn play(&mut self, weights: &[f64], window: &mut EpisodeWindow) -> Result<()> {
        let (entries, heads) = (self.episodes[0].observation().len(), self.weights.len());
        let (width, policy) = (self.action.len(), self.network.shape().policy);
        let num_envs = self.batch.num_envs;
        let (parameters, deviations) = self.parameters.split_at(self.network.parameters());
        let mut unfinished = match self.options.n_steps {
            Collect::Steps(_) => usize::MAX,
            Collect::Episodes(count) => count,
        };
        let (batch, horizon, gamma) = (&mut self.batch, self.horizon, self.gamma);
        let left = |steps: usize| horizon.map_or(1.0, |horizon| part_left(horizon, steps, gamma));
        batch.rows = 0;
        while unfinished > 0 && batch.rows < batch.advantages.len() {
            let first = batch.rows;
            for (env, episode) in self.episodes[..num_envs].iter_mut().enumerate() {
                episode.start_if_over(&mut self.rng)?;
                let row = first + env;
                narrow(episode.observation(), &mut batch.inputs[row * entries..(row + 1) * entries]);
                batch.left[row] = left(episode.steps());
            }
            let inputs = &batch.inputs[first * entries..(first + num_envs) * entries];
            self.network.forward(parameters, inputs, &mut self.scratch);
            for (place, value) in self.scratch.value.output.iter().enumerate() {
                batch.values[first * heads + place] = batch.left[first + place / heads] * value;
            }
            for (env, episode) in self.episodes[..num_envs].iter_mut().enumerate() {
                let row = first + env;
                let outputs = &mut self.scratch.policy.output[env * policy..(env + 1) * policy];
                let drawn = &mut batch.actions[row * width..(row + 1) * width];
                batch.log_probabilities[row] = self.actions.draw(outputs, deviations, &mut self.rng, drawn);
                self.actions.cut(drawn, &mut self.action);
                episode.submit_action(&self.action)?;
            }
            for (env, episode) in self.episodes[..num_envs].iter_mut().enumerate() {
                let row = first + env;
                self.actions.cut(&batch.actions[row * width..(row + 1) * width], &mut self.action);
                batch.status[row] = episode.step(&self.action, &mut self.rng)?;
                if batch.status[row] == Status::CutOff && self.is_finite_horizon {
                    batch.status[row] = Status::Ended;
                    self.horizon = self.horizon.max(Some(episode.steps()));
                }
                let gains = &mut batch.gains[row * heads..(row + 1) * heads];
                match self.options.critic {
                    Critic::Reward => gains[0] = vector::dot(weights, episode.z()) as f32,
                    Critic::Measurements => narrow(episode.z(), gains),
                }
                if batch.status[row] != Status::Running {
                    window.add(episode.sum());
                    unfinished -= 1;
                }
                // The next row of this env is not the state that this step led to.
                let is_last = row + num_envs >= batch.advantages.len();
                if batch.status[row] == Status::CutOff || (batch.status[row] == Status::Running && is_last) {
                    self.inputs.clear();
                    self.inputs.extend(episode.observation().iter().map(|v| *v as f32));
                    self.network.forward(parameters, &self.inputs, &mut self.single);
                    let left = left(episode.steps());
                    for (after, value) in batch.after[row * heads..].iter_mut().zip(&self.single.value.output)
                    {
                        *after = left * value;
                    }
                }
            }
            batch.rows += num_envs;
        }
        Ok(())
    }

    /// Adds up the gradient of the mean loss over rows `order[range]`. `pull` is the derivative of a row's policy
    /// loss by ln π(a|s), given ln π(a|s) now, the same when the action was drawn, and the advantage.
    fn accumulate(&mut self, range: Range<usize>, pull: impl Fn(f32, f32, f32) -> f32) {
        let Self { batch, network, actions, scratch, options, .. } = self;
        let (entries, heads, width) =
            (self.episodes[0].observation().len(), self.weights.len(), self.action.len());
        let outputs = network.shape().policy;
        let share = 1.0 / range.len() as f32;
        let (gradient, deviation_gradient) = self.gradient.split_at_mut(network.parameters());
        let (parameters, deviations) = self.parameters.split_at(network.parameters());
        for rows in self.order[range].chunks(ROWS) {
            self.inputs.clear();
            for row in rows.iter().map(|row| *row as usize) {
                self.inputs.extend_from_slice(&batch.inputs[row * entries..(row + 1) * entries]);
            }
            network.forward(parameters, &self.inputs, scratch);
            for (place, row) in rows.iter().map(|row| *row as usize).enumerate() {
                let (policy, pulled) = head_row(&mut scratch.policy, place, outputs);
                let action = &batch.actions[row * width..(row + 1) * width];
                let (before, advantage) = (batch.log_probabilities[row], batch.advantages[row]);
                let pull = |now: f32| share * pull(now, before, advantage);
                let entropy = share * options.ent_coef;
                match actions {
                    Actions::Categorical => pull_logits(policy, pulled, action[0] as usize, pull, entropy),
                    Actions::Gaussian(_) => {
                        pull_means(policy, pulled, (deviations, deviation_gradient), action, pull, entropy)
                    }
                }
                let (values, pulled) = head_row(&mut scratch.value, place, heads);
                let targets = &batch.targets[row * heads..(row + 1) * heads];
                let left = batch.left[row];
                for head in 0..heads {
                    pulled[head] = share * options.vf_coef * left * (left * values[head] - targets[head]);
                }
            }
            network.backward(parameters, &self.inputs, scratch, gradient);
        }
    }

    /// Follows the gradient.
    fn step(&mut self) -> Result<()> {
        let length = nn::clip(&mut self.gradient, self.options.max_grad_norm);
        finite("the length of a gradient", &[f64::from(length)])?;
        self.optimizer.step(&mut self.parameters, &self.gradient);
        self.gradient.fill(0.0);
        Ok(())
    }
}

/// The part of what can still be measured after so many steps of an episode, at most 1.
pub(super) fn part_left(horizon: usize, steps: usize, gamma: f32) -> f32 {
    let (horizon, left) = (horizon as f32, horizon.saturating_sub(steps) as f32);
    if gamma < 1.0 { (1.0 - gamma.powf(left)) / (1.0 - gamma.powf(horizon)) } else { left / horizon }
}

/// One row of a head's outputs, and of their gradient.
fn head_row(head: &mut Head, row: usize, width: usize) -> (&mut [f32], &mut [f32]) {
    let range = row * width..(row + 1) * width;
    (&mut head.output[range.clone()], &mut head.gradient[range])
}

/// Writes the gradient by the logits of a categorical policy; `policy` holds them.
fn pull_logits(
    policy: &mut [f32],
    pulled: &mut [f32],
    action: usize,
    pull: impl Fn(f32) -> f32,
    entropy: f32,
) {
    softmax(policy);
    let logarithm = |p: f32| p.max(f32::MIN_POSITIVE).ln();
    let disorder: f32 = -policy.iter().map(|&p| p * logarithm(p)).sum::<f32>();
    let pull = pull(logarithm(policy[action]));
    for (i, &p) in policy.iter().enumerate() {
        let chosen = if i == action { 1.0 } else { 0.0 };
        pulled[i] = pull * (chosen - p) + entropy * p * (logarithm(p) + disorder);
    }
}

/// Writes the gradient by the means of a normal policy, and adds that by its logarithmic deviations.
fn pull_means(
    means: &[f32],
    pulled: &mut [f32],
    (deviations, deviation_gradient): (&[f32], &mut [f32]),
    action: &[f32],
    pull: impl Fn(f32) -> f32,
    entropy: f32,
) {
    let pull = pull(gaussian_log_density(means, deviations, action));
    for i in 0..means.len() {
        let deviation = deviations[i].exp();
        let away = (action[i] - means[i]) / deviation;
        pulled[i] = pull * away / deviation;
        deviation_gradient[i] += pull * (away * away - 1.0) - entropy;
    }
}

impl Learner for ActorCritic {
    fn learn(&mut self, weights: &[f64], window: &mut EpisodeWindow) -> Result<usize> {
        dimension("reward weights", weights.len(), self.episodes[0].z().len())?;
        match self.options.critic {
            Critic::Reward => self.weights[0] = 1.0,
            Critic::Measurements => narrow(weights, &mut self.weights),
        }
        self.play(weights, window)?;
        self.batch.estimate_advantages(self.gamma, self.options.gae_lambda as f32, &self.weights);
        self.order.clear();
        self.order.extend(0..self.batch.rows as u32);
        match self.options.update {
            Update::A2c => self.a2c_update()?,
            Update::Ppo { clip_range, n_epochs, batch_size } => {
                self.ppo_update(clip_range, n_epochs, batch_size)?
            }
        }
        Ok(self.batch.rows)
    }

    fn policy(&self) -> AnyPolicy {
        NetworkPolicy::of(&self.network, &self.actions, &self.parameters).into()
    }

    fn start_from(&mut self, policy: &AnyPolicy) -> Result<()> {
        let AnyPolicy::Network(policy) = policy else { return Err(not_its_own("an actor-critic")) };
        dimension("policy parameters", policy.parameters().len(), self.parameters.len())?;
        self.parameters.copy_from_slice(policy.parameters());
        self.optimizer.reset();
        self.episodes.iter_mut().for_each(Episode::leave);
        Ok(())
    }

    fn start_afresh(&mut self) {
        let (parameters, deviations) = self.parameters.split_at_mut(self.network.parameters());
        self.network.initialize(&Gains::default(), parameters, &mut self.rng);
        deviations.fill(0.0);
        self.optimizer.reset();
        self.episodes.iter_mut().for_each(Episode::leave);
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        matches!(policy, AnyPolicy::Network(policy)
            if policy.network().shape() == self.network.shape() && *policy.actions() == self.actions)
    }
}

impl Checkpoint for ActorCritic {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put_shared(&self.network);
        to.put_all(&self.parameters);
        self.optimizer.save(to);
        to.put(&self.rng);
        to.put(&self.horizon);
        self.episodes.iter().try_for_each(|episode| episode.save(to))
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        // Policies found before share the network with those to come.
        let network = from.get_shared::<Mlp>()?;
        if network.shape() != self.network.shape() {
            return Err(misfit("a network has another shape"));
        }
        self.network = network;
        from.get_finite("a parameter", &mut self.parameters)?;
        self.optimizer.load(from)?;
        self.rng = from.get()?;
        self.horizon = from.get_where("a horizon", |horizon| *horizon != Some(0))?;
        self.episodes.iter_mut().try_for_each(|episode| episode.load(from))
    }
}

fn narrow(from: &[f64], to: &mut [f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the same gain in every step, values are in proportion to the discounted steps that are left.
    #[test]
    fn values_end_with_the_episode() {
        for gamma in [1.0, 0.9, 0.5_f32] {
            let value = |steps: usize| (steps..7).map(|i| gamma.powi((i - steps) as i32)).sum::<f32>();
            for steps in 0..=7 {
                let expected = value(steps) / value(0);
                assert!((part_left(7, steps, gamma) - expected).abs() < 1e-6, "{gamma}, {steps}");
            }
            assert_eq!((part_left(7, 0, gamma), part_left(7, 7, gamma)), (1.0, 0.0));
        }
    }
}
