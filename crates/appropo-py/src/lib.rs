//! The Python extension: thin classes over the library, with what Python brings in turned into its traits.

mod constraint;
mod dataset;
mod errors;
mod explicit;
mod front;
mod model;
mod network;
mod options;
mod oracle;
mod outcome;
mod policy;
mod problem;
mod record;
mod set;
mod solve;
mod space;
mod study;
mod workers;
mod world;

use pyo3::prelude::*;

#[pymodule]
mod _appropo {
    #[pymodule_export]
    use super::constraint::Constraint;
    #[pymodule_export]
    use super::dataset::Dataset;
    #[pymodule_export]
    use super::errors::{AppropoError, ProblemError, RunError, SetError, WorkerError, WorldError};
    #[pymodule_export]
    use super::explicit::ExplicitModel;
    #[pymodule_export]
    use super::front::{Front, pareto};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::network::Network;
    #[pymodule_export]
    use super::options::registered;
    #[pymodule_export]
    use super::outcome::{Outcome, report};
    #[pymodule_export]
    use super::policy::Policy;
    #[pymodule_export]
    use super::problem::{Env, Plan, Problem};
    #[pymodule_export]
    use super::record::record;
    #[pymodule_export]
    use super::set::ConvexSet;
    #[pymodule_export]
    use super::solve::{outcome, resume, solve, verify};
    #[pymodule_export]
    use super::study::Study;
    #[pymodule_export]
    use super::workers::Worker;
    #[pymodule_export]
    use super::world::World;
    use pyo3::prelude::*;
    use std::ffi::OsString;

    /// Runs the command line with these arguments, and returns its exit status.
    #[pyfunction]
    fn main(py: Python, arguments: Vec<OsString>) -> u8 {
        py.detach(|| appropo_cli::run(arguments))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

use std::sync::{Arc, Mutex};

/// What Python code raised while the library was calling it. The first exception is the one that counts.
#[derive(Clone, Default)]
struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn keep(&self, error: PyErr) {
        if let Ok(mut place) = self.0.lock() {
            place.get_or_insert(error);
        }
    }

    fn take(&self) -> Option<PyErr> {
        self.0.lock().ok()?.take()
    }
}
