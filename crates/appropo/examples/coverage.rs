//! How many fresh episodes it takes until a verdict, against the bound of Maurer and Pontil (2009) with looks at 1,000,
//! 2,000, 4,000, … episodes, and how often either errs.
//!
//! `cargo run --release --package appropo --example coverage`

use appropo::confidence::radii;
use appropo::measurement::Estimate;
use appropo::random::{self, Generator};

const REPETITIONS: u64 = 2_000;
const MOST: usize = 16_000;
const ALPHA: f64 = 0.05;

/// A distribution: its name, mean, standard deviation, range where it has one, and a draw.
type Law = (&'static str, f64, f64, Option<(f64, f64)>, fn(&mut Generator) -> f64);

const LAWS: [Law; 6] = [
    ("Bernoulli 0.01", 0.01, 0.0995, Some((0.0, 1.0)), |rng| f64::from(random::unit(rng) < 0.01)),
    ("Bernoulli 0.5", 0.5, 0.5, Some((0.0, 1.0)), |rng| f64::from(random::unit(rng) < 0.5)),
    ("exponential", 1.0, 1.0, None, |rng| -(1.0 - random::unit(rng)).ln()),
    ("lognormal", 1.6487, 2.1612, None, |rng| random::normal(rng).exp()),
    ("crashes", -0.01, 0.3350, Some((-1.0, 0.2)), |rng| {
        if random::unit(rng) < 0.1 { -1.0 } else { 0.2 * random::unit(rng) }
    }),
    ("1,000 ± 100", 1_000.0, 100.0, None, |rng| 1_000.0 + 100.0 * random::normal(rng)),
];

/// The bound that was used before: r = √(2Vx/n) + 7bx/(3(n − 1)), x = ln(3/α), α/(k(k + 1)) for look k, and b twice the
/// observed range where none is known.
fn fixed(estimate: &Estimate, range: Option<(f64, f64)>, look: usize) -> f64 {
    let (n, alpha) = (estimate.count() as f64, ALPHA / (look as f64 * (look as f64 + 1.0)));
    let (least, largest) = estimate.range(0);
    let b = match range {
        Some((low, high)) => high - low,
        None if largest > least => 2.0 * (largest - least),
        None => largest.abs().max(1.0),
    };
    let x = (3.0 / alpha).ln();
    (2.0 * estimate.variance()[0] * x / n).sqrt() + 7.0 * b * x / (3.0 * (n - 1.0))
}

/// Episodes until the interval lies on one side of the edge, and whether any interval missed the truth.
fn judged(law: &Law, range: Option<(f64, f64)>, edge: f64, seed: u64, is_new: bool) -> (usize, bool) {
    let (mut estimate, mut rng) = (Estimate::new(1), random::generator(seed));
    let (mut until, mut look, mut missed) = (if is_new { 50 } else { 1_000 }, 1, false);
    loop {
        while estimate.count() < until {
            estimate.add(&[(law.4)(&mut rng)]);
        }
        let radius = if is_new {
            radii(&estimate, &[range], ALPHA).map_or(f64::INFINITY, |radii| radii[0])
        } else {
            fixed(&estimate, range, look)
        };
        missed |= (estimate.mean()[0] - law.1).abs() > radius;
        if (estimate.mean()[0] - edge).abs() > radius || until >= MOST {
            return (until, missed);
        }
        look += 1;
        until = if is_new { until + until / 16 } else { 2 * until }.min(MOST);
    }
}

fn main() {
    println!("distribution    range     to the edge  episodes    before  ratio   missed  before");
    for law in &LAWS {
        for range in [None, law.3] {
            for deviations in [0.5, 0.2, 0.1, 0.03] {
                let edge = law.1 + deviations * law.2;
                let of = |is_new| {
                    let all: Vec<_> =
                        (0..REPETITIONS).map(|seed| judged(law, range, edge, seed, is_new)).collect();
                    let mut episodes: Vec<usize> = all.iter().map(|(episodes, _)| *episodes).collect();
                    episodes.sort_unstable();
                    let missed = all.iter().filter(|(_, missed)| *missed).count();
                    (episodes[episodes.len() / 2], 100.0 * missed as f64 / REPETITIONS as f64)
                };
                let ((new, missed), (old, missed_before)) = (of(true), of(false));
                let known = if range.is_some() { "known" } else { "observed" };
                println!(
                    "{:15} {known:8}  {deviations:9} σ  {new:8}  {old:8}  {:5.2}  {missed:6.2}%  {missed_before:5.2}%",
                    law.0,
                    new as f64 / old as f64
                );
            }
            if law.3.is_none() {
                break;
            }
        }
    }
}
