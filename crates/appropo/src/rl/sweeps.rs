use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::available_parallelism;

use super::lanes::{Lanes, key};
use crate::env::{Successors, TabularMdp};
use crate::error::Result;
use crate::vector::{larger, largest};

/// States of a block: few enough that a region which is done is left alone, many enough that blocks cost nothing.
const BLOCK: usize = 64;
/// Blocks that a block may depend on, on average. With more of them nearly every block depends on one that changes.
const NEIGHBOURS: usize = 32;
/// Parts that are swept side by side, and states of a part at least. The result depends on the parts, not on the threads.
const PARTS: usize = 4;
const LEAST_PART: usize = 1 << 14;
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
    scaled: Vec<f64>,
    /// The states are in here. The values of others do not change.
    range: Range<usize>,
    layout: Arc<Layout>,
    is_open: Vec<bool>,
    /// The choice of each state that was best when all were looked at.
    taken: Vec<u32>,
    threads: usize,
    /// The values before a sweep, where there are several parts.
    before: Vec<f64>,
    /// Changes up to this, relative to the largest value, are rounding.
    rounding: f64,
    is_upward: bool,
}

/// How a model is swept, whatever its choices pay.
struct Layout {
    states: Vec<u32>,
    /// Whether every choice of a state leads to other states of its part.
    is_plain: Vec<bool>,
    /// Where the blocks that depend on each block begin, and the end; none where nearly all depend on each other.
    first: Vec<u32>,
    readers: Vec<u32>,
    /// Blocks of a part.
    part: usize,
    /// A copy of what choices lead to, where there is one part and it was worth its while.
    lanes: Option<Lanes>,
}

impl Layout {
    fn new(model: &TabularMdp, range: Range<usize>, decisions: &[bool]) -> Self {
        let states: Vec<u32> = range.clone().filter(|&s| decisions[s]).map(|s| s as u32).collect();
        let (first, readers) = readers(model, range, &states);
        let parts = PARTS.min(states.len() / LEAST_PART).max(1);
        let part = states.len().div_ceil(BLOCK).div_ceil(parts).max(1);
        let mut is_plain = Vec::with_capacity(states.len());
        for (i, chunk) in states.chunks(part * BLOCK).enumerate() {
            let start = if i == 0 { 0 } else { chunk[0] as usize };
            let end = states.get((i + 1) * part * BLOCK).map_or(decisions.len(), |s| *s as usize);
            is_plain.extend(chunk.iter().map(|&state| {
                let is_other = |next: usize| next != state as usize && (start..end).contains(&next);
                let mut choices = model.choices_of(state as usize);
                choices.all(|choice| model.outcomes_of(choice).successors().all(|(_, next)| is_other(next)))
            }));
        }
        Self { states, is_plain, first, readers, part, lanes: None }
    }

