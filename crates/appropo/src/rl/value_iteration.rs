use super::{Plan, best_action};
use crate::env::TabularMdp;
use crate::error::{Error, Result};

const SWEEPS: usize = 1_000_000;

/// The best stationary policy for the reward of every choice, by value iteration until no value
/// changes by more than rounding.
pub fn value_iteration(model: &TabularMdp, gamma: f64, decisions: &[bool], rewards: &[f64]) -> Result<Plan> {
    let mut values = vec![0.0; model.states()];
    let mut actions = vec![0; model.states()];
    let mut residual = f64::INFINITY;
    for _ in 0..SWEEPS {
        let (mut change, mut size) = (0.0f64, 0.0f64);
        for state in (0..model.states()).filter(|&s| decisions[s]) {
            let (action, value) = best_action(model, gamma, rewards, &values, state);
            change = change.max((value - values[state]).abs());
            size = size.max(value.abs());
            values[state] = value;
            actions[state] = action;
        }
        residual = change;
        if change <= 4.0 * f64::EPSILON * size {
            return Ok(Plan { actions, values });
        }
    }
    Err(Error::Evaluation { residual })
}
