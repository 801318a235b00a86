use std::sync::{Mutex, MutexGuard};

use appropo::env::{Environment, Space, Status};
use appropo::error::{Error, Result};
use appropo::measurement::Measures;
use appropo::random::{self, Generator};
use appropo::state::{Checkpoint, Loader, Saver};
use numpy::{PyArray1, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors::{WorldError, of_library};
use crate::{Raised, policy};

/// A world of Python: an object with `reset(seed)` and `step(action)`.
pub struct PythonWorld {
    reset: Py<PyAny>,
    step: Py<PyAny>,
    /// Where worlds of Python's step together.
    submit_action: Option<Py<PyAny>>,
    measures: Measures,
    observations: Space,
    actions: Space,
    /// The seed of the episode under way and all that was done in it: what it takes to come here again.
    seed: Option<u32>,
    done: Vec<f64>,
    raised: Raised,
}

impl PythonWorld {
    pub fn new(
        world: &Bound<PyAny>,
        measures: Measures,
        (observations, actions): (Space, Space),
        raised: Raised,
    ) -> PyResult<Self> {
        let (reset, step) = (world.getattr("reset")?.unbind(), world.getattr("step")?.unbind());
        let submit_action = world.getattr_opt("submit_action")?.map(Bound::unbind);
        Ok(Self {
            reset,
            step,
            submit_action,
            measures,
            observations,
            actions,
            seed: None,
            done: Vec::new(),
            raised,
        })
    }

    fn action<'py>(&self, py: Python<'py>, action: &[f64]) -> PyResult<Bound<'py, PyAny>> {
        Ok(match &self.actions {
            Space::Discrete(_) => (action[0] as usize).into_pyobject(py)?.into_any(),
            Space::Continuous(_) => PyArray1::from_slice(py, action).into_any(),
        })
    }

    /// What Python raised is kept; the library only learns that something did.
    fn outcome<T>(&self, result: PyResult<T>) -> Result<T> {
        result.map_err(|error| {
            self.raised.keep(error);
            Error::External { what: "the environment" }
        })
    }
}

impl Environment for PythonWorld {
    fn measures(&self) -> &Measures {
        &self.measures
    }

    fn observations(&self) -> Space {
        self.observations.clone()
    }

    fn actions(&self) -> Space {
        self.actions.clone()
    }

    fn reset(&mut self, rng: &mut Generator, observation: &mut [f64]) -> Result<()> {
        // Worlds that step together are seeded together, once.
        let seed = match (&self.submit_action, self.seed) {
            (Some(_), Some(_)) => None,
            _ => Some((random::unit(rng) * f64::from(1u32 << 31)) as u32),
        };
        self.seed = seed.or(self.seed);
        self.done.clear();
        let result = Python::attach(|py| {
            let seen = self.reset.bind(py).call1((seed,))?;
            read("observation", &seen, observation)
        });
        self.outcome(result)
    }

    fn submit_action(&mut self, action: &[f64]) -> Result<()> {
        let Some(submit) = &self.submit_action else { return Ok(()) };
        let result = Python::attach(|py| submit.call1(py, (self.action(py, action)?,)).map(drop));
        self.outcome(result)
    }

    fn step(
        &mut self,
        action: &[f64],
        _: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status> {
        let result = Python::attach(|py| {
            let result = self.step.bind(py).call1((self.action(py, action)?,))?;
            let result = result.cast::<PyTuple>()?;
            read("observation", &result.get_item(0)?, observation)?;
            read("measurement", &result.get_item(1)?, z)?;
            let (terminated, truncated): (bool, bool) =
                (result.get_item(2)?.is_truthy()?, result.get_item(3)?.is_truthy()?);
            Ok(match (terminated, truncated) {
                (true, _) => Status::Ended,
                (false, true) => Status::CutOff,
                (false, false) => Status::Running,
            })
        });
        match &result {
            Ok(Status::Running) => self.done.extend_from_slice(action),
            // There is no way back into an episode that is over.
            _ => self.done.clear(),
        }
        self.outcome(result)
    }
}

impl Checkpoint for PythonWorld {
    fn save(&self, to: &mut Saver) -> Result<()> {
        if self.submit_action.is_some() {
            return Err(Error::Unsaved { what: "a vector environment" });
        }
        to.put(&self.seed);
        to.put(&self.done);
        Ok(())
    }

