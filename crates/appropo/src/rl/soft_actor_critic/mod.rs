//! Soft actor-critic (Haarnoja et al. 2018), with a critic of every measurement.
//!
//! What an actor does in the long run does not depend on what it is paid for. So the critics predict all measurements, and
//! the entropy as one more; a new λ weighs them anew, and every step of every policy is learnt from for good.

mod actor;
mod critics;
mod options;
mod soft;

pub(super) use actor::Actor;
pub(super) use critics::{Critics, CriticsOptions, Rows};
pub(super) use options::ENTRY;
pub use options::SacOptions;
pub(crate) use options::actions;
pub(super) use soft::{Entropy, Soft, SoftBatch};

use super::actor_critic::part_left;
use super::frame::{Frame, ReturnScale, narrow};
use super::visits::Visits;
use super::workers::{Acting, Streams};
use super::{Encoder, Episode, EpisodeWindow, Learner, LearnerStreams, Replay, Transition, not_its_own};
use crate::env::{Environment, Status};
use crate::error::{Result, dimension, in_range};
use crate::nn::Inputs;
use crate::policy::{AnyPolicy, NetworkPolicy};
use crate::random::{self, Generator};
use crate::state::{Checkpoint, Loader, Saver};

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
    /// Where workers play: the streams that these episodes show.
    streams: Option<Streams>,
    encoder: Encoder,
    returns: ReturnScale,
    replay: Replay,
    visits: Visits,
    soft: Soft,
    target_entropy: f32,
    sizes: Vec<f32>,
    rng: Generator,
    places: Vec<usize>,
    /// Novelty has the last head but one, entropy the last.
    batch: SoftBatch,
    newness: Vec<f32>,
    step: Step,
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
        let acts = (actions(&space)?, &space);
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
        let entropy = Entropy {
            coef: options.ent_coef,
            is_coef_learnt: options.learn_ent_coef,
            target: options.entropy(&space) as f32,
        };
        let mut learner = Self {
            gamma: gamma.min(options.gamma) as f32,
            is_finite_horizon: false,
            horizon: None,
            returns: ReturnScale::new(dim, envs.len()),
            replay: Replay::new(options.buffer_size, (observations.entries(), width, dim)),
            visits: Visits::new(&observations),
            soft: Soft::new(actor, Critics::new(critics, &mut rng)?, entropy, rate)?,
            encoder,
            target_entropy: entropy.target,
            sizes: Vec::new(),
            streams: None,
            episodes: envs.into_iter().map(|env| Episode::new(env, gamma, limit)).collect(),
            rng,
            places: Vec::new(),
            batch: SoftBatch { weights: vec![0.0; dim + 2], ..SoftBatch::default() },
            newness: Vec::new(),
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

    /// The same learner in the streams that its environments show.
    fn in_streams(self, streams: Option<LearnerStreams>) -> Self {
        Self { streams: streams.map(|LearnerStreams(streams)| streams), ..self }
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
        let (critics, counts) = (&mut self.soft.critics, &mut self.batch.weights);
        critics.resize(&self.sizes);
        for ((to, weight), size) in counts.iter_mut().zip(weights).zip(critics.sizes()) {
            *to = *weight as f32 * size;
        }
        let measured = &mut counts[..weights.len()];
        let length = measured.iter().map(|weight| weight * weight).sum::<f32>().sqrt();
        measured.iter_mut().for_each(|weight| *weight /= length.max(f32::MIN_POSITIVE));
        counts[weights.len()] = self.options.novelty_coef as f32 * RETURNS * self.sizes[weights.len()] / long;
    }

    fn is_learning(&self) -> bool {
        self.replay.len() >= self.options.learning_starts.min(self.options.buffer_size)
    }

    /// Has workers take so many steps in every stream, by the policy of now.
    fn have_played(&mut self, steps: usize) -> Result<()> {
        let Some(streams) = &self.streams else { return Ok(()) };
        let (Actor { network, actions, .. }, parameters) = (&self.soft.actor, self.plain_parameters());
        let policy = Acting::write(network, actions, &parameters, &Frame::new(None, actions));
        streams.play(&policy, steps, &mut self.rng)
    }

    /// Those of an actor that takes observations as they are.
    fn plain_parameters(&self) -> Vec<f32> {
        let Actor { network, parameters, .. } = &self.soft.actor;
        let mut parameters = parameters.clone();
        if let Some(layer) = network.layers().first() {
            let (weights, biases) = layer.of_mut(&mut parameters);
            self.encoder.fold(weights, layer.outputs, 0..layer.outputs, biases);
        }
        parameters
    }

    /// Draws the next action of every environment, at random before anything is learnt, or takes what workers drew.
    fn draw_actions(&mut self, is_learning: bool) {
        let Self { step: Step { inputs, taken, action, .. }, soft: Soft { actor, .. }, rng, .. } = self;
        taken.clear();
        if let Some(streams) = &self.streams {
            let width = action.len();
            taken.resize(self.episodes.len() * width, 0.0);
            for (env, taken) in taken.chunks_exact_mut(width).enumerate() {
                streams.next_action(env, taken);
            }
            return;
        }
        actor.draw(inputs, rng);
        for drawn in actor.drawn.chunks_exact(actor.width()) {
            match (actor.is_counted(), is_learning) {
                (true, true) => {
                    let likely = drawn.iter().map(|p| f64::from(*p));
                    taken.push(random::choose(likely, 1.0, rng) as f32);
                }
                (true, false) => taken.push(random::below(drawn.len(), rng) as f32),
                (false, true) => taken.extend_from_slice(drawn),
                (false, false) => {
                    let any = || 2.0 * random::unit(rng) as f32 - 1.0;
                    taken.extend(std::iter::repeat_with(any).take(drawn.len()));
                }
            }
        }
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
        self.draw_actions(is_learning);
        let (entries, width) = (self.step.observations.len() / self.episodes.len(), self.step.action.len());
        for (episode, taken) in self.episodes.iter_mut().zip(self.step.taken.chunks_exact(width)) {
            self.soft.actor.actions.cut(taken, &mut self.step.action);
            episode.submit_action(&self.step.action)?;
        }
        for (env, taken) in self.step.taken.chunks_exact(width).enumerate() {
            let episode = &mut self.episodes[env];
            let steps = episode.steps();
            self.soft.actor.actions.cut(taken, &mut self.step.action);
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
        // An episode that began with random actions says nothing of the policy. Streams are the policy's from the start.
        if !is_learning && self.is_learning() && self.streams.is_none() {
            self.leave_episodes();
        }
        Ok(())
    }

    fn leave_episodes(&mut self) {
        self.episodes.iter_mut().for_each(Episode::leave);
        self.streams.iter().for_each(Streams::leave);
    }

    /// One step of learning from transitions drawn at random.
    fn update(&mut self) -> Result<()> {
        self.draw_batch();
        self.soft.update(&mut self.batch, &mut self.rng)
    }

    fn draw_batch(&mut self) {
        self.batch.clear();
        self.places.clear();
        self.newness.clear();
        for _ in 0..self.options.batch_size {
            let place = self.replay.draw(&mut self.rng);
            self.places.push(place);
            self.newness.push(self.visits.newness(self.replay.get(place).next));
        }
        let usual = self.newness.iter().sum::<f32>() / self.newness.len() as f32;
        for (place, newness) in self.places.iter().zip(&self.newness) {
            let Transition { observation, action, gains, next, steps, ended } = self.replay.get(*place);
            let (left, next_left) = (self.left(steps), self.left(steps + 1));
            let moments =
                [(&mut self.batch.before, observation, left), (&mut self.batch.after, next, next_left)];
            for (seen, observation, left) in moments {
                self.encoder.push(observation, &mut seen.inputs);
                if !self.soft.actor.is_counted() {
                    self.encoder.push_dense(observation, &mut seen.dense);
                }
                seen.left.push(left);
            }
            self.batch.taken.extend_from_slice(action);
            // Novelty counts as far as it is unusual: to go on for longer is not worth anything.
            self.batch.gains.extend_from_slice(gains);
            self.batch.gains.push(newness - usual);
            self.batch.gammas.push(if ended { 0.0 } else { self.gamma });
        }
    }
}

impl Learner for SoftActorCritic {
    fn learn(&mut self, weights: &[f64], window: &mut EpisodeWindow) -> Result<usize> {
        dimension("reward weights", weights.len(), self.step.gains.len())?;
        let SacOptions { train_freq, gradient_steps, .. } = self.options;
        // Streams share the steps between updates, which are as many as for one environment.
        let (steps, updates) = match &self.streams {
            Some(_) => {
                let steps = train_freq.div_ceil(self.episodes.len());
                (steps, (gradient_steps * steps * self.episodes.len()).div_ceil(train_freq))
            }
            None => (train_freq, gradient_steps),
        };
        self.have_played(steps)?;
        (0..steps).try_for_each(|_| self.play(window))?;
        self.weigh(weights);
        if self.is_learning() {
            (0..updates).try_for_each(|_| self.update())?;
        }
        Ok(steps * self.episodes.len())
    }

    fn policy(&self) -> AnyPolicy {
        let Actor { network, actions, .. } = &self.soft.actor;
        NetworkPolicy::of(network, actions, &self.plain_parameters()).into()
    }

    fn settled_policy(&self) -> AnyPolicy {
        let Actor { network, actions, .. } = &self.soft.actor;
        NetworkPolicy::of(network, actions, &self.plain_parameters()).without_noise().into()
    }

    fn start_from(&mut self, policy: &AnyPolicy) -> Result<()> {
        let AnyPolicy::Network(policy) = policy else { return Err(not_its_own("soft actor-critic")) };
        dimension("policy parameters", policy.parameters().len(), self.soft.actor.parameters.len())?;
        self.soft.actor.start_from(policy);
        if let Some(layer) = self.soft.actor.network.layers().first() {
            let (weights, biases) = layer.of_mut(&mut self.soft.actor.parameters);
            self.encoder.unfold(weights, biases);
        }
        self.leave_episodes();
        Ok(())
    }

    fn start_afresh(&mut self) {
        self.soft.start_afresh(&mut self.rng);
        self.leave_episodes();
    }

    fn explore_again(&mut self) {
        self.soft.explore_again();
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        matches!(policy, AnyPolicy::Network(policy)
            if policy.network().shape() == self.soft.actor.network.shape() && *policy.actions() == self.soft.actor.actions)
    }
}

impl Checkpoint for SoftActorCritic {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.soft.save(to);
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
        self.soft.load(from)?;
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
