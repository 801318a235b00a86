//! Gymnasium's CartPole-v1: keep a pole upright on a cart that is pushed left or right.
//!
//! Every step has reward 1 and counts the cart's distance from the middle as drift. The episode ends, with a
//! failure, when the pole leans by more than 12 degrees or the cart is more than 2.4 from the middle.

use super::spec::{EnvEntry, EnvSpec, REQUIRED_HORIZON};
use super::{Environment, Space, Status};
use crate::error::{Error, Result};
use crate::measurement::Measures;
use crate::random::{self, Generator};
use crate::state::{Checkpoint, Loader, Saver};

const GRAVITY: f64 = 9.8;
const CART: f64 = 1.0;
const POLE: f64 = 0.1;
const HALF_LENGTH: f64 = 0.5;
const FORCE: f64 = 10.0;
const SECONDS: f64 = 0.02;
const WIDEST: f64 = 2.4;
const STEEPEST: f64 = 12.0 * std::f64::consts::PI / 180.0;

/// The cart with its pole. An observation is position, velocity, angle and angular velocity.
#[derive(Debug, Clone)]
pub struct CartPole {
    measures: Measures,
    horizon: Option<usize>,
    state: [f64; 4],
    steps: usize,
}

impl CartPole {
    /// Episodes cut off after `horizon` steps; Gymnasium's are cut off after 500.
    pub fn new(horizon: Option<usize>) -> Self {
        let measures = Measures::new([("failure", 1), ("reward", 1), ("steps", 1), ("drift", 1)]);
        Self { measures, horizon, state: [0.0; 4], steps: 0 }
    }
}

impl Environment for CartPole {
    fn measures(&self) -> &Measures {
        &self.measures
    }

    fn observations(&self) -> Space {
        let free = (f64::NEG_INFINITY, f64::INFINITY);
        Space::Continuous(vec![(-2.0 * WIDEST, 2.0 * WIDEST), free, (-2.0 * STEEPEST, 2.0 * STEEPEST), free])
    }

    fn actions(&self) -> Space {
        Space::Discrete(2)
    }

    fn reset(&mut self, rng: &mut Generator, observation: &mut [f64]) -> Result<()> {
        self.steps = 0;
        self.state = std::array::from_fn(|_| 0.1 * random::unit(rng) - 0.05);
        observation.copy_from_slice(&self.state);
        Ok(())
    }

    fn step(
        &mut self,
        action: &[f64],
        _: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status> {
        let force = match action[0] as usize {
            0 => -FORCE,
            1 => FORCE,
            index => return Err(Error::Index { what: "action", index, count: 2 }),
        };
        let [x, speed, angle, spin] = self.state;
        let (sin, cos) = angle.sin_cos();
        let mass = CART + POLE;
        let pushed = (force + POLE * HALF_LENGTH * spin * spin * sin) / mass;
        let turned = (GRAVITY * sin - cos * pushed) / (HALF_LENGTH * (4.0 / 3.0 - POLE * cos * cos / mass));
        let moved = pushed - POLE * HALF_LENGTH * turned * cos / mass;
        // Explicit Euler steps, as Gymnasium takes them.
        self.state =
            [x + SECONDS * speed, speed + SECONDS * moved, angle + SECONDS * spin, spin + SECONDS * turned];
        self.steps += 1;
        observation.copy_from_slice(&self.state);
        let fallen = self.state[0].abs() > WIDEST || self.state[2].abs() > STEEPEST;
        z.copy_from_slice(&[f64::from(fallen), 1.0, 1.0, self.state[0].abs()]);
        Ok(if fallen {
            Status::Ended
        } else if self.horizon.is_some_and(|horizon| self.steps >= horizon) {
            Status::CutOff
        } else {
            Status::Running
        })
    }
}

impl Checkpoint for CartPole {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put_all(&self.state);
        to.put(&self.steps);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        from.get_finite("a cart's state", &mut self.state)?;
        self.steps = from.get_count("a number of steps")?;
        Ok(())
    }
}

/// The cart as problems name it.
pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: "cart-pole",
    about: "a pole on a cart, to be learnt by playing; needs a horizon",
    keys: &[REQUIRED_HORIZON],
    read: |_, _| Ok(EnvSpec::playable(CartPole::new)),
};
