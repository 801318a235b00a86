//! The Python extension: thin classes over the library, with what Python brings in turned into its traits.

mod errors;
mod model;
mod network;
mod oracle;
mod policy;
mod session;
mod set;
mod world;

use pyo3::prelude::*;

#[pymodule]
mod _appropo {
    #[pymodule_export]
    use super::errors::{AppropoError, ProblemError, RunError, SetError, WorldError};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::network::Network;
    #[pymodule_export]
    use super::policy::Policy;
    #[pymodule_export]
    use super::session::Session;
    #[pymodule_export]
    use super::set::ConvexSet;
    #[pymodule_export]
    use super::world::World;
    use pyo3::prelude::*;
    use std::ffi::OsString;

    /// Runs the command line with these arguments, and returns its exit status.
    #[pyfunction]
    fn main(py: Python, arguments: Vec<OsString>) -> u8 {
        py.detach(|| appropo_cli::run(arguments))
    }

    /// The text of a built-in problem.
    #[pyfunction]
    fn built_in(name: &str) -> Option<&'static str> {
        appropo_cli::session::built_in(name)
    }

    /// The names of the built-in worlds.
    #[pyfunction]
    fn worlds() -> Vec<&'static str> {
        appropo_cli::session::worlds().collect()
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
