use super::Plan;
use super::chain::Chain;
use super::moves::{Moves, SMALL};
use super::sweeps::{Ended, Sweeps};
use crate::env::TabularMdp;
use crate::error::Result;
use crate::vector::largest;

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
    policy_iteration_from(model, gamma, decisions, rewards, steps, None)
}

/// The same, where a policy that may be close to the best is known.
pub(crate) fn policy_iteration_from(
    model: &TabularMdp,
    gamma: f64,
    decisions: &[bool],
    rewards: &[f64],
    steps: f64,
    first: Option<&[u32]>,
) -> Result<Plan> {
    let worst = rewards.iter().copied().fold(0.0, f64::min) * steps;
    // Where episodes are so long that sweeps are too rough for this, the policy is evaluated in the end.
    let is_enough = ROUNDING * steps <= ACCURACY;
    if is_enough
        && steps > 0.0
        && decisions.iter().filter(|decides| **decides).count() <= SMALL
        && let Some(moves) = Moves::of(model, gamma, decisions)?.as_ref()
    {
        return moves.plan(rewards, first, worst, GAIN);
    }
    let rounding = if is_enough && steps > 0.0 { ACCURACY / steps } else { ROUNDING };
    let mut values: Vec<f64> = decisions.iter().map(|decides| if *decides { worst } else { 0.0 }).collect();
    let mut sweeps = Sweeps::discounted(model, gamma, decisions, rewards, rounding)?;
    let mut actions = vec![0u32; model.states()];
    let mut least = WARM_UP;
    for _ in 0..ROUNDS {
        let ended = sweeps.run(&mut values, least);
        let size = largest(&values).max(largest(rewards));
        sweeps.improve(&values, 0.0, &mut actions);
        let change = match ended {
            Ended::Settled if is_enough && !sweeps.is_small() => return Ok(Plan { actions, values }),
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
                // Where episodes may last for millions of steps, a bound is worth something by its last digit.
                sweeps.settle(&mut values);
                sweeps.improve(&values, f64::EPSILON * size, &mut actions);
                return Ok(Plan { actions, values });
            }
        }
    }
    let chain = Chain::deterministic(model, gamma, decisions, &actions);
    chain.values(|s| rewards[model.choice(s, actions[s] as usize)], 0.0, &mut values)?;
    Ok(Plan { actions, values })
}

#[cfg(test)]
mod tests {
    use super::super::{backup, decision_states};
    use super::*;
    use crate::env::{World, garnet, mars_rover};
    use crate::random;

    /// Values are those of the best policy, by their Bellman residuals, in small worlds, in worlds that are swept in parts, and
    /// where staying for long pays.
    #[test]
    fn values_solve_the_optimality_equation() {
        let rng = &mut random::generator(1);
        let map = mars_rover::random_map(190, 190, 0.05, rng).unwrap();
        let size = garnet::Size { states: 3000, actions: 3, branching: 4, measures: 2 };
        let wide = garnet::Size { states: 300, branching: 6, ..size };
        let many = garnet::Size { states: 300, actions: 6, ..size };
        let worlds: [(World, f64); 5] = [
            (garnet::world(many, rng).unwrap(), 0.99),
            (mars_rover::world("8x8", 0.05).unwrap(), 0.99),
            (garnet::world(wide, rng).unwrap(), 0.99),
            (garnet::world(size, rng).unwrap(), 0.999),
            (mars_rover::world(&map, 0.05).unwrap(), 0.999),
        ];
        for (world, gamma) in worlds {
            let (model, decisions) = (&world.model, decision_states(&world.model));
            // Staying for long on the large map takes seconds.
            let directions = [(0.5, -1.0), (1.0, 0.0)];
            let count = if model.states() > 10_000 { 1 } else { 2 };
            for (first, second) in directions.into_iter().take(count) {
                let mut lam = vec![0.0; model.measures().dim()];
                (lam[0], lam[1]) = (first, second);
                let rewards = model.rewards(&lam);
                let plan = policy_iteration(model, gamma, &decisions, &rewards, 1.0 / (1.0 - gamma)).unwrap();
                let size = largest(&plan.values).max(largest(&rewards));
                for state in (0..model.states()).filter(|&s| decisions[s]) {
                    let value = |action| backup(model, gamma, &rewards, &plan.values, state, action);
                    let best = (0..model.actions()).map(value).fold(f64::NEG_INFINITY, f64::max);
                    assert!((best - plan.values[state]).abs() <= 2e-13 * size, "state {state}");
                    assert!(value(plan.actions[state] as usize) >= best - 2e-13 * size, "state {state}");
                }
            }
        }
    }
}
