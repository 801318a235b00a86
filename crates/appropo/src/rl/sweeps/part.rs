use super::Sweeps;
use super::backup::{Backup, InLanes, InRows};
use super::layout::BLOCK;
use crate::vector::{larger, wide};

/// Blocks that are visited side by side.
const ABREAST: usize = 2;

/// A range of blocks and of states, which one thread sweeps.
pub(super) struct Part<'v> {
    /// The first block.
    pub block: usize,
    pub is_open: &'v mut [bool],
    pub taken: &'v mut [u32],
    /// The first state.
    pub start: usize,
    pub values: &'v mut [f64],
}

impl Part<'_> {
    /// The largest change, and the blocks of other parts that have to be looked at again.
    pub fn sweep<const ALL: bool>(&mut self, sweeps: &Sweeps, rounding: f64) -> (f64, Vec<u32>) {
        let start = self.start;
        match &sweeps.layout.lanes {
            Some(lanes) => wide(
                #[inline(always)]
                || self.sweep_by::<ALL>(&InLanes { lanes, sweeps }, sweeps, rounding),
            ),
            None => self.sweep_by::<ALL>(&InRows { start, sweeps }, sweeps, rounding),
        }
    }

    #[inline(always)]
    fn sweep_by<const ALL: bool>(
        &mut self,
        backup: &impl Backup,
        sweeps: &Sweeps,
        rounding: f64,
    ) -> (f64, Vec<u32>) {
        let (count, mut largest, mut opened) = (self.is_open.len(), 0.0, Vec::new());
        // A state waits for the value of the one before it. Blocks far apart wait side by side.
        let apart = count.div_ceil(ABREAST);
        for i in 0..apart {
            let open = |i: usize| {
                let i = if sweeps.is_upward { count.checked_sub(1 + i) } else { Some(i) };
                i.filter(|&i| self.is_open.get(i) == Some(&true))
            };
            let blocks = std::array::from_fn(|k| open(i + k * apart));
            let changes = self.visit_blocks::<ALL>(backup, sweeps, blocks);
            for (i, change) in blocks.into_iter().zip(changes) {
                let Some(i) = i else { continue };
                largest = larger(largest, change);
                self.pass_on::<ALL>(sweeps, i, !(change <= rounding), &mut opened);
            }
        }
        (largest, opened)
    }

    /// Visits the states of a few blocks. Returns the largest change in each.
    #[inline(always)]
    fn visit_blocks<const ALL: bool>(
        &mut self,
        backup: &impl Backup,
        sweeps: &Sweeps,
        blocks: [Option<usize>; ABREAST],
    ) -> [f64; ABREAST] {
        let places = blocks.map(|i| {
            let start = i.map_or(sweeps.layout.states.len(), |i| (self.block + i) * BLOCK);
            start..sweeps.layout.states.len().min(start + BLOCK)
        });
        let mut changes = [0.0; ABREAST];
        for step in 0..BLOCK {
            for (places, change) in places.iter().zip(&mut changes) {
                if step < places.len() {
                    let place = if sweeps.is_upward { places.end - 1 - step } else { places.start + step };
                    *change = larger(*change, self.visit::<ALL>(backup, sweeps, place));
                }
            }
        }
        changes
    }

    /// Gives the state in a place its best value, given those of the others. Returns the change.
    #[inline(always)]
    fn visit<const ALL: bool>(&mut self, backup: &impl Backup, sweeps: &Sweeps, place: usize) -> f64 {
        let state = sweeps.layout.states[place] as usize;
        let taken = &mut self.taken[place - self.block * BLOCK];
        let best = if ALL {
            let (action, best) = backup.best(self.values, place);
            *taken = action as u32;
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
