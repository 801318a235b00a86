use std::ops::Range;
use std::sync::Arc;

use crate::env::TabularMdp;
use crate::error::Result;
use crate::rl::lanes::{Lanes, key};

/// States of a block: few enough that a region which is done is left alone, many enough that blocks cost nothing.
pub(super) const BLOCK: usize = 64;
/// Blocks that a block may depend on, on average. With more of them nearly every block depends on one that changes.
const NEIGHBOURS: usize = 32;
/// Parts that are swept side by side, and states of a part at least. The result depends on the parts, not on the threads.
pub(super) const PARTS: usize = 4;
const LEAST_PART: usize = 1 << 14;

/// How a model is swept, whatever its choices pay.
pub(super) struct Layout {
    pub states: Vec<u32>,
    /// Whether every choice of a state leads to other states of its part.
    pub is_plain: Vec<bool>,
    /// Where the blocks that depend on each block begin, and the end; none where nearly all depend on each other.
    pub first: Vec<u32>,
    pub readers: Vec<u32>,
    /// Blocks of a part.
    pub part: usize,
    /// A copy of what choices lead to, where there is one part and it was worth its while.
    pub lanes: Option<Lanes>,
}

impl Layout {
    pub fn new(model: &TabularMdp, range: Range<usize>, decisions: &[bool]) -> Self {
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
    pub fn discounted(model: &TabularMdp, gamma: f64, decisions: &[bool]) -> Result<Arc<Self>> {
        if decisions.len() >= 2 * LEAST_PART {
            return Ok(Arc::new(Self::new(model, 0..model.states(), decisions)));
        }
        model.remembered(key("sweeps", gamma, decisions), || {
            let number: Vec<u32> =
                (0..).zip(decisions).map(|(s, decides)| if *decides { s } else { u32::MAX }).collect();
            let layout = Self::new(model, 0..model.states(), decisions);
            let lanes = Lanes::new(model, gamma, layout.states.iter().map(|s| *s as usize), &number);
            Ok(Self { lanes, ..layout })
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
