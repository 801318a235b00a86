use std::ops::Range;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::Plan;
use super::chain::Chain;
use crate::env::TabularMdp;
use crate::error::Result;
use crate::vector::{add_scaled, dot, largest};

/// Decision states up to which a model is copied.
pub(super) const SMALL: usize = 1 << 11;
/// Policies that are evaluated before giving up.
const ROUNDS: usize = 1000;
/// Sweeps between two evaluations.
const SPAN: usize = 2;
/// Successors that are read at a time.
const LANES: usize = 4;
/// Places for successors that may be left empty, for each that is taken.
const EMPTY: usize = 4;
/// Multiplications for each entry of a chain up to which it is solved by elimination.
const ELIMINATION: usize = 64;

/// A discounted model of few states, copied for loops that pass through it many times: decision states are numbered, what ends
/// an episode is left out, and staying put is solved for. V(s) = max over a of f(a)r(a) + Σ W(a, s′)V(s′).
pub(super) struct Moves {
    /// States of the model.
    total: usize,
    /// Number → state.
    states: Vec<u32>,
    /// The first choice of each number, and the end.
    first: Vec<u32>,
    /// The first choice of each number in the model.
    origin: Vec<u32>,
    /// f(a) = 1/(1 − γP(s|s, a)).
    factors: Vec<f64>,
    /// W(a, ·): so many places a choice, the last of them empty, with weight 0.
    lanes: usize,
    next: Vec<[u32; LANES]>,
    weights: Vec<[f64; LANES]>,
}

impl Moves {
    /// The copy of a model, or the one made before where it is remembered. `None` where choices differ too much in how many
    /// states they lead to.
    pub fn of(model: &TabularMdp, gamma: f64, decisions: &[bool]) -> Result<Arc<Option<Self>>> {
        let mut digest = Sha256::new();
        digest.update(b"moves");
        digest.update(gamma.to_le_bytes());
        digest.update(Vec::from_iter(decisions.iter().map(|decides| u8::from(*decides))));
        model.remembered(digest.finalize().into(), || Ok(Self::new(model, gamma, decisions)))
    }

    fn new(model: &TabularMdp, gamma: f64, decisions: &[bool]) -> Option<Self> {
        let states: Vec<u32> = (0..decisions.len()).filter(|&s| decisions[s]).map(|s| s as u32).collect();
        let mut number = vec![u32::MAX; decisions.len()];
        states.iter().zip(0..).for_each(|(&state, i)| number[state as usize] = i);
        let (mut first, mut origin, mut factors) = (vec![0], Vec::new(), Vec::new());
        let mut rows: Vec<Vec<(u32, f64)>> = Vec::new();
        for (i, &state) in (0..).zip(&states) {
            let choices = model.choices_of(state as usize);
            origin.push(choices.start as u32);
            for choice in choices {
                let (mut row, mut stay) = (Vec::<(u32, f64)>::new(), 0.0);
                for (probability, next) in model.outcomes_of(choice).successors() {
                    match (number[next], row.last_mut()) {
                        (u32::MAX, _) => {}
                        (next, _) if next == i => stay += probability,
                        (next, Some(last)) if last.0 == next => last.1 += gamma * probability,
                        (next, _) => row.push((next, gamma * probability)),
                    }
                }
                let factor = 1.0 / (1.0 - gamma * stay);
                row.iter_mut().for_each(|(_, weight)| *weight *= factor);
                factors.push(factor);
                rows.push(row);
            }
            first.push(factors.len() as u32);
        }
        let lanes = rows.iter().map(|row| row.len().div_ceil(LANES)).max().unwrap_or(0).max(1);
        let taken: usize = rows.iter().map(|row| row.len().max(1)).sum();
        if LANES * lanes * rows.len() > (1 + EMPTY) * taken {
            return None;
        }
        let (mut next, mut weights) = (Vec::new(), Vec::new());
        for (row, lane) in rows.iter().flat_map(|row| (0..lanes).map(move |lane| (row, lane))) {
            let at = |k: usize| row.get(lane * LANES + k).copied().unwrap_or((0, 0.0));
            next.push(std::array::from_fn(|k| at(k).0));
            weights.push(std::array::from_fn(|k| at(k).1));
        }
        Some(Self { total: decisions.len(), states, first, origin, factors, lanes, next, weights })
    }

    /// The successors of a choice and their weights.
    fn row(&self, choice: usize) -> impl Iterator<Item = (usize, f64)> {
        let lanes = choice * self.lanes..(choice + 1) * self.lanes;
        let (next, weights) = (&self.next[lanes.clone()], &self.weights[lanes]);
        let all = next.as_flattened().iter().zip(weights.as_flattened());
        all.filter(|(_, weight)| **weight > 0.0).map(|(next, weight)| (*next as usize, *weight))
    }

