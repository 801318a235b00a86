//! Worlds: what an episode is and what is measured along it.

mod grid;
mod simulator;
mod tabular;

pub mod bandit;
pub mod cliff_walking;
pub mod deep_sea_treasure;
pub mod frozen_lake;
pub mod garnet;
pub mod mars_rover;

use std::sync::Arc;

pub use grid::Grid;
pub use simulator::Simulator;
pub use tabular::{TabularMdp, TabularMdpBuilder, Transition};

use crate::error::Result;
use crate::measurement::Measures;
use crate::random::Generator;

/// What a step led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The episode goes on.
    Running,
    /// A terminal state was reached: nothing follows.
    Ended,
    /// The horizon was reached: what would have followed is not measured, but has a value.
    CutOff,
}

/// A world that can be acted in, step by step. All randomness comes from the generator passed in.
pub trait Environment {
    /// The entries of the measurement vector.
    fn measures(&self) -> &Measures;

    /// Entries of an observation.
    fn observation_size(&self) -> usize;

    /// Number of actions.
    fn actions(&self) -> usize;

    /// Starts an episode and writes the first observation.
    fn reset(&mut self, rng: &mut Generator, observation: &mut [f64]);

    /// Acts, then writes the next observation and the measurement of this step.
    fn step(
        &mut self,
        action: usize,
        rng: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status>;
}

/// A tabular world with what is needed to show it.
#[derive(Debug, Clone)]
pub struct World {
    /// States, actions, transitions and measurements.
    pub model: Arc<TabularMdp>,
    /// The map, where the states are cells of one.
    pub grid: Option<Grid>,
}
