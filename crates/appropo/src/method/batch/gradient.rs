use crate::error::{Result, dimension};
use crate::state::{Loader, Saver};

/// The share of the bound that each of the first multipliers has, all together.
const FIRST_SHARE: f64 = 0.01;

/// The exponentiated-gradient player (Kivinen and Warmuth 1997) over multipliers λ ≥ 0 with Σ λᵢ ≤ B:
/// λᵢ = B wᵢ with w ∝ w₁ exp(ηₜ Σ gains) and one more weight for what B leaves over, whose gain is 0.
///
/// ηₜ = η/√(Σ of the largest squared gain a round), so that neither the number of rounds nor the size of violations has to be
/// known. The paper begins with all weights alike. Here nearly all of B is left over at first: where no constraint binds, the
/// first rounds would be spent on unlearning it.
#[derive(Debug)]
pub(super) struct ExponentiatedGradient {
    bound: f64,
    eta: f64,
    rounds: usize,
    gains: Vec<f64>,
    /// Σ over the rounds of the largest squared gain.
    squares: f64,
    /// Σ λₜ over the rounds so far.
    total: Vec<f64>,
}

impl ExponentiatedGradient {
    /// For so many constraints.
    pub fn new(constraints: usize, bound: f64, eta: f64) -> Self {
        Self {
            bound,
            eta,
            rounds: 0,
            gains: vec![0.0; constraints],
            squares: 0.0,
            total: vec![0.0; constraints],
        }
    }

    /// λₜ.
    pub fn decision(&self) -> Vec<f64> {
        let eta = if self.squares > 0.0 { self.eta / self.squares.sqrt() } else { 0.0 };
        let first = (FIRST_SHARE / self.gains.len().max(1) as f64).ln();
        let logarithms: Vec<f64> = self.gains.iter().map(|gain| first + eta * gain).collect();
        let rest = (1.0 - FIRST_SHARE).ln();
        let most = logarithms.iter().copied().fold(rest, f64::max);
        let sum: f64 = logarithms.iter().chain([&rest]).map(|logarithm| (logarithm - most).exp()).sum();
        logarithms.iter().map(|logarithm| self.bound * (logarithm - most).exp() / sum).collect()
    }

    /// Takes by how much each constraint is violated by the answer to λₜ.
    pub fn observe(&mut self, violations: &[f64]) -> Result<()> {
        dimension("violations", violations.len(), self.gains.len())?;
        let lam = self.decision();
        self.total.iter_mut().zip(lam).for_each(|(total, lam)| *total += lam);
        self.gains.iter_mut().zip(violations).for_each(|(gain, violation)| *gain += violation);
        self.squares += violations.iter().map(|violation| violation * violation).fold(0.0, f64::max);
        self.rounds += 1;
        Ok(())
    }

    /// λ̂, the mean of all λₜ so far.
    pub fn mean(&self) -> Vec<f64> {
        self.total.iter().map(|total| total / self.rounds.max(1) as f64).collect()
    }

    /// max over λ of λ·violations.
    pub fn best(&self, violations: &[f64]) -> f64 {
        self.bound * violations.iter().copied().fold(0.0, f64::max)
    }

    pub fn save(&self, to: &mut Saver) {
        to.put(&self.rounds);
        to.put_all(&self.gains);
        to.put(&self.squares);
        to.put_all(&self.total);
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.rounds = from.get_count("a number of rounds")?;
        from.get_finite("a gain", &mut self.gains)?;
        self.squares =
            from.get_where("a sum of squares", |squares| (0.0..f64::INFINITY).contains(squares))?;
        from.get_finite("a multiplier", &mut self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multipliers stay within their bound, rise while a constraint is violated and fall while it is not, whatever the size of
    /// what is observed.
    #[test]
    fn multipliers_follow_violations_within_their_bound() {
        let mut player = ExponentiatedGradient::new(3, 10.0, 5.0);
        let first = player.decision();
        assert!((first.iter().sum::<f64>() - 0.1).abs() < 1e-12);
        for _ in 0..50 {
            player.observe(&[1.0, -1.0, 1e100]).unwrap();
            let lam = player.decision();
            assert!(
                lam.iter().all(|lam| *lam >= 0.0) && lam.iter().sum::<f64>() <= 10.0 * (1.0 + 1e-12),
                "{lam:?}"
            );
        }
        let lam = player.decision();
        assert!(lam[1] <= first[1] && lam[2] > 9.99, "{lam:?}");
        assert_eq!(player.best(&[0.2, -1.0, 0.5]), 5.0);
        assert_eq!(player.best(&[-0.2, -1.0, -0.5]), 0.0);
    }

    /// Against the regret that is proved for it: T gains in [−1, 1] cost at most B(ln(1/w₁)/η + 2η)√T.
    #[test]
    fn regret_is_bounded() {
        let (bound, eta, rounds) = (2.0, 1.0, 400);
        let mut player = ExponentiatedGradient::new(2, bound, eta);
        let (mut played, mut sums) = (0.0, [0.0, 0.0]);
        for t in 0..rounds {
            let gains = [if t % 3 == 0 { 1.0 } else { -0.3 }, if t % 2 == 0 { -1.0 } else { 1.0 }];
            played += player.decision().iter().zip(gains).map(|(lam, gain)| lam * gain).sum::<f64>();
            sums.iter_mut().zip(gains).for_each(|(sum, gain)| *sum += gain);
            player.observe(&gains).unwrap();
        }
        let regret = player.best(&sums) - played;
        let most = bound * ((200.0f64).ln() / eta + 2.0 * eta) * (rounds as f64).sqrt();
        assert!(regret <= most, "{regret} {most}");
    }
}
