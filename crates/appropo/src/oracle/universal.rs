use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use super::{
    AnyOracle, Confirmation, LONG, MOST_CONFIRMING, MakeOracle, ModelBased, OracleContext, OracleEntry,
    Respond, Response, gives_hope, is_sure,
};
use crate::env::{EnvSpec, Environment, Status};
use crate::error::{Error, Result};
use crate::measurement::{Discounting, Estimate};
use crate::options::{Kind, Options, Range, Table, options};
use crate::policy::{AnyPolicy, Memory, Mixed, Policy};
use crate::random::{self, Generator};
use crate::rl::universal::{Batch, Critics, CriticsOptions, Novelty};
use crate::rl::{Encoder, Episode, Replay, Transition};
use crate::set::SharedSet;
use crate::state::{Checkpoint, Loader, Saver, misfit};
use crate::vector;

options! {
    /// The options of the universal oracle.
    pub struct UniversalOptions {
        /// Units of each hidden layer.
        net_arch: Vec<usize> = Kind::Counts(1, 65_536), defaulted "[128, 128]";
        /// The step size of gradients.
        learning_rate: f64 = Kind::Number(Range::POSITIVE), defaulted "0.001";
        /// Updates for every one of the first steps in the environment; the more steps are remembered, the fewer, down to one.
        gradient_steps: usize = Kind::Count(1, 1000), defaulted "4";
        /// Transitions of an update.
        batch_size: usize = Kind::Count(1, 65_536), defaulted "32";
        /// Transitions that are remembered.
        buffer_size: usize = Kind::Count(1, 100_000_000), defaulted "1000000";
        /// How far the network that targets and policies come from moves towards the one that learns, in an update.
        tau: f64 = Kind::Number(Range::POSITIVE), defaulted "0.01";
        /// By how much less an action must be worth to be taken e times less often, in sizes of the measurements.
        temperature: f64 = Kind::Number(Range::POSITIVE), defaulted "0.005";
        /// Networks that learn the same; the most pessimistic is believed.
        n_critics: usize = Kind::Count(1, 16), defaulted "2";
        /// Fresh episodes that confirm what was found at least; they take a twentieth of the samples, or 400 episodes.
        confirming: usize = Kind::Count(4, 1_000_000), defaulted "40";
    }
}

pub(super) static ENTRY: OracleEntry = OracleEntry {
    name: "universal",
    about: "one network for every λ, learnt from every step of every policy; for discrete actions",
    keys: UniversalOptions::KEYS,
    read: |given| Ok(Arc::new(UniversalOptions::read(given)?)),
};

impl MakeOracle for UniversalOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn make(&self, context: OracleContext) -> Result<AnyOracle> {
        let (env, limit) = (context.environment(None)?, context.limit());
        let rng = random::split(context.rng);
        let mut universal =
            Universal::new(env, context.discounting, limit, context.samples, self.clone(), rng)?;
        universal.is_finite_horizon = context.is_finite_horizon();
        Ok(AnyOracle::ModelBased(Box::new(universal)))
    }

    fn check(&self, env: &EnvSpec) -> Result<()> {
        match env.actions().count() {
            Some(_) => Ok(()),
            None => Err(uncountable()),
        }
    }

    fn tables(&self, _: &EnvSpec) -> Vec<(String, Table)> {
        vec![(ENTRY.name.into(), Options::table(self))]
    }
}

fn uncountable() -> Error {
    Error::Unsuitable {
        learner: "the universal oracle",
        needs: "actions that can be counted",
        instead: "\"ppo\" or \"a2c\"",
    }
}

/// Responses of one network to every λ. It learns from every step of every policy, so a new λ costs no samples: games are
/// played in what it predicts, and steps are taken to see whether their mixtures do what was predicted, and to find what
/// is new.
pub struct Universal {
    episode: Episode,
    discounting: Discounting,
    is_finite_horizon: bool,
    budget: u64,
    options: UniversalOptions,
    answers: Answers,
    novelty: Novelty,
    replay: Replay,
    samples: u64,
    ventures: u64,
    /// The measurements of all episodes so far.
    played: Estimate,
    /// The sum of the sizes of each long-term measurement over the episodes in which it was not 0, and their number.
    sizes: Vec<(f64, usize)>,
    observation: Vec<f32>,
    next: Vec<f32>,
    gains: Vec<f32>,
    places: Vec<usize>,
    lam: Vec<f64>,
    lams: Vec<f32>,
    rng: Generator,
}

impl fmt::Debug for Universal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Universal").field("samples", &self.samples).finish_non_exhaustive()
    }
}

