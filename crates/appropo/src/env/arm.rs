//! An arm of two links in a horizontal plane that is to bring its tip to a target and hold it there.
//!
//! Links are half a metre long, with a kilogram at the end of each. The arm starts at rest, its elbow bent at about a right
//! angle. Targets are drawn uniformly by area from the half of the ring before it that the tip can reach. A step takes a twentieth of a second; it has reward −(distance of the tip
//! from the target) and measures the squares of the torques as energy and the tip's speed. Nothing ends an episode but
//! its horizon.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use super::spec::{EnvEntry, EnvSpec, REQUIRED_HORIZON};
use super::{Environment, Space, Status};
use crate::error::{Result, finite};
use crate::measurement::Measures;
use crate::random::{self, Generator};
use crate::state::{Checkpoint, Loader, Saver};

const LINK: f64 = 0.5;
const MASS: f64 = 1.0;
/// Torque lost to friction, by the speed of a joint.
const FRICTION: f64 = 0.5;
/// The torque of an action of 1 at the shoulder and at the elbow.
const STRONGEST: [f64; 2] = [4.0, 2.0];
const SECONDS: f64 = 0.05;
/// Small steps of the integrator in each step.
const SUBSTEPS: usize = 2;
/// How far from the shoulder targets are.
const NEAREST: f64 = 0.3;
const FARTHEST: f64 = 0.9;

/// The arm. An observation is the cosine and the sine of both joints' angles, their speeds, and where the target is from
/// the shoulder and from the tip; an action is two torques, cut to [−1, 1].
#[derive(Debug, Clone)]
pub struct Arm {
    measures: Measures,
    horizon: usize,
    angles: [f64; 2],
    speeds: [f64; 2],
    target: [f64; 2],
    steps: usize,
}

impl Arm {
    /// Episodes of `horizon` steps.
    pub fn new(horizon: usize) -> Self {
        let measures = Measures::new([("reward", 1), ("energy", 1), ("speed", 1), ("steps", 1)]);
        Self { measures, horizon, angles: [0.0; 2], speeds: [0.0; 2], target: [0.0; 2], steps: 0 }
    }

    fn tip(&self) -> [f64; 2] {
        let (first, both) = (self.angles[0], self.angles[0] + self.angles[1]);
        [LINK * (first.cos() + both.cos()), LINK * (first.sin() + both.sin())]
    }

    fn tip_speed(&self) -> f64 {
        let (first, both) = (self.angles[0], self.angles[0] + self.angles[1]);
        let (turning, turning_both) = (self.speeds[0], self.speeds[0] + self.speeds[1]);
        let across = -first.sin() * turning - both.sin() * turning_both;
        let up = first.cos() * turning + both.cos() * turning_both;
        LINK * across.hypot(up)
    }

    /// M(q)·q̈ + c(q, q̇) = τ − friction, solved for q̈ and taken as a semi-implicit Euler step.
    fn move_by(&mut self, torques: [f64; 2], seconds: f64) {
        let inertia = MASS * LINK * LINK;
        let (sin, cos) = self.angles[1].sin_cos();
        let (m11, m12, m22) = (inertia * (3.0 + 2.0 * cos), inertia * (1.0 + cos), inertia);
        let [w1, w2] = self.speeds;
        let t1 = torques[0] - FRICTION * w1 + inertia * sin * (2.0 * w1 * w2 + w2 * w2);
        let t2 = torques[1] - FRICTION * w2 - inertia * sin * w1 * w1;
        let determinant = m11 * m22 - m12 * m12;
        let turned = [(m22 * t1 - m12 * t2) / determinant, (m11 * t2 - m12 * t1) / determinant];
        for ((angle, speed), turned) in self.angles.iter_mut().zip(&mut self.speeds).zip(turned) {
            *speed += seconds * turned;
            *angle += seconds * *speed;
        }
    }

    fn observe(&self, observation: &mut [f64]) {
        let tip = self.tip();
        let (first, second) = (self.angles[0].sin_cos(), self.angles[1].sin_cos());
        observation.copy_from_slice(&[
            first.1,
            first.0,
            second.1,
            second.0,
            self.speeds[0],
            self.speeds[1],
            self.target[0],
            self.target[1],
            self.target[0] - tip[0],
            self.target[1] - tip[1],
        ]);
    }
}

impl Environment for Arm {
    fn measures(&self) -> &Measures {
        &self.measures
    }

    fn observations(&self) -> Space {
        Space::Continuous(vec![(f64::NEG_INFINITY, f64::INFINITY); 10])
    }

    fn actions(&self) -> Space {
        Space::Continuous(vec![(-1.0, 1.0); 2])
    }

    fn reset(&mut self, rng: &mut Generator, observation: &mut [f64]) -> Result<()> {
        let mut near = |angle: f64| angle + 0.2 * random::unit(rng) - 0.1;
        self.angles = [near(-FRAC_PI_4), near(FRAC_PI_2)];
        self.speeds = [0.0; 2];
        let angle = PI * random::unit(rng) - FRAC_PI_2;
        let (near, far) = (NEAREST * NEAREST, FARTHEST * FARTHEST);
        let radius = (near + (far - near) * random::unit(rng)).sqrt();
        self.target = [radius * angle.cos(), radius * angle.sin()];
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
        let pushed: [f64; 2] = std::array::from_fn(|joint| action[joint].clamp(-1.0, 1.0));
        let torques = std::array::from_fn(|joint| STRONGEST[joint] * pushed[joint]);
        for _ in 0..SUBSTEPS {
            self.move_by(torques, SECONDS / SUBSTEPS as f64);
        }
        self.steps += 1;
        self.observe(observation);
        let distance = observation[8].hypot(observation[9]);
        let energy = pushed[0] * pushed[0] + pushed[1] * pushed[1];
        z.copy_from_slice(&[-distance, energy, self.tip_speed(), 1.0]);
        Ok(if self.steps >= self.horizon { Status::CutOff } else { Status::Running })
    }
}

impl Checkpoint for Arm {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put_all(&self.angles);
        to.put_all(&self.speeds);
        to.put_all(&self.target);
        to.put(&self.steps);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        from.get_finite("the angles of joints", &mut self.angles)?;
        from.get_finite("the speeds of joints", &mut self.speeds)?;
        from.get_finite("a target", &mut self.target)?;
        self.steps = from.get_count("a number of steps")?;
        Ok(())
    }
}

/// The arm as problems name it.
pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: "arm",
    about: "an arm of two links that brings its tip to a target, to be learnt by playing; needs a horizon",
    keys: &[REQUIRED_HORIZON],
    read: |_, _| Ok(EnvSpec::playable(|horizon| Arm::new(horizon.unwrap_or(usize::MAX)))),
};
