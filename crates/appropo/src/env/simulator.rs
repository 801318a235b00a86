use std::sync::Arc;

use super::{Environment, Space, Status, TabularMdp};
use crate::error::{Error, Result};
use crate::measurement::Measures;
use crate::random::{self, Generator};
use crate::state::{Checkpoint, Loader, Saver};

/// A tabular model acted in step by step. The observation is the index of the state.
#[derive(Debug, Clone)]
pub struct Simulator {
    model: Arc<TabularMdp>,
    horizon: Option<usize>,
    state: usize,
    steps: usize,
}

impl Simulator {
    /// Episodes of `model`, cut off after `horizon` steps.
    pub fn new(model: Arc<TabularMdp>, horizon: Option<usize>) -> Self {
        Self { model, horizon, state: 0, steps: 0 }
    }
}

impl Environment for Simulator {
    fn measures(&self) -> &Measures {
        self.model.measures()
    }

    fn observations(&self) -> Space {
        Space::Discrete(self.model.states())
    }

    fn actions(&self) -> Space {
        Space::Discrete(self.model.actions())
    }

    fn reset(&mut self, rng: &mut Generator, observation: &mut [f64]) -> Result<()> {
        let start = self.model.start();
        self.state = start[random::choose(start.iter().map(|(_, p)| *p), 1.0, rng)].0;
        self.steps = 0;
        observation[0] = self.state as f64;
        Ok(())
    }

    fn step(
        &mut self,
        action: &[f64],
        rng: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status> {
        let action = action[0] as usize;
        if action >= self.model.actions() {
            return Err(Error::Index { what: "action", index: action, count: self.model.actions() });
        }
        if self.model.is_terminal(self.state) {
            return Err(Error::Index { what: "step after the end, in state", index: self.state, count: 0 });
        }
        let row = self.model.row(self.state, action);
        let transition = row.get(random::choose(row.iter().map(|t| t.probability), 1.0, rng));
        z.fill(0.0);
        for &(entry, value) in self.model.outcome(transition.outcome) {
            z[entry as usize] = value;
        }
        self.state = transition.next as usize;
        self.steps += 1;
        observation[0] = self.state as f64;
        Ok(if self.model.is_terminal(self.state) {
            Status::Ended
        } else if self.horizon.is_some_and(|horizon| self.steps >= horizon) {
            Status::CutOff
        } else {
            Status::Running
        })
    }
}

impl Checkpoint for Simulator {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put(&(self.state, self.steps));
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        let states = self.model.states();
        self.state = from.get_where("a state", |state| *state < states)?;
        self.steps = from.get_count("a number of steps")?;
        Ok(())
    }
}