    /// The layout of a discounted model, which is remembered where it has one part.
    fn discounted(model: &TabularMdp, gamma: f64, decisions: &[bool]) -> Result<Arc<Self>> {
        if decisions.len() >= 2 * LEAST_PART {
            return Ok(Arc::new(Self::new(model, 0..model.states(), decisions)));
        }
        model.remembered(key("sweeps", gamma, decisions), || {
            let number: Vec<u32> =
                (0..).zip(decisions).map(|(s, decides)| if *decides { s } else { u32::MAX }).collect();
            let lanes = Lanes::new(model, gamma, 0..model.states(), &number);
            Ok(Self { lanes, ..Self::new(model, 0..model.states(), decisions) })
        })
    }
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
        let taken = layout.states.iter().map(|&s| model.choices_of(s as usize).start as u32).collect();
        let factors = layout.lanes.as_ref().map_or(&[][..], Lanes::factors);
        let scaled = factors.iter().zip(rewards).map(|(factor, reward)| factor * reward).collect();
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
        let (mut before, mut count) = (f64::INFINITY, 0);
        loop {
            let mut change = 0.0;
            let rounding = self.rounding * largest(&values[self.range.clone()]);
            for sweep in 0..SPAN {
                let is_full = self.is_open.iter().all(|is_open| *is_open);
                if count + sweep >= FIRST && sweep % CYCLE > 0 {
                    self.sweep::<false>(values, rounding);
                    continue;
                }
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

/// A range of blocks and of states, which one thread sweeps.
struct Part<'v> {
    /// The first block.
    block: usize,
    is_open: &'v mut [bool],
    taken: &'v mut [u32],
    /// The first state.
    start: usize,
    values: &'v mut [f64],
}

impl Part<'_> {
    /// The largest change, and the blocks of other parts that have to be looked at again.
    fn sweep<const ALL: bool>(&mut self, sweeps: &Sweeps, rounding: f64) -> (f64, Vec<u32>) {
        let start = self.start;
        match &sweeps.layout.lanes {
            Some(lanes) => self.sweep_by::<ALL>(&InLanes { lanes, sweeps }, sweeps, rounding),
            None => self.sweep_by::<ALL>(&InRows { start, sweeps }, sweeps, rounding),
        }
    }

    fn sweep_by<const ALL: bool>(
        &mut self,
        backup: &impl Backup,
        sweeps: &Sweeps,
        rounding: f64,
    ) -> (f64, Vec<u32>) {
        let (count, mut largest, mut opened) = (self.is_open.len(), 0.0, Vec::new());
        // A state waits for the value of the one before it. Two blocks far apart wait side by side.
        let half = count.div_ceil(2);
        for i in 0..half {
            let open = |i: usize| {
                let i = if sweeps.is_upward { count.checked_sub(1 + i) } else { Some(i) };
                i.filter(|&i| self.is_open.get(i) == Some(&true))
            };
            let (first, second) = (open(i), open(i + half));
            let changes = self.visit_blocks::<ALL>(backup, sweeps, [first, second]);
            for (i, change) in [first, second].into_iter().zip(changes) {
                let Some(i) = i else { continue };
                largest = larger(largest, change);
                self.pass_on::<ALL>(sweeps, i, !(change <= rounding), &mut opened);
            }
        }
        (largest, opened)
    }

    /// Visits the states of up to two blocks. Returns the largest change in each.
    #[inline(always)]
    fn visit_blocks<const ALL: bool>(
        &mut self,
        backup: &impl Backup,
        sweeps: &Sweeps,
        blocks: [Option<usize>; 2],
    ) -> [f64; 2] {
        let places = blocks.map(|i| {
            let start = i.map_or(sweeps.layout.states.len(), |i| (self.block + i) * BLOCK);
            start..sweeps.layout.states.len().min(start + BLOCK)
        });
        let place = |places: &Range<usize>, step: usize| {
            if sweeps.is_upward { places.end - 1 - step } else { places.start + step }
        };
        let [mut first, mut second] = [0.0; 2];
        for step in 0..BLOCK {
            if step < places[0].len() {
                first = larger(first, self.visit::<ALL>(backup, sweeps, place(&places[0], step)));
            }
            if step < places[1].len() {
                second = larger(second, self.visit::<ALL>(backup, sweeps, place(&places[1], step)));
            }
        }
        [first, second]
    }

    /// Gives the state in a place its best value, given those of the others. Returns the change.
    #[inline(always)]
    fn visit<const ALL: bool>(&mut self, backup: &impl Backup, sweeps: &Sweeps, place: usize) -> f64 {
        let state = sweeps.layout.states[place] as usize;
        let taken = &mut self.taken[place - self.block * BLOCK];
        let best = if ALL {
            let (choice, best) = backup.best(self.values, place, sweeps.model.choices_of(state));
            *taken = choice as u32;
            best
        } else {
            backup.value(self.values, place, *taken as usize)
        };
        let value = &mut self.values[state - self.start];
        (std::mem::replace(value, best) - best).abs()
    }

    /// Closes a block whose values have settled for all choices, and opens those that depend on one whose values have not.
    fn pass_on<const ALL: bool>(
        &mut self,
        sweeps: &Sweeps,
        i: usize,
        has_changed: bool,
        opened: &mut Vec<u32>,
    ) {
        self.is_open[i] = has_changed || !ALL || sweeps.layout.first.is_empty();
        if !has_changed || sweeps.layout.first.is_empty() {
            return;
        }
        let block = self.block + i;
        let readers = sweeps.layout.first[block] as usize..sweeps.layout.first[block + 1] as usize;
        for &reader in &sweeps.layout.readers[readers] {
            match self.is_open.get_mut((reader as usize).wrapping_sub(self.block)) {
                Some(is_open) => *is_open = true,
                None => opened.push(reader),
            }
        }
    }
}

/// What choices of the state in a place are worth, given the values of a part.
trait Backup {
    fn value(&self, values: &[f64], place: usize, choice: usize) -> f64;

