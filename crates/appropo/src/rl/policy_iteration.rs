use super::Plan;
use super::chain::Chain;
use super::sweeps::{Ended, Sweeps, largest};
use crate::env::TabularMdp;
use crate::error::Result;

/// Policies that are evaluated before giving up.
const ROUNDS: usize = 1000;
/// Sweeps before the first evaluation, at least: policies are poor before.
const WARM_UP: usize = 40;
/// The bound that values prove is to be this close to what their policy is worth, relative to the largest value.
const ACCURACY: f64 = 1e-11;
/// Changes up to this, relative to the largest value, are rounding.
const ROUNDING: f64 = 16.0 * f64::EPSILON;
/// Changes up to this are the last: the policy is evaluated to the last digit.
const LAST: f64 = 1e-9;
/// A switch must gain more than rounding, or equal actions would be swapped for ever.
const GAIN: f64 = 1e-13;

/// The best stationary policy for the reward of every choice, by modified policy iteration (Puterman and Shin 1978).
///
/// Sweeps raise the values until they settle. Where they get slow, because staying in some region for long is what pays, the
/// policy that is greedy for them is evaluated, roughly, and sweeps go on from there. `steps` bounds the discounted number of
/// steps left. Values start below those of every policy: sweeps then only raise them, and the policy that is greedy for them
/// is at least as good as they say. From above, values that are too good would have to be paid off step by step.
pub fn policy_iteration(
    model: &TabularMdp,
    gamma: f64,
    decisions: &[bool],
    rewards: &[f64],
    steps: f64,
) -> Result<Plan> {
    let worst = rewards.iter().copied().fold(0.0, f64::min) * steps;
    let mut values: Vec<f64> = decisions.iter().map(|decides| if *decides { worst } else { 0.0 }).collect();
    let rounding = if steps > 0.0 { ROUNDING.max(ACCURACY / steps) } else { ROUNDING };
    let mut sweeps = Sweeps::new(model, gamma, decisions, rewards, rounding);
    let mut actions = vec![0u32; model.states()];
    let mut least = WARM_UP;
    for _ in 0..ROUNDS {
        let ended = sweeps.run(&mut values, least);
        let size = largest(&values).max(largest(rewards));
        sweeps.improve(&values, ROUNDING * size, &mut actions);
        let change = match ended {
            Ended::Settled if rounding * steps <= ACCURACY => return Ok(Plan { actions, values }),
            Ended::Settled => 0.0,
            Ended::Slow(change) => change,
        };
        let chain = Chain::deterministic(model, gamma, decisions, &actions);
        let reward = |s: usize| rewards[model.choice(s, actions[s] as usize)];
        if change > LAST * size && !sweeps.is_small() {
            // Where an evaluation brings nothing, sweeps are all there is.
            least = if chain.approach(reward, &mut values) { 0 } else { 2 * least.max(WARM_UP) };
        } else {
            chain.values(reward, 0.0, &mut values)?;
            // Values may have been far too low before.
            let size = largest(&values).max(largest(rewards));
            if !sweeps.improve(&values, GAIN * size, &mut actions) {
                return Ok(Plan { actions, values });
            }
        }
    }
    let chain = Chain::deterministic(model, gamma, decisions, &actions);
    chain.values(|s| rewards[model.choice(s, actions[s] as usize)], 0.0, &mut values)?;
    Ok(Plan { actions, values })
}
