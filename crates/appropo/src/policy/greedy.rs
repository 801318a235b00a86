use serde::Serialize;

use super::{Memory, Policy, TabularPolicy};
use crate::error::{Result, dimension, finite, in_range};
use crate::random::{self, Generator};
use crate::state::{Loader, Saved, Saver};

/// The policy that a Q-function stands for: the action of the largest value, or with probability ε any action.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GreedyPolicy {
    actions: usize,
    epsilon: f64,
    /// Q(s, a), as `[state * actions + action]`.
    values: Vec<f64>,
}

impl GreedyPolicy {
    /// The policy of these values, `[state * actions + action]`, with 0 ≤ ε ≤ 1.
    pub fn new(states: usize, actions: usize, epsilon: f64, values: Vec<f64>) -> Result<Self> {
        in_range("epsilon", epsilon, (0.0..=1.0).contains(&epsilon), "between 0 and 1")?;
        in_range("actions", actions as f64, actions > 0, "1 or more")?;
        dimension("action values", values.len(), states * actions)?;
        finite("action value", &values)?;
        Ok(Self { actions, epsilon, values })
    }

    /// The policy of a learner's values, copied.
    pub(crate) fn of(actions: usize, epsilon: f64, values: &[f64]) -> Self {
        Self { actions, epsilon, values: values.to_vec() }
    }

    /// Number of actions.
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// The action of the largest value in a state.
    pub fn greedy(&self, state: usize) -> usize {
        best(&self.values[state * self.actions..(state + 1) * self.actions])
    }

    /// Q(s, a), as `[state * actions + action]`.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}

/// The first action of the largest value.
pub(crate) fn best<T: PartialOrd>(values: &[T]) -> usize {
    let mut best = 0;
    for (action, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = action;
        }
    }
    best
}

impl Policy for GreedyPolicy {
    fn act(&self, observation: &[f64], _: usize, rng: &mut Generator, _: &mut Memory, action: &mut [f64]) {
        let state = observation[0] as usize;
        let chosen = if random::unit(rng) < self.epsilon {
            random::below(self.actions, rng)
        } else {
            self.greedy(state)
        };
        action[0] = chosen as f64;
    }

    fn table(&self) -> Option<TabularPolicy> {
        let mut table = vec![self.epsilon / self.actions as f64; self.values.len()];
        for (row, values) in table.chunks_mut(self.actions).zip(self.values.chunks(self.actions)) {
            row[best(values)] += 1.0 - self.epsilon;
        }
        TabularPolicy::stochastic(self.values.len() / self.actions, self.actions, table).ok()
    }
}

impl Saved for GreedyPolicy {
    fn save(&self, to: &mut Saver) {
        to.put(&(self.actions, self.epsilon));
        to.put(&self.values);
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let (actions, epsilon): (usize, f64) = from.get()?;
        let values: Vec<f64> = from.get()?;
        Self::new(values.len() / actions.max(1), actions, epsilon, values)
    }
}
