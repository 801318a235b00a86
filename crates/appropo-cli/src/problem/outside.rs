//! What a problem refers to that no file can hold: worlds and sets of another program.

use std::collections::HashMap;
use std::sync::Arc;

use appropo::env::{Environment, Space, Status, TabularMdp};
use appropo::error::{Error, Result};
use appropo::measurement::Measures;
use appropo::policy::{Act, AnyPolicy, Tensor};
use appropo::random::Generator;
use appropo::set::SharedSet;

/// What the names in a problem file stand for beyond the file.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// The environment "outside".
    pub world: Option<OutsideWorld>,
    /// The sets that constraints name as `custom`.
    pub sets: HashMap<String, SharedSet>,
    /// The oracle "outside".
    pub oracle: Option<Oracle>,
    /// Makes its policies act again, of what they are made of.
    pub revive: Option<Revive>,
    /// Whether to stop; asked before every episode and now and then within one.
    pub stop: Option<Stop>,
}

/// Answers λ, which weighs every entry of the measurement vector, and the payoff that is good enough.
pub type Oracle = Arc<dyn Fn(&[f64], f64) -> Result<Answer> + Send + Sync>;

/// Makes a policy act again.
pub type Revive = Arc<dyn Fn(&[Tensor]) -> Result<Act> + Send + Sync>;

/// What an oracle of another program says.
pub struct Answer {
    /// A policy for the reward −λ·z.
    pub policy: AnyPolicy,
    /// Σ γⁱ zᵢ of episodes that it played, or its expectation alone.
    pub episodes: Vec<Vec<f64>>,
    /// Steps taken in the world so far.
    pub samples: u64,
}

/// Whether someone asked to stop.
pub type Stop = Arc<dyn Fn() -> bool + Send + Sync>;

/// Makes another copy of a world: one of those that are played in at once, by its number, or one alone.
pub type Make = Arc<dyn Fn(Option<usize>) -> Result<Box<dyn Environment>> + Send + Sync>;

/// A world of another program.
#[derive(Clone)]
pub enum OutsideWorld {
    /// One that can be planned in.
    Model(Arc<TabularMdp>),
    /// One that can only be played in.
    Played {
        /// What is measured in it.
        measures: Measures,
        /// Makes another copy.
        make: Make,
        /// How many copies learners play in at once, 1 or more.
        lanes: usize,
    },
}

/// What a problem file tells of a world outside.
pub struct Described {
    pub measures: Measures,
    pub observations: Space,
    pub actions: Space,
    pub make: Option<Make>,
    pub lanes: usize,
}

impl Described {
    /// Episodes of it; where there is no such world, one that says so when it is to start.
    pub fn play(&self, lane: Option<usize>) -> Box<dyn Environment> {
        let missing = || Err(Error::Missing { what: "the world of this problem".into() });
        match self.make.as_ref().map_or_else(missing, |make| make(lane)) {
            Ok(world) => world,
            Err(error) => Box::new(Absent {
                measures: self.measures.clone(),
                observations: self.observations.clone(),
                actions: self.actions.clone(),
                error,
            }),
        }
    }
}

/// A world that could not be made.
struct Absent {
    measures: Measures,
    observations: Space,
    actions: Space,
    error: Error,
}

impl Environment for Absent {
    fn measures(&self) -> &Measures {
        &self.measures
    }

    fn observations(&self) -> Space {
        self.observations.clone()
    }

    fn actions(&self) -> Space {
        self.actions.clone()
    }

    fn reset(&mut self, _: &mut Generator, _: &mut [f64]) -> Result<()> {
        Err(self.error.clone())
    }

    fn step(&mut self, _: &[f64], _: &mut Generator, _: &mut [f64], _: &mut [f64]) -> Result<Status> {
        Err(self.error.clone())
    }
}
