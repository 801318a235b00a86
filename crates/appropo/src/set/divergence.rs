use super::registration::{RADIUS, REFERENCE, SetEntry, made};
use super::{Cone, Conic, ConvexSet, Derivative, simplex};
use crate::error::{Error, Result, in_range};
use crate::options::{Key, Kind, Range};

/// {p in the probability simplex : KL(p ‖ q) ≤ radius}, with KL(p ‖ q) = Σ pᵢ ln(pᵢ/qᵢ).
///
/// Projection: pᵢ = μ ω((xᵢ − ν)/μ + ln qᵢ − ln μ) with the Wright omega function ω; an inner Newton finds ν from
/// Σ pᵢ = 1, an outer one μ from KL(p ‖ q) = radius.
#[derive(Debug, Clone, PartialEq)]
pub struct KlBall {
    dim: usize,
    /// The outcomes to which the reference gives weight; all others must stay at 0.
    support: Vec<usize>,
    /// The reference and its logarithms, on the support.
    reference: Vec<f64>,
    log_reference: Vec<f64>,
    radius: f64,
    /// The bound on the entropy, where it was stated as one.
    entropy: Option<f64>,
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
        let full = distribution(reference, radius)?;
        let support: Vec<usize> = (0..full.len()).filter(|&i| full[i] > 0.0).collect();
        let reference: Vec<f64> = support.iter().map(|&i| full[i]).collect();
        let log_reference = reference.iter().map(|q| q.ln()).collect();
        Ok(Self { dim: full.len(), support, reference, log_reference, radius, entropy: None })
    }

    /// {p in the probability simplex : −Σ pᵢ ln pᵢ ≥ bound}, the divergence ball round the uniform distribution.
    pub fn entropy_at_least(dim: usize, bound: f64) -> Result<Self> {
        let most = (dim as f64).ln();
        let expected = format!("between 0 and ln {dim} = {most:.6}, the entropy of the uniform distribution");
        in_range("entropy bound", bound, (0.0..=most).contains(&bound), &expected)?;
        Ok(Self { entropy: Some(bound), ..Self::new(vec![1.0 / dim as f64; dim], most - bound)? })
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

/// The two ways of measuring divergence differ only in how an entry p depends on μ and y = x − ν, and in the slope
/// of the divergence there.
trait Divergence {
    /// p for μ > 0, given with its logarithm.
    fn at(&self, mu: f64, log_mu: f64, y: f64, i: usize) -> f64;
    /// A ν at which Σ pᵢ ≥ 1.
    fn start(&self, mu: f64, x: &[f64]) -> f64;
    /// aᵢ = ∂pᵢ/∂y.
    fn weight(&self, mu: f64, p: f64, i: usize) -> f64;
    /// gᵢ, the derivative of the divergence by pᵢ up to a constant; ∂pᵢ/∂μ = −aᵢgᵢ up to a shift of ν.
    fn slope(&self, p: f64, i: usize) -> f64;
    /// Divergence less radius.
    fn excess(&self, p: &[f64]) -> f64;
}

/// Writes the nearest point to `x` whose excess is not positive, and returns its μ; 0 if the simplex alone decides.
fn nearest(set: &impl Divergence, x: &[f64], out: &mut [f64]) -> f64 {
    let theta = simplex::threshold(x, 1.0);
    for i in 0..x.len() {
        out[i] = (x[i] - theta).max(0.0);
    }
    // A point on the boundary may exceed it by its own rounding.
    if set.excess(out) <= 1e-14 {
        return 0.0;
    }
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut log_mu = 0.0;
    let mut nu = set.start(1.0, x);
    for _ in 0..200 {
        let mu = f64::exp(log_mu);
        meet_the_sum(set, mu, x, &mut nu, out);
        let excess = set.excess(out);
        if excess > 0.0 {
            low = log_mu;
        } else {
            high = log_mu;
        }
        // Along Σp = 1 the divergence falls with μ at the rate of g's variance under the weights a.
        let (a, ag, agg) = moments(set, mu, out);
        let rate = mu * (agg - ag * ag / a);
        let newton = log_mu + excess / rate;
        let inside = low < newton && newton < high;
        let next = match (inside && newton.is_finite(), low.is_finite(), high.is_finite()) {
            (true, ..) => newton.clamp(log_mu - 3.0, log_mu + 3.0),
            (false, true, true) => (low + high) / 2.0,
            (false, true, false) => low + 3.0,
            _ => high - 3.0,
        };
        let done = (next - log_mu).abs() <= 4.0 * f64::EPSILON * log_mu.abs().max(1.0);
        if done || log_mu.abs() > 200.0 {
            break;
        }
        log_mu = next;
    }
    f64::exp(log_mu)
}

/// Finds ν with Σ pᵢ = 1. The sum is convex and decreasing in ν, so after its first step Newton's method comes from
/// the left and needs no safeguard.
fn meet_the_sum(set: &impl Divergence, mu: f64, x: &[f64], nu: &mut f64, out: &mut [f64]) {
    let log_mu = mu.ln();
    for round in 0..100 {
        let (mut sum, mut slope) = (0.0, 0.0);
        for i in 0..x.len() {
            out[i] = set.at(mu, log_mu, x[i] - *nu, i);
            sum += out[i];
            slope += set.weight(mu, out[i], i);
        }
        let step = (sum - 1.0) / slope;
        if !step.is_finite() {
            *nu = set.start(mu, x);
            continue;
        }
        *nu += step;
        if step.abs() <= f64::EPSILON * (1.0 + nu.abs()) || (round > 0 && sum <= 1.0) {
            break;
        }
    }
}

/// Σ a, Σ ag and Σ ag².
fn moments(set: &impl Divergence, mu: f64, p: &[f64]) -> (f64, f64, f64) {
    let mut sums = (0.0, 0.0, 0.0);
    for (i, &p) in p.iter().enumerate() {
        let (a, g) = (set.weight(mu, p, i), set.slope(p, i));
        sums = (sums.0 + a, sums.1 + a * g, sums.2 + a * g * g);
    }
    sums
}

/// dp = a(dx − dν − g dμ), with dν and dμ such that Σ dp = 0 and Σ g dp = 0.
fn derivative<'a>(set: &impl Divergence, mu: f64, p: &[f64]) -> Derivative<'a> {
    let (a, g): (Vec<f64>, Vec<f64>) =
        p.iter().enumerate().map(|(i, &p)| (set.weight(mu, p, i), set.slope(p, i))).unzip();
    let (sum, first, second) = moments(set, mu, p);
    let determinant = sum * second - first * first;
    Box::new(move |d, out| {
        let b: f64 = a.iter().zip(d).map(|(a, d)| a * d).sum();
        let c: f64 = a.iter().zip(&g).zip(d).map(|((a, g), d)| a * g * d).sum();
        // A vanishing determinant leaves a point that cannot move.
        let solve = |x: f64| if determinant > 0.0 { x / determinant } else { 0.0 };
        let (nu, mu) = (solve(second * b - first * c), solve(sum * c - first * b));
        for i in 0..d.len() {
            out[i] = a[i] * (d[i] - nu - g[i] * mu);
        }
    })
}

/// Projects on the support alone; all other entries stay at 0.
fn project_on(set: &impl Divergence, support: &[usize], x: &[f64], out: &mut [f64]) -> f64 {
    if support.len() == x.len() {
        return nearest(set, x, out);
    }
    let inner: Vec<f64> = support.iter().map(|&i| x[i]).collect();
    let mut point = vec![0.0; inner.len()];
    let mu = nearest(set, &inner, &mut point);
    out.fill(0.0);
    for (&i, p) in support.iter().zip(point) {
        out[i] = p;
    }
    mu
}

impl Divergence for KlBall {
    fn at(&self, mu: f64, log_mu: f64, y: f64, i: usize) -> f64 {
        mu * wright_omega(y / mu + self.log_reference[i] - log_mu)
    }
    fn start(&self, mu: f64, x: &[f64]) -> f64 {
        x.iter().zip(&self.log_reference).map(|(x, l)| x + mu * l).fold(f64::NEG_INFINITY, f64::max) - 1.0
    }
    fn weight(&self, mu: f64, p: f64, _: usize) -> f64 {
        p / (p + mu)
    }
    fn slope(&self, p: f64, i: usize) -> f64 {
        if p > 0.0 { p.ln() - self.log_reference[i] } else { 0.0 }
    }
    fn excess(&self, p: &[f64]) -> f64 {
        divergence(p, &self.reference) - self.radius
    }
}

impl Divergence for ReverseKlBall {
    fn at(&self, mu: f64, _: f64, y: f64, i: usize) -> f64 {
        let root = (y * y + 4.0 * mu * self.reference[i]).sqrt();
        if y > 0.0 {
            (y + root) / 2.0
        } else {
            2.0 * mu * self.reference[i] / (root - y).max(f64::MIN_POSITIVE)
        }
    }
    fn start(&self, _: f64, x: &[f64]) -> f64 {
        x.iter().copied().fold(f64::NEG_INFINITY, f64::max) - 1.0
    }
    fn weight(&self, mu: f64, p: f64, i: usize) -> f64 {
        if p > 0.0 { p / (p + mu * self.reference[i] / p) } else { 0.0 }
    }
    fn slope(&self, p: f64, i: usize) -> f64 {
        if p > 0.0 { -self.reference[i] / p } else { 0.0 }
    }
    fn excess(&self, p: &[f64]) -> f64 {
        if p.iter().zip(&self.reference).any(|(p, q)| *p <= 0.0 && *q > 0.0) {
            return f64::INFINITY;
        }
        divergence(&self.reference, p) - self.radius
    }
}

impl ConvexSet for KlBall {
    fn requirement(&self) -> String {
        match self.entropy {
            Some(bound) => format!("entropy at least {bound}"),
            None => format!("within a divergence of {} nats", self.radius),
        }
    }

    fn slack(&self, x: &[f64]) -> Option<f64> {
        let entropy = || -x.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum::<f64>();
        self.entropy.map(|bound| entropy() - bound)
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        if self.radius == 0.0 {
            out.fill(0.0);
            for (&i, q) in self.support.iter().zip(&self.reference) {
                out[i] = *q;
            }
            return;
        }
        project_on(self, &self.support, x, out);
    }

    fn project_recession(&self, _: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }

    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        if self.radius == 0.0 {
            return Box::new(|_, out| out.fill(0.0));
        }
        let mut p = vec![0.0; self.dim];
        let mu = project_on(self, &self.support, x, &mut p);
        let pick = |v: &[f64]| -> Vec<f64> { self.support.iter().map(|&i| v[i]).collect() };
        let inner =
            if mu == 0.0 { simplex::derivative(&pick(x), 1.0) } else { derivative(self, mu, &pick(&p)) };
        Box::new(move |d, out| {
            let mut image = vec![0.0; self.support.len()];
            inner(&pick(d), &mut image);
            out.fill(0.0);
            for (&i, v) in self.support.iter().zip(image) {
                out[i] = v;
            }
        })
    }

    fn radius(&self) -> Option<f64> {
        Some(1.0)
    }

    fn conic(&self) -> Option<Conic> {
        let mut form = simplex_form(self.dim);
        let excluded = (0..self.dim).filter(|i| !self.support.contains(i));
        form.constrain(Cone::Zero(self.dim - self.support.len()), excluded.map(|i| (vec![(i, 1.0)], 0.0)));
        // t ≥ p ln(p/q) exactly when (−t, p, q) lies in the exponential cone.
        let terms = self.support.iter().zip(&self.reference);
        relative_entropy(
            &mut form,
            self.radius,
            terms
                .map(|(&i, &q)| move |t: usize| [(vec![(t, 1.0)], 0.0), (vec![(i, -1.0)], 0.0), (vec![], q)]),
        );
        Some(form)
    }
}

