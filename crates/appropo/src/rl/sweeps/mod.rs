mod backup;
mod layout;
mod part;

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::available_parallelism;

use layout::{BLOCK, Layout, PARTS};
use part::Part;

use super::lanes::Side;
use crate::env::{Successors, TabularMdp};
use crate::error::Result;
use crate::vector::{larger, largest};

/// Sweeps between two looks at how fast they are.
const SPAN: usize = 10;
/// Sweeps of which one looks at all choices of a state; the others take the choice that it found best (Puterman and Shin 1978).
/// It is odd, so that every choice is looked at upward and downward. The first few sweeps look at all choices.
const CYCLE: usize = 3;
const FIRST: usize = 4;
/// Decision states up to which a policy is evaluated about as fast as a few sweeps take.
const SMALL: usize = 1 << 11;
/// The change left by a span, relative to that of the span before, above which policies are better evaluated.
const SLOW: f64 = 0.7;

/// Bellman backups of all decision states, in place, up and down their order: values cross a map in a few sweeps.
///
/// A backup solves for the state's own value, so that staying put is no loop. Blocks of states are left out until a value that
/// they depend on has changed. Large models are swept in parts side by side, each with the values that the others had before.
pub(super) struct Sweeps<'a> {
    model: &'a TabularMdp,
    successors: Successors<'a>,
    gamma: f64,
    rewards: &'a [f64],
    /// The same times f(a), for the layout's lanes.
    scaled: Vec<Side>,
    /// The states are in here. The values of others do not change.
    range: Range<usize>,
    layout: Arc<Layout>,
    is_open: Vec<bool>,
    /// The action of each state that was best when all were looked at.
    taken: Vec<u32>,
    threads: usize,
    /// The values before a sweep, where there are several parts.
    before: Vec<f64>,
    /// Changes up to this, relative to the largest value, are rounding.
    rounding: f64,
    is_upward: bool,
}

/// Why sweeping ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ended {
    /// No value changes any more.
    Settled,
    /// The last sweeps brought little; values still change by this.
    Slow(f64),
}

impl<'a> Sweeps<'a> {
    pub fn new(
        model: &'a TabularMdp,
        gamma: f64,
        (range, decisions): (Range<usize>, &[bool]),
        rewards: &'a [f64],
        rounding: f64,
    ) -> Self {
        let layout = Arc::new(Layout::new(model, range.clone(), decisions));
        Self::laid_out(model, gamma, (range, layout), rewards, rounding)
    }

    /// The same for all states of a discounted model.
    pub fn discounted(
        model: &'a TabularMdp,
        gamma: f64,
        decisions: &[bool],
        rewards: &'a [f64],
        rounding: f64,
    ) -> Result<Self> {
        let layout = Layout::discounted(model, gamma, decisions)?;
        Ok(Self::laid_out(model, gamma, (0..model.states(), layout), rewards, rounding))
    }

    fn laid_out(
        model: &'a TabularMdp,
        gamma: f64,
        (range, layout): (Range<usize>, Arc<Layout>),
        rewards: &'a [f64],
        rounding: f64,
    ) -> Self {
        let is_open = vec![true; layout.states.len().div_ceil(BLOCK)];
        let taken = vec![0; layout.states.len()];
        let scaled = layout.lanes.as_ref().map_or(Vec::new(), |lanes| lanes.scaled(rewards));
        let parts = is_open.len().div_ceil(layout.part);
        let threads = if parts > 1 { available_parallelism().map_or(1, usize::from) } else { 1 };
        Self {
            model,
            successors: model.successors(),
            gamma,
            rewards,
            scaled,
            range,
            layout,
            is_open,
            taken,
            threads,
            before: Vec::new(),
            rounding,
            is_upward: true,
        }
    }

    /// Whether evaluations are cheap.
    pub fn is_small(&self) -> bool {
        self.layout.states.len() <= SMALL
    }

    /// Sweeps until nothing changes or it gets slow; at least so many, and one span alone where evaluations are cheap.
    pub fn run(&mut self, values: &mut [f64], least: usize) -> Ended {
        self.is_open.fill(true);
        let (mut before, mut count, mut rounding) = (f64::INFINITY, 0, 0.0);
        loop {
            let mut change = 0.0;
            for sweep in 0..SPAN {
                let is_full = self.is_open.iter().all(|is_open| *is_open);
                if count + sweep >= FIRST && sweep % CYCLE > 0 {
                    self.sweep::<false>(values, rounding);
                    continue;
                }
                rounding = self.rounding * largest(&values[self.range.clone()]);
                change = self.sweep::<true>(values, rounding);
                if change <= rounding {
                    // Changes that are too small to pass on may have added up.
                    if is_full {
                        return Ended::Settled;
                    }
                    self.is_open.fill(true);
                }
            }
            count += SPAN;
            // Written so that NaN is slow.
            if self.is_small() || count >= least && !(change <= SLOW * before) {
                return Ended::Slow(change);
            }
            before = change;
        }
    }

