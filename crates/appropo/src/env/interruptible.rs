use std::fmt;
use std::sync::Arc;

use super::{Environment, Space, Status};
use crate::error::{Error, Result};
use crate::measurement::Measures;
use crate::random::Generator;
use crate::state::{Checkpoint, Loader, Saver};

/// Says whether to stop; asked before every episode and now and then within one.
pub type StopSignal = Arc<dyn Fn() -> bool + Send + Sync>;

/// Steps of an episode between two questions whether to stop.
const STRIDE: u32 = 256;

/// An environment that ends with an error when it is to stop, even if an oracle goes on for hours, or when an episode
/// that nothing cuts off does not end.
pub struct Interruptible {
    env: Box<dyn Environment>,
    stop: Option<StopSignal>,
    steps: u32,
    /// Steps of the episode under way, and how many it may have.
    episode: usize,
    longest: usize,
}

impl fmt::Debug for Interruptible {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Interruptible").field("env", &self.env).finish_non_exhaustive()
    }
}

impl Interruptible {
    /// `env`, whose episodes must end within `longest` steps.
    pub fn new(env: Box<dyn Environment>, stop: Option<StopSignal>, longest: usize) -> Self {
        Self { env, stop, steps: 0, episode: 0, longest }
    }

    fn check(&self) -> Result<()> {
        if self.stop.as_ref().is_some_and(|stop| stop()) { Err(Error::Interrupted) } else { Ok(()) }
    }
}

impl Environment for Interruptible {
    fn measures(&self) -> &Measures {
        self.env.measures()
    }

    fn observations(&self) -> Space {
        self.env.observations()
    }

    fn actions(&self) -> Space {
        self.env.actions()
    }

    fn reset(&mut self, rng: &mut Generator, observation: &mut [f64]) -> Result<()> {
        self.check()?;
        self.episode = 0;
        self.env.reset(rng, observation)
    }

    fn submit_action(&mut self, action: &[f64]) -> Result<()> {
        self.env.submit_action(action)
    }

    fn step(
        &mut self,
        action: &[f64],
        rng: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(STRIDE) {
            self.check()?;
        }
        let status = self.env.step(action, rng, observation, z)?;
        self.episode += 1;
        // Cut off, it would be another environment: one that only its maker may choose.
        if status == Status::Running && self.episode >= self.longest {
            return Err(Error::Unending { steps: self.episode });
        }
        Ok(status)
    }
}

impl Checkpoint for Interruptible {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put(&self.episode);
        self.env.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.episode = from.get_count("a number of steps")?;
        self.env.load(from)
    }
}
