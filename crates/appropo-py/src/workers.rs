//! Workers: this process as one, and those that a pool of Python's has.

use std::sync::{Mutex, PoisonError};

use appropo::error::{Error, Result};
use appropo::rl::workers::{Host, Task, WORKER, Workers};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::Raised;
use crate::errors::of_library;
use crate::problem::Problem;

/// A worker: worlds of a problem, and the policy that plays in them.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct Worker {
    host: Mutex<Host>,
    raised: Raised,
}

#[pymethods]
impl Worker {
    /// A worker of this number, which no other of a run has.
    #[new]
    fn new(problem: &Problem, number: u32) -> Self {
        let host = Mutex::new(problem.problem.host(None, number));
        Self { host, raised: problem.raised.clone() }
    }

    /// Plays by another policy from here on.
    fn load(&self, policy: &[u8]) -> PyResult<()> {
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        host.load(policy).map_err(|error| of_library(&error))
    }

    /// Does a task, and returns what came of it.
    fn play<'py>(&self, py: Python<'py>, task: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        let played = host.play(task);
        match (played, self.raised.take()) {
            (_, Some(error)) => Err(error),
            (Err(error), None) => Err(of_library(&error)),
            (Ok(answer), None) => Ok(PyBytes::new(py, &answer)),
        }
    }
}

/// Workers that a pool of Python's has: an object with `count` and `play(policy, tasks)`.
pub struct Pool {
    pool: Py<PyAny>,
    count: usize,
    raised: Raised,
}

impl Pool {
    pub fn new(pool: &Bound<PyAny>, raised: Raised) -> PyResult<Self> {
        Ok(Self { pool: pool.clone().unbind(), count: pool.getattr("count")?.extract()?, raised })
    }

    fn answers(&self, py: Python, policy: &[u8], tasks: &[Task]) -> PyResult<Vec<Vec<u8>>> {
        let tasks: Vec<_> = tasks.iter().map(|task| (task.stream, PyBytes::new(py, &task.bytes))).collect();
        let answers = self.pool.bind(py).call_method1("play", (PyBytes::new(py, policy), tasks))?;
        let bytes = |answer: PyResult<Bound<PyAny>>| Ok(answer?.cast::<PyBytes>()?.as_bytes().to_vec());
        answers.try_iter()?.map(bytes).collect()
    }
}

impl Workers for Pool {
    fn count(&self) -> usize {
        self.count
    }

    fn play(&self, policy: &[u8], tasks: &[Task]) -> Result<Vec<Vec<u8>>> {
        Python::attach(|py| self.answers(py, policy, tasks)).map_err(|error| {
            self.raised.keep(error);
            Error::External { what: WORKER }
        })
    }
}
