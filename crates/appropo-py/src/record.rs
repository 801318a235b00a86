//! Logging episodes.

use std::sync::Arc;

use appropo::record::{Recording, record as play};
use pyo3::prelude::*;

use crate::dataset::Dataset;
use crate::errors::of_library;
use crate::policy::Policy;
use crate::problem::Problem;
use crate::solve::stop;

/// Logs episodes of a policy, or with actions drawn at random where there is none.
#[pyfunction]
pub fn record(
    py: Python,
    problem: &Problem,
    policy: Option<&Policy>,
    episodes: usize,
    epsilon: f64,
    seed: u64,
) -> PyResult<Dataset> {
    problem.forget();
    let recording =
        Recording::default().episodes(episodes).epsilon(epsilon).stop(Some(stop(problem.raised.clone())));
    let mixture = policy.map(|policy| &policy.mixture);
    let found = py.detach(|| play(&problem.problem, mixture, &recording, seed));
    let found = problem.unless_raised(found.map_err(|error| of_library(&error)))?;
    Ok(Dataset(Arc::new(found)))
}
