use std::sync::Arc;

use appropo::env::TabularMdp;
use appropo::measurement::Measures;
use pyo3::prelude::*;

use crate::errors::of_library;

/// A world with finitely many states and actions whose probabilities are known.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct Model(pub Arc<TabularMdp>);

/// State, action, probability, next state, what is measured.
type Outcome = (usize, usize, f64, usize, Vec<f64>);

#[pymethods]
impl Model {
    /// A model from all that can happen. Entering one of the states `ends` ends the episode.
    #[new]
    fn new(
        states: usize,
        actions: usize,
        measures: Vec<(String, usize)>,
        start: Vec<(usize, f64)>,
        ends: Vec<usize>,
        outcomes: Vec<Outcome>,
    ) -> PyResult<Self> {
        let measures = Measures::new(measures.iter().map(|(name, count)| (name.as_str(), *count)));
        let mut builder = TabularMdp::builder(states, actions, measures);
        for (state, probability) in start {
            builder.start(state, probability);
        }
        for state in ends {
            builder.terminal(state);
        }
        for (state, action, probability, next, z) in outcomes {
            let measured: Vec<(usize, f64)> = z.into_iter().enumerate().collect();
            builder.transition((state, action), probability, next, &measured);
        }
        Ok(Self(Arc::new(builder.build().map_err(|error| of_library(&error))?)))
    }

    /// Number of states.
    #[getter]
    fn states(&self) -> usize {
        self.0.states()
    }

    /// Number of actions.
    #[getter]
    fn actions(&self) -> usize {
        self.0.actions()
    }
}
