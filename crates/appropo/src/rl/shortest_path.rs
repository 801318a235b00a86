use super::Plan;
use super::chain::Chain;
use super::end_components::{Predecessors, successors};
use super::sweeps::{Sweeps, largest};
use crate::env::TabularMdp;
use crate::error::{Error, Result};

/// Sweeps before the first evaluation, at least.
const WARM_UP: usize = 40;
const ROUNDS: usize = 1000;
/// Changes up to this, relative to the largest value, are rounding.
const ROUNDING: f64 = 1e-12;
/// How closely policies on the way are evaluated, relative to the largest value.
const ROUGHLY: f64 = 1e-8;
/// A switch must gain more than rounding, or equal actions would be swapped for ever.
const GAIN: f64 = 1e-13;

/// The best policy among those that end, where others go on for ever, by policy iteration from one that ends (Bertsekas and
/// Tsitsiklis 1991).
///
/// Sweeps from 0 find most of the policy; where it would not end, it is `ending`. From then on only switches that gain are made.
/// Were a policy that gains at each of its switches not to end, it would gain for ever: then there is no best policy, and the
/// error is [`Error::Unbounded`].
pub fn shortest_path(
    model: &TabularMdp,
    decisions: &[bool],
    rewards: &[f64],
    ending: &[u32],
) -> Result<Plan> {
    let predecessors = Predecessors::new(model);
    let size = |values: &[f64]| largest(values).max(largest(rewards));
    let mut sweeps = Sweeps::new(model, 1.0, decisions, rewards, ROUNDING);
    let mut values = vec![0.0; model.states()];
    sweeps.run(&mut values, WARM_UP);
    if !size(&values).is_finite() {
        values.fill(0.0);
    }
    let mut actions = ending.to_vec();
    sweeps.improve(&values, ROUNDING * size(&values), &mut actions);
    for state in stuck(model, decisions, &predecessors, &actions) {
        actions[state] = ending[state];
    }
    let mut accuracy = ROUGHLY;
    for _ in 0..ROUNDS {
        let chain = Chain::deterministic(model, 1.0, decisions, &actions);
        chain.values(|s| rewards[model.choice(s, actions[s] as usize)], accuracy, &mut values)?;
        let mut next = actions.clone();
        sweeps.improve(&values, accuracy.max(GAIN) * size(&values), &mut next);
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
