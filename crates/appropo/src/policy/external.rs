use std::fmt;
use std::sync::Arc;

use super::{Memory, Policy};
use crate::error::Result;
use crate::random::{self, Generator};
use crate::state::{Loader, Saved, Saver, misfit};

/// Acts in another program: given the observation, the step of the episode and a seed, which is for draws of the whole
/// episode and new in its first step, it writes the action.
pub type Act = Arc<dyn Fn(&[f64], usize, u64, &mut [f64]) + Send + Sync>;

/// A policy of another program: the numbers that it can be made of again, and how it acts while that program is there.
#[derive(Clone)]
pub struct ExternalPolicy {
    tensors: Vec<Tensor>,
    act: Option<Act>,
}

/// An array of numbers with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// What it is called.
    pub name: String,
    /// Its length along every axis.
    pub shape: Vec<usize>,
    /// Its numbers, the last axis first.
    pub values: Vec<f32>,
}

impl ExternalPolicy {
    /// A policy made of these numbers; `act` is `None` where its program is not there.
    pub fn new(tensors: Vec<Tensor>, act: Option<Act>) -> Self {
        Self { tensors, act }
    }

    /// What it is made of.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// Whether it can act.
    pub fn is_alive(&self) -> bool {
        self.act.is_some()
    }
}

impl fmt::Debug for ExternalPolicy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("ExternalPolicy").field("tensors", &self.tensors.len()).finish_non_exhaustive()
    }
}

impl Policy for ExternalPolicy {
    /// A policy that can't act gives NaN, which no world takes.
    fn act(&self, observation: &[f64], step: usize, rng: &mut Generator, _: &mut Memory, action: &mut [f64]) {
        action.fill(f64::NAN);
        if let Some(act) = &self.act {
            let seed = if step == 0 { random::unit(rng).to_bits() } else { 0 };
            act(observation, step, seed, action);
        }
    }
}

impl Saved for Tensor {
    fn save(&self, to: &mut Saver) {
        to.put_bytes(self.name.as_bytes());
        to.put(&self.shape);
        to.put(&self.values);
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let name = String::from_utf8(from.get_bytes()?).map_err(|_| misfit("a name is not text"))?;
        Ok(Self { name, shape: from.get()?, values: from.get()? })
    }
}

impl Saved for ExternalPolicy {
    fn save(&self, to: &mut Saver) {
        to.put(&self.tensors);
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        Ok(Self { tensors: from.get()?, act: None })
    }
}
