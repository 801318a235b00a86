use std::ops::ControlFlow;
use std::path::PathBuf;

use appropo::error::Error;
use appropo::front::{Front as Found, FrontMeasure, verify_front};
use appropo::problem::Direction;
use appropo::solver::ParetoRule;
use appropo_run::front::{AboutFront, csv, page_of, save};
use appropo_run::page::render_front;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::errors::{of_files, of_library};
use crate::outcome::verified;
use crate::policy::Policy;
use crate::problem::{Plan, Problem};

/// The Pareto front of several measures.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct Front {
    found: Found,
}

/// The front of measures, each with whether it is to be large, to a gap of `epsilon`.
#[pyfunction]
pub fn pareto(
    py: Python,
    problem: &Problem,
    plan: &Plan,
    measures: Vec<(String, bool)>,
    epsilon: f64,
    calls: usize,
) -> PyResult<Front> {
    problem.forget();
    let direction = |is_large: bool| if is_large { Direction::Maximize } else { Direction::Minimize };
    let measures: Vec<FrontMeasure> = measures
        .into_iter()
        .map(|(measure, is_large)| FrontMeasure { measure, direction: direction(is_large) })
        .collect();
    let rule = ParetoRule::default().epsilon(epsilon).calls(calls).tolerance(plan.budget.tolerance);
    let inner = problem.problem.clone().without_objective();
    let found = py.detach(|| {
        inner.pareto(&measures, &rule, &mut |_| {
            // Ctrl-C is Python's to see.
            let is_stopped = Python::attach(|py| py.check_signals().is_err());
            if is_stopped { Err(Error::Interrupted) } else { Ok(ControlFlow::Continue(())) }
        })
    });
    let found = problem.unless_raised(found.map_err(|error| of_library(&error)))?;
    Ok(Front { found })
}

#[pymethods]
impl Front {
    /// "feasible", "infeasible" or "undecided": of the constraints.
    #[getter]
    fn verdict(&self) -> String {
        format!("{:?}", self.found.verdict()).to_lowercase()
    }

    /// What was found, in a sentence.
    #[getter]
    fn sentence(&self) -> String {
        self.found.sentence()
    }

    /// The measures, each with "maximize" or "minimize".
    #[getter]
    fn measures(&self) -> Vec<(String, String)> {
        self.found.measures.iter().map(|m| (m.measure.clone(), m.direction.word().into())).collect()
    }

    /// The vertices: a row each, a column for each measure.
    #[getter]
    fn vertices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.rows(py, self.found.vertices.iter().map(|vertex| vertex.values.clone()).collect())
    }

    /// The corners of the outer approximation, in the same way.
    #[getter]
    fn corners<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.rows(py, self.found.corners.clone())
    }

    /// The weights of the faces, in the same way.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.rows(py, self.found.faces.iter().map(|face| face.weights.clone()).collect())
    }

    /// The bound of each face.
    #[getter]
    fn bounds<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.found.faces.iter().map(|face| face.bound))
    }

    /// The range of each measure over the front.
    #[getter]
    fn units<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.found.units)
    }

    /// How far what was found and what was proved are apart, in these ranges.
    #[getter]
    fn gap(&self) -> f64 {
        self.found.gap
    }

    /// The gap that was asked for.
    #[getter]
    fn epsilon(&self) -> f64 {
        self.found.epsilon
    }

    /// How far the best mixture is from the constraints, and how far any is at least.
    #[getter]
    fn distances(&self) -> (f64, f64) {
        (self.found.certificate.distance, self.found.certificate.lower_bound)
    }

    /// How often the oracle was asked.
    #[getter]
    fn oracle_calls(&self) -> usize {
        self.found.oracle_calls
    }

    /// The mixed policy of a vertex, by its number.
    fn policy(&self, problem: &Problem, vertex: usize) -> Option<Policy> {
        let env = problem.problem.env();
        let spaces = (env.observations().clone(), env.actions().clone());
        let vertex = self.found.vertices.get(vertex)?;
        Some(Policy::new(vertex.mixture.clone(), spaces, problem.raised.clone()))
    }

    /// All that a vertex measures, by the names of the measures.
    fn measurements(&self, problem: &Problem, vertex: usize) -> Option<Vec<(String, Vec<f64>)>> {
        let z = &self.found.vertices.get(vertex)?.measurements;
        Some(
            problem.problem.measures().iter().map(|(name, range)| (name.into(), z[range].to_vec())).collect(),
        )
    }

    /// Computes the claim again: what was checked of it, and whether it holds.
    fn verify(&self, py: Python, problem: &Problem) -> PyResult<(String, bool)> {
        problem.forget();
        let checked = py.detach(|| verify_front(&problem.problem, &self.found));
        let (lines, verdict) = match problem.unless_raised(Ok(checked))? {
            Ok(checked) => {
                (checked.into_iter().map(|line| format!("ok      {line}")).collect(), Ok(self.sentence()))
            }
            Err(Error::Refuted { problem }) => (Vec::new(), Err(problem)),
            Err(error) => return Err(of_library(&error)),
        };
        Ok(verified(&lines, &verdict))
    }

    /// Writes the front into a new folder.
    fn save(&self, problem: &Problem, plan: &Plan, folder: PathBuf) -> PyResult<()> {
        let text = problem.text(plan).map_err(|error| of_library(&error))?;
        save(&folder, &about(&problem.about(plan), &text), &problem.problem, &self.found).map_err(of_files)
    }

    /// The page.
    fn report(&self, problem: &Problem, plan: &Plan) -> PyResult<String> {
        let text = problem.text(plan).map_err(|error| of_library(&error))?;
        Ok(render_front(&page_of(&about(&problem.about(plan), &text), &problem.problem, &self.found)))
    }

    /// The vertices as a table of text.
    fn csv(&self, problem: &Problem) -> String {
        csv(&problem.problem, &self.found)
    }
}

impl Front {
    fn rows<'py>(&self, py: Python<'py>, rows: Vec<Vec<f64>>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let columns = self.found.measures.len();
        let flat = PyArray1::from_vec(py, rows.concat());
        numpy::PyArrayMethods::reshape(&flat, [rows.len(), columns])
    }
}

fn about<'a>(about: &'a appropo_run::about::About, text: &'a str) -> AboutFront<'a> {
    AboutFront { version: &about.version, problem: &about.problem, command: &about.command, text }
}
