use std::sync::Arc;

use appropo::constraint::Stated;
use pyo3::prelude::*;

use crate::Raised;
use crate::set::ConvexSet;

/// What the long-term value of some measures must satisfy.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct Constraint {
    pub(crate) constraint: appropo::constraint::Constraint,
    pub(crate) raised: Vec<Raised>,
}

#[pymethods]
impl Constraint {
    /// These measures, or their shares a step, must lie in a set; distances are divided by the scale.
    #[new]
    fn new(name: String, measures: Vec<String>, set: &ConvexSet, share: bool, scale: f64) -> Self {
        let stated = set.stated.clone();
        let constraint = appropo::constraint::Constraint {
            name,
            measures,
            set: Arc::clone(&set.set),
            share,
            scale,
            stated,
        };
        Self { constraint, raised: set.raised.clone() }
    }

    /// What states its set in a problem file, such as `at_most = 2`; None where no file can.
    #[getter]
    fn stated(&self) -> Option<String> {
        self.constraint.stated.as_ref().map(|Stated { key, value, .. }| format!("{key} = {value}"))
    }
}
