use crate::env::TabularMdp;

/// States of a block: few enough that a region which is done is left alone, many enough that blocks cost nothing.
const BLOCK: usize = 64;
/// Blocks that a block may depend on, on average. With more of them nearly every block depends on one that changes.
const NEIGHBOURS: usize = 32;
/// Sweeps between two looks at how fast they are.
const SPAN: usize = 10;
/// The change left by a span, relative to that of the span before, above which policies are better evaluated.
const SLOW: f64 = 0.7;

/// Bellman backups of all decision states, in place, up and down their order: values cross a map in a few sweeps.
///
/// A backup solves for the state's own value, so that staying put is no loop. Blocks of states are left out until a value that
/// they depend on has changed.
pub(super) struct Sweeps<'a> {
    model: &'a TabularMdp,
    gamma: f64,
    rewards: &'a [f64],
    states: Vec<u32>,
    /// Where the blocks that depend on each block begin, and the end; none where nearly all depend on each other.
    first: Vec<u32>,
    readers: Vec<u32>,
    is_open: Vec<bool>,
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
        decisions: &[bool],
        rewards: &'a [f64],
        rounding: f64,
    ) -> Self {
        let states: Vec<u32> = (0..decisions.len() as u32).filter(|&s| decisions[s as usize]).collect();
        let (first, readers) = readers(model, decisions, &states);
        let is_open = vec![true; states.len().div_ceil(BLOCK)];
        Self { model, gamma, rewards, states, first, readers, is_open, rounding, is_upward: true }
    }

    /// Sweeps until nothing changes or it gets slow; at least so many.
    #[allow(clippy::print_stderr)]
    pub fn run(&mut self, values: &mut [f64], least: usize) -> Ended {
        self.is_open.fill(true);
        let (mut before, mut count) = (f64::INFINITY, 0);
        loop {
            let mut change = 0.0;
            for _ in 0..SPAN {
                let is_full = self.is_open.iter().all(|is_open| *is_open);
                let rounding = self.rounding * largest(values);
                change = self.sweep(values, rounding);
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
            if count >= least && !(change <= SLOW * before) {
                return Ended::Slow(change);
            }
            before = change;
        }
    }

    /// One sweep, in the other direction than the one before. Returns the largest change.
    fn sweep(&mut self, values: &mut [f64], rounding: f64) -> f64 {
        self.is_upward = !self.is_upward;
        let (count, mut largest) = (self.is_open.len(), 0.0f64);
        for i in 0..count {
            let block = if self.is_upward { count - 1 - i } else { i };
            if !self.is_open[block] {
                continue;
            }
            let states = &self.states[block * BLOCK..self.states.len().min((block + 1) * BLOCK)];
            let mut change = 0.0f64;
            let mut visit = |state: u32| {
                let (state, before) = (state as usize, values[state as usize]);
                let value = self.best(values, state);
                change = larger(change, (value - before).abs());
                values[state] = value;
            };
            if self.is_upward {
                states.iter().rev().copied().for_each(&mut visit);
            } else {
                states.iter().copied().for_each(&mut visit);
            }
            let has_changed = !(change <= rounding);
            self.is_open[block] = has_changed || self.first.is_empty();
            if has_changed && !self.first.is_empty() {
                for reader in &self.readers[self.first[block] as usize..self.first[block + 1] as usize] {
                    self.is_open[*reader as usize] = true;
                }
            }
            largest = larger(largest, change);
        }
        largest
    }

    /// The best value of a state, given those of the others.
    #[inline]
    fn best(&self, values: &[f64], state: usize) -> f64 {
        let mut best = f64::NEG_INFINITY;
        for choice in self.model.choices_of(state) {
            let (mut future, mut stay) = (0.0, 0.0);
            for (probability, next) in self.model.outcomes_of(choice).successors() {
                if next == state {
                    stay += probability;
                } else {
                    future += probability * values[next];
                }
            }
            let mut value = self.rewards[choice] + self.gamma * future;
            if stay > 0.0 {
                value /= 1.0 - self.gamma * stay;
            }
            best = best.max(value);
        }
        best
    }

    /// Switches states to their best actions where that gains more than so much. Returns whether any does.
    pub fn improve(&self, values: &[f64], gain: f64, actions: &mut [u32]) -> bool {
        let mut has_switched = false;
        for state in self.states.iter().map(|s| *s as usize) {
            let value = |choice: usize| {
                let successors = self.model.outcomes_of(choice).successors();
                let future: f64 = successors.map(|(probability, next)| probability * values[next]).sum();
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

/// For each block of states, the other blocks that depend on it.
fn readers(model: &TabularMdp, decisions: &[bool], states: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let count = states.len().div_ceil(BLOCK);
    let mut number = vec![0u32; decisions.len()];
    for (i, state) in states.iter().enumerate() {
        number[*state as usize] = (i / BLOCK) as u32;
    }
    // The blocks that each block reads: one after the other, and how many.
    let (mut read, mut ends, mut seen) = (Vec::new(), vec![0], vec![u32::MAX; count]);
    for (block, states) in states.chunks(BLOCK).enumerate() {
        for &state in states {
            for choice in model.choices_of(state as usize) {
                for (_, next) in model.outcomes_of(choice).successors() {
                    let other = number[next] as usize;
                    if decisions[next] && other != block && seen[other] != block as u32 {
                        seen[other] = block as u32;
                        read.push(other as u32);
                    }
                }
            }
        }
        if read.len() > NEIGHBOURS * count {
            return (Vec::new(), Vec::new());
        }
        ends.push(read.len());
    }
    let mut first = vec![0u32; count + 1];
    for other in &read {
        first[*other as usize + 1] += 1;
    }
    for block in 0..count {
        first[block + 1] += first[block];
    }
    let (mut place, mut readers) = (first.clone(), vec![0; read.len()]);
    for block in 0..count {
        for other in &read[ends[block]..ends[block + 1]] {
            readers[place[*other as usize] as usize] = block as u32;
            place[*other as usize] += 1;
        }
    }
    (first, readers)
}

/// Unlike `f64::max`, this keeps NaN.
fn larger(largest: f64, value: f64) -> f64 {
    if largest.is_nan() || value <= largest { largest } else { value }
}

/// The largest size of an entry.
pub(super) fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| larger(most, value.abs()))
}
