use std::sync::Arc;

use super::{Episode, EpisodeWindow, Learner, LearnerContext, LearnerEntry, MakeLearner, not_its_own};
use crate::env::{EnvSpec, Environment, Status, countable};
use crate::error::{Result, dimension, in_range};
use crate::options::{Kind, Options, Range, Table, options, words};
use crate::policy::{AnyPolicy, GreedyPolicy, best};
use crate::random::{self, Generator};
use crate::state::{Checkpoint, Loader, Saver};
use crate::vector;

words! {
    /// What the value of the next state is taken to be.
    pub enum Backup {
        /// that of its best action (Watkins 1989)
        QLearning = "q-learning",
        /// that of the action taken there (Rummery and Niranjan 1994)
        Sarsa = "sarsa",
    }
}

options! {
    /// The options of Q-learning and SARSA.
    pub struct QLearningOptions {
        /// What the value of the next state is taken to be.
        backup: Backup = Kind::Word(Backup::WORDS), defaulted "\"q-learning\"";
        /// The step size.
        learning_rate: f64 = Kind::Number(Range::SHARE), defaulted "0.1";
        /// How often an action is taken at random.
        exploration_rate: f64 = Kind::Number(Range::UNIT), defaulted "0.05";
        /// Q(s, a) before anything is learnt. More than can be had makes the learner try everything.
        initial_value: f64 = Kind::Number(Range::ANY), defaulted "0";
    }
}

pub(super) static ENTRY: LearnerEntry = LearnerEntry {
    name: "q-learning",
    about: "action values in a table",
    keys: QLearningOptions::KEYS,
    read: |given| Ok(Arc::new(QLearningOptions::read(given)?)),
};

impl MakeLearner for QLearningOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn make(&self, context: LearnerContext) -> Result<Box<dyn Learner>> {
        let LearnerContext { mut envs, gamma, limit, rng, .. } = context;
        in_range("environments", envs.len() as f64, !envs.is_empty(), "1 or more")?;
        Ok(Box::new(QLearner::new(envs.swap_remove(0), gamma, limit, self.clone(), rng)?))
    }

    fn table(&self, _: &EnvSpec) -> Table {
        Options::table(self)
    }

    fn check(&self, env: &EnvSpec) -> Result<()> {
        countable("Q-learning", env.observations(), env.actions()).map(drop)
    }
}

/// Learning of action values in a table, one episode at a time.
#[derive(Debug)]
pub struct QLearner {
    options: QLearningOptions,
    gamma: f64,
    actions: usize,
    values: Vec<f64>,
    episode: Episode,
    rng: Generator,
}

impl QLearner {
    /// A learner for a world of countable observations and actions. Episodes are cut off after `limit` steps.
    pub fn new(
        world: Box<dyn Environment>,
        gamma: f64,
        limit: usize,
        options: QLearningOptions,
        rng: Generator,
    ) -> Result<Self> {
        let (states, actions) = countable("Q-learning", &world.observations(), &world.actions())?;
        in_range(
            "step size",
            options.learning_rate,
            options.learning_rate > 0.0 && options.learning_rate <= 1.0,
            "above 0, at most 1",
        )?;
        in_range(
            "exploration rate",
            options.exploration_rate,
            (0.0..=1.0).contains(&options.exploration_rate),
            "between 0 and 1",
        )?;
        in_range("initial value", options.initial_value, true, "a number")?;
        Ok(Self {
            gamma,
            actions,
            values: vec![options.initial_value; states * actions],
            episode: Episode::new(world, gamma, limit),
            rng,
            options,
        })
    }

    fn row(&self, observation: f64) -> &[f64] {
        let start = observation as usize * self.actions;
        &self.values[start..start + self.actions]
    }

    fn choose(&mut self) -> usize {
        if random::unit(&mut self.rng) < self.options.exploration_rate {
            random::below(self.actions, &mut self.rng)
        } else {
            best(self.row(self.episode.observation()[0]))
        }
    }
}

impl Learner for QLearner {
    fn learn(&mut self, weights: &[f64], window: &mut EpisodeWindow) -> Result<usize> {
        dimension("reward weights", weights.len(), self.episode.z().len())?;
        self.episode.start(&mut self.rng)?;
        let mut action = self.choose();
        while self.episode.status() == Status::Running {
            let pair = self.episode.observation()[0] as usize * self.actions + action;
            let status = self.episode.step(&[action as f64], &mut self.rng)?;
            action = self.choose();
            let next = self.row(self.episode.observation()[0]);
            let future = match (status, self.options.backup) {
                (Status::Ended, _) => 0.0,
                (_, Backup::QLearning) => next[best(next)],
                (_, Backup::Sarsa) => next[action],
            };
            let target = vector::dot(weights, self.episode.z()) + self.gamma * future;
            self.values[pair] += self.options.learning_rate * (target - self.values[pair]);
        }
        window.add(self.episode.sum());
        Ok(self.episode.steps())
    }

    fn policy(&self) -> AnyPolicy {
        GreedyPolicy::of(self.actions, self.options.exploration_rate, &self.values).into()
    }

    fn start_from(&mut self, policy: &AnyPolicy) -> Result<()> {
        let AnyPolicy::Greedy(policy) = policy else { return Err(not_its_own("Q-learning")) };
        dimension("action values", policy.values().len(), self.values.len())?;
        self.values.copy_from_slice(policy.values());
        Ok(())
    }

    fn start_afresh(&mut self) {
        self.values.fill(self.options.initial_value);
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        matches!(policy, AnyPolicy::Greedy(policy)
            if policy.actions() == self.actions && policy.values().len() == self.values.len())
    }
}

impl Checkpoint for QLearner {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put_all(&self.values);
        to.put(&self.rng);
        self.episode.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        from.get_finite("an action value", &mut self.values)?;
        self.rng = from.get()?;
        self.episode.load(from)
    }
}
