use crate::env::Status;

/// How much is played between two updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collect {
    /// This many steps in each of the parallel worlds.
    Steps(usize),
    /// This many whole episodes, in the first world.
    Episodes(usize),
    /// In each of the parallel worlds a tenth of all steps that were played there, within bounds. Short batches explore: what
    /// is new is soon followed. Long ones say what is good: a few hundred steps may be of a single episode.
    Growing {
        /// The fewest steps.
        least: usize,
        /// The most.
        most: usize,
    },
}

/// The part of all steps that a growing batch has.
const GROWING: u64 = 10;

impl Collect {
    /// Rows of a batch of `num_envs` parallel worlds at most, where episodes have at most `limit` steps.
    pub(super) fn most_rows(self, num_envs: usize, limit: usize) -> usize {
        match self {
            Self::Steps(steps) => steps.saturating_mul(num_envs),
            Self::Growing { least, most } => most.max(least).saturating_mul(num_envs),
            Self::Episodes(episodes) => episodes.saturating_mul(limit),
        }
    }

    /// Rows of the next batch at most, after so many steps in all, of at most `room`.
    pub(super) fn rows(self, taken: u64, num_envs: usize, room: usize) -> usize {
        match self {
            Self::Growing { least, .. } => {
                let steps = usize::try_from(taken / num_envs as u64 / GROWING).unwrap_or(usize::MAX);
                steps.max(least).saturating_mul(num_envs).min(room)
            }
            Self::Steps(_) | Self::Episodes(_) => room,
        }
    }
}

/// What was played since the last update, in rows of `num_envs` parallel worlds a step.
#[derive(Debug)]
pub(super) struct Batch {
    pub num_envs: usize,
    pub rows: usize,
    /// The rows at which it is full.
    pub full: usize,
    pub inputs: Vec<f32>,
    pub actions: Vec<f32>,
    /// ln π(a|s) when it was drawn.
    pub log_probabilities: Vec<f32>,
    /// The steps of the episode that went before.
    pub elapsed: Vec<u32>,
    /// The part of the episode that was left.
    pub left: Vec<f32>,
    /// What the critic is to predict the sum of.
    pub gains: Vec<f32>,
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
            full: rows,
            inputs: vec![0.0; rows * inputs],
            actions: vec![0.0; rows * actions],
            log_probabilities: vec![0.0; rows],
            elapsed: vec![0; rows],
            left: vec![1.0; rows],
            gains: vec![0.0; rows * heads],
            values: vec![0.0; rows * heads],
            after: vec![0.0; rows * heads],
            status: vec![Status::Running; rows],
            targets: vec![0.0; rows * heads],
            advantages: vec![0.0; rows],
        }
    }

    /// Generalised advantages (Schulman et al. 2016) of every head, and of the reward that `weights` makes of them.
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
                let ahead = if goes_on { self.targets[later * heads + head] } else { 0.0 };
                let surprise = self.gains[i] + gamma * next - self.values[i];
                self.targets[i] = surprise + gamma * trace * ahead;
            }
            self.advantages[row] =
                self.targets[here].iter().zip(weights).map(|(advantage, weight)| advantage * weight).sum();
        }
        for (target, value) in self.targets[..self.rows * heads].iter_mut().zip(&self.values) {
            *target += value;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(status: [Status; 3]) -> Batch {
        let mut batch = Batch::new(3, 1, 1, 1, 1);
        batch.rows = 3;
        batch.gains.copy_from_slice(&[1.0, 2.0, 4.0]);
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

    #[test]
    fn batches_grow_with_what_was_played() {
        let growing = Collect::Growing { least: 256, most: 2048 };
        let rows = |taken| growing.rows(taken, 2, growing.most_rows(2, 100));
        assert_eq!([0, 5_120, 10_000, 30_002, 40_960, 1 << 40].map(rows), [512, 512, 1000, 3000, 4096, 4096]);
    }

    /// With λ = 0 targets look one step ahead.
    #[test]
    fn one_step_targets() {
        let mut batch = batch([Status::Running, Status::Running, Status::Ended]);
        batch.estimate_advantages(0.5, 0.0, &[1.0]);
        assert_eq!(batch.targets, [1.125, 2.0625, 4.0]);
    }
}
