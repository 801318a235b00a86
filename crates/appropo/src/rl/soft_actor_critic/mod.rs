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
use super::visits::Visits;
use super::{Encoder, Episode, EpisodeWindow, Learner, Replay, Transition, not_its_own};
use crate::env::{Environment, Status};
use crate::error::{Result, dimension, in_range};
use crate::nn::{Inputs, Optimizer, Rule};
use crate::policy::{AnyPolicy, NetworkPolicy};
use crate::random::{self, Generator};
use crate::state::{Checkpoint, Loader, Saver};
use actor::Actor;
use critics::{Critics, CriticsOptions, Rows};

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
    visits: Visits,
    actor: Actor,
    critics: Critics,
    /// The logarithm of the weight of entropy.
    log_ent_coef: [f32; 1],
    ent_coef_optimizer: Optimizer,
    target_entropy: f32,
    /// What each head of the critics counts for; novelty has the last but one, entropy the last.
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
    /// Of all actions, or slopes where these are numbers.
    scores: Vec<f32>,
    /// The probability of an action that is a part of its row.
    certain: Vec<f32>,
    newness: Vec<f32>,
}

/// A step of all environments.
#[derive(Debug, Default)]
struct Step {
    /// Observations before the step, one after the other.
    observations: Vec<f32>,
    next: Vec<f32>,
    inputs: Vec<f32>,
    gains: Vec<f32>,
    /// As it is remembered: the number of a counted one.
    taken: Vec<f32>,
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
        let (encoder, width) = (Encoder::new(&observations), space.entries());
        let (rows, rate) = (options.batch_size.max(envs.len()), options.learning_rate);
        let acts = (options::actions(&space)?, &space);
        let actor = Actor::new(encoder.inputs(), &options.net_arch, acts, rate, rows)?;
        let critics = CriticsOptions {
            // Actions that are numbers are seen; of those that are counted, all are told.
            inputs: match space.count() {
                Some(_) => encoder.inputs(),
                None => Inputs::Vector(encoder.inputs().width() + width),
            },
            actions: space.count().unwrap_or(1),
            heads: dim + 2,
            hidden: &options.net_arch,
            count: options.critics(&space),
            learning_rate: rate,
            tau: options.tau,
            rows,
        };
        let mut learner = Self {
            gamma: gamma.min(options.gamma) as f32,
            is_finite_horizon: false,
            horizon: None,
            returns: ReturnScale::new(dim, envs.len()),
            replay: Replay::new(options.buffer_size, (observations.entries(), width, dim)),
            visits: Visits::new(&observations),
            actor,
            critics: Critics::new(critics, &mut rng)?,
            encoder,
            log_ent_coef: [0.0],
            ent_coef_optimizer: Optimizer::new(Rule::ADAM, rate, 1)?,
            target_entropy: options.entropy(&space) as f32,
            weights: vec![0.0; dim + 2],
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
        let long = 1.0 / (1.0 - self.gamma).max(1e-3);
        self.sizes.clear();
        self.sizes.extend((0..weights.len()).map(|k| self.returns.deviation(k) as f32));
        self.sizes.extend([long, long * self.target_entropy.abs().max(1.0)]);
        self.sizes.iter_mut().for_each(|size| *size /= RETURNS);
        self.critics.resize(&self.sizes);
        for ((to, weight), size) in self.weights.iter_mut().zip(weights).zip(self.critics.sizes()) {
            *to = *weight as f32 * size;
        }
        let measured = &mut self.weights[..weights.len()];
        let length = measured.iter().map(|weight| weight * weight).sum::<f32>().sqrt();
        measured.iter_mut().for_each(|weight| *weight /= length.max(f32::MIN_POSITIVE));
        self.weights[weights.len()] =
            self.options.novelty_coef as f32 * RETURNS * self.sizes[weights.len()] / long;
    }

    fn is_learning(&self) -> bool {
        self.replay.len() >= self.options.learning_starts.min(self.options.buffer_size)
    }

