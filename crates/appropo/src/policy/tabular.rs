use serde::Serialize;

use super::{Memory, Policy};
use crate::error::{Error, Result, in_range};
use crate::random::{self, Generator};
use crate::state::{Loader, Saved, Saver};

/// A policy for finitely many states, the same at every step or with a table for each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TabularPolicy {
    states: usize,
    actions: usize,
    stages: usize,
    table: Table,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
enum Table {
    /// The action, as `[stage * states + state]`.
    Deterministic(Vec<u32>),
    /// The probabilities, as `[(stage * states + state) * actions + action]`.
    Stochastic(Vec<f64>),
}

impl TabularPolicy {
    /// One action a state; several tables in a row are used one a step, the last for all further steps.
    pub fn deterministic(states: usize, actions: usize, table: Vec<u32>) -> Result<Self> {
        let stages = stages("policy table", table.len(), states)?;
        if let Some(&action) = table.iter().find(|a| **a as usize >= actions) {
            return Err(Error::Index { what: "action", index: action as usize, count: actions });
        }
        Ok(Self { states, actions, stages, table: Table::Deterministic(table) })
    }

    /// One distribution over actions a state; tables in a row as for [`deterministic`](Self::deterministic).
    pub fn stochastic(states: usize, actions: usize, table: Vec<f64>) -> Result<Self> {
        let stages = stages("policy table", table.len(), states.saturating_mul(actions))?;
        for row in table.chunks(actions) {
            let sum: f64 = row.iter().sum();
            in_range("the sum of a state's action probabilities", sum, (sum - 1.0).abs() < 1e-9, "1")?;
            let least = row.iter().copied().fold(f64::INFINITY, f64::min);
            in_range("an action probability", least, least >= 0.0, "0 or more")?;
        }
        Ok(Self { states, actions, stages, table: Table::Stochastic(table) })
    }

    /// The policy that chooses every action equally often.
    pub fn uniform(states: usize, actions: usize) -> Self {
        let table = Table::Stochastic(vec![1.0 / actions as f64; states * actions]);
        Self { states, actions, stages: 1, table }
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.states
    }

    /// Number of actions.
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// Number of tables; 1 for a stationary policy.
    pub fn stages(&self) -> usize {
        self.stages
    }

    /// The action of every stage and state, as `[stage * states + state]`, where it is certain.
    pub fn actions_taken(&self) -> Option<&[u32]> {
        match &self.table {
            Table::Deterministic(table) => Some(table),
            Table::Stochastic(_) => None,
        }
    }

    /// The action of largest probability in a state at the given step; the first of several.
    pub fn most_likely(&self, step: usize, state: usize) -> usize {
        let probability = |action: &usize| self.probability(step, state, *action);
        (0..self.actions).rev().max_by(|a, b| probability(a).total_cmp(&probability(b))).unwrap_or(0)
    }

    /// π(action | state) at the given step.
    pub fn probability(&self, step: usize, state: usize, action: usize) -> f64 {
        let row = step.min(self.stages - 1) * self.states + state;
        match &self.table {
            Table::Deterministic(table) => f64::from(table[row] as usize == action),
            Table::Stochastic(table) => table[row * self.actions + action],
        }
    }
}

fn stages(what: &str, entries: usize, per_stage: usize) -> Result<usize> {
    if per_stage == 0 || entries == 0 || !entries.is_multiple_of(per_stage) {
        return Err(Error::Dimension { what: what.into(), found: entries, expected: per_stage.max(1) });
    }
    Ok(entries / per_stage)
}

impl Policy for TabularPolicy {
    fn act(&self, observation: &[f64], step: usize, rng: &mut Generator, _: &mut Memory, action: &mut [f64]) {
        let row = step.min(self.stages - 1) * self.states + observation[0] as usize;
        let chosen = match &self.table {
            Table::Deterministic(table) => table[row] as usize,
            Table::Stochastic(table) => {
                let weights = &table[row * self.actions..(row + 1) * self.actions];
                random::choose(weights.iter().copied(), 1.0, rng)
            }
        };
        action[0] = chosen as f64;
    }

    fn table(&self) -> Option<TabularPolicy> {
        Some(self.clone())
    }
}
impl Saved for TabularPolicy {
    fn save(&self, to: &mut Saver) {
        to.put(&(self.states, self.actions));
        match &self.table {
            Table::Deterministic(table) => {
                to.put(&true);
                to.put(table);
            }
            Table::Stochastic(table) => {
                to.put(&false);
                to.put(table);
            }
        }
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let (states, actions) = from.get()?;
        if from.get()? {
            Self::deterministic(states, actions, from.get()?)
        } else {
            Self::stochastic(states, actions, from.get()?)
        }
    }
}