    /// The best of some choices and its value.
    fn best(&self, values: &[f64], place: usize, choices: Range<usize>) -> (usize, f64);
}

struct InLanes<'a> {
    lanes: &'a Lanes,
    sweeps: &'a Sweeps<'a>,
}

impl Backup for InLanes<'_> {
    #[inline(always)]
    fn value(&self, values: &[f64], _: usize, choice: usize) -> f64 {
        self.lanes.value(choice, &self.sweeps.scaled, values)
    }

    #[inline(always)]
    fn best(&self, values: &[f64], _: usize, choices: Range<usize>) -> (usize, f64) {
        self.lanes.best(choices, &self.sweeps.scaled, values)
    }
}

struct InRows<'a> {
    /// The first state of the part.
    start: usize,
    sweeps: &'a Sweeps<'a>,
}

impl InRows<'_> {
    #[inline(always)]
    fn plain(&self, values: &[f64], choice: usize) -> f64 {
        let Sweeps { successors, rewards, gamma, .. } = self.sweeps;
        rewards[choice] + gamma * successors.expectation(choice, |next| values[next - self.start])
    }

    /// The value of a choice that may lead to its own state or to another part.
    fn any(&self, values: &[f64], state: usize, choice: usize) -> f64 {
        let Sweeps { model, rewards, gamma, before, .. } = self.sweeps;
        let (mut future, mut stay) = (0.0, 0.0);
        for (probability, next) in model.outcomes_of(choice).successors() {
            if next == state {
                stay += probability;
            } else {
                let here = values.get(next.wrapping_sub(self.start));
                future += probability * here.copied().unwrap_or_else(|| before[next]);
            }
        }
        let value = rewards[choice] + gamma * future;
        if stay > 0.0 { value / (1.0 - gamma * stay) } else { value }
    }
}

impl Backup for InRows<'_> {
    #[inline(always)]
    fn value(&self, values: &[f64], place: usize, choice: usize) -> f64 {
        let Layout { is_plain, states, .. } = &*self.sweeps.layout;
        match is_plain[place] {
            true => self.plain(values, choice),
            false => self.any(values, states[place] as usize, choice),
        }
    }

    #[inline(always)]
    fn best(&self, values: &[f64], place: usize, choices: Range<usize>) -> (usize, f64) {
        choices.clone().fold((choices.start, f64::NEG_INFINITY), |best, choice| {
            let value = self.value(values, place, choice);
            if value > best.1 { (choice, value) } else { best }
        })
    }
}

/// For each block of states, the other blocks that depend on it.
fn readers(model: &TabularMdp, range: Range<usize>, states: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let count = states.len().div_ceil(BLOCK);
    if count < 2 {
        return (Vec::new(), Vec::new());
    }
    let mut number = vec![u32::MAX; range.len()];
    for (i, state) in states.iter().enumerate() {
        number[*state as usize - range.start] = (i / BLOCK) as u32;
    }
    let block_of = |state: usize| {
        let number = number.get(state.wrapping_sub(range.start)).copied();
        number.filter(|block| *block != u32::MAX).map(|block| block as usize)
    };
    // The blocks that each block reads: one after the other, and how many.
    let (mut read, mut ends, mut seen) = (Vec::new(), vec![0], vec![u32::MAX; count]);
    for (block, states) in states.chunks(BLOCK).enumerate() {
        for &state in states {
            for choice in model.choices_of(state as usize) {
                for (_, next) in model.outcomes_of(choice).successors() {
                    let Some(other) = block_of(next).filter(|other| *other != block) else { continue };
                    if seen[other] != block as u32 {
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

#[cfg(test)]
mod tests {
    use super::super::decision_states;
    use super::*;
    use crate::env::mars_rover;
    use crate::random;

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
