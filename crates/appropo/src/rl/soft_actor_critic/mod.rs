//! Soft actor-critic (Haarnoja et al. 2018), with a critic of every measurement.
//!
//! What an actor does in the long run does not depend on what it is paid for. So the critics predict all measurements, and
//! the entropy as one more; a new λ weighs them anew, and every step of every policy is learnt from for good.

mod actor;
mod critics;
mod options;

pub(super) use options::ENTRY;
pub use options::SacOptions;

use super::actor_critic::part_left;
use super::frame::{ReturnScale, narrow};
use super::{Encoder, Episode, EpisodeWindow, Learner, Replay, Transition, not_its_own};
use crate::env::{Environment, Status};
use crate::error::{Result, dimension, in_range};
use crate::nn::{Optimizer, Rule};
use crate::policy::{AnyPolicy, NetworkPolicy};
use crate::random::{self, Generator};
use crate::state::{Checkpoint, Loader, Saver};
use actor::Actor;
use critics::{Critics, Rows};

/// A soft actor-critic with the parallel environments that it plays in.
#[derive(Debug)]
pub struct SoftActorCritic {
    options: SacOptions,
    gamma: f32,
    /// Whether nothing is measured any more when an episode is cut off.
    is_finite_horizon: bool,
    /// The steps after which that happens, as far as they are known.
    horizon: Option<usize>,
    episodes: Vec<Episode>,
    encoder: Encoder,
    returns: ReturnScale,
    replay: Replay,
    actor: Actor,
    critics: Critics,
    /// The logarithm of the weight of entropy.
    log_ent_coef: [f32; 1],
    ent_coef_optimizer: Optimizer,
    /// What each head of the critics counts for; entropy has the last one.
    weights: Vec<f32>,
    sizes: Vec<f32>,
    rng: Generator,
    batch: Batch,
    step: Step,
}

/// The rows of an update on their way through the networks.
#[derive(Debug, Default)]
struct Batch {
    places: Vec<usize>,
    inputs: Vec<f32>,
    next_inputs: Vec<f32>,
    rows: Vec<f32>,
    left: Vec<f32>,
    next_left: Vec<f32>,
    values: Vec<f32>,
    aims: Vec<f32>,
    slopes: Vec<f32>,
}

/// A step of all environments.
#[derive(Debug, Default)]
struct Step {
    /// Observations before the step, one after the other.
    observations: Vec<f32>,
    next: Vec<f32>,
    inputs: Vec<f32>,
    gains: Vec<f32>,
    action: Vec<f64>,
}

/// The deviation that returns are brought to, so that steps pay about as much as they have entropy.
const RETURNS: f32 = 10.0;

impl SoftActorCritic {
    /// A learner that plays in these environments, which are alike. Episodes are cut off after `limit` steps.
    pub fn new(
        envs: Vec<Box<dyn Environment>>,
        gamma: f64,
        limit: usize,
        options: SacOptions,
        mut rng: Generator,
    ) -> Result<Self> {
        in_range("environments", envs.len() as f64, !envs.is_empty(), "1 or more")?;
        let (observations, space, dim) =
            (envs[0].observations(), envs[0].actions(), envs[0].measures().dim());
        let bounds = options::bounds(&space)?;
        let (encoder, width) = (Encoder::new(&observations), bounds.len());
        let rows = options.batch_size.max(envs.len());
        let rate = options.learning_rate;
        let shape = (encoder.inputs().width() + width, dim + 1);
        let critics =
            Critics::new(shape, &options.net_arch, options.n_critics, (rate, options.tau), rows, &mut rng)?;
        let mut learner = Self {
            gamma: gamma.min(options.gamma) as f32,
            is_finite_horizon: false,
            horizon: None,
            returns: ReturnScale::new(dim, envs.len()),
            replay: Replay::new(options.buffer_size, (observations.entries(), width, dim)),
            actor: Actor::new(encoder.inputs(), &options.net_arch, bounds, rate, rows)?,
            critics,
            encoder,
            log_ent_coef: [0.0],
            ent_coef_optimizer: Optimizer::new(Rule::ADAM, rate, 1)?,
            weights: vec![0.0; dim + 1],
            sizes: Vec::new(),
            episodes: envs.into_iter().map(|env| Episode::new(env, gamma, limit)).collect(),
            rng,
            batch: Batch::default(),
            step: Step { gains: vec![0.0; dim], action: vec![0.0; width], ..Step::default() },
            options,
        };
        learner.start_afresh();
        Ok(learner)
    }

    /// The same learner where nothing is measured any more when an episode is cut off, after `horizon` steps or as the
    /// environment says.
    pub fn finite_horizon(self, horizon: Option<usize>) -> Self {
        Self { is_finite_horizon: true, horizon, ..self }
    }

    fn ent_coef(&self) -> f32 {
        self.log_ent_coef[0].exp()
    }

    fn left(&self, steps: usize) -> f32 {
        self.horizon.map_or(1.0, |horizon| part_left(horizon, steps, self.gamma))
    }

