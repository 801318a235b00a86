use crate::error::Result;
use crate::state::{Loader, Saver};
use crate::vector;

/// The sums that regret is made of: payoffs λₜ·ẑₜ − offsetₜ, and the answers.
#[derive(Debug, Clone)]
pub(super) struct Regret {
    rounds: usize,
    payoffs: f64,
    mean: Vec<f64>,
}

impl Regret {
    pub(super) fn new(dim: usize) -> Self {
        Self { rounds: 0, payoffs: 0.0, mean: vec![0.0; dim] }
    }

    pub(super) fn add(&mut self, payoff: f64, z_hat: &[f64]) {
        self.rounds += 1;
        self.payoffs += payoff;
        let step = 1.0 / self.rounds as f64;
        for (mean, z) in self.mean.iter_mut().zip(z_hat) {
            *mean += step * (z - *mean);
        }
    }

    pub(super) fn rounds(&self) -> usize {
        self.rounds
    }

    /// The uniform mean of the answers.
    pub(super) fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The uniform weights.
    pub(super) fn uniform(&self) -> Vec<(usize, f64)> {
        (0..self.rounds).map(|t| (t, 1.0 / self.rounds as f64)).collect()
    }

    /// The best fixed decision would have been paid T times the distance of the mean.
    pub(super) fn against(&self, distance_of_mean: f64) -> f64 {
        self.rounds as f64 * distance_of_mean - self.payoffs
    }

    pub(super) fn save(&self, to: &mut Saver) {
        to.put(&(self.rounds, self.payoffs));
        to.put_all(&self.mean);
    }

    pub(super) fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.rounds = from.get_count("a number of rounds")?;
        self.load_rest(from)
    }

    /// The same where all answers have weight: their policies follow.
    pub(super) fn load_uniform(&mut self, from: &mut Loader) -> Result<()> {
        self.rounds = from.get_length()?;
        self.load_rest(from)
    }

    fn load_rest(&mut self, from: &mut Loader) -> Result<()> {
        from.get_finite("a payoff", std::slice::from_mut(&mut self.payoffs))?;
        from.get_finite("a mean measurement", &mut self.mean)
    }
}

/// λ·z − offset.
pub(super) fn payoff(decision: &super::Decision, z_hat: &[f64]) -> f64 {
    vector::dot(&decision.lam, z_hat) - decision.offset
}
