use crate::error::{Error, Result};
use crate::measurement::Estimate;
use crate::policy::Policy;
use crate::state::{Loader, Saved, Saver};
use crate::vector;

/// A reinforcement-learning algorithm that maximises a scalar reward made of the measurements.
pub trait Learner {
    /// The kind of policy it learns.
    type Policy: Policy + Saved + Send + Sync + 'static;

    /// Plays for a while and learns from it, for the reward weights·z. Every episode that is over goes to `trail`.
    /// Returns the number of steps taken.
    fn learn(&mut self, weights: &[f64], trail: &mut Trail) -> Result<usize>;

    /// A copy of the policy as it is now.
    fn policy(&self) -> Self::Policy;

    /// Goes on from another policy, which it found before.
    fn start_from(&mut self, policy: &Self::Policy) -> Result<()>;

    /// Goes on from a policy drawn at random.
    fn start_afresh(&mut self);

    /// Whether the policy could be one of its own.
    fn fits(&self, _: &Self::Policy) -> bool {
        true
    }

    /// Writes what is needed to go on later.
    fn save(&self, _: &mut Saver) -> Result<()> {
        Err(Error::Unsaved { what: "this learner" })
    }

    /// Takes it back, into a learner made with the same settings.
    fn load(&mut self, _: &mut Loader) -> Result<()> {
        Err(Error::Unsaved { what: "this learner" })
    }
}

/// The long-term measurements of the last n episodes.
#[derive(Debug, Clone)]
pub struct Trail {
    dim: usize,
    most: usize,
    sums: Vec<f64>,
    episodes: usize,
}

impl Trail {
    /// Room for the last `most` episodes of `dim` measurements each.
    pub fn new(most: usize, dim: usize) -> Self {
        Self { dim, most, sums: vec![0.0; most * dim], episodes: 0 }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.episodes = 0;
    }

    /// Adds an episode's Σ γⁱ zᵢ.
    pub fn add(&mut self, sum: &[f64]) {
        if self.most > 0 {
            let place = self.episodes % self.most * self.dim;
            self.sums[place..place + self.dim].copy_from_slice(sum);
        }
        self.episodes += 1;
    }

    /// Episodes ever added.
    pub fn episodes(&self) -> usize {
        self.episodes
    }

    /// Whether all the last n are there.
    pub fn is_full(&self) -> bool {
        self.episodes >= self.most
    }

    /// The last n, or as many as there are.
    pub fn sums(&self) -> impl Iterator<Item = &[f64]> {
        self.sums.chunks_exact(self.dim.max(1)).take(self.episodes.min(self.most))
    }

    /// Their mean.
    pub fn mean(&self) -> Vec<f64> {
        self.mean_of_latest(self.most)
    }

    /// The mean of the last `count`, or of as many as there are; 0 without any.
    pub fn mean_of_latest(&self, count: usize) -> Vec<f64> {
        let count = count.min(self.episodes).min(self.most);
        let mut mean = vec![0.0; self.dim];
        for episode in self.episodes - count..self.episodes {
            let place = episode % self.most * self.dim;
            vector::add_scaled(&mut mean, 1.0 / count as f64, &self.sums[place..place + self.dim]);
        }
        mean
    }

    pub(crate) fn save(&self, to: &mut Saver) {
        to.put(&self.episodes);
        to.put_all(&self.sums);
    }

    pub(crate) fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.episodes = from.get_count("a number of episodes")?;
        from.get_finite("an episode's measurement", &mut self.sums)
    }

    /// Their mean with its standard error.
    pub fn estimate(&self) -> Estimate {
        let mut estimate = Estimate::new(self.dim);
        self.sums().for_each(|sum| estimate.add(sum));
        estimate
    }
}