impl ConvexSet for ReverseKlBall {
    fn requirement(&self) -> String {
        format!("within a reverse divergence of {} nats", self.radius)
    }

    fn dim(&self) -> usize {
        self.reference.len()
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        if self.radius == 0.0 {
            return out.copy_from_slice(&self.reference);
        }
        nearest(self, x, out);
    }

    fn project_recession(&self, _: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }

    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        if self.radius == 0.0 {
            return Box::new(|_, out| out.fill(0.0));
        }
        let mut p = vec![0.0; x.len()];
        let mu = nearest(self, x, &mut p);
        if mu == 0.0 { simplex::derivative(x, 1.0) } else { derivative(self, mu, &p) }
    }

    fn radius(&self) -> Option<f64> {
        Some(1.0)
    }

    fn conic(&self) -> Option<Conic> {
        let mut form = simplex_form(self.reference.len());
        // t ≥ q ln(q/p) exactly when (−t, q, p) lies in the exponential cone.
        let terms = self.reference.iter().enumerate().filter(|(_, q)| **q > 0.0);
        relative_entropy(
            &mut form,
            self.radius,
            terms.map(|(i, &q)| move |t: usize| [(vec![(t, 1.0)], 0.0), (vec![], q), (vec![(i, -1.0)], 0.0)]),
        );
        Some(form)
    }
}

