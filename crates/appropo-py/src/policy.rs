use std::sync::Mutex;

use appropo::env::Space;
use appropo::policy::{AnyPolicy, Memory, Mixed, Policy as _};
use appropo::random::{self, Generator};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::Raised;
use crate::errors::{AppropoError, WorldError};

/// The policies of a mixture.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct Policy {
    pub(crate) mixture: Mixed,
    observations: Space,
    actions: Space,
    acting: Mutex<Acting>,
    /// What policies of Python's raised.
    raised: Raised,
}

struct Acting {
    rng: Generator,
    memory: Memory,
    action: Vec<f64>,
}

impl Policy {
    pub(crate) fn new(mixture: Mixed, (observations, actions): (Space, Space), raised: Raised) -> Self {
        let action = vec![0.0; actions.entries()];
        let acting = Acting { rng: random::generator(0), memory: Memory::default(), action };
        Self { mixture, observations, actions, acting: Mutex::new(acting), raised }
    }
}

#[pymethods]
impl Policy {
    /// The probability of each policy.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.mixture.parts().iter().map(|(weight, _)| *weight))
    }

    /// What is seen: a number of states, or the bounds of each number.
    #[getter]
    fn observations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        space(py, &self.observations)
    }

    /// What can be done: a number of actions, or the bounds of each number.
    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        space(py, &self.actions)
    }

    /// Draws from this seed from now on.
    fn seed(&self, seed: u64) -> PyResult<()> {
        self.acting.lock().map_err(broken)?.rng = random::generator(seed);
        Ok(())
    }

    /// The number of the policy for the next episode, drawn by the weights.
    fn draw(&self) -> PyResult<usize> {
        let mut acting = self.acting.lock().map_err(broken)?;
        Ok(random::choose(self.mixture.parts().iter().map(|(weight, _)| *weight), 1.0, &mut acting.rng))
    }

    /// What a policy does, given what is seen at a step of its episode.
    fn act<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        observation: Vec<f64>,
        step: usize,
        deterministic: bool,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let Some((_, policy)) = self.mixture.parts().get(number) else {
            return Err(AppropoError::new_err(format!("there is no policy {number}")));
        };
        self.check(&observation)?;
        let mut acting = self.acting.lock().map_err(broken)?;
        if let AnyPolicy::External(policy) = policy.as_ref() {
            // Python may ask for another action meanwhile.
            let mut rng = random::split(&mut acting.rng);
            let mut action = acting.action.clone();
            drop(acting);
            policy.act(&observation, step, &mut rng, &mut Memory::default(), &mut action);
            return match self.raised.take() {
                Some(error) => Err(error),
                None => Ok(PyArray1::from_slice(py, &action)),
            };
        }
        let Acting { rng, memory, action } = &mut *acting;
        if deterministic {
            policy.most_likely(&observation, step, memory, action);
        } else {
            policy.act(&observation, step, rng, memory, action);
        }
        Ok(PyArray1::from_slice(py, action))
    }
}

impl Policy {
    fn check(&self, observation: &[f64]) -> PyResult<()> {
        let (found, expected) = (observation.len(), self.observations.entries());
        if found != expected {
            return Err(WorldError::new_err(format!(
                "the observation has {found} numbers; expected {expected}"
            )));
        }
        if let Some(i) = observation.iter().position(|v| !v.is_finite()) {
            let value = observation[i];
            return Err(WorldError::new_err(format!(
                "entry {i} of the observation is {value}; expected a finite number"
            )));
        }
        match self.observations.count() {
            Some(count)
                if !(0.0..count as f64).contains(&observation[0]) || observation[0].fract() != 0.0 =>
            {
                let found = observation[0];
                Err(WorldError::new_err(format!(
                    "the observation is {found}; expected a state from 0 to {}",
                    count - 1
                )))
            }
            _ => Ok(()),
        }
    }
}

fn broken<T>(_: T) -> PyErr {
    AppropoError::new_err("the policy is broken since an earlier error; load it again")
}

/// A number of elements, or the bounds of each number.
pub fn space<'py>(py: Python<'py>, space: &Space) -> PyResult<Bound<'py, PyAny>> {
    Ok(match space {
        Space::Discrete(count) => count.into_pyobject(py)?.into_any(),
        Space::Continuous(bounds) => bounds.clone().into_pyobject(py)?.into_any(),
    })
}
