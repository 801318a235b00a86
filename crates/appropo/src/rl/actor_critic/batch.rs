use std::ops::Range;

use crate::env::Status;
use crate::error::Result;
use crate::state::{Loader, Saver};

/// How much is played between two updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collect {
    /// This many steps in each of the parallel worlds.
    Steps(usize),
    /// This many whole episodes, in the first world.
    Episodes(usize),
}

/// What an update learns from, in rows of `num_envs` parallel worlds a step: what was played since the last one, and before
/// that what earlier policies played, as far as there is room. A row goes on where the one `num_envs` rows before it ended.
#[derive(Debug)]
pub(super) struct Batch {
    pub num_envs: usize,
    pub rows: usize,
    /// How many of them were played before the last update.
    pub earlier: usize,
    /// The rows at which it is full.
    pub full: usize,
    pub inputs: Vec<f32>,
    pub actions: Vec<f32>,
    /// ln π(a|s) when it was drawn.
    pub drawn: Vec<f32>,
    /// ln π(a|s) of the policy that is to be changed.
    pub log_probabilities: Vec<f32>,
    /// What a row counts for: by how much less likely its action is for that policy than it was when it was drawn.
    pub traces: Vec<f32>,
    /// The steps of the episode that went before.
    pub elapsed: Vec<u32>,
    /// The part of the episode that was left.
    pub left: Vec<f32>,
    /// What was gained.
    pub gains: Vec<f32>,
    /// The same in the critic's units, which predicts their sum.
    pub scaled_gains: Vec<f32>,
    /// What it predicted.
    pub values: Vec<f32>,
    /// What it predicts for the state that a step led to, where the next row is not that state.
    pub after: Vec<f32>,
    pub status: Vec<Status>,
    /// Generalised advantages of every value head; values are added to make targets.
    pub targets: Vec<f32>,
    /// The advantage of the scalar reward.
    pub advantages: Vec<f32>,
}

impl Batch {
    pub fn new(rows: usize, num_envs: usize, inputs: usize, actions: usize, heads: usize) -> Self {
        Self {
            num_envs,
            rows: 0,
            earlier: 0,
            full: rows,
            inputs: vec![0.0; rows * inputs],
            actions: vec![0.0; rows * actions],
            drawn: vec![0.0; rows],
            log_probabilities: vec![0.0; rows],
            traces: vec![1.0; rows],
            elapsed: vec![0; rows],
            left: vec![1.0; rows],
            gains: vec![0.0; rows * heads],
            scaled_gains: vec![0.0; rows * heads],
            values: vec![0.0; rows * heads],
            after: vec![0.0; rows * heads],
            status: vec![Status::Running; rows],
            targets: vec![0.0; rows * heads],
            advantages: vec![0.0; rows],
        }
    }

    /// The rows that there is room for.
    pub fn capacity(&self) -> usize {
        self.advantages.len()
    }

    /// The rows that were played since the last update.
    pub fn fresh(&self) -> usize {
        self.rows - self.earlier
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        (self.rows, self.earlier) = (0, 0);
    }

    /// Makes room for so many rows more. The oldest leave.
    pub fn make_room(&mut self, fresh: usize) {
        let (capacity, kept) = (self.capacity(), self.rows.min(self.capacity() - fresh));
        let rows = self.rows - kept..self.rows;
        fn keep<T: Copy>(values: &mut [T], rows: &Range<usize>, capacity: usize) {
            let width = values.len() / capacity;
            values.copy_within(rows.start * width..rows.end * width, 0);
        }
        self.numbers().into_iter().for_each(|values| keep(values, &rows, capacity));
        keep(&mut self.elapsed, &rows, capacity);
        keep(&mut self.status, &rows, capacity);
        (self.rows, self.earlier, self.full) = (kept, kept, kept + fresh);
        self.traces[kept..].fill(1.0);
        let heads = self.after.len() / capacity;
        self.after[kept * heads..].fill(0.0);
    }

    /// Takes ln π(a|s) of an earlier row by the policy that is to be changed, and with it what the row counts for.
    pub fn compare(&mut self, row: usize, log_probability: f32) {
        self.log_probabilities[row] = log_probability;
        self.traces[row] = (log_probability - self.drawn[row]).exp().min(1.0);
    }

