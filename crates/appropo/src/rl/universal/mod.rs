//! One network for every λ: universal successor features (Borsa et al. 2019), learnt from a replay memory.

mod conditioned_actor;
mod counted;
mod critics;
mod distilled;
mod novelty;
mod reach;

pub use conditioned_actor::ConditionedActor;
pub use counted::Counted;

use std::fmt;

use super::{Encoder, Replay, Transition};
use crate::env::Space;
use crate::error::Result;
use crate::policy::NetworkPolicy;
use crate::random::Generator;
use crate::state::{Loader, Saver};

/// What networks are like.
#[derive(Debug, Clone)]
pub struct NetworkOptions {
    /// How many critics there are.
    pub critics: usize,
    /// Units of each hidden layer.
    pub hidden: Vec<usize>,
    /// The learning rate.
    pub learning_rate: f64,
    /// How far the average of the parameters moves in a step.
    pub tau: f32,
    /// Rows of a batch at most.
    pub batch: usize,
    /// γ.
    pub gamma: f64,
    /// By how much less an action that is counted must be worth to be taken e times less often.
    pub temperature: f32,
}

/// What to learn from.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The memory.
    pub replay: &'a Replay,
    /// Places in it.
    pub places: &'a [usize],
    /// A λ for each, by [`UniversalNetwork::direction`].
    pub lams: &'a [f32],
}

/// Knows a policy for every λ, what it measures, and where something new is to be found.
pub trait UniversalNetwork: fmt::Debug + Send {
    /// Nothing is measured after so many steps of an episode, or more where it was seen.
    fn reach_horizon(&mut self, steps: usize);

    /// Takes note of a step.
    fn see(&mut self, encoder: &Encoder, transition: &Transition);

    /// The direction of λ for measurements divided by their sizes, appended.
    fn direction(&self, lam: &[f64], to: &mut Vec<f32>);

    /// One step of learning.
    fn learn(&mut self, encoder: &Encoder, batch: Batch, rng: &mut Generator) -> Result<()>;

    /// ẑ of the policy of a λ from these starts on.
    fn predict(&mut self, encoder: &Encoder, starts: &[Vec<f32>], lam: &[f32]) -> Vec<f64>;

    /// The policy of a λ, which is built into it.
    fn policy(&self, encoder: &Encoder, lam: &[f32]) -> Result<NetworkPolicy>;

    /// Takes measurements to be of another size; what is predicted stays the same.
    fn rescale(&mut self, sizes: &[f32]);

    /// Whether a policy could be one of [`policy`](Self::policy).
    fn fits(&self, policy: &NetworkPolicy) -> bool;

    /// An action as it is remembered.
    fn remembered(&self, action: &[f64], to: &mut Vec<f32>);

    /// An action towards something new, and whether it is new itself; `None` where nothing new is near.
    fn venture(
        &mut self,
        encoder: &Encoder,
        observation: &[f32],
        rng: &mut Generator,
        action: &mut [f64],
    ) -> Option<bool>;

    /// Whether it is counted what was tried. Then it is known when all was.
    fn is_counting(&self) -> bool;

    /// Asks for everything to be tried once more, where that is counted.
    fn ask_for_more(&mut self);

    /// Updates of where to go for something new, after a step there.
    fn novelty_updates(&self) -> usize;

    /// One of them.
    fn learn_novelty(&mut self, encoder: &Encoder, replay: &Replay, places: &[usize]);

    /// Writes down what was learnt.
    fn save(&self, to: &mut Saver);

    /// Goes on from there.
    fn load(&mut self, from: &mut Loader) -> Result<()>;
}

/// A network for actions of a space that knows nothing yet, of `dim` measurements; `None` where actions are numbers
/// without bounds.
pub fn network(
    encoder: &Encoder,
    actions: &Space,
    dim: usize,
    options: &NetworkOptions,
    rng: &mut Generator,
) -> Result<Option<Box<dyn UniversalNetwork>>> {
    Ok(match (actions.count(), super::soft_actor_critic::actions(actions)) {
        (Some(count), _) => Some(Box::new(Counted::new(encoder, count, dim, options, rng)?)),
        (None, Ok(_)) => Some(Box::new(ConditionedActor::new(encoder, actions, dim, options, rng)?)),
        (None, Err(_)) => None,
    })
}
