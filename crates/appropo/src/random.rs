//! The one kind of random generator that is passed around. Nothing here draws from anywhere else.

use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Gamma, StandardNormal};

/// xoshiro256++: small, fast, and the same on every machine.
pub type Generator = rand_xoshiro::Xoshiro256PlusPlus;

/// The generator that belongs to `seed`.
pub fn generator(seed: u64) -> Generator {
    Generator::seed_from_u64(seed)
}

/// A number drawn uniformly from [0, 1).
pub fn unit(rng: &mut Generator) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// An index drawn with probability proportional to its weight; the weights add up to `total` > 0.
pub fn choose(weights: impl IntoIterator<Item = f64>, total: f64, rng: &mut Generator) -> usize {
    let mut left = unit(rng) * total;
    let mut chosen = 0;
    for (i, weight) in weights.into_iter().enumerate() {
        if weight > 0.0 {
            chosen = i;
            left -= weight;
            if left < 0.0 {
                break;
            }
        }
    }
    chosen
}

/// A whole number drawn uniformly from `0..count`.
pub fn below(count: usize, rng: &mut Generator) -> usize {
    ((unit(rng) * count as f64) as usize).min(count.saturating_sub(1))
}

/// A number drawn from the standard normal distribution.
pub fn normal(rng: &mut Generator) -> f64 {
    StandardNormal.sample(rng)
}

/// A number drawn from the gamma distribution of this shape, above 0, and of scale 1; 0 for a shape that is none.
pub fn gamma(shape: f64, rng: &mut Generator) -> f64 {
    Gamma::new(shape, 1.0).map_or(0.0, |gamma| gamma.sample(rng))
}

/// A generator of its own, drawn from this one.
pub fn split(rng: &mut Generator) -> Generator {
    Generator::seed_from_u64(rng.next_u64())
}

/// Puts the items into a random order (Fisher and Yates).
pub fn shuffle<T>(items: &mut [T], rng: &mut Generator) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last + 1, rng));
    }
}
