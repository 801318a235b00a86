use super::{Cone, Conic, ConvexSet, simplex};
use crate::error::{Error, Result, in_range};
use crate::root;

/// {p in the probability simplex : KL(p ‖ q) ≤ radius}, with KL(p ‖ q) = Σ pᵢ ln(pᵢ/qᵢ).
///
/// Projection: pᵢ = μ ω((xᵢ − ν)/μ + ln qᵢ − ln μ) with the Wright omega function ω; an inner Newton
/// finds ν from Σ pᵢ = 1, an outer root search μ from KL(p ‖ q) = radius.
#[derive(Debug, Clone, PartialEq)]
pub struct KlBall {
    reference: Vec<f64>,
    radius: f64,
}

/// {p in the probability simplex : KL(q ‖ p) ≤ radius}, with KL(q ‖ p) = Σ qᵢ ln(qᵢ/pᵢ).
///
/// Projection: pᵢ is the positive root of p² − (xᵢ − ν)p = μqᵢ, with ν and μ found as for [`KlBall`].
#[derive(Debug, Clone, PartialEq)]
pub struct ReverseKlBall {
    reference: Vec<f64>,
    radius: f64,
}

impl KlBall {
    /// Distributions whose divergence from `reference` is at most `radius` ≥ 0 nats.
    pub fn new(reference: Vec<f64>, radius: f64) -> Result<Self> {
        Ok(Self { reference: distribution(reference, radius)?, radius })
    }

    /// {p in the probability simplex : −Σ pᵢ ln pᵢ ≥ bound}, the divergence ball round the uniform distribution.
    pub fn entropy_at_least(dim: usize, bound: f64) -> Result<Self> {
        let most = (dim as f64).ln();
        let expected = format!("between 0 and ln {dim} = {most:.6}, the entropy of the uniform distribution");
        in_range("entropy bound", bound, (0.0..=most).contains(&bound), &expected)?;
        Self::new(vec![1.0 / dim as f64; dim], most - bound)
    }
}

impl ReverseKlBall {
    /// Distributions from which the divergence of `reference` is at most `radius` ≥ 0 nats.
    pub fn new(reference: Vec<f64>, radius: f64) -> Result<Self> {
        Ok(Self { reference: distribution(reference, radius)?, radius })
    }
}

fn distribution(mut reference: Vec<f64>, radius: f64) -> Result<Vec<f64>> {
    in_range("radius", radius, radius >= 0.0, "0 or more")?;
    if reference.is_empty() {
        return Err(Error::EmptySet { what: "a divergence ball over no outcomes" });
    }
    for &q in &reference {
        in_range("reference probability", q, q >= 0.0, "0 or more")?;
    }
    let sum: f64 = reference.iter().sum();
    in_range("the sum of the reference probabilities", sum, (sum - 1.0).abs() < 1e-6, "1")?;
    crate::vector::scale(&mut reference, 1.0 / sum);
    Ok(reference)
}

/// The solution ω of ω + ln ω = z, by the iteration of Fritsch, Shafer and Crowley (1973).
fn wright_omega(z: f64) -> f64 {
    if z < -40.0 {
        return z.exp();
    }
    let mut w = if z > 3.0 {
        z - z.ln()
    } else if z > -2.0 {
        ((z - 1.0) / 2.0).exp()
    } else {
        z.exp()
    };
    for _ in 0..4 {
        let r = z - w - w.ln();
        let q = 2.0 * (1.0 + w) * (1.0 + w + 2.0 / 3.0 * r);
        let step = r / (1.0 + w) * (q - r) / (q - 2.0 * r);
        w *= 1.0 + step;
        if step.abs() < 1e-16 {
            break;
        }
    }
    w
}

/// Σ (aᵢ ln(aᵢ/bᵢ) − aᵢ + bᵢ): KL(a ‖ b) in terms that do not cancel.
fn divergence(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(&a, &b)| {
            let t = (a - b) / b;
            if a == 0.0 {
                b
            } else if t.abs() < 0.5 {
                b * ((1.0 + t) * t.ln_1p() - t)
            } else {
                a * (a / b).ln() - a + b
            }
        })
        .sum()
}

