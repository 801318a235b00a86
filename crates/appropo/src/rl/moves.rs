use std::sync::Arc;

use super::Plan;
use super::band::{Band, Reach};
use super::chain::Chain;
use super::lanes::{Lanes, Side, key};
use crate::env::TabularMdp;
use crate::error::Result;
use crate::vector::{largest, wide};

/// Decision states up to which a model is copied.
pub(super) const SMALL: usize = 1 << 11;
/// Policies that are evaluated before giving up.
const ROUNDS: usize = 1000;
/// Sweeps between two evaluations.
const SPAN: usize = 4;

/// A discounted model of few states, copied, with decision states numbered.
pub(super) struct Moves {
    /// States of the model.
    total: usize,
    /// Number → state.
    states: Vec<u32>,
    lanes: Lanes,
    /// Where policies are evaluated by elimination.
    reach: Option<Reach>,
}

impl Moves {
    /// The copy of a model, or the one made before where it is remembered. `None` where choices lead to too many states.
    pub fn of(model: &TabularMdp, gamma: f64, decisions: &[bool]) -> Result<Arc<Option<Self>>> {
        model.remembered(key("moves", gamma, decisions), || Ok(Self::new(model, gamma, decisions)))
    }

    fn new(model: &TabularMdp, gamma: f64, decisions: &[bool]) -> Option<Self> {
        let states: Vec<u32> = (0..decisions.len()).filter(|&s| decisions[s]).map(|s| s as u32).collect();
        let mut number = vec![u32::MAX; decisions.len()];
        states.iter().zip(0..).for_each(|(&state, i)| number[state as usize] = i);
        let lanes = Lanes::new(model, gamma, states.iter().map(|s| *s as usize), &number)?;
        let all = (0..states.len()).flat_map(|i| lanes.actions(i).map(move |action| (i, action)));
        let entries = all.flat_map(|(i, action)| lanes.row(i, action).map(move |(next, _)| (i, next)));
        let reach = Reach::of(states.len(), entries);
        Some(Self { total: decisions.len(), states, lanes, reach })
    }

    /// The best policy for the reward of every choice of the model, by policy iteration: from the policy `first`, or from values
    /// of `worst`, which are below those of every policy. A switch must gain more than `gain`, relative to the largest value.
    pub fn plan(&self, rewards: &[f64], first: Option<&[u32]>, worst: f64, gain: f64) -> Result<Plan> {
        let scaled = self.lanes.scaled(rewards);
        let (mut values, mut band) = (vec![worst; self.states.len()], Band::default());
        let mut taken: Vec<u32> = match first {
            Some(actions) => {
                (0..).zip(&self.states).map(|(i, &s)| self.known(i, actions[s as usize])).collect()
            }
            None => vec![0; self.states.len()],
        };
        if first.is_none() {
            self.sweep_and_improve(&scaled, &mut values, &mut taken);
        }
        for _ in 0..ROUNDS {
            self.evaluate(&taken, &scaled, &mut band, &mut values)?;
            let size = largest(&values).max(largest(rewards));
            if !self.improve(&scaled, &values, gain * size, &mut taken) {
                break;
            }
            self.sweep_and_improve(&scaled, &mut values, &mut taken);
        }
        let mut plan = Plan { actions: vec![0; self.total], values: vec![0.0; self.total] };
        for (i, &state) in self.states.iter().enumerate() {
            plan.actions[state as usize] = taken[i];
            plan.values[state as usize] = values[i];
        }
        Ok(plan)
    }

    /// An action, or the last one that a state has.
    fn known(&self, number: usize, action: u32) -> u32 {
        action.min(self.lanes.actions(number).last().unwrap_or(0) as u32)
    }

    fn sweep_and_improve(&self, scaled: &[Side], values: &mut [f64], taken: &mut [u32]) {
        wide(
            #[inline(always)]
            || {
                for sweep in 0..SPAN {
                    self.sweep(scaled, values, sweep % 2 == 0);
                }
            },
        );
        self.improve(scaled, values, 0.0, taken);
    }

    /// Gives every state its best value, given those of the others.
    #[inline(always)]
    fn sweep(&self, scaled: &[Side], values: &mut [f64], is_upward: bool) {
        for i in 0..values.len() {
            let i = if is_upward { values.len() - 1 - i } else { i };
            values[i] = self.lanes.best(i, scaled, values).1;
        }
    }

    /// Switches to the best choices where that gains more than so much. Returns whether any does.
    fn improve(&self, scaled: &[Side], values: &[f64], gain: f64, taken: &mut [u32]) -> bool {
        wide(
            #[inline(always)]
            || {
                let mut has_switched = false;
                for (i, taken) in taken.iter_mut().enumerate() {
                    let kept = self.lanes.value(i, *taken as usize, scaled, values) + gain;
                    let (action, value) = self.lanes.best(i, scaled, values);
                    if value > kept {
                        has_switched |= action as u32 != *taken;
                        *taken = action as u32;
                    }
                }
                has_switched
            },
        )
    }

    /// The values of a policy.
    fn evaluate(&self, taken: &[u32], scaled: &[Side], band: &mut Band, values: &mut [f64]) -> Result<()> {
        if let Some(reach) = self.reach {
            band.clear(reach);
            for ((i, &action), value) in taken.iter().enumerate().zip(values.iter_mut()) {
                let successors = self.lanes.successors(i, action as usize);
                successors.for_each(|(next, weight)| band.subtract(i, next, weight));
                *value = self.lanes.reward(i, action as usize, scaled);
            }
            band.solve(values);
            return Ok(());
        }
        let row = |i: usize| self.lanes.row(i, taken[i] as usize);
        let chain = Chain::of_rows((0..taken.len(), 0..taken.len()), row, |_| 0);
        chain.values(|i| self.lanes.reward(i, taken[i] as usize, scaled), 0.0, values)
    }
}