/// The network as an oracle.
struct Answers {
    encoder: Encoder,
    critics: Critics,
    temperature: f32,
    /// The last λs that games asked for.
    asked: VecDeque<Vec<f64>>,
    /// Those of the games since the last step. They are not saved: games are played again.
    asked_now: Vec<Vec<f64>>,
    /// The last observations that episodes began with.
    starts: VecDeque<Vec<f32>>,
}

const ASKED: usize = 256;
const STARTS: usize = 32;

/// The first steps, with as many updates as were asked for.
const ALL_UPDATES: u64 = 5_000;

/// Episodes without anything new after which the first look around ends.
const IDLE: usize = 3;

/// Standard errors by which fresh episodes must keep away from the set's edge.
const SURE: f64 = 2.0;

/// The parts of batches that are learnt for λs that games asked for, and for λs near them; the rest is for any λ.
const FOR_ASKED: f64 = 0.5;
const FOR_NEAR: f64 = 0.25;
/// How far near ones are off.
const NEAR: f64 = 0.3;

impl Checkpoint for Answers {}

impl Respond for Answers {
    fn respond(&mut self, lam: &[f64], _: f64) -> Result<Response> {
        // Any answer is right for λ = 0; the last one asked for is one that the network knows.
        let none = vector::norm(lam) == 0.0;
        let lam = if none { self.asked.back().map_or(lam, Vec::as_slice) } else { lam };
        let mut direction = Vec::new();
        self.critics.direction(lam, &mut direction);
        let z_hat = self.critics.predict(&self.encoder, self.starts.iter(), &direction);
        let policy = self.critics.policy(&self.encoder, &direction, self.temperature)?;
        let lam = lam.to_vec();
        self.asked_now.push(lam);
        Ok(Response { policy: Mixed::one(policy), z_hat, spread: None, bound: None, gave_up: false })
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        matches!(policy, AnyPolicy::Network(policy) if self.critics.fits(policy))
    }
}

impl Universal {
    /// An oracle for an environment of actions that can be counted. Episodes are cut off after `limit` steps, and after
    /// `budget` steps in all no more are taken.
    pub fn new(
        env: Box<dyn Environment>,
        discounting: Discounting,
        limit: usize,
        budget: u64,
        options: UniversalOptions,
        mut rng: Generator,
    ) -> Result<Self> {
        let actions = env.actions().count().ok_or_else(uncountable)?;
        let encoder = Encoder::new(&env.observations());
        let (dim, entries) = (env.measures().dim(), env.observations().entries());
        let batch = options.batch_size.max(STARTS);
        let critics = CriticsOptions {
            critics: options.n_critics,
            hidden: options.net_arch.clone(),
            learning_rate: options.learning_rate,
            tau: options.tau as f32,
            batch,
            gamma: discounting.gamma(),
        };
        let mut critics = Critics::new(&encoder, actions, dim, &critics, &mut rng)?;
        discounting.horizon().into_iter().for_each(|steps| critics.reach_horizon(steps));
        let novelty =
            Novelty::new(&encoder, actions, &options.net_arch, options.learning_rate, batch, &mut rng)?;
        let answers = Answers {
            encoder,
            critics,
            temperature: options.temperature as f32,
            asked: VecDeque::new(),
            asked_now: Vec::new(),
            starts: VecDeque::new(),
        };
        Ok(Self {
            is_finite_horizon: discounting.horizon().is_some(),
            replay: Replay::new(options.buffer_size, (entries, 1, dim)),
            episode: Episode::new(env, discounting.gamma(), limit),
            discounting,
            budget,
            options,
            answers,
            novelty,
            samples: 0,
            ventures: 0,
            played: Estimate::new(dim),
            sizes: vec![(0.0, 0); dim],
            observation: Vec::new(),
            next: Vec::new(),
            gains: Vec::new(),
            places: Vec::new(),
            lam: vec![0.0; dim],
            lams: Vec::new(),
            rng,
        })
    }

    fn start(&mut self) -> Result<()> {
        self.episode.start(&mut self.rng)?;
        narrow(self.episode.observation(), &mut self.observation);
        push(&mut self.answers.starts, STARTS, self.observation.clone());
        for lam in self.answers.asked_now.drain(..) {
            push(&mut self.answers.asked, ASKED, lam);
        }
        Ok(())
    }

    fn goes_on(&self) -> bool {
        self.episode.status() == Status::Running && self.samples < self.budget
    }

