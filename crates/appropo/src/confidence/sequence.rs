//! Confidence sequences for means: intervals that hold for every number of episodes at once.

use super::ROUNDING;
use crate::error::{Error, Result, dimension, finite, in_range};
use crate::measurement::Estimate;

/// Episodes for which the asymptotic intervals are tightest; at ten times as many they are a tenth wider than they could
/// be.
const TIGHTEST: f64 = 200.0;

/// The bets λ = 0.9, 0.9/2, 0.9/4, … that the intervals for known ranges are a mixture of, the j-th of them with weight
/// 1/(j(j + 1)): large ones are for few episodes, which is where weight is needed.
const BETS: u32 = 16;

/// The radii of a region, entry by entry round the mean. The probability that any region of the sequence, after any
/// number n of independent samples, misses the expectation is at most `alpha`; so one may look at any time, and stop for
/// what is seen. Below two samples the radii are infinite. The d entries share `alpha` by a union bound.
///
/// **Ranges that are known.** With values in an interval of length c, X̂ᵢ the mean of the samples before Xᵢ (the middle of
/// the interval before the first), s = n(mean − expectation)/c and v = Σ (Xᵢ − X̂ᵢ)²/c²,
///
/// ```text
/// Σⱼ wⱼ exp(λⱼ|s| − ψ(λⱼ)v) < 2d/α,   ψ(λ) = −ln(1 − λ) − λ,
/// ```
///
/// for every n with probability 1 − α. This is the empirical Bernstein confidence sequence of Howard, Ramdas, McAuliffe
/// and Sekhon (2021, "Time-uniform, nonparametric, nonasymptotic confidence sequences", Theorem 4), as Waudby-Smith and
/// Ramdas (2024, "Estimating means of bounded random variables by betting") have it, with a mixture over the bets λⱼ in
/// place of one. v is bounded by what the sum of squares round the final mean allows for, so that a region follows from
/// the mean, the sum of squares and the number of samples alone.
///
/// **Ranges that are not known.** The region is the asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy
/// and Ramdas (2024, "Time-uniform central limit theory and asymptotic confidence sequences", Theorem 2.2),
///
/// ```text
/// r = √(2(nρ² + 1)/(nρ²) · ln(d√(nρ² + 1)/α) · S)/n,   S = Σ (Xᵢ − mean)² + b² ln(2d/α),
/// ```
///
/// with ρ such that it is tightest for 200 samples and b the **observed range**, but at least b₀ ln(2d/α)/n, where b₀ is
/// the observed range made to reach to 0, or max(1, |value|) where nothing varied. Both are ours and vanish as n grows.
/// n samples do not rule out that an episode in n/ln(2d/α) is of a kind that was not seen, such as one that comes to
/// nothing: the radius allows for that. The assumption is that of every normal approximation: the level is not proved, and
/// an outcome that is both much further out than all that was seen and too rare to be seen is missed.
///
/// `ranges` has the interval of each entry, or is empty.
pub fn radii(estimate: &Estimate, ranges: &[Option<(f64, f64)>], alpha: f64) -> Result<Vec<f64>> {
    let dim = estimate.dim();
    in_range("alpha", alpha, alpha > 0.0 && alpha < 1.0, "more than 0 and less than 1")?;
    if !ranges.is_empty() {
        dimension("ranges", ranges.len(), dim)?;
    }
    let n = estimate.count() as f64;
    let level = alpha / dim as f64;
    let radius = |entry: usize| {
        let range = ranges.get(entry).copied().flatten();
        let width = range.map(|range| width(estimate.range(entry), range)).transpose()?;
        let squares = estimate.squares(entry);
        Ok(match width {
            _ if n < 2.0 => f64::INFINITY,
            Some(width) => bounded(squares, n, width, level),
            None => asymptotic(squares, n, estimate.range(entry), level),
        })
    };
    (0..dim).map(radius).collect()
}

