use crate::env::Status;

/// How much is played between two updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collect {
    /// This many steps in each of the parallel worlds.
    Steps(usize),
    /// This many whole episodes, in the first world.
    Episodes(usize),
}

/// What was played since the last update, in rows of `num_envs` parallel worlds a step.
#[derive(Debug)]
pub(super) struct Batch {
    pub num_envs: usize,
    pub rows: usize,
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

    /// Takes what the critic predicts for the rows from `first` on.
    pub fn predict(&mut self, first: usize, values: &[f32]) {
        let heads = self.values.len() / self.left.len();
        for (place, value) in values.iter().enumerate() {
            self.values[first * heads + place] = self.left[first + place / heads] * value;
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

    /// With λ = 0 targets look one step ahead.
    #[test]
    fn one_step_targets() {
        let mut batch = batch([Status::Running, Status::Running, Status::Ended]);
        batch.estimate_advantages(0.5, 0.0, &[1.0]);
        assert_eq!(batch.targets, [1.125, 2.0625, 4.0]);
    }
}
