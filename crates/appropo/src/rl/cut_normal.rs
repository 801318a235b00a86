use crate::policy::Actions;

/// An entry of an action before it is cut to its bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct CutNormal {
    pub mean: f32,
    pub log_deviation: f32,
}

/// A loss with its derivatives.
#[derive(Debug)]
pub(super) struct Loss {
    pub value: f32,
    pub by_mean: f32,
    pub by_log_deviation: f32,
}

impl CutNormal {
    /// −ln of the density of an action inside its bounds, or of the probability that a draw is cut to the bound it lies at
    /// (Tobin 1958).
    pub fn loss(&self, action: f32, (low, high): (f32, f32)) -> Loss {
        /// How close to a bound an action lies at it: units are rounded.
        const ROUNDING: f32 = 1e-5;
        let deviation = self.log_deviation.exp();
        let side = match action {
            _ if action >= high - ROUNDING => 1.0,
            _ if action <= low + ROUNDING => -1.0,
            _ => 0.0,
        };
        if side == 0.0 {
            let away = (action - self.mean) / deviation;
            let half_log_tau = 0.918_938_5; // ½ ln 2π
            return Loss {
                value: 0.5 * away * away + self.log_deviation + half_log_tau,
                by_mean: -away / deviation,
                by_log_deviation: 1.0 - away * away,
            };
        }
        let bound = if side > 0.0 { high } else { low };
        let beyond = side * (self.mean - bound) / deviation;
        let (log_probability, ratio) = normal_tail(f64::from(beyond));
        Loss {
            value: -log_probability as f32,
            by_mean: -side * ratio as f32 / deviation,
            by_log_deviation: ratio as f32 * beyond,
        }
    }
}

/// The logarithm of the probability of an action as a policy drew it, or of its density; `outputs` are what the draw left:
/// probabilities, or means. What lies beyond the bounds of an action is cut to them, so all that counts is that it was.
pub(super) fn log_probability(
    actions: &Actions,
    bounds: &[(f32, f32)],
    (outputs, deviations): (&[f32], &[f32]),
    drawn: &[f32],
) -> f32 {
    match actions {
        Actions::Categorical => outputs[drawn[0] as usize].max(f32::MIN_POSITIVE).ln(),
        // Learners of squashed actions ask for none.
        Actions::Squashed(_) => 0.0,
        Actions::Gaussian(_) => (0..drawn.len())
            .map(|i| {
                -CutNormal { mean: outputs[i], log_deviation: deviations[i] }.loss(drawn[i], bounds[i]).value
            })
            .sum(),
    }
}

/// ln Φ(u) and φ(u)/Φ(u) of the standard normal distribution, to 7 digits at any u (Press et al., Numerical Recipes, `erfcc`).
fn normal_tail(u: f64) -> (f64, f64) {
    let z = u.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.5 * z);
    const COEFFICIENTS: [f64; 10] = [
        0.17087277,
        -0.82215223,
        1.48851587,
        -1.13520398,
        0.27886807,
        -0.18628806,
        0.09678418,
        0.37409196,
        1.00002368,
        -1.26551223,
    ];
    // ln (erfc(z)/2) + z²
    let scaled = COEFFICIENTS.iter().fold(0.0, |sum, c| sum * t + c) + (0.5 * t).ln();
    let density = 1.0 / (2.0 * std::f64::consts::PI).sqrt();
    if u < 0.0 {
        return (scaled - z * z, density * (-scaled).exp());
    }
    let probability = 1.0 - (scaled - z * z).exp();
    (probability.ln(), density * (-z * z).exp() / probability)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Φ and φ by hand: Φ(0) = ½, Φ(−1) = 0.158655254, Φ(2) = 0.977249868; far out φ/Φ → −u.
    #[test]
    fn tails_of_the_normal_distribution() {
        for (u, probability) in [(0.0, 0.5), (-1.0, 0.158_655_254), (2.0, 0.977_249_868)] {
            let (log, ratio) = normal_tail(u);
            let density = (-0.5 * u * u).exp() / (2.0 * std::f64::consts::PI).sqrt();
            assert!((log.exp() - probability).abs() < 2e-7, "{u}: {}", log.exp());
            assert!((ratio - density / probability).abs() < 1e-6, "{u}: {ratio}");
        }
        let (log, ratio) = normal_tail(-100.0);
        assert!(log.is_finite() && (ratio - 100.01).abs() < 1e-3, "{log} {ratio}");
    }

    /// Derivatives against finite differences, at both bounds and between them.
    #[test]
    fn derivatives_of_a_cut_normal_distribution() {
        for action in [-1.0, 0.3, 1.0] {
            for (mean, log_deviation) in [(0.2, -0.5), (-1.5, 0.3), (1.8, -1.0)] {
                let loss = |mean: f32, log_deviation: f32| {
                    CutNormal { mean, log_deviation }.loss(action, (-1.0, 1.0))
                };
                let (at, h) = (loss(mean, log_deviation), 1e-2);
                let value = |mean, log_deviation| loss(mean, log_deviation).value;
                let by_mean = (value(mean + h, log_deviation) - value(mean - h, log_deviation)) / (2.0 * h);
                let by_log = (value(mean, log_deviation + h) - value(mean, log_deviation - h)) / (2.0 * h);
                let close = |a: f32, b: f32| (a - b).abs() < 1e-2 * (1.0 + b.abs());
                assert!(close(at.by_mean, by_mean), "{action} {mean}: {} {by_mean}", at.by_mean);
                assert!(
                    close(at.by_log_deviation, by_log),
                    "{action} {mean}: {} {by_log}",
                    at.by_log_deviation
                );
            }
        }
    }
}
