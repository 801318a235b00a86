use super::{Environment, Space, Status};
use crate::error::Result;
use crate::measurement::{Measures, Selection};
use crate::random::Generator;
use crate::state::{Checkpoint, Loader, Saver};

/// A world measured by some of its entries only.
#[derive(Debug)]
pub struct Selected {
    world: Box<dyn Environment>,
    selection: Selection,
    measures: Measures,
    /// The full measurement of a step.
    z: Vec<f64>,
}

impl Selected {
    /// `world`, measured by the entries of `selection`.
    pub fn new(world: Box<dyn Environment>, selection: Selection) -> Self {
        let measures = world.measures().select(&selection);
        let z = vec![0.0; world.measures().dim()];
        Self { world, selection, measures, z }
    }
}

impl Environment for Selected {
    fn measures(&self) -> &Measures {
        &self.measures
    }

    fn observations(&self) -> Space {
        self.world.observations()
    }

    fn actions(&self) -> Space {
        self.world.actions()
    }

    fn reset(&mut self, rng: &mut Generator, observation: &mut [f64]) -> Result<()> {
        self.world.reset(rng, observation)
    }

    fn submit_action(&mut self, action: &[f64]) -> Result<()> {
        self.world.submit_action(action)
    }

    fn step(
        &mut self,
        action: &[f64],
        rng: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status> {
        let status = self.world.step(action, rng, observation, &mut self.z)?;
        for (z, &(entry, factor)) in z.iter_mut().zip(&self.selection.entries) {
            *z = factor * self.z[entry];
        }
        Ok(status)
    }
}

impl Checkpoint for Selected {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.world.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.world.load(from)
    }
}
