use super::chain::Chain;
use super::{Plan, backup, best_action};
use crate::env::TabularMdp;
use crate::error::Result;

/// Sweeps before the first exact evaluation: they find most of the policy at a fraction of its cost.
const WARM_UP: usize = 40;
const ROUNDS: usize = 1000;

/// The best stationary policy for the reward of every choice, by policy iteration (Howard 1960).
///
/// `steps` bounds the discounted number of steps left. Values start below those of every policy: sweeps then only
/// raise them, and the policy that is greedy for them is at least as good as they say.
pub fn policy_iteration(
    model: &TabularMdp,
    gamma: f64,
    decisions: &[bool],
    rewards: &[f64],
    steps: f64,
) -> Result<Plan> {
    let worst = rewards.iter().copied().fold(0.0, f64::min) * steps;
    let mut values: Vec<f64> = decisions.iter().map(|decides| if *decides { worst } else { 0.0 }).collect();
    let scale = |values: &[f64]| values.iter().chain(rewards).fold(0.0, |m: f64, v| m.max(v.abs()));
    let states: Vec<usize> = (0..model.states()).filter(|&s| decisions[s]).collect();
    let mut actions = vec![0u32; model.states()];
    // Sweeps up and down the states carry values across a map in a few passes.
    for sweep in 0..WARM_UP {
        let mut change = 0.0f64;
        let mut visit = |s: usize| {
            let (_, value) = best_action(model, gamma, rewards, &values, s);
            change = change.max((value - values[s]).abs());
            values[s] = value;
        };
        if sweep % 2 == 0 {
            states.iter().copied().for_each(&mut visit);
        } else {
            states.iter().rev().copied().for_each(&mut visit);
        }
        if change <= 1e-3 * scale(&values) {
            break;
        }
    }
    for &s in &states {
        actions[s] = best_action(model, gamma, rewards, &values, s).0;
    }
    // Policies on the way need not be evaluated to the last digit.
    let mut accuracy = 1e-8;
    for _ in 0..ROUNDS {
        let chain = Chain::new(model, gamma, decisions, |s, a| f64::from(actions[s] as usize == a));
        chain.values(|s| rewards[model.choice(s, actions[s] as usize)], accuracy, &mut values)?;
        // A switch must gain more than rounding, or equal actions would be swapped for ever.
        let gain = accuracy.max(1e-13) * scale(&values);
        let mut stable = true;
        for &s in &states {
            let (action, best) = best_action(model, gamma, rewards, &values, s);
            if best > backup(model, gamma, rewards, &values, s, actions[s] as usize) + gain {
                actions[s] = action;
                stable = false;
            }
        }
        if stable && accuracy == 0.0 {
            break;
        }
        if stable {
            accuracy = 0.0;
        }
    }
    Ok(Plan { actions, values })
}
