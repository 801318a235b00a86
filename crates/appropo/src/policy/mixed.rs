use std::sync::Arc;

use super::AnyPolicy;
use crate::error::Result;
use crate::random::{self, Generator};
use crate::state::{Loader, Saved, Saver, misfit};

/// A mixed policy μ: before an episode one policy is drawn, which then takes all its actions.
#[derive(Debug, Clone)]
pub struct Mixed {
    parts: Vec<(f64, Arc<AnyPolicy>)>,
}

impl Mixed {
    /// Policies with their weights. Weights are scaled to sum 1, zero weights dropped, and the same policy
    /// given twice is merged.
    pub fn new(parts: impl IntoIterator<Item = (f64, Arc<AnyPolicy>)>) -> Self {
        let mut merged: Vec<(f64, Arc<AnyPolicy>)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for (weight, policy) in parts {
            if weight > 0.0 {
                let place = *places.entry(Arc::as_ptr(&policy)).or_insert(merged.len());
                match merged.get_mut(place) {
                    Some(part) => part.0 += weight,
                    None => merged.push((weight, policy)),
                }
            }
        }
        let total: f64 = merged.iter().map(|(w, _)| w).sum();
        // What adds up to 1 but for rounding stays as it is, so that a mixture can be made again bit for bit.
        if !((total - 1.0).abs() <= merged.len() as f64 * f64::EPSILON) {
            merged.iter_mut().for_each(|(weight, _)| *weight /= total);
        }
        Self { parts: merged }
    }

    /// One policy alone.
    pub fn one(policy: impl Into<AnyPolicy>) -> Self {
        Self::shared(Arc::new(policy.into()))
    }

    /// One policy alone, which others have too.
    pub fn shared(policy: Arc<AnyPolicy>) -> Self {
        Self { parts: vec![(1.0, policy)] }
    }

    /// A mixture of mixtures.
    pub fn flatten(parts: impl IntoIterator<Item = (f64, Mixed)>) -> Self {
        Self::new(parts.into_iter().flat_map(|(weight, mixed)| {
            mixed.parts.into_iter().map(move |(share, policy)| (weight * share, policy))
        }))
    }

    /// Whether it mixes the very same policies.
    pub fn is_same(&self, other: &Self) -> bool {
        let pairs = self.parts.iter().zip(&other.parts);
        self.parts.len() == other.parts.len()
            && pairs.into_iter().all(|(a, b)| a.0 == b.0 && Arc::ptr_eq(&a.1, &b.1))
    }

    /// The policies and their probabilities μ(π).
    pub fn parts(&self) -> &[(f64, Arc<AnyPolicy>)] {
        &self.parts
    }

    /// The policy of the next episode; `None` for a mixture of nothing.
    pub fn draw(&self, rng: &mut Generator) -> Option<&AnyPolicy> {
        self.parts.get(self.draw_part(rng)).map(|(_, policy)| policy.as_ref())
    }

    /// The place of that policy among the parts.
    pub(crate) fn draw_part(&self, rng: &mut Generator) -> usize {
        random::choose(self.parts.iter().map(|(w, _)| *w), 1.0, rng)
    }
}

impl Saved for Mixed {
    fn save(&self, to: &mut Saver) {
        to.put(&self.parts.len());
        for (weight, policy) in &self.parts {
            to.put(weight);
            to.put_shared(policy);
        }
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let mut parts = Vec::new();
        for _ in 0..from.get_length()? {
            parts.push((from.get_where("a weight", |w: &f64| (0.0..=1.0).contains(w))?, from.get_shared()?));
        }
        let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
        if (total - 1.0).abs() < 1e-9 {
            Ok(Self { parts })
        } else {
            Err(misfit("weights do not add up to 1"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::TabularPolicy;

    /// A third of all mixtures came back from their files with other weights, scaled twice.
    #[test]
    fn a_mixture_made_again_is_the_same() {
        let mut rng = random::generator(1);
        let policy = |i: usize| Arc::new(AnyPolicy::from(TabularPolicy::uniform(i + 1, 1)));
        for count in 1..200 {
            let mixture = Mixed::new((0..count).map(|i| (random::unit(&mut rng), policy(i))));
            let again = Mixed::new(mixture.parts().iter().cloned());
            assert!(again.is_same(&mixture), "{count} policies");
        }
    }
}
