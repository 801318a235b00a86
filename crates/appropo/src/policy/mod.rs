//! Policies: what to do, given what is seen.

mod any;
mod external;
mod greedy;
mod mixed;
mod network;
mod tabular;

pub use any::AnyPolicy;
pub use external::{Act, ExternalPolicy, Tensor};
pub use greedy::GreedyPolicy;
pub(crate) use greedy::best;
pub use mixed::Mixed;
pub use network::{Actions, NetworkPolicy};
pub(crate) use network::{middle_and_half, softmax, squash};
pub use tabular::TabularPolicy;

use std::sync::Arc;

use crate::nn;
use crate::random::Generator;

/// Chooses an action from an observation.
pub trait Policy {
    /// Writes the action at the given step of an episode, counted from 0.
    fn act(
        &self,
        observation: &[f64],
        step: usize,
        rng: &mut Generator,
        memory: &mut Memory,
        action: &mut [f64],
    );

    /// The same policy as a table, where states and actions can be counted: it can be measured exactly.
    fn table(&self) -> Option<TabularPolicy> {
        None
    }
}

/// What a policy needs to compute an action, kept from step to step to be used again.
#[derive(Debug, Default)]
pub struct Memory {
    /// With the network that it is for.
    scratch: Option<(Arc<nn::Mlp>, nn::Scratch)>,
    input: Vec<f32>,
    drawn: Vec<f32>,
}