/// The nearest point for which `excess` (divergence less radius) is not positive.
///
/// `entry(mu, y, i)` gives pᵢ and its derivative at y = xᵢ − ν; `start(mu)` a ν at which Σ pᵢ ≥ 1.
/// Σ pᵢ is convex and decreasing in ν, so Newton's method from there converges without a safeguard.
fn nearest(
    x: &[f64],
    out: &mut [f64],
    excess: impl Fn(&[f64]) -> f64,
    start: impl Fn(f64) -> f64,
    entry: impl Fn(f64, f64, usize) -> (f64, f64),
) {
    let theta = simplex::threshold(x, 1.0);
    for i in 0..x.len() {
        out[i] = (x[i] - theta).max(0.0);
    }
    // A point on the boundary may exceed it by its own rounding.
    if excess(out) <= 1e-14 {
        return;
    }
    let mut at = |log_mu: f64| {
        let mu = log_mu.exp();
        let mut nu = start(mu);
        for _ in 0..100 {
            let (mut sum, mut slope) = (0.0, 0.0);
            for i in 0..x.len() {
                let (p, derivative) = entry(mu, x[i] - nu, i);
                out[i] = p;
                sum += p;
                slope += derivative;
            }
            let step = (sum - 1.0) / slope;
            nu += step;
            if step.abs() <= f64::EPSILON * (1.0 + nu.abs()) || sum <= 1.0 {
                break;
            }
        }
        excess(out)
    };
    let (mut low, mut high) = (-1.0, 1.0);
    let mut width = 1.0;
    while at(low) <= 0.0 && low > -80.0 {
        (low, width) = (low - width, 2.0 * width);
    }
    width = 1.0;
    while at(high) > 0.0 && high < 80.0 {
        (high, width) = (high + width, 2.0 * width);
    }
    let (at_low, at_high) = (at(low), at(high));
    let log_mu = root::bracketed(&mut at, (low, at_low), (high, at_high));
    at(log_mu);
}

impl ConvexSet for KlBall {
    fn dim(&self) -> usize {
        self.reference.len()
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        let q = &self.reference;
        if self.radius == 0.0 {
            return out.copy_from_slice(q);
        }
        let log_q: Vec<f64> = q.iter().map(|q| q.ln()).collect();
        nearest(
            x,
            out,
            |p| {
                if p.iter().zip(q).any(|(p, q)| *p > 0.0 && *q == 0.0) {
                    1.0
                } else {
                    divergence(p, q) - self.radius
                }
            },
            |mu| x.iter().zip(&log_q).map(|(x, l)| x + mu * l).fold(f64::NEG_INFINITY, f64::max) - 1.0,
            |mu, y, i| {
                let p = mu * wright_omega(y / mu + log_q[i] - mu.ln());
                (p, p / (p + mu))
            },
        );
    }

    fn project_recession(&self, _: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }

    fn radius(&self) -> Option<f64> {
        Some(1.0)
    }

    fn conic(&self) -> Option<Conic> {
        // t ≥ p ln(p/q) exactly when (−t, p, q) lies in the exponential cone.
        Some(relative_entropy(self.radius, self.reference.len(), |i, t| {
            [(vec![(t, 1.0)], 0.0), (vec![(i, -1.0)], 0.0), (vec![], self.reference[i])]
        }))
    }
}

impl ConvexSet for ReverseKlBall {
    fn dim(&self) -> usize {
        self.reference.len()
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        let q = &self.reference;
        if self.radius == 0.0 {
            return out.copy_from_slice(q);
        }
        nearest(
            x,
            out,
            |p| {
                if p.iter().zip(q).any(|(p, q)| *p <= 0.0 && *q > 0.0) {
                    1.0
                } else {
                    divergence(q, p) - self.radius
                }
            },
            |_| x.iter().copied().fold(f64::NEG_INFINITY, f64::max) - 1.0,
            |mu, y, i| {
                let root = (y * y + 4.0 * mu * q[i]).sqrt();
                let p = if y > 0.0 {
                    (y + root) / 2.0
                } else {
                    2.0 * mu * q[i] / (root - y).max(f64::MIN_POSITIVE)
                };
                (p, if root > 0.0 { p / root } else { 0.0 })
            },
        );
    }

    fn project_recession(&self, _: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }

    fn radius(&self) -> Option<f64> {
        Some(1.0)
    }

    fn conic(&self) -> Option<Conic> {
        Some(relative_entropy(self.radius, self.reference.len(), |i, t| {
            [(vec![(t, 1.0)], 0.0), (vec![], self.reference[i]), (vec![(i, -1.0)], 0.0)]
        }))
    }
}

type Row = (Vec<(usize, f64)>, f64);

/// The simplex with Σ tᵢ ≤ radius, where `cone(i, tᵢ)` bounds the i-th term of the divergence by tᵢ.
fn relative_entropy(radius: f64, dim: usize, cone: impl Fn(usize, usize) -> [Row; 3]) -> Conic {
    let mut form = Conic::free(dim);
    let t = form.auxiliary(dim);
    form.constrain(Cone::Zero(1), [((0..dim).map(|i| (i, 1.0)).collect(), 1.0)]);
    form.constrain(Cone::Nonnegative(1), [((0..dim).map(|i| (t + i, 1.0)).collect(), radius)]);
    for i in 0..dim {
        form.constrain(Cone::Exponential, cone(i, t + i));
    }
    form.constrain(Cone::Nonnegative(dim), (0..dim).map(|i| (vec![(i, -1.0)], 0.0)));
    form
}

#[cfg(test)]
mod tests {
    use super::wright_omega;

    #[test]
    fn wright_omega_solves_its_equation() {
        for k in -390..1000 {
            let z = f64::from(k) / 10.0;
            let w = wright_omega(z);
            assert!((w + w.ln() - z).abs() <= 4.0 * f64::EPSILON * z.abs().max(1.0), "z = {z}");
        }
    }
}
