//! Policies: what to do, given what is seen.

mod mixed;
mod tabular;

pub use mixed::Mixed;
pub use tabular::TabularPolicy;

use crate::random::Generator;

/// Chooses an action from an observation.
pub trait Policy {
    /// The action at the given step of an episode, counted from 0.
    fn act(&self, observation: &[f64], step: usize, rng: &mut Generator) -> usize;
}
