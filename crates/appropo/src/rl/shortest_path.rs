use super::chain::Chain;
use super::end_components::{Predecessors, successors};
use super::{Plan, backup, best_action};
use crate::env::TabularMdp;
use crate::error::{Error, Result};

const SWEEPS: usize = 40;
const ROUNDS: usize = 1000;

/// The best policy among those that end, where others go on for ever, by policy iteration from one that ends (Bertsekas and
/// Tsitsiklis 1991).
///
/// Only switches that gain are made. Were a policy that gains at each of its switches not to end, it would gain for ever:
/// then there is no best policy, and the error is [`Error::Unbounded`].
pub fn shortest_path(
    model: &TabularMdp,
    decisions: &[bool],
    rewards: &[f64],
    ending: &[u32],
) -> Result<Plan> {
    let predecessors = Predecessors::new(model);
    let states: Vec<usize> = (0..model.states()).filter(|&s| decisions[s]).collect();
    let scale = |values: &[f64]| values.iter().chain(rewards).fold(0.0, |m: f64, v| m.max(v.abs()));
    let mut values = vec![0.0; model.states()];
    let mut actions = ending.to_vec();
    let evaluate = |actions: &[u32], accuracy: f64, values: &mut [f64]| {
        let chain = Chain::new(model, 1.0, decisions, |s, a| f64::from(actions[s] as usize == a));
        chain.values(|s| rewards[model.choice(s, actions[s] as usize)], accuracy, values)
    };
    evaluate(&actions, 1e-6, &mut values)?;
    // Sweeps up and down the states only raise values, and find most of the policy.
    for sweep in 0..SWEEPS {
        let mut change = 0.0f64;
        let mut visit = |s: usize| {
            let (_, value) = best_action(model, 1.0, rewards, &values, s);
            change = change.max((value - values[s]).abs());
            values[s] = value;
        };
        if sweep % 2 == 0 {
            states.iter().rev().copied().for_each(&mut visit);
        } else {
            states.iter().copied().for_each(&mut visit);
        }
        if change <= 1e-3 * scale(&values) {
            break;
        }
    }
    let mut greedy = actions.clone();
    let gain = 1e-12 * scale(&values);
    for &s in &states {
        let (action, best) = best_action(model, 1.0, rewards, &values, s);
        if best > backup(model, 1.0, rewards, &values, s, actions[s] as usize) + gain {
            greedy[s] = action;
        }
    }
    for state in stuck(model, decisions, &predecessors, &greedy) {
        greedy[state] = actions[state];
    }
    actions = greedy;
    let mut accuracy = 1e-8;
    for _ in 0..ROUNDS {
        evaluate(&actions, accuracy, &mut values)?;
        let gain = accuracy.max(1e-13) * scale(&values);
        let mut next = actions.clone();
        for &s in &states {
            let (action, best) = best_action(model, 1.0, rewards, &values, s);
            if best > backup(model, 1.0, rewards, &values, s, actions[s] as usize) + gain {
                next[s] = action;
            }
        }
        let caught = stuck(model, decisions, &predecessors, &next);
        if let (Some(&state), true) = (caught.first(), accuracy == 0.0) {
            return Err(Error::Unbounded { state });
        }
        for state in caught {
            next[state] = actions[state];
        }
        if next == actions {
            if accuracy == 0.0 {
                return Ok(Plan { actions, values });
            }
            accuracy = 0.0;
        }
        actions = next;
    }
    Err(Error::Evaluation { residual: f64::NAN })
}

/// The decision states from which a policy never ends.
fn stuck(model: &TabularMdp, decisions: &[bool], predecessors: &Predecessors, actions: &[u32]) -> Vec<usize> {
    let taken = |s: usize| model.choice(s, actions[s] as usize);
    let mut ends = vec![false; model.states()];
    let mut open = Vec::new();
    for state in (0..model.states()).filter(|&s| decisions[s]) {
        if successors(model, taken(state)).any(|next| !decisions[next]) {
            ends[state] = true;
            open.push(state);
        }
    }
    while let Some(state) = open.pop() {
        for (source, choice) in predecessors.of(state) {
            if decisions[source] && !ends[source] && taken(source) == choice {
                ends[source] = true;
                open.push(source);
            }
        }
    }
    (0..model.states()).filter(|&s| decisions[s] && !ends[s]).collect()
}