    /// Takes what the critic predicts for the rows from `first` on.
    pub fn predict(&mut self, first: usize, values: &[f32]) {
        let heads = self.values.len() / self.left.len();
        for (place, value) in values.iter().enumerate() {
            self.values[first * heads + place] = self.left[first + place / heads] * value;
        }
    }

    /// Generalised advantages (Schulman et al. 2016) of every head, and of the reward that `weights` makes of them. What
    /// followed an action that is less likely now counts for less (V-trace, Espeholt et al. 2018).
    pub fn estimate_advantages(&mut self, gamma: f32, trace: f32, weights: &[f32]) {
        let heads = weights.len();
        for row in (0..self.rows).rev() {
            let later = row + self.num_envs;
            let here = row * heads..(row + 1) * heads;
            let goes_on = self.status[row] == Status::Running && later < self.rows;
            for (head, i) in here.clone().enumerate() {
                let next = if goes_on {
                    self.values[later * heads + head]
                } else if self.status[row] == Status::Ended {
                    0.0
                } else {
                    self.after[i]
                };
                let ahead =
                    if goes_on { self.traces[later] * self.targets[later * heads + head] } else { 0.0 };
                let surprise = self.scaled_gains[i] + gamma * next - self.values[i];
                self.targets[i] = surprise + gamma * trace * ahead;
            }
            self.advantages[row] =
                self.targets[here].iter().zip(weights).map(|(advantage, weight)| advantage * weight).sum();
        }
        for (i, (target, value)) in self.targets[..self.rows * heads].iter_mut().zip(&self.values).enumerate()
        {
            *target = self.traces[i / heads] * *target + value;
        }
    }

    /// Brings the advantages of these rows to mean 0 and standard deviation 1.
    pub fn normalize_advantages(&mut self, rows: &[u32]) {
        let count = rows.len() as f32;
        let mean = rows.iter().map(|r| self.advantages[*r as usize]).sum::<f32>() / count;
        let squares: f32 = rows.iter().map(|r| (self.advantages[*r as usize] - mean).powi(2)).sum();
        let deviation = (squares / count).sqrt() + 1e-8;
        for row in rows {
            let advantage = &mut self.advantages[*row as usize];
            *advantage = (*advantage - mean) / deviation;
        }
    }

    /// Writes the rows that the next update may learn from again, when so many have been played.
    pub fn save(&self, fresh: usize, to: &mut Saver) {
        let kept = self.rows.min(self.capacity() - fresh);
        to.put(&kept);
        for values in [&self.inputs, &self.actions, &self.drawn, &self.left, &self.gains, &self.after] {
            let width = values.len() / self.capacity();
            to.put_all(&values[(self.rows - kept) * width..self.rows * width]);
        }
        to.put_all(&self.elapsed[self.rows - kept..self.rows]);
        to.put_all(&self.status[self.rows - kept..self.rows]);
    }

    pub fn load(&mut self, fresh: usize, from: &mut Loader) -> Result<()> {
        let (capacity, num_envs) = (self.capacity(), self.num_envs);
        let fits = |rows: &usize| *rows <= capacity - fresh && rows.is_multiple_of(num_envs);
        let rows = from.get_where("a number of rows", fits)?;
        for values in self.numbers() {
            let width = values.len() / capacity;
            from.get_finite("a number that was played", &mut values[..rows * width])?;
        }
        from.get_all(&mut self.elapsed[..rows])?;
        from.get_all(&mut self.status[..rows])?;
        (self.rows, self.earlier) = (rows, rows);
        Ok(())
    }

