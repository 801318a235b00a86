use super::ValueFunction;
use crate::env::TabularMdp;
use crate::error::{Error, Result};
use crate::measurement::Discounting;
use crate::vector::{largest, rounding, wide};

/// A lower bound on min λ·Z̄(π) that holds for any `witness`, by its Bellman residual, in one sweep.
///
/// With δ(s) = max over a of r(s, a) + γ Σ P V − V(s) for the reward r = −λ·z, no policy's return exceeds
/// β·V + max(0, max δ)·(the discounted number of steps). What rounding may have added to the bound is taken off, so
/// that a V too large to see the rewards beside it proves nothing.
pub fn least_payoff(
    model: &TabularMdp,
    discounting: &Discounting,
    decisions: &[bool],
    lam: &[f64],
    witness: &ValueFunction,
) -> Result<f64> {
    let (states, gamma) = (model.states(), discounting.gamma());
    let stages = discounting.horizon().unwrap_or(1);
    crate::error::dimension("value function", witness.values.len(), stages * states)?;
    crate::error::dimension("decision states", decisions.len(), states)?;
    crate::error::dimension("lambda", lam.len(), model.measures().dim())?;
    let (payoffs, sizes) = (model.payoffs(lam), model.payoff_sizes(lam));
    let (longest_row, longest_outcome) = model.longest_sums();
    let zero = vec![0.0; states];
    // What outcomes pay in twice the digits, once they are needed.
    let mut precise: Vec<Option<Sum>> = vec![None; payoffs.len()];
    let mut residual = |values: &[f64], later: &[f64]| {
        // States without decisions are worth 0.
        let worth = |(value, decides): (&f64, &bool)| if *decides { *value } else { 0.0 };
        let later: Vec<f64> = later.iter().zip(decisions).map(worth).collect();
        // More than the sizes that any sum is made of.
        let most = 2.0 * (largest(values) + largest(&later) + largest(&sizes));
        let margin = rounding(longest_row + longest_outcome) * most;
        wide(
            #[inline(always)]
            || {
                let mut found = 0.0f64;
                for s in (0..states).filter(|&s| decisions[s]) {
                    for choice in model.choices_of(s) {
                        let row = model.outcomes_of(choice);
                        let mut plain = -values[s];
                        for t in row {
                            plain += t.probability
                                * (gamma * later[t.next as usize] - payoffs[t.outcome as usize]);
                        }
                        // Most actions are so much worse that plain numbers show it.
                        if plain + margin <= found {
                            continue;
                        }
                        let (mut sum, mut size) = (Sum::default(), values[s].abs());
                        sum.add(-values[s]);
                        for t in row {
                            let future = later[t.next as usize];
                            size += t.probability * (future.abs() + sizes[t.outcome as usize]);
                            sum.add_product(t.probability, gamma, future);
                            let pays = *precise[t.outcome as usize].get_or_insert_with(|| {
                                let mut pays = Sum::default();
                                let entries = model.outcome(t.outcome).iter();
                                entries.for_each(|&(i, z)| pays.add_product(1.0, lam[i as usize], z));
                                pays
                            });
                            sum.add_product(-t.probability, 1.0, pays.high);
                            sum.low -= t.probability * pays.low;
                        }
                        let excess = sum.high + sum.low;
                        let terms = row.len() * (longest_outcome + 1);
                        let excess =
                            excess + rounding(2 * terms).powi(2) * size + f64::EPSILON * excess.abs();
                        // NaN must not pass for a proof.
                        found = if excess.is_nan() { f64::INFINITY } else { found.max(excess) };
                    }
                }
                found
            },
        )
    };
    let at_start = |values: &[f64]| mean(decisions, values, model.start().iter().copied());
    let excess: f64 = if discounting.horizon().is_some() {
        let tables: Vec<&[f64]> = witness.values.chunks(states).collect();
        (0..stages)
            .map(|h| gamma.powi(h as i32) * residual(tables[h], tables.get(h + 1).copied().unwrap_or(&zero)))
            .sum()
    } else if gamma < 1.0 {
        // The probabilities of a row add up to 1 but for rounding, which makes episodes longer.
        let ends = 1.0 - gamma - rounding(longest_row);
        residual(&witness.values, &witness.values) / if ends > 0.0 { ends } else { 0.0 }
    } else {
        let excess = residual(&witness.values, &witness.values);
        match witness.steps.as_deref() {
            Some(steps) => {
                steps_left(model, decisions, steps)?;
                excess * at_start(steps).0
            }
            // Where nothing exceeds the values, it does not matter how long policies take to end.
            None if excess == 0.0 => 0.0,
            None => f64::INFINITY,
        }
    };
    let (start, size) = at_start(&witness.values[..states]);
    let bound = -(start
        + excess
        + rounding(model.start().len()) * size
        + rounding(stages * (longest_row + 3) + model.start().len()) * excess);
    Ok(if bound.is_nan() { f64::NEG_INFINITY } else { bound })
}

/// A sum in twice the digits: what rounding took off each step is added up apart (Ogita, Rump and Oishi 2005).
///
/// Its rounding is that of its last addition, and the square of that of a plain sum.
#[derive(Default, Clone, Copy)]
struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    #[inline(always)]
    fn add(&mut self, x: f64) {
        let sum = self.high + x;
        let rounded = sum - self.high;
        self.low += (self.high - (sum - rounded)) + (x - rounded);
        self.high = sum;
    }

    /// Adds p·x·y.
    #[inline(always)]
    fn add_product(&mut self, p: f64, x: f64, y: f64) {
        let inner = x * y;
        let outer = p * inner;
        self.low += p.mul_add(inner, -outer) + p * x.mul_add(y, -inner);
        self.add(outer);
    }
}

/// Σ p V(s) over the states of a distribution, and Σ p|V(s)|. States without decisions are worth 0.
fn mean(decisions: &[bool], values: &[f64], distribution: impl Iterator<Item = (usize, f64)>) -> (f64, f64) {
    distribution.filter(|(s, _)| decisions[*s]).fold((0.0, 0.0), |(sum, size), (s, p)| {
        let term = p * values[s];
        (sum + term, size + term.abs())
    })
}

/// Checks that W bounds the number of steps of every policy.
fn steps_left(model: &TabularMdp, decisions: &[bool], steps: &[f64]) -> Result<()> {
    crate::error::dimension("bound on the steps left", steps.len(), model.states())?;
    for s in (0..model.states()).filter(|&s| decisions[s]) {
        for choice in model.choices_of(s) {
            let row = model.outcomes_of(choice);
            let (future, size) = mean(decisions, steps, row.iter().map(|t| (t.next as usize, t.probability)));
            let rounding = rounding(row.len()) * (size + steps[s].abs());
            // Written so that NaN and a W too large to count single steps in fail.
            if !(steps[s].is_finite() && steps[s] - future - rounding >= 1.0) {
                return Err(Error::Certificate {
                    claim: "steps left",
                    claimed: steps[s],
                    found: 1.0 + future,
                });
            }
        }
    }
    Ok(())
}