    /// Brings all heads to like sizes, and the weights of the measurements to length 1 in these.
    fn weigh(&mut self, weights: &[f64]) {
        let entropy = self.actor.width() as f32 / (1.0 - self.gamma).max(1e-3);
        self.sizes.clear();
        self.sizes.extend((0..weights.len()).map(|k| self.returns.deviation(k) as f32).chain([entropy]));
        self.sizes.iter_mut().for_each(|size| *size /= RETURNS);
        self.critics.resize(&self.sizes);
        for ((to, weight), size) in self.weights.iter_mut().zip(weights).zip(self.critics.sizes()) {
            *to = *weight as f32 * size;
        }
        let measured = &mut self.weights[..weights.len()];
        let length = measured.iter().map(|weight| weight * weight).sum::<f32>().sqrt();
        measured.iter_mut().for_each(|weight| *weight /= length.max(f32::MIN_POSITIVE));
    }

    fn is_learning(&self) -> bool {
        self.replay.len() >= self.options.learning_starts.min(self.options.buffer_size)
    }

    /// Takes a step in every environment.
    fn play(&mut self, window: &mut EpisodeWindow) -> Result<()> {
        let (width, is_learning) = (self.actor.width(), self.is_learning());
        self.step.observations.clear();
        self.step.inputs.clear();
        for episode in &mut self.episodes {
            episode.start_if_over(&mut self.rng)?;
            let start = self.step.observations.len();
            self.step.observations.extend(episode.observation().iter().map(|v| *v as f32));
            let observation = &self.step.observations[start..];
            self.encoder.add(observation);
            self.encoder.push(observation, &mut self.step.inputs);
        }
        self.actor.draw(&self.step.inputs, &mut self.rng);
        if !is_learning {
            let drawn = self.actor.drawn.iter_mut();
            drawn.for_each(|drawn| *drawn = 2.0 * random::unit(&mut self.rng) as f32 - 1.0);
        }
        for (env, drawn) in self.actor.drawn.chunks_exact(width).enumerate() {
            self.actor.actions.cut(drawn, &mut self.step.action);
            self.episodes[env].submit_action(&self.step.action)?;
        }
        let entries = self.step.observations.len() / self.episodes.len();
        for (env, drawn) in self.actor.drawn.chunks_exact(width).enumerate() {
            let episode = &mut self.episodes[env];
            let steps = episode.steps();
            self.actor.actions.cut(drawn, &mut self.step.action);
            let mut status = episode.step(&self.step.action, &mut self.rng)?;
            if status == Status::CutOff && self.is_finite_horizon {
                status = Status::Ended;
                self.horizon = self.horizon.max(Some(episode.steps()));
            }
            self.step.next.clear();
            self.step.next.extend(episode.observation().iter().map(|v| *v as f32));
            narrow(episode.z(), &mut self.step.gains);
            self.returns.add(env, &self.step.gains, self.gamma.into(), status != Status::Running);
            self.replay.add(&Transition {
                observation: &self.step.observations[env * entries..(env + 1) * entries],
                action: drawn,
                gains: &self.step.gains,
                next: &self.step.next,
                steps,
                ended: status == Status::Ended,
            });
            if status != Status::Running && is_learning {
                window.add(episode.sum());
            }
        }
        // An episode that began with random actions says nothing of the policy.
        if !is_learning && self.is_learning() {
            self.leave_episodes();
        }
        Ok(())
    }

    fn leave_episodes(&mut self) {
        self.episodes.iter_mut().for_each(Episode::leave);
    }

    /// One step of learning for the critics, the actor and the weight of entropy.
    fn update(&mut self) -> Result<()> {
        self.draw_batch();
        let (ent_coef, width) = (self.ent_coef(), self.actor.width());
        let Self { actor, critics, encoder, replay, batch, weights, rng, .. } = self;
        if let Some(last) = weights.last_mut() {
            *last = ent_coef * critics.sizes()[critics.sizes().len() - 1];
        }

        actor.draw(&batch.next_inputs, rng);
        batch.rows.clear();
        for (place, action) in batch.places.iter().zip(actor.drawn.chunks_exact(width)) {
            encoder.push_dense(replay.get(*place).next, &mut batch.rows);
            batch.rows.extend_from_slice(action);
        }
        batch.values.clear();
        critics.values(Rows { rows: &batch.rows, left: &batch.next_left, weights }, &mut batch.values);
        batch.aims.clear();
        let heads = weights.len();
        for (row, place) in batch.places.iter().enumerate() {
            let transition = replay.get(*place);
            let gamma = if transition.ended { 0.0 } else { self.gamma };
            let (values, sizes) = (&batch.values[row * heads..(row + 1) * heads], critics.sizes());
            for (k, gain) in transition.gains.iter().enumerate() {
                batch.aims.push(gain / sizes[k] + gamma * values[k]);
            }
            let entropy = -batch.next_left[row] * actor.log_densities[row] / sizes[heads - 1];
            batch.aims.push(gamma * (entropy + values[heads - 1]));
        }

        batch.rows.clear();
        for place in &batch.places {
            let transition = replay.get(*place);
            encoder.push_dense(transition.observation, &mut batch.rows);
            batch.rows.extend_from_slice(transition.action);
        }
        critics.learn(Rows { rows: &batch.rows, left: &batch.left, weights }, &batch.aims);

        actor.draw(&batch.inputs, rng);
        let row = batch.rows.len() / batch.places.len();
        for (row, action) in batch.rows.chunks_exact_mut(row).zip(actor.drawn.chunks_exact(width)) {
            let start = row.len() - width;
            row[start..].copy_from_slice(action);
        }
        critics.slopes(Rows { rows: &batch.rows, left: &batch.left, weights }, width, &mut batch.slopes);
        actor.learn(&batch.inputs, &batch.slopes, ent_coef)?;

        if self.options.learn_ent_coef {
            let target = self.options.entropy(width) as f32;
            let entropy = -actor.log_densities.iter().sum::<f32>() / actor.log_densities.len() as f32;
            self.ent_coef_optimizer.step(&mut self.log_ent_coef, &[entropy - target]);
        }
        Ok(())
    }

