//! What a policy visits under a discount: ρ with (I − γP)ᵀρ = β.

use std::collections::VecDeque;

use super::band::{Band, Reach, SMALL};
use super::chain::Chain;
use crate::env::TabularMdp;
use crate::error::Result;

/// What flows into a state and is this little, relative to all that starts, is not passed on.
const LEAST: f64 = f64::EPSILON / 64.0;
/// How often flow is passed on, for each state of the model, before giving up.
const STEPS: usize = 16;

/// Sets `visits` to the discounted number of visits to each state, for the policy that takes the choices `chosen(state)`.
pub(super) fn discounted_visits<I: Iterator<Item = (usize, f64)>>(
    model: &TabularMdp,
    gamma: f64,
    chosen: impl Fn(usize) -> I,
    visits: &mut [f64],
) -> Result<()> {
    if eliminate(model, gamma, &chosen, visits) || pass_on(model, gamma, &chosen, visits) {
        return Ok(());
    }
    let decisions = model.decision_states();
    let inside = (0..visits.len()).filter(|&s| decisions[s]);
    let chain = Chain::of(model, gamma, (0..visits.len(), inside), chosen, |_| 0);
    chain.visits_from(model.start(), visits)
}

/// By elimination, where neighbours have numbers that are close. Returns whether that is so.
fn eliminate<I: Iterator<Item = (usize, f64)>>(
    model: &TabularMdp,
    gamma: f64,
    chosen: impl Fn(usize) -> I,
    visits: &mut [f64],
) -> bool {
    let decisions = model.decision_states();
    let inside: Vec<usize> = (0..visits.len()).filter(|&s| decisions[s]).collect();
    if inside.len() > SMALL {
        return false;
    }
    let mut number = vec![usize::MAX; visits.len()];
    inside.iter().enumerate().for_each(|(i, &state)| number[state] = i);
    let mut entries = Vec::with_capacity(8 * inside.len());
    for (i, &state) in inside.iter().enumerate() {
        for (choice, chosen) in chosen(state) {
            for (p, next) in model.outcomes_of(choice).successors() {
                if number[next] != usize::MAX {
                    entries.push((i, number[next], gamma * chosen * p));
                }
            }
        }
    }
    let places = entries.iter().map(|&(i, next, _)| (next, i));
    let Some(reach) = Reach::of(inside.len(), places) else { return false };
    let mut band = Band::default();
    band.clear(reach);
    entries.iter().for_each(|&(i, next, weight)| band.subtract(next, i, weight));
    let mut solved = vec![0.0; inside.len()];
    let start = model.start().iter().filter(|(state, _)| decisions[*state]);
    start.for_each(|&(state, probability)| solved[number[state]] += probability);
    band.solve(&mut solved);
    inside.iter().zip(solved).for_each(|(&state, solved)| visits[state] = solved);
    true
}

/// By passing on what flows into states until next to nothing is left (local push, Andersen, Chung and Lang 2006). Returns whether it
/// came to that; if not, `visits` are fewer than they should be.
///
/// A policy that leads somewhere keeps to a small part of a large model, and no other part is looked at. All numbers are added and
/// none is taken off, so small numbers of visits are as exact as large ones.
fn pass_on<I: Iterator<Item = (usize, f64)>>(
    model: &TabularMdp,
    gamma: f64,
    chosen: impl Fn(usize) -> I,
    visits: &mut [f64],
) -> bool {
    let decisions = model.decision_states();
    let (mut flow, mut queue) = (vec![0.0; visits.len()], VecDeque::new());
    for &(state, probability) in model.start().iter().filter(|(state, _)| decisions[*state]) {
        flow[state] += probability;
        queue.push_back(state as u32);
    }
    for _ in 0..STEPS * visits.len() {
        let Some(state) = queue.pop_front() else { return true };
        let state = state as usize;
        let arrived = std::mem::take(&mut flow[state]);
        // What stays put comes back at once.
        let mut staying = 0.0;
        for (choice, chosen) in chosen(state) {
            let successors = model.outcomes_of(choice).successors();
            let same = successors.filter(|(_, next)| *next == state);
            staying += same.map(|(p, _)| gamma * chosen * p).sum::<f64>();
        }
        let passed = arrived / (1.0 - staying);
        visits[state] += passed;
        for (choice, chosen) in chosen(state) {
            for (p, next) in model.outcomes_of(choice).successors() {
                if next == state || !decisions[next] {
                    continue;
                }
                let before = flow[next];
                flow[next] += passed * gamma * chosen * p;
                if before <= LEAST && flow[next] > LEAST {
                    queue.push_back(next as u32);
                }
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{garnet, mars_rover};
    use crate::random;
    use crate::rl::chain::taken;
    use crate::rl::flow::error_bound;

    /// What is passed on ends up as the visits that the linear solve finds, on a large map that a policy crosses; a policy that goes
    /// round for long is left to that solve.
    #[test]
    fn what_is_passed_on_solves_the_flow_equation() {
        let rng = &mut random::generator(5);
        let map = mars_rover::random_map(60, 60, 0.05, rng).unwrap();
        let size = garnet::Size { states: 400, actions: 3, branching: 4, measures: 1 };
        let worlds = [
            (mars_rover::world(&map, 0.05).unwrap(), 0.999, true),
            (garnet::world(size, rng).unwrap(), 0.05, true),
            (garnet::world(size, rng).unwrap(), 0.9999, false),
        ];
        for (world, gamma, is_done) in worlds {
            let model = &world.model;
            let mut lam = vec![0.0; model.measures().dim()];
            lam[0] = 1.0;
            if lam.len() > 1 {
                lam[1] = -1.0;
            }
            let rewards = model.rewards(&lam);
            let steps = 1.0 / (1.0 - gamma);
            let plan =
                crate::rl::policy_iteration(model, gamma, model.decision_states(), &rewards, steps).unwrap();
            let chosen = |s| taken(model, &plan.actions, s);
            let mut visits = vec![0.0; model.states()];
            assert_eq!(pass_on(model, gamma, chosen, &mut visits), is_done, "{gamma}");
            if !is_done {
                discounted_visits(model, gamma, chosen, &mut visits).unwrap();
            }
            let bound = error_bound(model, gamma, chosen, &visits);
            assert!(bound <= 1e-9 * visits.iter().sum::<f64>(), "{bound:e}");
            let inside = (0..model.states()).filter(|&s| model.decision_states()[s]);
            let chain = Chain::of(model, gamma, (0..model.states(), inside), chosen, |_| 0);
            let mut solved = vec![0.0; model.states()];
            chain.visits(model.start(), &mut solved).unwrap();
            let largest = crate::vector::largest(&solved);
            for (found, solved) in visits.iter().zip(solved) {
                assert!((found - solved).abs() <= 1e-12 * largest, "{found:e} against {solved:e}");
            }
        }
    }
}
