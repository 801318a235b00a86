//! A lander above the moon that is to come down on a pad, softly and upright, with the actions of Gymnasium's LunarLander.
//!
//! It starts 20 m up with a speed, a tilt and a place beside the pad that are drawn at random. A step takes half a second of
//! lunar gravity. The main engine pushes along the lander's axis, the side engines turn it. Down within 5 m of the pad's
//! middle, no faster than 2 m/s and tilted by no more than 0.3 is landed; whatever else touches the ground or goes beyond
//! the sides or too high has crashed.
//!
//! The reward is that of Gymnasium's lander without its price of fuel: 100 for landing, −100 for crashing, and on the way
//! what place, speed and tilt have got better by. Fuel is a measure of its own: 1 for a step of the main engine, 0.1 for one
//! of a side engine.

use super::spec::{EnvEntry, EnvSpec, REQUIRED_HORIZON};
use super::{Environment, Space, Status};
use crate::error::{Error, Result};
use crate::measurement::Measures;
use crate::random::{self, Generator};
use crate::state::{Checkpoint, Loader, Saver};

const GRAVITY: f64 = 1.62;
const SECONDS: f64 = 0.5;
/// What the main engine adds to the speed in a second, and the side engines to the spin.
const THRUST: f64 = 4.0;
const TURN: f64 = 0.3;
const START: f64 = 20.0;
const WIDEST: f64 = 20.0;
const HIGHEST: f64 = 40.0;
const PAD: f64 = 5.0;
const SOFT: f64 = 2.0;
const UPRIGHT: f64 = 0.3;

/// The lander. An observation is place, speed, tilt and spin, each in units of about 1; actions are nothing, left, main and
/// right engine.
#[derive(Debug, Clone)]
pub struct Lander {
    measures: Measures,
    horizon: Option<usize>,
    place: [f64; 2],
    speed: [f64; 2],
    tilt: f64,
    spin: f64,
    steps: usize,
}

impl Lander {
    /// Episodes cut off after `horizon` steps.
    pub fn new(horizon: Option<usize>) -> Self {
        let measures =
            Measures::new([("reward", 1), ("fuel", 1), ("landed", 1), ("crashed", 1), ("steps", 1)]);
        Self { measures, horizon, place: [0.0; 2], speed: [0.0; 2], tilt: 0.0, spin: 0.0, steps: 0 }
    }

    fn observe(&self, observation: &mut [f64]) {
        let [x, y] = self.place;
        let [across, up] = self.speed;
        observation.copy_from_slice(&[x / 10.0, y / 10.0, across / 5.0, up / 5.0, self.tilt, self.spin]);
    }

    /// What the reward on the way is the change of: 100 for each 10 m, 5 m/s and radian.
    fn potential(&self) -> f64 {
        let distance = (self.place[0] / 10.0).hypot(self.place[1] / 10.0);
        let speed = (self.speed[0] / 5.0).hypot(self.speed[1] / 5.0);
        -100.0 * (distance + speed + self.tilt.abs())
    }

    fn is_gentle(&self) -> bool {
        let speed = self.speed[0].hypot(self.speed[1]);
        self.place[0].abs() <= PAD && speed <= SOFT && self.tilt.abs() <= UPRIGHT
    }
}

impl Environment for Lander {
    fn measures(&self) -> &Measures {
        &self.measures
    }

    fn observations(&self) -> Space {
        Space::Continuous(vec![(f64::NEG_INFINITY, f64::INFINITY); 6])
    }

    fn actions(&self) -> Space {
        Space::Discrete(4)
    }

    fn reset(&mut self, rng: &mut Generator, observation: &mut [f64]) -> Result<()> {
        let mut between = |low: f64, high: f64| low + (high - low) * random::unit(rng);
        self.place = [between(-5.0, 5.0), START];
        self.speed = [between(-1.0, 1.0), between(-3.0, 0.0)];
        self.tilt = between(-0.2, 0.2);
        self.spin = between(-0.1, 0.1);
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
        let (thrust, turn, fuel) = match action[0] as usize {
            0 => (0.0, 0.0, 0.0),
            1 => (0.0, TURN, 0.1),
            2 => (THRUST, 0.0, 1.0),
            3 => (0.0, -TURN, 0.1),
            index => return Err(Error::Index { what: "action", index, count: 4 }),
        };
        let before = self.potential();
        self.spin += SECONDS * turn;
        self.tilt += SECONDS * self.spin;
        let (sin, cos) = self.tilt.sin_cos();
        self.speed[0] -= SECONDS * thrust * sin;
        self.speed[1] += SECONDS * (thrust * cos - GRAVITY);
        self.place[0] += SECONDS * self.speed[0];
        self.place[1] += SECONDS * self.speed[1];
        self.steps += 1;
        let is_down = self.place[1] <= 0.0;
        let is_landed = is_down && self.is_gentle();
        let is_lost = self.place[0].abs() > WIDEST || self.place[1] > HIGHEST;
        let is_crashed = (is_down && !is_landed) || is_lost;
        self.observe(observation);
        let (landed, crashed) = (f64::from(is_landed), f64::from(is_crashed));
        let reward = self.potential() - before + 100.0 * (landed - crashed);
        z.copy_from_slice(&[reward, fuel, landed, crashed, 1.0]);
        Ok(if is_landed || is_crashed {
            Status::Ended
        } else if self.horizon.is_some_and(|horizon| self.steps >= horizon) {
            Status::CutOff
        } else {
            Status::Running
        })
    }
}

impl Checkpoint for Lander {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put_all(&self.place);
        to.put_all(&self.speed);
        to.put_all(&[self.tilt, self.spin]);
        to.put(&self.steps);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        from.get_finite("a place", &mut self.place)?;
        from.get_finite("a speed", &mut self.speed)?;
        let mut turning = [0.0; 2];
        from.get_finite("a tilt and a spin", &mut turning)?;
        [self.tilt, self.spin] = turning;
        self.steps = from.get_count("a number of steps")?;
        Ok(())
    }
}

/// The lander as problems name it.
pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: "lander",
    about: "a lander above the moon, to be learnt by playing; needs a horizon",
    keys: &[REQUIRED_HORIZON],
    read: |_, _| Ok(EnvSpec::playable(Lander::new)),
};