    /// The numbers of what was played.
    fn numbers(&mut self) -> [&mut Vec<f32>; 6] {
        [
            &mut self.inputs,
            &mut self.actions,
            &mut self.drawn,
            &mut self.left,
            &mut self.gains,
            &mut self.after,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(status: [Status; 3]) -> Batch {
        let mut batch = Batch::new(3, 1, 1, 1, 1);
        batch.rows = 3;
        batch.scaled_gains.copy_from_slice(&[1.0, 2.0, 4.0]);
        batch.values.copy_from_slice(&[0.5, 0.25, 0.125]);
        batch.after.copy_from_slice(&[8.0; 3]);
        batch.status.copy_from_slice(&status);
        batch
    }

    /// With λ = 1 targets are discounted sums; a cut-off adds what would have followed, an end adds nothing.
    #[test]
    fn a_cut_off_bootstraps_and_an_end_does_not() {
        use Status::{CutOff, Ended, Running};
        for (status, expected) in [
            ([Running, Running, Ended], [3.0, 4.0, 4.0]),
            ([Running, Running, CutOff], [4.0, 6.0, 8.0]),
            ([Running, Running, Running], [4.0, 6.0, 8.0]),
            ([Running, CutOff, Ended], [4.0, 6.0, 4.0]),
            ([Ended, Running, Ended], [1.0, 4.0, 4.0]),
        ] {
            let mut batch = batch(status);
            batch.estimate_advantages(0.5, 1.0, &[2.0]);
            assert_eq!(batch.targets, expected, "{status:?}");
            assert_eq!(batch.advantages[0], 2.0 * (expected[0] - 0.5));
        }
    }

    /// With λ = 0 targets look one step ahead.
    #[test]
    fn one_step_targets() {
        let mut batch = batch([Status::Running, Status::Running, Status::Ended]);
        batch.estimate_advantages(0.5, 0.0, &[1.0]);
        assert_eq!(batch.targets, [1.125, 2.0625, 4.0]);
    }

    /// Batches that are learnt from together are one: episodes go on from one to the next.
    #[test]
    fn earlier_rows_go_on_in_later_ones() {
        let (gains, values) = ([1.0, 2.0, 4.0, 8.0], [0.5, 0.25, 0.125, 1.0]);
        let mut whole = Batch::new(4, 2, 1, 1, 1);
        let mut parts = Batch::new(4, 2, 1, 1, 1);
        let play = |batch: &mut Batch, rows: Range<usize>| {
            let start = batch.rows;
            for (row, i) in (start..).zip(rows.clone()) {
                (batch.gains[row], batch.values[row], batch.after[row]) = (gains[i], values[i], 8.0);
                batch.inputs[row] = i as f32;
            }
            batch.rows += rows.len();
        };
        whole.make_room(4);
        play(&mut whole, 0..4);
        // What is older than there is room for has left.
        for rows in [2..4, 0..2, 2..4] {
            parts.make_room(2);
            play(&mut parts, rows);
        }
        assert_eq!((parts.rows, parts.earlier, parts.fresh()), (4, 2, 2));
        for batch in [&mut whole, &mut parts] {
            assert_eq!(batch.inputs, [0.0, 1.0, 2.0, 3.0]);
            batch.values.copy_from_slice(&values);
            batch.scaled_gains.copy_from_slice(&gains);
            batch.estimate_advantages(0.5, 0.5, &[1.0]);
        }
        assert_eq!(parts.advantages, whole.advantages);
    }

    /// What followed an action that has become half as likely counts half, and one that is likelier counts no more than once.
    #[test]
    fn unlikely_actions_count_for_less() {
        let mut batch = batch([Status::Running, Status::Running, Status::Ended]);
        batch.drawn.fill(0.25_f32.ln());
        for (row, now) in [0.5_f32, 0.125, 0.25].into_iter().enumerate() {
            batch.compare(row, now.ln());
        }
        batch.estimate_advantages(0.5, 1.0, &[1.0]);
        let [first, second, last] = [1.0 + 0.5 * 0.25 - 0.5, 2.0 + 0.5 * 0.125 - 0.25, 4.0 - 0.125];
        let second = second + 0.5 * last;
        let expected = [first + 0.5 * 0.5 * second, second, last];
        for (i, (expected, trace)) in expected.into_iter().zip([1.0, 0.5, 1.0]).enumerate() {
            assert!((batch.advantages[i] - expected).abs() < 1e-5, "{i}: {}", batch.advantages[i]);
            let target = batch.values[i] + trace * expected;
            assert!((batch.targets[i] - target).abs() < 1e-5, "{i}: {}", batch.targets[i]);
        }
    }
}
