//! A point in the plane, pushed by a force of its own choice, that is to rest at the origin.
//!
//! It starts at rest on the circle of radius 1. A step has reward −(distance from the origin) and costs the
//! square of the force as energy; nothing ends an episode but its horizon.

use super::spec::{EnvEntry, EnvSpec, REQUIRED_HORIZON};
use super::{Environment, Space, Status};
use crate::error::{Result, finite};
use crate::measurement::Measures;
use crate::random::{self, Generator};
use crate::state::{Checkpoint, Loader, Saver};

const SECONDS: f64 = 0.1;
/// The share of its speed that the point keeps from step to step.
const KEPT: f64 = 0.9;

/// The point. An observation is position and velocity; an action is a force, cut to [−1, 1] in each direction.
#[derive(Debug, Clone)]
pub struct PointMass {
    measures: Measures,
    horizon: usize,
    place: [f64; 2],
    velocity: [f64; 2],
    steps: usize,
}

impl PointMass {
    /// Episodes of `horizon` steps.
    pub fn new(horizon: usize) -> Self {
        let measures = Measures::new([("reward", 1), ("energy", 1), ("steps", 1)]);
        Self { measures, horizon, place: [0.0; 2], velocity: [0.0; 2], steps: 0 }
    }

    fn observe(&self, observation: &mut [f64]) {
        observation[..2].copy_from_slice(&self.place);
        observation[2..].copy_from_slice(&self.velocity);
    }
}

impl Environment for PointMass {
    fn measures(&self) -> &Measures {
        &self.measures
    }

    fn observations(&self) -> Space {
        Space::Continuous(vec![(f64::NEG_INFINITY, f64::INFINITY); 4])
    }

    fn actions(&self) -> Space {
        Space::Continuous(vec![(-1.0, 1.0); 2])
    }

    fn reset(&mut self, rng: &mut Generator, observation: &mut [f64]) -> Result<()> {
        let angle = std::f64::consts::TAU * random::unit(rng);
        self.place = [angle.cos(), angle.sin()];
        self.velocity = [0.0; 2];
        self.steps = 0;
        self.observe(observation);
        Ok(())
    }

    fn step(
        &mut self,
        action: &[f64],
        _: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status> {
        finite("action", action)?;
        let mut energy = 0.0;
        for axis in 0..2 {
            let force = action[axis].clamp(-1.0, 1.0);
            energy += force * force;
            self.velocity[axis] = KEPT * self.velocity[axis] + SECONDS * force;
            self.place[axis] += SECONDS * self.velocity[axis];
        }
        self.steps += 1;
        self.observe(observation);
        let distance = self.place[0].hypot(self.place[1]);
        z.copy_from_slice(&[-distance, energy, 1.0]);
        Ok(if self.steps >= self.horizon { Status::CutOff } else { Status::Running })
    }
}

impl Checkpoint for PointMass {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put_all(&self.place);
        to.put_all(&self.velocity);
        to.put(&self.steps);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        from.get_finite("a place", &mut self.place)?;
        from.get_finite("a velocity", &mut self.velocity)?;
        self.steps = from.get_count("a number of steps")?;
        Ok(())
    }
}

/// The point as problems name it.
pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: "point-mass",
    about: "a point pushed by a force of its choice, to be learnt by playing; needs a horizon",
    keys: &[REQUIRED_HORIZON],
    read: |_, _| Ok(EnvSpec::playable(|horizon| PointMass::new(horizon.unwrap_or(usize::MAX)))),
};