    /// A few sweeps.
    pub fn run_span(&mut self, values: &mut [f64]) {
        self.is_open.fill(true);
        for _ in 0..SPAN {
            let rounding = self.rounding * largest(&values[self.range.clone()]);
            if self.sweep::<true>(values, rounding) <= rounding {
                return;
            }
        }
    }

    /// Sweeps all states until not a digit changes, or no fewer digits do.
    pub fn settle(&mut self, values: &mut [f64]) {
        let mut before = f64::INFINITY;
        loop {
            let mut change = 0.0;
            for _ in 0..SPAN {
                self.is_open.fill(true);
                change = self.sweep::<true>(values, 0.0);
            }
            if !(change > 0.0 && change < 0.5 * before) {
                return;
            }
            before = change;
        }
    }

    /// One sweep, in the other direction than the one before, over all choices or those that are taken. Returns the largest change.
    fn sweep<const ALL: bool>(&mut self, values: &mut [f64], rounding: f64) -> f64 {
        self.is_upward = !self.is_upward;
        let (mut is_open, mut taken) = (std::mem::take(&mut self.is_open), std::mem::take(&mut self.taken));
        let mut parts = Vec::with_capacity(PARTS);
        if is_open.len() > self.layout.part {
            self.before.resize(values.len(), 0.0);
            self.before.copy_from_slice(values);
        }
        let (mut rest, mut start) = (values, 0);
        let chunks = is_open.chunks_mut(self.layout.part).zip(taken.chunks_mut(self.layout.part * BLOCK));
        for (i, (is_open, taken)) in chunks.enumerate() {
            let block = i * self.layout.part;
            let end = self
                .layout
                .states
                .get((block + is_open.len()) * BLOCK)
                .map_or(start + rest.len(), |s| *s as usize);
            let (values, after) = rest.split_at_mut(end - start);
            parts.push(Part { block, is_open, taken, start, values });
            (rest, start) = (after, end);
        }
        let sweeps = &*self;
        // Which thread sweeps a part changes nothing.
        let each = parts.len().div_ceil(self.threads.max(1)).max(1);
        let work = |parts: &mut [Part]| -> Vec<(f64, Vec<u32>)> {
            parts.iter_mut().map(|part| part.sweep::<ALL>(sweeps, rounding)).collect()
        };
        let swept: Vec<(f64, Vec<u32>)> = std::thread::scope(|scope| {
            let mut shares = parts.chunks_mut(each);
            let first = shares.next();
            let others: Vec<_> = shares.map(|share| scope.spawn(move || work(share))).collect();
            let first = first.map(work).into_iter().flatten();
            let others = others.into_iter().flat_map(|part| part.join().unwrap_or_else(|e| resume_unwind(e)));
            first.chain(others).collect()
        });
        let mut largest = 0.0;
        for (change, opened) in swept {
            opened.into_iter().for_each(|block| is_open[block as usize] = true);
            largest = larger(largest, change);
        }
        (self.is_open, self.taken) = (is_open, taken);
        largest
    }

    /// Switches states to their best actions where that gains more than so much. Returns whether any does.
    pub fn improve(&self, values: &[f64], gain: f64, actions: &mut [u32]) -> bool {
        let mut has_switched = false;
        for state in self.layout.states.iter().map(|s| *s as usize) {
            let value = |choice: usize| {
                let future = self.successors.expectation(choice, |next| values[next]);
                self.rewards[choice] + self.gamma * future
            };
            let choices = self.model.choices_of(state);
            let taken = choices.start + actions[state] as usize;
            let mut best = (taken, value(taken) + gain);
            for choice in choices.clone() {
                let value = value(choice);
                if value > best.1 {
                    best = (choice, value);
                }
            }
            has_switched |= best.0 != taken;
            actions[state] = (best.0 - choices.start) as u32;
        }
        has_switched
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::mars_rover;
    use crate::random;
    use crate::rl::decision_states;

    /// Values have the same bits on any number of threads, in a world that is swept in several parts.
    #[test]
    fn threads_make_no_difference() {
        let map = mars_rover::random_map(260, 260, 0.05, &mut random::generator(3)).unwrap();
        let model = mars_rover::world(&map, 0.05).unwrap().model;
        let decisions = decision_states(&model);
        let mut lam = vec![0.0; model.measures().dim()];
        (lam[0], lam[1]) = (0.5, -1.0);
        let rewards = model.rewards(&lam);
        let swept = |threads: usize| -> Vec<u64> {
            let mut sweeps = Sweeps::new(&model, 0.999, (0..model.states(), &decisions), &rewards, 1e-12);
            assert!(sweeps.is_open.len().div_ceil(sweeps.layout.part) > 2, "too few parts");
            sweeps.threads = threads;
            let mut values = vec![0.0; model.states()];
            sweeps.run_span(&mut values);
            values.into_iter().map(f64::to_bits).collect()
        };
        let one = swept(1);
        for threads in 2..6 {
            assert!(one == swept(threads), "{threads} threads");
        }
    }
}
