//! The one kind of random generator that is passed around. Nothing here draws from anywhere else.

use rand::{Rng, SeedableRng};

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