    /// Takes a step, remembers it, and learns.
    fn step(&mut self, action: usize) -> Result<()> {
        let steps = self.episode.steps();
        let status = self.episode.step(&[action as f64], &mut self.rng)?;
        self.samples += 1;
        narrow(self.episode.observation(), &mut self.next);
        narrow(self.episode.z(), &mut self.gains);
        let is_cut_off = status == Status::CutOff && self.is_finite_horizon;
        if is_cut_off {
            self.answers.critics.reach_horizon(self.episode.steps());
        }
        self.novelty.count(&self.answers.encoder, &self.observation, action);
        self.answers.encoder.add(&self.observation);
        self.replay.add(&Transition {
            observation: &self.observation,
            action: &[action as f32],
            gains: &self.gains,
            next: &self.next,
            steps,
            ended: status == Status::Ended || is_cut_off,
        });
        std::mem::swap(&mut self.observation, &mut self.next);
        let updates = ALL_UPDATES * self.options.gradient_steps as u64 / self.samples;
        (0..updates.clamp(1, self.options.gradient_steps as u64)).for_each(|_| self.learn());
        Ok(())
    }

    /// One update.
    fn learn(&mut self) {
        let Answers { encoder, critics, asked, .. } = &mut self.answers;
        self.places.clear();
        self.lams.clear();
        for _ in 0..self.options.batch_size {
            self.places.push(self.replay.draw(&mut self.rng));
            let kind = random::unit(&mut self.rng);
            let near =
                asked.get(random::below(asked.len(), &mut self.rng)).filter(|_| kind < FOR_ASKED + FOR_NEAR);
            let noise = match near {
                Some(_) if kind < FOR_ASKED => 0.0,
                Some(lam) => NEAR * vector::norm(lam) / (lam.len() as f64).sqrt(),
                None => 1.0,
            };
            for (k, lam) in self.lam.iter_mut().enumerate() {
                let drawn = if noise > 0.0 { noise * random::normal(&mut self.rng) } else { 0.0 };
                *lam = near.map_or(0.0, |near| near[k]) + drawn;
            }
            critics.direction(&self.lam, &mut self.lams);
        }
        critics.learn(encoder, Batch { replay: &self.replay, places: &self.places, lams: &self.lams });
        self.novelty.learn(encoder, &self.replay, &self.places);
    }

    /// Takes note of an episode that is over or was left.
    fn end(&mut self) {
        if self.episode.status() != Status::Running {
            self.played.add(self.episode.sum());
        }
        for (known, sum) in self.sizes.iter_mut().zip(self.episode.sum()).filter(|(_, sum)| **sum != 0.0) {
            *known = (known.0 + sum.abs(), known.1 + 1);
        }
        let size = |(sum, count): &(f64, usize)| if *count > 0 { (sum / *count as f64) as f32 } else { 1.0 };
        let sizes: Vec<f32> = self.sizes.iter().map(size).collect();
        self.answers.critics.rescale(&sizes);
    }

    /// An episode towards what is new. Returns whether it found any.
    fn venture(&mut self) -> Result<bool> {
        self.start()?;
        let mut found = false;
        while self.goes_on() {
            let best = self.novelty.best(&self.answers.encoder, &self.observation, &mut self.rng);
            let Some(action) = best else { break };
            found |= self.novelty.is_new(&self.observation, action);
            self.step(action)?;
        }
        self.end();
        Ok(found)
    }

    /// An episode of a mixed policy, of so many steps at most.
    fn play(&mut self, mixture: &Mixed, most: f64) -> Result<()> {
        self.start()?;
        let (mut memory, mut action) = (Memory::default(), [0.0]);
        if let Some(policy) = mixture.draw(&mut self.rng) {
            while self.goes_on() && (self.episode.steps() as f64) < most {
                let (observation, step) = (self.episode.observation(), self.episode.steps());
                policy.act(observation, step, &mut self.rng, &mut memory, &mut action);
                self.step(action[0] as usize)?;
            }
        }
        self.end();
        Ok(())
    }
}

impl ModelBased for Universal {
    fn oracle(&mut self) -> Result<&mut dyn Respond> {
        if self.replay.is_empty() {
            let mut idle = 0;
            let enough = if self.novelty.is_counted() { self.budget / 4 } else { self.budget / 20 };
            while idle < IDLE && self.samples < enough {
                idle = if self.venture()? { 0 } else { idle + 1 };
            }
        }
        Ok(&mut self.answers)
    }

    fn rollout(&mut self, mixture: &Mixed) -> Result<()> {
        // What comes later counts little, and a policy that turns in circles teaches little.
        self.play(mixture, 1.0 / (1.0 - self.discounting.gamma()))
    }

