use std::ops::Range;
use std::sync::Arc;

use super::Plan;
use super::band::{Band, Reach};
use super::chain::Chain;
use super::lanes::{Lanes, key};
use crate::env::TabularMdp;
use crate::error::Result;
use crate::vector::largest;

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
    /// The first choice of each number, and the end.
    first: Vec<u32>,
    /// The first choice of each number in the model.
    origin: Vec<u32>,
    lanes: Lanes,
    /// Where policies are evaluated by elimination.
    reach: Option<Reach>,
}

impl Moves {
    /// The copy of a model, or the one made before where it is remembered. `None` where choices differ too much in how many
    /// states they lead to.
    pub fn of(model: &TabularMdp, gamma: f64, decisions: &[bool]) -> Result<Arc<Option<Self>>> {
        model.remembered(key("moves", gamma, decisions), || Ok(Self::new(model, gamma, decisions)))
    }

    fn new(model: &TabularMdp, gamma: f64, decisions: &[bool]) -> Option<Self> {
        let states: Vec<u32> = (0..decisions.len()).filter(|&s| decisions[s]).map(|s| s as u32).collect();
        let mut number = vec![u32::MAX; decisions.len()];
        states.iter().zip(0..).for_each(|(&state, i)| number[state as usize] = i);
        let (mut first, mut origin) = (vec![0], Vec::new());
        for &state in &states {
            let choices = model.choices_of(state as usize);
            origin.push(choices.start as u32);
            first.push(first[first.len() - 1] + choices.len() as u32);
        }
        let lanes = Lanes::new(model, gamma, states.iter().map(|s| *s as usize), &number)?;
        let of_number = |i: usize| first[i] as usize..first[i + 1] as usize;
        let all = (0..states.len()).flat_map(|i| of_number(i).map(move |choice| (i, choice)));
        let entries = all.flat_map(|(i, choice)| lanes.row(choice).map(move |(next, _)| (i, next)));
        let reach = Reach::of(states.len(), entries);
        Some(Self { total: decisions.len(), states, first, origin, lanes, reach })
    }

    fn choices(&self, number: usize) -> Range<usize> {
        self.first[number] as usize..self.first[number + 1] as usize
    }

    /// The best policy for the reward of every choice of the model, by policy iteration: from the policy `first`, or from values
    /// of `worst`, which are below those of every policy. A switch must gain more than `gain`, relative to the largest value.
    pub fn plan(&self, rewards: &[f64], first: Option<&[u32]>, worst: f64, gain: f64) -> Result<Plan> {
        let count = self.states.len();
        let mut scaled = Vec::with_capacity(self.lanes.factors().len());
        for (i, &origin) in self.origin.iter().enumerate() {
            let rewards = rewards[origin as usize..].iter();
            scaled.extend(
                self.lanes.factors()[self.choices(i)].iter().zip(rewards).map(|(f, reward)| f * reward),
            );
        }
        let mut taken = self.first[..count].to_vec();
        let (mut values, mut band) = (vec![worst; count], Band::default());
        match first {
            Some(actions) => {
                for (i, taken) in taken.iter_mut().enumerate() {
                    *taken = (*taken + actions[self.states[i] as usize]).min(self.first[i + 1] - 1);
                }
            }
            None => self.sweep_and_improve(&scaled, &mut values, &mut taken),
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
            plan.actions[state as usize] = taken[i] - self.first[i];
            plan.values[state as usize] = values[i];
        }
        Ok(plan)
    }

    fn sweep_and_improve(&self, rewards: &[f64], values: &mut [f64], taken: &mut [u32]) {
        for sweep in 0..SPAN {
            self.sweep(rewards, values, sweep % 2 == 0);
        }
        self.improve(rewards, values, 0.0, taken);
    }

    /// Gives every state its best value, given those of the others.
    fn sweep(&self, rewards: &[f64], values: &mut [f64], is_upward: bool) {
        for i in 0..values.len() {
            let i = if is_upward { values.len() - 1 - i } else { i };
            values[i] = self.lanes.best(self.choices(i), rewards, values).1;
        }
    }

    /// Switches to the best choices where that gains more than so much. Returns whether any does.
    fn improve(&self, rewards: &[f64], values: &[f64], gain: f64, taken: &mut [u32]) -> bool {
        let mut has_switched = false;
        for (i, taken) in taken.iter_mut().enumerate() {
            let kept = self.lanes.value(*taken as usize, rewards, values) + gain;
            let (choice, value) = self.lanes.best(self.choices(i), rewards, values);
            if value > kept {
                has_switched |= choice as u32 != *taken;
                *taken = choice as u32;
            }
        }
        has_switched
    }

    /// The values of a policy.
    fn evaluate(&self, taken: &[u32], rewards: &[f64], band: &mut Band, values: &mut [f64]) -> Result<()> {
        if let Some(reach) = self.reach {
            band.clear(reach);
            for ((i, &choice), value) in taken.iter().enumerate().zip(values.iter_mut()) {
                self.lanes.places(choice as usize).for_each(|(next, weight)| band.subtract(i, next, weight));
                *value = rewards[choice as usize];
            }
            band.solve(values);
            return Ok(());
        }
        let row = |i: usize| self.lanes.row(taken[i] as usize);
        let chain = Chain::of_rows((0..taken.len(), 0..taken.len()), row, |_| 0);
        chain.values(|i| rewards[taken[i] as usize], 0.0, values)
    }
}