    /// Takes a step in every environment.
    fn play(&mut self, window: &mut EpisodeWindow) -> Result<()> {
        let is_learning = self.is_learning();
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
        self.step.taken.clear();
        for drawn in self.actor.drawn.chunks_exact(self.actor.width()) {
            match (self.actor.is_counted(), is_learning) {
                (true, true) => {
                    let likely = drawn.iter().map(|p| f64::from(*p));
                    self.step.taken.push(random::choose(likely, 1.0, &mut self.rng) as f32);
                }
                (true, false) => self.step.taken.push(random::below(drawn.len(), &mut self.rng) as f32),
                (false, true) => self.step.taken.extend_from_slice(drawn),
                (false, false) => {
                    let any = || 2.0 * random::unit(&mut self.rng) as f32 - 1.0;
                    self.step.taken.extend(std::iter::repeat_with(any).take(drawn.len()));
                }
            }
        }
        let (entries, width) = (self.step.observations.len() / self.episodes.len(), self.step.action.len());
        for (episode, taken) in self.episodes.iter_mut().zip(self.step.taken.chunks_exact(width)) {
            self.actor.actions.cut(taken, &mut self.step.action);
            episode.submit_action(&self.step.action)?;
        }
        for (env, taken) in self.step.taken.chunks_exact(width).enumerate() {
            let episode = &mut self.episodes[env];
            let steps = episode.steps();
            self.actor.actions.cut(taken, &mut self.step.action);
            let mut status = episode.step(&self.step.action, &mut self.rng)?;
            if status == Status::CutOff && self.is_finite_horizon {
                status = Status::Ended;
                self.horizon = self.horizon.max(Some(episode.steps()));
            }
            self.visits.visit(episode.observation());
            self.step.next.clear();
            self.step.next.extend(episode.observation().iter().map(|v| *v as f32));
            narrow(episode.z(), &mut self.step.gains);
            self.returns.add(env, &self.step.gains, self.gamma.into(), status != Status::Running);
            self.replay.add(&Transition {
                observation: &self.step.observations[env * entries..(env + 1) * entries],
                action: taken,
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
        let Self { actor, critics, encoder, replay, batch, weights, visits, rng, .. } = self;
        let heads = weights.len();
        weights[heads - 1] = ent_coef * critics.sizes()[heads - 1];
        let is_counted = actor.is_counted();

        actor.draw(&batch.next_inputs, rng);
        if !is_counted {
            batch.rows.clear();
            for (place, action) in batch.places.iter().zip(actor.drawn.chunks_exact(width)) {
                encoder.push_dense(replay.get(*place).next, &mut batch.rows);
                batch.rows.extend_from_slice(action);
            }
            batch.certain.resize(batch.places.len(), 1.0);
        }
        let (rows, probabilities) =
            if is_counted { (&batch.next_inputs, &actor.drawn) } else { (&batch.rows, &batch.certain) };
        critics.values(Rows { rows, left: &batch.next_left, weights }, probabilities, &mut batch.values);
        batch.newness.clear();
        batch.newness.extend(batch.places.iter().map(|place| visits.newness(replay.get(*place).next)));
        let usual = batch.newness.iter().sum::<f32>() / batch.newness.len() as f32;
        batch.aims.clear();
        for (row, place) in batch.places.iter().enumerate() {
            let transition = replay.get(*place);
            let gamma = if transition.ended { 0.0 } else { self.gamma };
            let (values, sizes) = (&batch.values[row * heads..(row + 1) * heads], critics.sizes());
            // Novelty and entropy count as far as they are unusual: to go on for longer is not worth anything.
            let newness = [batch.newness[row] - usual];
            for (k, gain) in transition.gains.iter().chain(&newness).enumerate() {
                batch.aims.push(gain / sizes[k] + gamma * values[k]);
            }
            let entropy =
                batch.next_left[row] * (actor.entropies[row] - self.target_entropy) / sizes[heads - 1];
            batch.aims.push(gamma * (entropy + values[heads - 1]));
        }

        if !is_counted {
            batch.rows.clear();
            for place in &batch.places {
                let transition = replay.get(*place);
                encoder.push_dense(transition.observation, &mut batch.rows);
                batch.rows.extend_from_slice(transition.action);
            }
        }
        let rows = if is_counted { &batch.inputs } else { &batch.rows };
        let taken = |row: usize| if is_counted { replay.get(batch.places[row]).counted_action() } else { 0 };
        critics.learn(Rows { rows, left: &batch.left, weights }, taken, &batch.aims);

        actor.draw(&batch.inputs, rng);
        if is_counted {
            critics.scores(Rows { rows: &batch.inputs, left: &batch.left, weights }, &mut batch.scores);
        } else {
            let row = batch.rows.len() / batch.places.len();
            for (row, action) in batch.rows.chunks_exact_mut(row).zip(actor.drawn.chunks_exact(width)) {
                let start = row.len() - width;
                row[start..].copy_from_slice(action);
            }
            critics.slopes(Rows { rows: &batch.rows, left: &batch.left, weights }, width, &mut batch.scores);
        }
        actor.learn(&batch.inputs, &batch.scores, ent_coef)?;

        if self.options.learn_ent_coef {
            let entropy = actor.entropies.iter().sum::<f32>() / actor.entropies.len() as f32;
            self.ent_coef_optimizer.step(&mut self.log_ent_coef, &[entropy - self.target_entropy]);
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
        self.visits.save(to);
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
        let count = self.episodes[0].world().actions().count();
        let is_action = |action: &[f32]| count.is_none_or(|count| (0.0..count as f32).contains(&action[0]));
        self.replay.load(from, |row| observations.is_readable(row), is_action)?;
        self.visits.load(from)?;
        self.rng = from.get()?;
        self.horizon = from.get_where("a horizon", |horizon| *horizon != Some(0))?;
        self.episodes.iter_mut().try_for_each(|episode| episode.load(from))
    }
}
