use std::ops::Range;

use super::Plan;
use super::chain::{Chain, taken};
use super::graph::successors;
use super::quotient::Quotient;
use super::sweeps::Sweeps;
use crate::env::TabularMdp;
use crate::error::{Error, Result};
use crate::vector::largest;

/// Policies that are evaluated before giving up.
const ROUNDS: usize = 1000;
/// Changes up to this, relative to the largest value, are rounding.
const ROUNDING: f64 = 1e-12;
/// How closely policies on the way are evaluated, relative to the largest value.
const ROUGHLY: f64 = 1e-8;
/// A switch must gain more than rounding, or equal actions would be swapped for ever.
const GAIN: f64 = 1e-13;

/// The best policy among those that end, where others may go on for ever, one strongly connected component after the other.
///
/// A state that does not lead back to itself through others is solved for at once. In a larger component it is policy iteration
/// from a policy that ends, `first` (Bertsekas and Tsitsiklis 1991). A few sweeps follow each evaluation while there is much to
/// gain; where what they find would not end, the policy stays as it was. In the end only switches that gain are made. Were a
/// policy that gains at each of its switches not to end, it would gain for ever: then there is no best policy, and the error is
/// [`Error::Unbounded`].
pub fn shortest_path(quotient: &Quotient, rewards: &[f64], first: &[u32]) -> Result<Plan> {
    let (model, decisions) = (&quotient.model, &*quotient.decisions);
    let mut plan = Plan { actions: first.to_vec(), values: vec![0.0; model.states()] };
    let nothing = GAIN * largest(rewards);
    for range in quotient.components() {
        if range.len() > 1 {
            Component { model, decisions, rewards, range, is_endless: quotient.is_endless }
                .solve(&mut plan)?;
        } else if decisions[range.start] {
            solve_state(model, rewards, nothing, range.start, &mut plan)?;
        }
    }
    Ok(plan)
}

/// The best choice of a state that leads to itself and to states that are solved for. Rewards up to `nothing` are rounding.
fn solve_state(
    model: &TabularMdp,
    rewards: &[f64],
    nothing: f64,
    state: usize,
    plan: &mut Plan,
) -> Result<()> {
    // Action, value, and what another must gain.
    let mut best = (0, f64::NEG_INFINITY, 0.0);
    for (choice, action) in model.choices_of(state).zip(0..) {
        let (mut future, mut leaving, mut stays) = (0.0, 0.0, false);
        for (probability, next) in model.outcomes_of(choice).successors() {
            if next == state {
                stays |= probability > 0.0;
            } else {
                leaving += probability;
                future += probability * plan.values[next];
            }
        }
        let once = rewards[choice] + future;
        if leaving == 0.0 {
            // It never ends.
            if once > nothing {
                return Err(Error::Unbounded { state });
            }
            continue;
        }
        let value = if stays { once / leaving } else { once };
        // What is as good but for rounding is not switched to.
        let margin = if plan.actions[state] == action { GAIN * value.abs() } else { 0.0 };
        if value + margin > best.1 + best.2 {
            best = (action, value, margin);
        }
    }
    (plan.actions[state], plan.values[state]) = (best.0, best.1);
    Ok(())
}

/// States that lead to each other, and to others that are solved for.
struct Component<'a> {
    model: &'a TabularMdp,
    decisions: &'a [bool],
    rewards: &'a [f64],
    range: Range<usize>,
    is_endless: bool,
}

impl Component<'_> {
    fn solve(&self, Plan { actions, values }: &mut Plan) -> Result<()> {
        let Self { model, decisions, rewards, range, .. } = self;
        let choices = model.choices_of(range.start).start..model.choices_of(range.end - 1).end;
        let paid = largest(&rewards[choices]);
        let size = |values: &[f64]| largest(&values[range.clone()]).max(paid);
        let mut sweeps = Sweeps::new(model, 1.0, (range.clone(), decisions), rewards, ROUNDING);
        let (mut accuracy, mut is_sweeping) = (ROUGHLY, true);
        for _ in 0..ROUNDS {
            self.evaluate(actions, accuracy, values)?;
            let before = actions[range.clone()].to_vec();
            if accuracy > 0.0 && is_sweeping {
                sweeps.run_span(values);
            }
            sweeps.improve(values, accuracy.max(GAIN) * size(values), actions);
            let caught = self.stuck(actions);
            if let (Some(&state), true) = (caught.first(), accuracy == 0.0) {
                return Err(Error::Unbounded { state });
            }
            // Values that rest on what never ends would have states switch to and fro.
            is_sweeping &= caught.is_empty();
            for state in caught {
                actions[state] = before[state - range.start];
            }
            if before == actions[range.clone()] {
                if accuracy == 0.0 {
                    if sweeps.is_small() && !self.is_endless {
                        // Where episodes may last for millions of steps, a bound is worth something by its last digit.
                        sweeps.settle(values);
                    }
                    return Ok(());
                }
                accuracy = 0.0;
            }
        }
        Err(Error::Evaluation { residual: f64::NAN })
    }

    /// What a policy that leaves the component is worth.
    fn evaluate(&self, actions: &[u32], accuracy: f64, values: &mut [f64]) -> Result<()> {
        let Self { model, range, .. } = self;
        let outside: Vec<f64> = range
            .clone()
            .map(|state| {
                if !self.decisions[state] {
                    return 0.0;
                }
                let choice = model.choice(state, actions[state] as usize);
                let row = model.outcomes_of(choice).successors().filter(|(_, next)| !range.contains(next));
                self.rewards[choice] + row.map(|(probability, next)| probability * values[next]).sum::<f64>()
            })
            .collect();
        let states = range.clone().filter(|&s| self.decisions[s]);
        let chain = Chain::of(model, 1.0, (range.clone(), states), |s| taken(model, actions, s), |_| 0);
        chain.values(|s| outside[s - range.start], accuracy, values)
    }

    /// The states from which a policy never leaves the component.
    fn stuck(&self, actions: &[u32]) -> Vec<usize> {
        if !self.is_endless {
            return Vec::new();
        }
        let Self { model, decisions, range, .. } = self;
        let start = range.start;
        let next = |state: usize| successors(model, model.choice(state, actions[state] as usize));
        let is_inside = |state: usize| range.contains(&state) && decisions[state];
        // Who leads to each state, and where they begin.
        let mut ends = vec![0u32; range.len() + 1];
        let mut leaves = vec![false; range.len()];
        let mut open = Vec::new();
        for state in range.clone().filter(|&s| decisions[s]) {
            for next in next(state) {
                if is_inside(next) {
                    ends[next - start + 1] += 1;
                } else if !std::mem::replace(&mut leaves[state - start], true) {
                    open.push(state);
                }
            }
        }
        for place in 0..range.len() {
            ends[place + 1] += ends[place];
        }
        let (mut free, mut sources) = (ends.clone(), vec![0u32; ends[range.len()] as usize]);
        for state in range.clone().filter(|&s| decisions[s]) {
            for next in next(state).filter(|&next| is_inside(next)) {
                let free = &mut free[next - start];
                sources[*free as usize] = state as u32;
                *free += 1;
            }
        }
        while let Some(state) = open.pop() {
            let place = state - start;
            for &source in &sources[ends[place] as usize..ends[place + 1] as usize] {
                if !std::mem::replace(&mut leaves[source as usize - start], true) {
                    open.push(source as usize);
                }
            }
        }
        range.clone().filter(|&s| decisions[s] && !leaves[s - start]).collect()
    }
}