type Row = (Vec<(usize, f64)>, f64);

fn simplex_form(dim: usize) -> Conic {
    let mut form = Conic::free(dim);
    form.constrain(Cone::Zero(1), [((0..dim).map(|i| (i, 1.0)).collect(), 1.0)]);
    form.constrain(Cone::Nonnegative(dim), (0..dim).map(|i| (vec![(i, -1.0)], 0.0)));
    form
}

/// Σ tᵢ ≤ radius, where each term's cone bounds its part of the divergence by tᵢ.
fn relative_entropy<F: Fn(usize) -> [Row; 3]>(form: &mut Conic, radius: f64, terms: impl Iterator<Item = F>) {
    let mut sum = Vec::new();
    for term in terms {
        let t = form.auxiliary(1);
        form.constrain(Cone::Exponential, term(t));
        sum.push((t, 1.0));
    }
    form.constrain(Cone::Nonnegative(1), [(sum, radius)]);
}

pub(crate) static ENTRIES: [SetEntry; 3] = [
    SetEntry {
        key: Key::optional(
            "entropy",
            Kind::Table(&[Key::required(
                "at_least",
                Kind::Number(Range::FROM_ZERO),
                "2",
                "In nats, at most ln d.",
            )]),
            "{ at_least = 2.0 }",
            "x is a distribution with −Σ xᵢ ln xᵢ ≥ at_least.",
        ),
        make: |entry, space| {
            let bound = entry.open_table()?.require("at_least")?;
            made(&bound, KlBall::entropy_at_least(space.dim, bound.number()?))
        },
    },
    SetEntry {
        key: Key::optional(
            "kl",
            Kind::Table(&[REFERENCE, RADIUS]),
            "{ reference = \"uniform\", radius = 0.1 }",
            "x is a distribution with Σ xᵢ ln(xᵢ/qᵢ) ≤ radius, q the reference.",
        ),
        make: |entry, space| {
            let table = entry.open_table()?;
            let reference = table.require("reference")?;
            made(&reference, KlBall::new(space.vector(&reference)?, table.number("radius")?))
        },
    },
    SetEntry {
        key: Key::optional(
            "reverse_kl",
            Kind::Table(&[REFERENCE, RADIUS]),
            "{ reference = \"uniform\", radius = 0.1 }",
            "x is a distribution with Σ qᵢ ln(qᵢ/xᵢ) ≤ radius, q the reference.",
        ),
        make: |entry, space| {
            let table = entry.open_table()?;
            let reference = table.require("reference")?;
            made(&reference, ReverseKlBall::new(space.vector(&reference)?, table.number("radius")?))
        },
    },
];

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
