//! Whether visits are those of a policy: what flows into a state flows out of it.

use crate::env::TabularMdp;
use crate::vector::rounding;

/// A bound on ‖ρ − ρ*‖₁ for the visits ρ* of a policy that takes the choices `chosen(state)`, by one sweep.
///
/// ρ* solves ρ* = β + γPᵀρ*, and no entry of (I − γPᵀ)⁻¹ adds up to more than 1/(1 − γ) over a column, so that
/// ‖ρ − ρ*‖₁ ≤ ‖β + γPᵀρ − ρ‖₁/(1 − γ). What rounding may have taken off the sum is added. Visits outside of the
/// decision states, and what is not finite, are infinitely wrong.
pub(super) fn error_bound<I: Iterator<Item = (usize, f64)>>(
    model: &TabularMdp,
    gamma: f64,
    chosen: impl Fn(usize) -> I,
    visits: &[f64],
) -> f64 {
    let decisions = model.decision_states();
    if visits.len() != decisions.len()
        || visits.iter().zip(decisions).any(|(v, decides)| *v != 0.0 && !decides)
    {
        return f64::INFINITY;
    }
    // What flows in and does not flow out, and of how many terms that is a sum.
    let mut residual: Vec<f64> = visits.iter().map(|v| -v).collect();
    let mut terms = vec![1u32; visits.len()];
    let mut add = |state: usize, flow: f64| {
        if decisions[state] {
            residual[state] += flow;
            terms[state] += 1;
        }
    };
    model.start().iter().for_each(|&(state, probability)| add(state, probability));
    let mut longest = 0;
    for (state, &visits) in visits.iter().enumerate().filter(|(_, visits)| **visits != 0.0) {
        let mut leaving = 0;
        for (choice, probability) in chosen(state) {
            let flow = gamma * visits * probability;
            for (p, next) in model.outcomes_of(choice).successors() {
                add(next, flow * p);
                leaving += 1;
            }
        }
        longest = longest.max(leaving);
    }
    let total = |numbers: &[f64]| numbers.iter().map(|x| x.abs()).sum::<f64>();
    let (left, size) = (total(&residual), 1.0 + 2.0 * total(visits));
    let most = terms.iter().copied().max().unwrap_or(0) as usize;
    // A sum of n numbers of one sign is off by n/2 ε of itself.
    let summed = 1.0 + rounding(visits.len());
    // The probabilities of a row add up to 1 but for rounding, which makes episodes longer.
    let ends = 1.0 - gamma - rounding(longest);
    if !(ends > 0.0) || !left.is_finite() || !size.is_finite() {
        return f64::INFINITY;
    }
    summed * (left + rounding(most + 3) * size) / ends
}
