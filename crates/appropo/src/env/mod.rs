//! Worlds: what an episode is and what is measured along it.

mod array;
mod grid;
mod interruptible;
mod outcomes;
mod rows;
mod selected;
mod simulator;
mod spec;
mod tabular;

pub mod arm;
pub mod bandit;
pub mod cart_pole;
pub mod cliff_walking;
pub mod dataset;
pub mod deep_sea_treasure;
pub mod explicit;
pub mod external;
pub mod frozen_lake;
pub mod garnet;
pub mod gridworld;
pub mod lander;
pub mod logged;
pub mod mars_rover;
pub mod point_mass;
pub mod resource_gathering;

use std::fmt;
use std::sync::Arc;

pub use array::{Array, ArrayBuilder};
pub use grid::Grid;
pub use interruptible::{Interruptible, StopSignal};
pub(crate) use rows::Successors;
pub use rows::{Row, Transitions};
pub use selected::Selected;
pub use simulator::Simulator;
pub use spec::{EnvEntry, EnvSpec, HORIZON, MakeEnvironment, REQUIRED_HORIZON};
pub use tabular::{TabularMdp, TabularMdpBuilder, Transition};

use crate::error::{Error, Result};
use crate::measurement::Measures;
use crate::random::Generator;
use crate::state::{Checkpoint, Loader, Saved, Saver};

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

impl Saved for Status {
    fn save(&self, to: &mut Saver) {
        to.put(&(*self as u8));
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        Ok(match from.get_where("a status", |status: &u8| *status < 3)? {
            0 => Status::Running,
            1 => Status::Ended,
            _ => Status::CutOff,
        })
    }
}

/// What observations or actions are made of.
#[derive(Debug, Clone, PartialEq)]
pub enum Space {
    /// One of this many, written as one entry: its index.
    Discrete(usize),
    /// A vector of numbers, each between its bounds.
    Continuous(Vec<(f64, f64)>),
}

impl Space {
    /// Entries of the vector that one element is written into.
    pub fn entries(&self) -> usize {
        match self {
            Space::Discrete(_) => 1,
            Space::Continuous(bounds) => bounds.len(),
        }
    }

    /// How many elements there are, where they can be counted.
    pub fn count(&self) -> Option<usize> {
        match self {
            Space::Discrete(count) => Some(*count),
            Space::Continuous(_) => None,
        }
    }

    /// Whether a network can be shown this as an observation, within bounds or not.
    pub(crate) fn is_readable(&self, observation: &[f32]) -> bool {
        match self.count() {
            Some(count) => observation.len() == 1 && (0.0..count as f32).contains(&observation[0]),
            None => observation.len() == self.entries() && observation.iter().all(|v| v.is_finite()),
        }
    }
}

/// How many observations and actions there are, for a learner that must be able to count them.
pub(crate) fn countable(
    learner: &'static str,
    observations: &Space,
    actions: &Space,
) -> Result<(usize, usize)> {
    observations.count().zip(actions.count()).ok_or(Error::Unsuitable {
        learner,
        needs: "observations and actions that can be counted",
        instead: "\"ppo\" or \"a2c\"",
    })
}

/// A world that can be acted in, step by step. All randomness comes from the generator passed in.
pub trait Environment: Checkpoint + Send {
    /// The entries of the measurement vector.
    fn measures(&self) -> &Measures;

    /// What is seen.
    fn observations(&self) -> Space;

    /// What can be done.
    fn actions(&self) -> Space;

    /// Starts an episode and writes the first observation.
    fn reset(&mut self, rng: &mut Generator, observation: &mut [f64]) -> Result<()>;

    /// Says what the next step will be, before any of several environments takes it: some take theirs together.
    fn submit_action(&mut self, _action: &[f64]) -> Result<()> {
        Ok(())
    }

    /// Acts, then writes the next observation and the measurement of this step.
    fn step(
        &mut self,
        action: &[f64],
        rng: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status>;
}

impl fmt::Debug for dyn Environment {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Environment").field("measures", self.measures()).finish_non_exhaustive()
    }
}

/// The environments that problems can name, in the order in which they are listed.
pub(crate) static ENTRIES: [&EnvEntry; 15] = [
    &mars_rover::ENTRY,
    &deep_sea_treasure::ENTRY,
    &resource_gathering::ENTRY,
    &frozen_lake::ENTRY,
    &cliff_walking::ENTRY,
    &bandit::ENTRY,
    &cart_pole::ENTRY,
    &point_mass::ENTRY,
    &arm::ENTRY,
    &lander::ENTRY,
    &garnet::ENTRY,
    &gridworld::ENTRY,
    &explicit::ENTRY,
    &logged::ENTRY,
    &external::ENTRY,
];

/// A tabular world with what is needed to show it.
#[derive(Debug, Clone)]
pub struct World {
    /// States, actions, transitions and measurements.
    pub model: Arc<TabularMdp>,
    /// The map, where the states are cells of one.
    pub grid: Option<Grid>,
}