    fn explore(&mut self) -> Result<()> {
        if self.novelty.is_counted() {
            if !self.venture()? {
                self.novelty.ask_for_more();
            }
            return Ok(());
        }
        // Where nothing says what has been tried enough, every other episode is for the λ that the last game ended with.
        let direction = self.answers.asked_now.last().map(|lam| {
            let mut direction = Vec::new();
            self.answers.critics.direction(lam, &mut direction);
            direction
        });
        self.ventures += 1;
        match direction {
            Some(direction) if self.ventures.is_multiple_of(2) => {
                let Answers { encoder, critics, temperature, .. } = &self.answers;
                let policy = critics.policy(encoder, &direction, *temperature)?;
                self.play(&Mixed::one(policy), f64::INFINITY)
            }
            _ => self.venture().map(|_| ()),
        }
    }

    fn is_spent(&self) -> bool {
        self.samples >= self.budget
    }

    /// Those of all episodes so far: most are of mixtures such as this one.
    fn deviations(&mut self, _: &Mixed) -> Result<Vec<f64>> {
        Ok(self.played.with_spread().1.deviations)
    }

    /// Plays fresh episodes, which are learnt from like any other, as long as they give hope.
    fn confirm(&mut self, mixture: &Mixed, set: &SharedSet, tolerance: f64) -> Result<Option<Confirmation>> {
        let (mut estimate, before) = (Estimate::new(self.sizes.len()), self.samples);
        while !self.is_spent() {
            self.play(mixture, LONG / (1.0 - self.discounting.gamma()))?;
            estimate.add(self.episode.sum());
            if !gives_hope(&estimate, set) {
                return Ok(None);
            }
            let count = estimate.count();
            let is_enough = self.samples - before >= self.budget / 20 || count >= MOST_CONFIRMING;
            if count >= self.options.confirming && is_enough {
                return Ok(is_sure(&estimate, SURE, &vec![0.0; set.dim()], set, tolerance)
                    .then(|| Confirmation { z: estimate.mean().to_vec(), is_sure: true }));
            }
        }
        Ok(None)
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        Respond::fits(&self.answers, policy)
    }

    fn samples(&self) -> u64 {
        self.samples
    }
}

impl Checkpoint for Universal {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.answers.encoder.save(to);
        self.answers.critics.save(to);
        to.put(&Vec::from(self.answers.asked.clone()));
        to.put(&Vec::from(self.answers.starts.clone()));
        self.novelty.save(to);
        self.replay.save(to);
        to.put(&self.samples);
        to.put(&self.ventures);
        to.put(&self.played);
        to.put_all(&self.sizes);
        to.put(&self.rng);
        self.episode.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        let (dim, actions) = (self.sizes.len(), self.episode.world().actions().count().unwrap_or(0));
        let observations = self.episode.world().observations();
        let is_observation = |row: &[f32]| observations.is_readable(row);
        self.answers.encoder.load(from)?;
        self.answers.critics.load(from)?;
        let is_lam = |lam: &Vec<f64>| lam.len() == dim && lam.iter().all(|l| l.is_finite());
        let asked = from.get_where("a λ", |asked: &Vec<_>| asked.iter().all(is_lam))?;
        let starts =
            from.get_where("a start", |starts: &Vec<Vec<f32>>| starts.iter().all(|s| is_observation(s)))?;
        if starts.len() > STARTS || asked.len() > ASKED {
            return Err(misfit("there are too many starts or λs"));
        }
        (self.answers.asked, self.answers.starts) = (asked.into(), starts.into());
        self.novelty.load(from)?;
        self.replay.load(from, is_observation, |action| (0.0..actions as f32).contains(&action[0]))?;
        self.samples = from.get()?;
        self.ventures = from.get_where("a number of episodes", |count: &u64| *count < u64::MAX / 2)?;
        self.played = from.get_where("an estimate", |played: &Estimate| played.mean().len() == dim)?;
        for size in &mut self.sizes {
            let fits =
                |(sum, count): &(f64, usize)| *sum >= 0.0 && sum.is_finite() && *count < usize::MAX / 2;
            *size = from.get_where("the size of a measurement", fits)?;
        }
        self.rng = from.get()?;
        self.episode.load(from)?;
        narrow(self.episode.observation(), &mut self.observation);
        Ok(())
    }
}

/// Appends to a list of the last `most`.
fn push<T>(list: &mut VecDeque<T>, most: usize, item: T) {
    if list.len() >= most {
        list.pop_front();
    }
    list.push_back(item);
}

/// In single precision.
fn narrow(values: &[f64], to: &mut Vec<f32>) {
    to.clear();
    to.extend(values.iter().map(|v| *v as f32));
}
