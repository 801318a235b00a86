mod answers;
mod checkpoint;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use super::{
    AnyOracle, Confirmation, LONG, MOST_CONFIRMING, MakeOracle, ModelBased, OracleContext, OracleEntry,
    Respond, gives_hope, is_sure,
};
use crate::env::{EnvSpec, Environment, Status};
use crate::error::{Error, Result};
use crate::measurement::{Discounting, Estimate};
use crate::options::{Kind, Options, Range, Table, options};
use crate::policy::{AnyPolicy, Memory, Mixed, Policy};
use crate::random::{self, Generator};
use crate::rl::universal::{Batch, NetworkOptions, network};
use crate::rl::{Encoder, Episode, Replay, Transition, soft_actor_critic};
use crate::set::{ConvexSet, SharedSet};
use crate::vector;
use answers::{Answers, STARTS};

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
        temperature: f64 = Kind::Number(Range::POSITIVE), defaulted "0.02";
        /// Networks that learn the same; the most pessimistic is believed.
        n_critics: usize = Kind::Count(1, 16), defaulted "2";
        /// Fresh episodes that confirm what was found at least; they take a twentieth of the samples, or 400 episodes.
        confirming: usize = Kind::Count(4, 1_000_000), defaulted "40";
    }
}

pub(super) static ENTRY: OracleEntry = OracleEntry {
    name: "universal",
    about: "one network for every λ, learnt from every step of every policy",
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
        soft_actor_critic::actions(env.actions()).map(drop).map_err(|_| unbounded())
    }

    fn tables(&self, _: &EnvSpec) -> Vec<(String, Table)> {
        vec![(ENTRY.name.into(), Options::table(self))]
    }
}