    /// What a choice is worth, given the values of all states.
    #[inline(always)]
    fn value(&self, choice: usize, rewards: &[f64], values: &[f64]) -> f64 {
        let mut sum = rewards[choice];
        for lane in choice * self.lanes..(choice + 1) * self.lanes {
            let (next, weights) = (&self.next[lane], &self.weights[lane]);
            for k in 0..LANES {
                sum += weights[k] * values[next[k] as usize];
            }
        }
        sum
    }

    fn choices(&self, number: usize) -> Range<usize> {
        self.first[number] as usize..self.first[number + 1] as usize
    }

    /// The best policy for the reward of every choice of the model, by policy iteration: from the policy `first`, or from values
    /// of `worst`, which are below those of every policy. A switch must gain more than `gain`, relative to the largest value.
    pub fn plan(&self, rewards: &[f64], first: Option<&[u32]>, worst: f64, gain: f64) -> Result<Plan> {
        let count = self.states.len();
        let mut scaled = Vec::with_capacity(self.factors.len());
        for (i, &origin) in self.origin.iter().enumerate() {
            let rewards = rewards[origin as usize..].iter();
            scaled.extend(self.factors[self.choices(i)].iter().zip(rewards).map(|(f, reward)| f * reward));
        }
        let mut taken = self.first[..count].to_vec();
        let (mut values, mut band) = (vec![worst; count], Vec::new());
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
            let all = self.choices(i).map(|choice| self.value(choice, rewards, values));
            values[i] = all.fold(f64::NEG_INFINITY, |best, value| if value > best { value } else { best });
        }
    }

    /// Switches to the best choices where that gains more than so much. Returns whether any does.
    fn improve(&self, rewards: &[f64], values: &[f64], gain: f64, taken: &mut [u32]) -> bool {
        let mut has_switched = false;
        for (i, taken) in taken.iter_mut().enumerate() {
            let mut best = (*taken, self.value(*taken as usize, rewards, values) + gain);
            for choice in self.choices(i) {
                let value = self.value(choice, rewards, values);
                if value > best.1 {
                    best = (choice as u32, value);
                }
            }
            has_switched |= best.0 != *taken;
            *taken = best.0;
        }
        has_switched
    }

    /// The values of a policy: by elimination where neighbours have numbers that are close, as on a narrow map.
    fn evaluate(
        &self,
        taken: &[u32],
        rewards: &[f64],
        band: &mut Vec<f64>,
        values: &mut [f64],
    ) -> Result<()> {
        let (mut below, mut above, mut entries) = (0, 0, 0);
        for (i, &choice) in taken.iter().enumerate() {
            entries += 1;
            for (next, _) in self.row(choice as usize) {
                below = below.max(i.saturating_sub(next));
                above = above.max(next.saturating_sub(i));
                entries += 1;
            }
        }
        if taken.len() * below * above > ELIMINATION * entries {
            let rows = |i: usize| self.row(taken[i] as usize);
            let chain = Chain::of_rows((0..taken.len(), 0..taken.len()), rows, |_| 0);
            return chain.values(|i| rewards[taken[i] as usize], 0.0, values);
        }
        let width = below + 1 + above;
        band.clear();
        band.resize(taken.len() * width, 0.0);
        for ((i, &choice), row) in taken.iter().enumerate().zip(band.chunks_exact_mut(width)) {
            row[below] = 1.0;
            self.row(choice as usize).for_each(|(next, weight)| row[next + below - i] -= weight);
            values[i] = rewards[choice as usize];
        }
        eliminate(band, (below, above), values);
        Ok(())
    }
}

/// Solves Ax = b, where x is b before, for a matrix by its diagonals: so many below the main one, and so many above. I − γP needs
/// no pivots.
fn eliminate(band: &mut [f64], (below, above): (usize, usize), x: &mut [f64]) {
    let (count, width) = (x.len(), below + 1 + above);
    for k in 0..count {
        let (upper, lower) = band.split_at_mut((k + 1) * width);
        let (pivot, after) = (upper[k * width + below], &upper[k * width + below + 1..]);
        for (step, row) in lower.chunks_exact_mut(width).take(below).enumerate() {
            let row = &mut row[below - 1 - step..];
            let factor = row[0] / pivot;
            if factor != 0.0 {
                add_scaled(&mut row[1..=above], -factor, after);
                x[k + 1 + step] -= factor * x[k];
            }
        }
    }
    for (k, row) in band.chunks_exact(width).enumerate().rev() {
        let after = above.min(count - 1 - k);
        let known = dot(&row[below + 1..][..after], &x[k + 1..][..after]);
        x[k] = (x[k] - known) / row[below];
    }
}
