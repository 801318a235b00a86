//! Algorithm 1: solving a zero-sum game by playing a no-regret learner against best responses.
//!
//! Here on a plain matrix game, g(λ, u) = λᵀMu with both players on probability simplices.
//! [`appropo`](super::appropo) is the same loop with policies as the second player.

use crate::error::{Error, Result, dimension, finite};
use crate::player::OnlineGradient;
use crate::set::Simplex;
use crate::vector;

/// The averages of both players' decisions, and the first one's regret.
#[derive(Debug, Clone, PartialEq)]
pub struct Play {
    /// λ̄.
    pub lam_bar: Vec<f64>,
    /// ū.
    pub u_bar: Vec<f64>,
    /// Regretₜ of the λ-player. By Theorem 3.1 both averages are within Regretₜ/T of optimal.
    pub regret: f64,
}

/// Plays `rounds` rounds of the game with this payoff matrix, given by its rows; λ chooses rows and gains,
/// u chooses columns and pays.
pub fn play(payoff: &[Vec<f64>], learner: &mut OnlineGradient<Simplex>, rounds: usize) -> Result<Play> {
    let columns = payoff.first().map_or(0, Vec::len);
    if columns == 0 {
        return Err(Error::Dimension { what: "payoff matrix".into(), found: 0, expected: 1 });
    }
    dimension("learner's decision", learner.decision().len(), payoff.len())?;
    for row in payoff {
        dimension("row of the payoff matrix", row.len(), columns)?;
        finite("payoff", row)?;
    }
    let mut lam_bar = vec![0.0; payoff.len()];
    let mut u_bar = vec![0.0; columns];
    let mut gains = vec![0.0; payoff.len()];
    let mut earned = 0.0;
    for _ in 0..rounds {
        let lam = learner.decision().to_vec(); // λₜ
        let price = |u: usize| payoff.iter().zip(&lam).map(|(row, l)| l * row[u]).sum::<f64>();
        let u = (0..columns).min_by(|&a, &b| price(a).total_cmp(&price(b))).unwrap_or(0); // uₜ = argmin g(λₜ, u)
        let gain: Vec<f64> = payoff.iter().map(|row| row[u]).collect();
        learner.observe(&gain)?; // ℓₜ(λ) = −g(λ, uₜ)
        earned += price(u);
        vector::add_scaled(&mut gains, 1.0, &gain);
        vector::add_scaled(&mut lam_bar, 1.0 / rounds as f64, &lam);
        u_bar[u] += 1.0 / rounds as f64;
    }
    let best_fixed = gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Ok(Play { lam_bar, u_bar, regret: best_fixed - earned })
}