    /// Does all of the episode again, from the same seed.
    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.seed = from.get()?;
        self.done = from.get()?;
        let result = Python::attach(|py| {
            if self.seed.is_none() {
                return Ok(());
            }
            self.reset.bind(py).call1((self.seed,))?;
            for action in self.done.chunks_exact(self.actions.entries()) {
                let step = self.step.bind(py).call1((self.action(py, action)?,))?;
                // Only where its seed does not determine a world.
                if step.get_item(2)?.is_truthy()? || step.get_item(3)?.is_truthy()? {
                    self.reset.bind(py).call1((None::<u32>,))?;
                }
            }
            Ok(())
        });
        self.outcome(result)
    }
}

/// Reads a number, an array or a sequence of numbers into places.
pub fn read(what: &str, value: &Bound<PyAny>, places: &mut [f64]) -> PyResult<()> {
    let mut found = 0;
    if let Ok(array) = value.extract::<PyReadonlyArrayDyn<f32>>() {
        found = array.len();
        array.as_array().iter().zip(places.iter_mut()).for_each(|(v, place)| *place = f64::from(*v));
    } else if let Ok(array) = value.extract::<PyReadonlyArrayDyn<f64>>() {
        found = array.len();
        array.as_array().iter().zip(places.iter_mut()).for_each(|(v, place)| *place = *v);
    } else if let Ok(number) = value.extract::<f64>() {
        found = 1;
        places.iter_mut().take(1).for_each(|place| *place = number);
    } else if let Ok(numbers) = value.extract::<Vec<f64>>() {
        found = numbers.len();
        places.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
    } else {
        let array =
            value.py().import("numpy")?.call_method1("asarray", (value, "float64")).map_err(|_| {
                let (found, expected) = (shown(value), places.len());
                WorldError::new_err(format!("found {found} as {what}; expected {expected} numbers"))
            })?;
        if array.is_instance_of::<numpy::PyArrayDyn<f64>>() {
            return read(what, &array, places);
        }
    }
    if found == places.len() {
        return Ok(());
    }
    let expected = places.len();
    Err(WorldError::new_err(format!(
        "found {found} numbers as {what}; expected {expected}, as the environment's spaces and the measures say"
    )))
}

/// A value as messages show it.
pub fn shown(value: &Bound<PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "what can't be shown".into(), |text| text.to_string());
    if text.chars().count() <= 80 { text } else { text.chars().take(77).chain("...".chars()).collect() }
}

/// A built-in world, to be acted in from Python.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct World(Mutex<Acted>);

struct Acted {
    world: Box<dyn Environment>,
    rng: Generator,
    observation: Vec<f64>,
    z: Vec<f64>,
}

impl World {
    pub fn new(world: Box<dyn Environment>) -> Self {
        let (observation, z) = (vec![0.0; world.observations().entries()], vec![0.0; world.measures().dim()]);
        Self(Mutex::new(Acted { world, rng: random::generator(0), observation, z }))
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, Acted>> {
        self.0.lock().map_err(|_| WorldError::new_err("the world is broken since an earlier error"))
    }
}

#[pymethods]
impl World {
    /// What is seen: a number of states, or the bounds of each number.
    #[getter]
    fn observations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        policy::space(py, &self.lock()?.world.observations())
    }

    /// What can be done: a number of actions, or the bounds of each number.
    #[getter]
    fn actions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        policy::space(py, &self.lock()?.world.actions())
    }

    /// Draws from this seed from now on.
    fn seed(&self, seed: u64) -> PyResult<()> {
        self.lock()?.rng = random::generator(seed);
        Ok(())
    }

    /// Starts an episode and returns the first observation.
    fn reset<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mut acted = self.lock()?;
        let Acted { world, rng, observation, .. } = &mut *acted;
        world.reset(rng, observation).map_err(|error| of_library(&error))?;
        Ok(PyArray1::from_slice(py, observation))
    }

    /// Acts. Returns the observation, the measurement, whether the episode ended, and whether it was cut off.
    #[allow(clippy::type_complexity)]
    fn step<'py>(
        &self,
        py: Python<'py>,
        action: Vec<f64>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, bool, bool)> {
        let mut acted = self.lock()?;
        let Acted { world, rng, observation, z } = &mut *acted;
        let expected = world.actions().entries();
        if action.len() != expected {
            let found = action.len();
            return Err(WorldError::new_err(format!("the action has {found} numbers; expected {expected}")));
        }
        let status = world.step(&action, rng, observation, z).map_err(|error| of_library(&error))?;
        let (seen, measured) = (PyArray1::from_slice(py, observation), PyArray1::from_slice(py, z));
        Ok((seen, measured, status == Status::Ended, status == Status::CutOff))
    }
}