fn unbounded() -> Error {
    Error::Unsuitable {
        learner: "the universal oracle",
        needs: "actions that can be counted, or numbers within bounds",
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
    action: Vec<f64>,
    remembered: Vec<f32>,
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

/// The first steps, with as many updates as were asked for.
const ALL_UPDATES: u64 = 5_000;

/// Episodes without anything new after which the first look around ends.
const IDLE: usize = 2;

/// Steps without anything new after which an episode towards it is left, where tries are counted.
const LOST: usize = 33;

/// Updates after every rollout for the λs that games asked for last, and the transitions of each in batches. They shrink
/// as those of a step do.
const STUDIES: u64 = 100;
const STUDY_BATCHES: usize = 2;

/// Updates that prepare for one λ, of as many transitions each.
const PREPARATIONS: usize = 600;

/// Standard errors by which fresh episodes must keep away from the set's edge.
const SURE: f64 = 2.0;
/// How many times as many there are when they are looked at again.
const AGAIN: f64 = 1.5;
/// The budget divided by this is what they may take before it is left open whether they lie in the set.
const LEFT_OPEN: u64 = 5;
/// Episodes of a first look, which are left after 1/(1 − γ) steps.
const FIRST_LOOK: usize = 3;

/// The parts of batches that are learnt for λs that games asked for, and for λs near them; the rest is for any λ.
const FOR_ASKED: f64 = 0.5;
const FOR_NEAR: f64 = 0.25;
/// How far near ones are off.
const NEAR: f64 = 0.3;

impl Universal {
    /// An oracle for an environment of actions that can be counted, or are numbers within bounds. Episodes are cut off after
    /// `limit` steps, and after `budget` steps in all no more are taken.
    pub fn new(
        env: Box<dyn Environment>,
        discounting: Discounting,
        limit: usize,
        budget: u64,
        options: UniversalOptions,
        mut rng: Generator,
    ) -> Result<Self> {
        let actions = env.actions();
        let encoder = Encoder::new(&env.observations());
        let (dim, entries) = (env.measures().dim(), env.observations().entries());
        let batch = (STUDY_BATCHES * options.batch_size).max(STARTS);
        let like = NetworkOptions {
            critics: options.n_critics,
            hidden: options.net_arch.clone(),
            learning_rate: options.learning_rate,
            tau: options.tau as f32,
            batch,
            gamma: discounting.gamma(),
            temperature: options.temperature as f32,
        };
        let mut network = network(&encoder, &actions, dim, &like, &mut rng)?.ok_or_else(unbounded)?;
        discounting.horizon().into_iter().for_each(|steps| network.reach_horizon(steps));
        let answers = Answers::new(encoder, network);
        Ok(Self {
            is_finite_horizon: discounting.horizon().is_some(),
            replay: Replay::new(options.buffer_size, (entries, actions.entries(), dim)),
            episode: Episode::new(env, discounting.gamma(), limit),
            discounting,
            budget,
            options,
            answers,
            samples: 0,
            ventures: 0,
            played: Estimate::new(dim),
            sizes: vec![(0.0, 0); dim],
            observation: Vec::new(),
            next: Vec::new(),
            gains: Vec::new(),
            action: vec![0.0; actions.entries()],
            remembered: Vec::new(),
            places: Vec::new(),
            lam: vec![0.0; dim],
            lams: Vec::new(),
            rng,
        })
    }

    fn start(&mut self) -> Result<()> {
        self.episode.start(&mut self.rng)?;
        narrow(self.episode.observation(), &mut self.observation);
        self.answers.start(&self.observation);
        Ok(())
    }

    fn goes_on(&self) -> bool {
        self.episode.status() == Status::Running && self.samples < self.budget
    }

    /// Takes the step of [`action`](Self::action), remembers it, and learns.
    fn step(&mut self) -> Result<()> {
        let steps = self.episode.steps();
        let status = self.episode.step(&self.action, &mut self.rng)?;
        self.samples += 1;
        narrow(self.episode.observation(), &mut self.next);
        narrow(self.episode.z(), &mut self.gains);
        let Answers { encoder, network, .. } = &mut self.answers;
        let is_cut_off = status == Status::CutOff && self.is_finite_horizon;
        if is_cut_off {
            network.reach_horizon(self.episode.steps());
        }
        network.remembered(&self.action, &mut self.remembered);
        let transition = Transition {
            observation: &self.observation,
            action: &self.remembered,
            gains: &self.gains,
            next: &self.next,
            steps,
            ended: status == Status::Ended || is_cut_off,
        };
        network.see(encoder, &transition);
        encoder.add(&self.observation);
        self.replay.add(&transition);
        std::mem::swap(&mut self.observation, &mut self.next);
        let updates = self.updates(self.options.gradient_steps as u64);
        (0..updates).try_for_each(|_| self.learn(self.options.batch_size, (FOR_ASKED, FOR_NEAR)))
    }

    /// So many updates at first, ever fewer later, one at least.
    fn updates(&self, first: u64) -> u64 {
        (ALL_UPDATES * first / self.samples.max(1)).clamp(1, first)
    }

    /// One update, with these shares of λs that games asked for, and of others near them.
    fn learn(&mut self, batch: usize, (for_asked, for_near): (f64, f64)) -> Result<()> {
        let Answers { encoder, network, asked, .. } = &mut self.answers;
        self.places.clear();
        self.lams.clear();
        for _ in 0..batch {
            self.places.push(self.replay.draw(&mut self.rng));
            let kind = random::unit(&mut self.rng);
            let near =
                asked.get(random::below(asked.len(), &mut self.rng)).filter(|_| kind < for_asked + for_near);
            let noise = match near {
                Some(_) if kind < for_asked => 0.0,
                Some(lam) => NEAR * vector::norm(lam) / (lam.len() as f64).sqrt(),
                None => 1.0,
            };
            for (k, lam) in self.lam.iter_mut().enumerate() {
                let drawn = if noise > 0.0 { noise * random::normal(&mut self.rng) } else { 0.0 };
                *lam = near.map_or(0.0, |near| near[k]) + drawn;
            }
            network.direction(&self.lam, &mut self.lams);
        }
        let batch = Batch { replay: &self.replay, places: &self.places, lams: &self.lams };
        network.learn(encoder, batch, &mut self.rng)
    }

    /// Learns for what games asked for, without a step: the λs of a game are others than those before it.
    fn study(&mut self) -> Result<()> {
        let studies = if self.answers.asked.is_empty() { 0 } else { self.updates(STUDIES) };
        let batch = STUDY_BATCHES * self.options.batch_size;
        (0..studies).try_for_each(|_| self.learn(batch, (1.0 - FOR_NEAR, FOR_NEAR)))
    }

    /// Updates of where to go for something new, after a step there.
    fn learn_novelty(&mut self) {
        let Answers { encoder, network, .. } = &mut self.answers;
        for _ in 0..network.novelty_updates() {
            self.places.clear();
            self.places.extend((0..self.options.batch_size).map(|_| self.replay.draw(&mut self.rng)));
            network.learn_novelty(encoder, &self.replay, &self.places);
        }
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
        self.answers.network.rescale(&sizes);
    }

    /// An episode towards what is new. Returns whether it found any.
    fn venture(&mut self) -> Result<bool> {
        self.start()?;
        let (mut found, mut lost) = (false, 0);
        while self.goes_on() && lost < LOST {
            let Answers { encoder, network, .. } = &mut self.answers;
            let new = network.venture(encoder, &self.observation, &mut self.rng, &mut self.action);
            let Some(is_new) = new else { break };
            (found, lost) = (found || is_new, if is_new { 0 } else { lost + 1 });
            self.step()?;
            self.learn_novelty();
        }
        self.end();
        Ok(found)
    }

    /// Steps after which what comes counts little.
    fn while_it_matters(&self) -> f64 {
        1.0 / (1.0 - self.discounting.gamma())
    }

    /// What the episode measures in the long run, as if one that was left went on as it did so far.
    fn long_term(&self) -> Vec<f64> {
        let mut sum = self.episode.sum().to_vec();
        let left = self.discounting.gamma().powf(self.episode.steps() as f64);
        if self.episode.status() == Status::Running && left < 1.0 {
            vector::scale(&mut sum, 1.0 / (1.0 - left));
        }
        sum
    }

    /// An episode of a mixed policy, of so many steps at most.
    fn play(&mut self, mixture: &Mixed, most: f64) -> Result<()> {
        self.start()?;
        let mut memory = Memory::default();
        if let Some(policy) = mixture.draw(&mut self.rng) {
            while self.goes_on() && (self.episode.steps() as f64) < most {
                let (observation, step) = (self.episode.observation(), self.episode.steps());
                policy.act(observation, step, &mut self.rng, &mut memory, &mut self.action);
                self.step()?;
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
            let enough = if self.answers.network.is_counting() { self.budget / 4 } else { self.budget / 20 };
            while idle < IDLE && self.samples < enough {
                idle = if self.venture()? { 0 } else { idle + 1 };
            }
        }
        Ok(&mut self.answers)
    }

    fn rollout(&mut self, mixture: &Mixed) -> Result<()> {
        // What comes later counts little, and a policy that turns in circles teaches little.
        self.play(mixture, self.while_it_matters())?;
        self.study()
    }

    fn explore(&mut self) -> Result<()> {
        // Where nothing says what has been tried enough, every other episode is for the λ that the last game ended with.
        self.ventures += 1;
        let is_for_game = !self.answers.network.is_counting() && self.ventures.is_multiple_of(2);
        match self.answers.last_asked().filter(|_| is_for_game) {
            Some(lam) => {
                let (Answers { encoder, network, .. }, mut direction) = (&self.answers, Vec::new());
                network.direction(lam, &mut direction);
                let policy = network.policy(encoder, &direction)?;
                self.play(&Mixed::one(policy), f64::INFINITY)?;
            }
            None => {
                if !self.venture()? {
                    self.answers.network.ask_for_more();
                }
            }
        }
        self.study()
    }

    fn is_spent(&self) -> bool {
        self.samples >= self.budget
    }

    /// Those of all episodes so far: most are of mixtures such as this one.
    fn deviations(&mut self, _: &Mixed) -> Result<Vec<f64>> {
        Ok(self.played.with_spread().1.deviations)
    }

    /// Plays fresh episodes, which are learnt from like any other, as long as they give hope.
    fn confirm(&mut self, mixture: &Mixed, set: &SharedSet, tolerance: f64) -> Result<Confirmation> {
        let (mut fresh, before) = (Estimate::new(self.sizes.len()), self.samples);
        // A policy that turns in circles is found out before it takes many steps.
        let mut look = Estimate::new(self.sizes.len());
        while look.count() < FIRST_LOOK && !self.is_spent() {
            self.play(mixture, self.while_it_matters())?;
            look.add(&self.long_term());
            if self.episode.status() != Status::Running {
                fresh.add(self.episode.sum());
            }
        }
        if !gives_hope(&look, set) {
            return Ok(Confirmation::Refuted(Some(look)));
        }
        let mut enough = self.options.confirming;
        while !self.is_spent() && fresh.count() < MOST_CONFIRMING.max(self.options.confirming) {
            self.play(mixture, LONG * self.while_it_matters())?;
            if self.is_spent() {
                // The last episode may not be whole.
                break;
            }
            fresh.add(self.episode.sum());
            if !gives_hope(&fresh, set) {
                return Ok(Confirmation::Refuted(Some(fresh)));
            }
            let is_due = self.samples - before >= self.budget / 20 || fresh.count() >= MOST_CONFIRMING;
            if fresh.count() >= enough && is_due {
                if is_sure(&fresh, SURE, &vec![0.0; set.dim()], set, tolerance) {
                    return Ok(Confirmation::Sure(fresh.mean().to_vec()));
                }
                // More of what lies outside only takes the steps that another mixture needs.
                if !set.contains(fresh.mean(), tolerance) {
                    return Ok(Confirmation::Refuted(Some(fresh)));
                }
                if self.samples - before >= self.budget / LEFT_OPEN {
                    break;
                }
                enough = (AGAIN * fresh.count() as f64) as usize;
            }
        }
        let is_likely = fresh.count() >= self.options.confirming && set.contains(fresh.mean(), tolerance);
        Ok(if is_likely {
            Confirmation::Unrefuted(fresh.mean().to_vec(), Some(fresh))
        } else {
            Confirmation::Refuted((fresh.count() > 1).then_some(fresh))
        })
    }

    fn prepare(&mut self, lam: &[f64]) -> Result<()> {
        let batch = STUDY_BATCHES * self.options.batch_size;
        let asked = std::mem::replace(&mut self.answers.asked, VecDeque::from([lam.to_vec()]));
        let learnt = (0..PREPARATIONS).try_for_each(|_| self.learn(batch, (FOR_ASKED, FOR_NEAR)));
        self.answers.asked = asked;
        learnt
    }

    fn measure(&mut self, mixture: &Mixed, episodes: usize, to: &mut Estimate) -> Result<()> {
        for _ in 0..episodes {
            if self.is_spent() {
                break;
            }
            self.play(mixture, self.while_it_matters())?;
            to.add(&self.long_term());
            // One that turns in circles is known well enough.
            if self.episode.status() == Status::Running {
                break;
            }
        }
        self.study()
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        Respond::fits(&self.answers, policy)
    }

    fn samples(&self) -> u64 {
        self.samples
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