    /// Draws the transitions of an update.
    fn draw_batch(&mut self) {
        let batch = &mut self.batch;
        batch.places.clear();
        batch.inputs.clear();
        batch.next_inputs.clear();
        for _ in 0..self.options.batch_size {
            let place = self.replay.draw(&mut self.rng);
            let transition = self.replay.get(place);
            batch.places.push(place);
            self.encoder.push(transition.observation, &mut batch.inputs);
            self.encoder.push(transition.next, &mut batch.next_inputs);
        }
        self.batch.left.clear();
        self.batch.next_left.clear();
        for row in 0..self.batch.places.len() {
            let steps = self.replay.get(self.batch.places[row]).steps;
            let (left, next_left) = (self.left(steps), self.left(steps + 1));
            self.batch.left.push(left);
            self.batch.next_left.push(next_left);
        }
    }
}

impl Learner for SoftActorCritic {
    fn learn(&mut self, weights: &[f64], window: &mut EpisodeWindow) -> Result<usize> {
        dimension("reward weights", weights.len(), self.step.gains.len())?;
        (0..self.options.train_freq).try_for_each(|_| self.play(window))?;
        self.weigh(weights);
        if self.is_learning() {
            (0..self.options.gradient_steps).try_for_each(|_| self.update())?;
        }
        Ok(self.options.train_freq * self.episodes.len())
    }

    fn policy(&self) -> AnyPolicy {
        let Actor { network, actions, parameters, .. } = &self.actor;
        let mut policy = NetworkPolicy::of(network, actions, parameters);
        if let Some(layer) = network.layers().first() {
            let (weights, biases) = layer.of_mut(policy.parameters_mut());
            self.encoder.fold(weights, layer.outputs, 0..layer.outputs, biases);
        }
        policy.into()
    }

    fn start_from(&mut self, policy: &AnyPolicy) -> Result<()> {
        let AnyPolicy::Network(policy) = policy else { return Err(not_its_own("soft actor-critic")) };
        dimension("policy parameters", policy.parameters().len(), self.actor.parameters.len())?;
        self.actor.start_from(policy.parameters());
        if let Some(layer) = self.actor.network.layers().first() {
            let (weights, biases) = layer.of_mut(&mut self.actor.parameters);
            self.encoder.unfold(weights, biases);
        }
        self.leave_episodes();
        Ok(())
    }

    fn start_afresh(&mut self) {
        self.actor.start_afresh(&mut self.rng);
        self.critics.start_afresh(&mut self.rng);
        self.explore_again();
        self.leave_episodes();
    }

    fn explore_again(&mut self) {
        self.log_ent_coef = [self.options.ent_coef.ln() as f32];
        self.ent_coef_optimizer.reset();
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        matches!(policy, AnyPolicy::Network(policy)
            if policy.network().shape() == self.actor.network.shape() && *policy.actions() == self.actor.actions)
    }
}

impl Checkpoint for SoftActorCritic {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.actor.save(to);
        self.critics.save(to);
        to.put_all(&self.log_ent_coef);
        self.ent_coef_optimizer.save(to);
        self.encoder.save(to);
        self.returns.save(to);
        self.replay.save(to);
        to.put(&self.rng);
        to.put(&self.horizon);
        self.episodes.iter().try_for_each(|episode| episode.save(to))
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        let observations = self.episodes[0].world().observations();
        self.actor.load(from)?;
        self.critics.load(from)?;
        from.get_finite("the weight of entropy", &mut self.log_ent_coef)?;
        self.ent_coef_optimizer.load(from)?;
        self.encoder.load(from)?;
        self.returns.load(from)?;
        self.replay.load(from, |row| observations.is_readable(row), |_| true)?;
        self.rng = from.get()?;
        self.horizon = from.get_where("a horizon", |horizon| *horizon != Some(0))?;
        self.episodes.iter_mut().try_for_each(|episode| episode.load(from))
    }
}