/// The radius for an observed range, at the level 1 − α.
fn asymptotic(squares: f64, n: f64, (least, largest): (f64, f64), alpha: f64) -> f64 {
    // The minimum of the radius over ρ² at n = TIGHTEST, as near as needed.
    let logarithm = -2.0 * alpha.ln();
    let rho_squared = (logarithm + (logarithm + 1.0).ln()) / TIGHTEST;
    let (grown, unseen) = (n * rho_squared + 1.0, (2.0 / alpha).ln());
    let squares = squares + (largest - least).powi(2) * unseen;
    let normal = (2.0 * grown / (grown - 1.0) * (grown.sqrt() / alpha).ln() * squares).sqrt();
    let reach = if largest > least { largest.max(0.0) - least.min(0.0) } else { largest.abs().max(1.0) };
    normal.max(reach * unseen) / n
}

/// The radius for values in an interval of length c, at the level 1 − α.
fn bounded(squares: f64, n: f64, c: f64, alpha: f64) -> f64 {
    if c == 0.0 {
        return 0.0;
    }
    let v = most_variation(squares / (c * c), n);
    // Each bet with what its wealth must make up for.
    let bets = || {
        (1..=BETS).map(f64::from).map(|j| {
            let lam = 0.9 * 2f64.powf(1.0 - j);
            (lam, (2.0 / alpha).ln() + (j * (j + 1.0)).ln() + (-(-lam).ln_1p() - lam) * v)
        })
    };
    // Where one bet alone is worth that much, all of them together are.
    let mut high = bets().map(|(lam, cost)| cost / lam).fold(f64::INFINITY, f64::min);
    let mut low = 0.0;
    while high - low > 1e-12 * high {
        let s = 0.5 * (low + high);
        let wealth: f64 = bets().map(|(lam, cost)| (lam * s - cost).exp()).sum();
        *(if wealth < 1.0 { &mut low } else { &mut high }) = s;
    }
    (c * high / n).min(c)
}

/// The most that Σ (xᵢ − x̂ᵢ)² can be of n numbers of an interval of length 1, where x̂ᵢ is the mean of those before xᵢ,
/// given the sum of their squares round the mean of all.
///
/// With eᵢ = xᵢ − x̂ᵢ the sum of squares is Σ (1 − 1/i)eᵢ² over i ≥ 2, and each eᵢ² is at most 1: what is left out, Σ eᵢ²/i,
/// is largest where the first are as large as can be. e₁² is at most ¼.
fn most_variation(squares: f64, n: f64) -> f64 {
    let (mut left, mut sum, mut i) = (squares, 0.25 + squares, 2.0);
    while left > 0.0 && i <= n {
        let part = (left / (1.0 - 1.0 / i)).min(1.0);
        sum += part / i;
        left -= part * (1.0 - 1.0 / i);
        i += 1.0;
    }
    sum
}

/// The length of a known interval that samples between `least` and `largest` came from.
fn width((least, largest): (f64, f64), (low, high): (f64, f64)) -> Result<f64> {
    finite("range", &[low, high])?;
    in_range("range, upper end,", high, high >= low, &format!("at least the lower end {low}"))?;
    // Discounted sums may pass an end by rounding.
    let slack = ROUNDING * (1.0 + low.abs().max(high.abs()));
    match [least, largest].into_iter().find(|v| v.is_finite() && !(low - slack..=high + slack).contains(v)) {
        Some(value) => Err(Error::OutOfRange {
            what: "an episode's measurement".into(),
            value,
            expected: format!("between {low} and {high}, the range that was given"),
        }),
        None => Ok(high - low),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    /// The bound on the variation holds for the numbers themselves, and is not far above them.
    #[test]
    fn variation_is_bounded_by_squares() {
        let mut rng = random::generator(3);
        for count in [2, 3, 10, 1000] {
            for p in [0.01, 0.3, 1.0] {
                let (mut estimate, mut variation) = (Estimate::new(1), 0.0);
                for _ in 0..count {
                    let x = if random::unit(&mut rng) < p { random::unit(&mut rng).round() } else { 0.0 };
                    let before = if estimate.count() == 0 { 0.5 } else { estimate.mean()[0] };
                    variation += (x - before) * (x - before);
                    estimate.add(&[x]);
                }
                let most = most_variation(estimate.squares(0), f64::from(count));
                assert!(variation <= most + 1e-9, "{variation} of {count} with {p}, at most {most}");
                assert!(most <= 0.25 + estimate.squares(0) + f64::from(count).ln(), "{most}");
            }
        }
    }
}
