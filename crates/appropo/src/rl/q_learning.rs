use super::{Episode, Learner, Trail};
use crate::env::{Environment, Status};
use crate::error::{Error, Result, dimension, in_range};
use crate::policy::{GreedyPolicy, best};
use crate::random::{self, Generator};
use crate::state::{Loader, Saver};
use crate::vector;

/// What the value of the next state is taken to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    /// That of its best action: Q-learning (Watkins 1989).
    QLearning,
    /// That of the action taken there: SARSA (Rummery and Niranjan 1994).
    Sarsa,
}

/// The settings of Q-learning and SARSA.
#[derive(Debug, Clone, PartialEq)]
pub struct QOptions {
    /// What the value of the next state is taken to be.
    pub backup: Backup,
    /// The step size.
    pub rate: f64,
    /// How often an action is taken at random.
    pub epsilon: f64,
    /// Q(s, a) before anything is learnt. More than can be had makes the learner try everything.
    pub optimism: f64,
}

impl Default for QOptions {
    /// Q-learning with step size 0.1, ε 0.05 and values that start at 0.
    fn default() -> Self {
        Self { backup: Backup::QLearning, rate: 0.1, epsilon: 0.05, optimism: 0.0 }
    }
}

/// Learning of action values in a table, one episode at a time.
pub struct QLearner {
    options: QOptions,
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
        options: QOptions,
        rng: Generator,
    ) -> Result<Self> {
        let (Some(states), Some(actions)) = (world.observations().count(), world.actions().count()) else {
            return Err(Error::Unsuitable {
                learner: "Q-learning",
                needs: "observations and actions that can be counted",
                instead: "\"ppo\" or \"a2c\"",
            });
        };
        in_range("step size", options.rate, options.rate > 0.0 && options.rate <= 1.0, "above 0, at most 1")?;
        in_range("epsilon", options.epsilon, (0.0..=1.0).contains(&options.epsilon), "between 0 and 1")?;
        in_range("optimism", options.optimism, true, "a number")?;
        Ok(Self {
            gamma,
            actions,
            values: vec![options.optimism; states * actions],
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
        if random::unit(&mut self.rng) < self.options.epsilon {
            random::below(self.actions, &mut self.rng)
        } else {
            best(self.row(self.episode.observation()[0]))
        }
    }
}

impl Learner for QLearner {
    type Policy = GreedyPolicy;

    fn learn(&mut self, weights: &[f64], trail: &mut Trail) -> Result<usize> {
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
            self.values[pair] += self.options.rate * (target - self.values[pair]);
        }
        trail.add(self.episode.sum());
        Ok(self.episode.steps())
    }

    fn policy(&self) -> GreedyPolicy {
        GreedyPolicy::of(self.actions, self.options.epsilon, &self.values)
    }

    fn start_from(&mut self, policy: &GreedyPolicy) -> Result<()> {
        dimension("action values", policy.values().len(), self.values.len())?;
        self.values.copy_from_slice(policy.values());
        Ok(())
    }

    fn start_afresh(&mut self) {
        self.values.fill(self.options.optimism);
    }

    fn fits(&self, policy: &GreedyPolicy) -> bool {
        policy.actions() == self.actions && policy.values().len() == self.values.len()
    }

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
