//! Step sizes, numbers of rounds and bounds, as the theorems state them.
//!
//! Everywhere, v is the least distance that any mixed policy reaches (0 for a feasible problem), ε₀ the error
//! of the best response, ε₁ that of the estimate ẑ, and G a bound on the norm of what the player observes.

/// G for Theorems 3.3 and 3.4: B/(1 − γ) + ε₁, with `weight` = 1/(1 − γ) or what a horizon makes of it.
pub fn gradient_bound(step_bound: f64, weight: f64, epsilon_1: f64) -> f64 {
    step_bound * weight + epsilon_1
}

/// G for Corollary 3.6 as printed: (B + κ)/(1 − γ) + ε₁.
pub fn lifted_gradient_bound(step_bound: f64, kappa: f64, weight: f64, epsilon_1: f64) -> f64 {
    gradient_bound(step_bound + kappa, weight, epsilon_1)
}

/// η = 1/(G√T), the constant step of online gradient descent over T rounds.
pub fn step_size(gradient_bound: f64, rounds: usize) -> f64 {
    1.0 / (gradient_bound * (rounds as f64).sqrt())
}

/// T = (G/accuracy)², the rounds after which the bound's vanishing part is `accuracy`.
pub fn rounds(gradient_bound: f64, accuracy: f64) -> usize {
    (gradient_bound / accuracy).powi(2).ceil() as usize
}

/// Regret of online gradient descent from λ₁ = 0 after T rounds: G√T (Theorem A.1 with ‖λ − λ₁‖ ≤ 1).
pub fn regret_bound(gradient_bound: f64, rounds: usize) -> f64 {
    gradient_bound * (rounds as f64).sqrt()
}

/// Theorem 3.3: distance after T rounds ≤ v + G/√T + ε₀ + 2ε₁. With v = 0 it is Theorem 3.4.
pub fn distance_bound(v: f64, gradient_bound: f64, rounds: usize, epsilon_0: f64, epsilon_1: f64) -> f64 {
    v + gradient_bound / (rounds as f64).sqrt() + epsilon_0 + 2.0 * epsilon_1
}

/// κ of Lemma 3.5 for a set of this radius: with it, distances to the cone understate those to the set by a
/// factor of at most 1 + δ.
pub fn kappa(radius: f64, delta: f64) -> f64 {
    radius / (2.0 * delta).sqrt()
}

/// Corollary 3.6: the bound for the cone, times 1 + δ.
pub fn lifted_distance_bound(bound: f64, delta: f64) -> f64 {
    (1.0 + delta) * bound
}

/// Lemma 3.5 without compactness: the distance of x from a closed convex set, given the distance D < κ of
/// (x, κ) from its cone and the norm of x. It is at most D·√(1 + ‖x‖²/κ²)/(1 − D/κ); infinite where D ≥ κ.
///
/// Proof. The nearest point q = α(q′, κ) of the cone has height ακ ≥ κ − D, and ‖q‖ ≤ ‖(x, κ)‖ because
/// projections onto cones shorten. By the paper's similar triangles, dist(x, C) ≤ D·‖(q′, κ)‖/κ = D·‖q‖/(ακ).
pub fn unlifted_distance(lifted: f64, kappa: f64, norm: f64) -> f64 {
    if lifted >= kappa {
        return f64::INFINITY;
    }
    lifted * (1.0 + (norm / kappa).powi(2)).sqrt() / (1.0 - lifted / kappa)
}

/// Blackwell's player: distance after T rounds ≤ v + G/√T + ε₀ + 2ε₁, where G bounds ‖ẑₜ − Γ(z̄ₜ₋₁)‖.
///
/// Proof. With aₜ = t·dist(z̄ₜ, C), aₜ₊₁² ≤ aₜ² + 2aₜv + G², hence aₜ ≤ vt + G√t by induction.
pub fn blackwell_bound(v: f64, gradient_bound: f64, rounds: usize) -> f64 {
    distance_bound(v, gradient_bound, rounds, 0.0, 0.0)
}

/// The corrective player: distance after k calls ≤ √(v² + 4D²/(k + 1)), where D is the diameter of the
/// achievable set: it does no worse than Frank–Wolfe on ½dist².
pub fn corrective_bound(v: f64, diameter: f64, calls: usize) -> f64 {
    (v * v + 4.0 * diameter * diameter / (calls as f64 + 1.0)).sqrt()
}

/// Multiplicative weights over n directions: η = √(8 ln n / T)/W, where W bounds how much the violations of one answer
/// differ. At least 2 directions are counted, so that η is more than 0.
pub fn hedge_step_size(width: f64, directions: usize, rounds: usize) -> f64 {
    (8.0 * (directions.max(2) as f64).ln() / rounds as f64).sqrt() / width
}

/// Regret of multiplicative weights with a constant η after any T rounds: ln n/η + ηTW²/8 (Cesa-Bianchi and Lugosi 2006,
/// Theorem 2.2, by Hoeffding's lemma).
pub fn hedge_regret(eta: f64, width: f64, directions: usize, rounds: usize) -> f64 {
    (directions as f64).ln() / eta + eta * rounds as f64 * width * width / 8.0
}

/// The same with the step size of the theorem for T rounds: W√(T ln n / 2).
pub fn hedge_regret_bound(width: f64, directions: usize, rounds: usize) -> f64 {
    width * (rounds as f64 * (directions.max(2) as f64).ln() / 2.0).sqrt()
}

/// Regret of multiplicative weights with adaptive steps after any T rounds: W√(T ln n) + W(4/3 ln n + 2) (de Rooij et
/// al. 2014, Theorem 8, with variances of at most W²/4).
pub fn adaptive_hedge_regret_bound(width: f64, directions: usize, rounds: usize) -> f64 {
    let logarithm = (directions as f64).ln();
    width * ((rounds as f64 * logarithm).sqrt() + 4.0 / 3.0 * logarithm + 2.0)
}

/// Syed and Schapire 2007: after T rounds of multiplicative weights against best responses, the mixture's least margin is
/// at least v* − Regretₜ/T − ε₀ − 2ε₁, where v* is the largest of any policy.
///
/// Proof. Every answer pays wₜ at most −v* + ε₀, and by the regret no face is violated on average by more than what w was
/// paid, plus Regretₜ/T.
pub fn margin_bound(v: f64, regret: f64, rounds: usize, epsilon_0: f64, epsilon_1: f64) -> f64 {
    v - regret / rounds as f64 - epsilon_0 - 2.0 * epsilon_1
}

/// T = W² ln n/(2ε²), the rounds after which multiplicative weights with the step size of the theorem are within ε of v*.
pub fn hedge_rounds(width: f64, directions: usize, accuracy: f64) -> usize {
    ((width / accuracy).powi(2) * (directions.max(2) as f64).ln() / 2.0).ceil() as usize
}
