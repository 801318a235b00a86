use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use appropo::certificate::Separation;
use appropo::error::Error;
use appropo::outcome::Outcome as Found;
use appropo::verify::{verify, verify_off_policy};
use appropo_file::Reader;
use appropo_run::about::Times;
use appropo_run::evaluation::evaluate;
use appropo_run::page::render;
use appropo_run::report::page_of;
use appropo_run::result::must_act;
use appropo_run::{onnx, record};
use numpy::PyArray1;
use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{type_hint_identifier, type_hint_subscript};

use crate::Raised;
use crate::errors::{ProblemError, of_files, of_library, of_problem};
use crate::options;
use crate::policy::Policy;
use crate::problem::{Plan, Problem};

/// What came out of a solve.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct Outcome {
    pub(crate) found: Arc<Found>,
    raised: Raised,
}

impl Outcome {
    pub fn new(found: Found, problem: &Problem) -> Self {
        Self { found: Arc::new(found), raised: problem.raised.clone() }
    }
}

/// A dictionary with texts as keys.
struct Named<'py>(Bound<'py, PyDict>);

impl<'py> Named<'py> {
    fn new(py: Python<'py>) -> Self {
        Self(PyDict::new(py))
    }

    fn set_item(&self, key: impl IntoPyObject<'py>, value: impl IntoPyObject<'py>) -> PyResult<()> {
        self.0.set_item(key, value)
    }
}

impl<'py> IntoPyObject<'py> for Named<'py> {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = Infallible;

    const OUTPUT_TYPE: PyStaticExpr = type_hint_subscript!(
        type_hint_identifier!("builtins", "dict"),
        type_hint_identifier!("builtins", "str"),
        type_hint_identifier!("typing", "Any")
    );

    fn into_pyobject(self, _: Python<'py>) -> Result<Self::Output, Self::Error> {
        Ok(self.0)
    }
}

/// One name, one value; a vector for measures of several entries.
fn named<'py>(py: Python<'py>, problem: &Problem, z: &[f64]) -> PyResult<Named<'py>> {
    let values = Named::new(py);
    for (name, range) in problem.problem.measures().iter() {
        match &z[range] {
            [value] => values.set_item(name, value)?,
            several => values.set_item(name, PyArray1::from_slice(py, several))?,
        }
    }
    Ok(values)
}

#[pymethods]
impl Outcome {
    /// "feasible", "infeasible" or "undecided".
    #[getter]
    fn verdict(&self) -> String {
        format!("{:?}", self.found.verdict()).to_lowercase()
    }

    /// The verdict in a sentence.
    #[getter]
    fn sentence(&self) -> String {
        self.found.sentence()
    }

    /// Why the search ended.
    #[getter]
    fn reason(&self) -> String {
        self.found.reason()
    }

    /// What fresh episodes say, in a sentence.
    #[getter]
    fn evidence(&self) -> String {
        self.found.evidence()
    }

    /// The distance of the measurements from the target set.
    #[getter]
    fn distance(&self) -> f64 {
        self.found.certificate.distance
    }

    /// No policy comes closer to the target set than this.
    #[getter]
    fn lower_bound(&self) -> f64 {
        self.found.certificate.lower_bound
    }

    /// The level of the verdict where it rests on fresh episodes.
    #[getter]
    fn confidence(&self) -> Option<f64> {
        self.found.certificate.confidence
    }

    /// Steps taken in the environment to learn.
    #[getter]
    fn samples(&self) -> u64 {
        self.found.samples
    }

    /// Rounds played.
    #[getter]
    fn rounds(&self) -> usize {
        self.found.rounds
    }

    /// What went wrong on the way, if anything did.
    #[getter]
    fn failure(&self) -> Option<String> {
        self.found.failure().map(ToString::to_string)
    }

    /// The best value of the objective, where fresh episodes put it, and a bound that no feasible policy passes.
    #[getter]
    fn objective(&self) -> (Option<f64>, Option<(f64, f64)>, Option<f64>) {
        let found = self.found.objective.as_ref();
        found.map_or((None, None, None), |found| (found.value, found.interval, found.bound))
    }

    /// What was found of the objective, in a sentence; empty where there is none.
    #[getter]
    fn optimum(&self) -> String {
        self.found.objective.as_ref().map_or(String::new(), |found| found.sentence())
    }

    /// What loosening each constraint is worth: its name, what is loosened, and the price.
    fn prices(&self, problem: &Problem) -> Vec<(String, String, f64)> {
        let prices = self.found.prices(&problem.problem).into_iter();
        prices.map(|price| (price.constraint, price.loosened.word().into(), price.price)).collect()
    }

    /// The closest that any policy comes where nothing is feasible: names and values.
    fn nearest(&self, problem: &Problem) -> Option<Vec<(String, f64)>> {
        self.found.nearest(&problem.problem).map(|nearest| nearest.values)
    }

    /// Prices and the nearest that can be had, in sentences.
    fn advice(&self, problem: &Problem) -> Vec<String> {
        let prices = self.found.prices(&problem.problem);
        let prices = prices.iter().map(|price| price.sentence(&problem.problem));
        prices.chain(self.found.nearest(&problem.problem).map(|nearest| nearest.sentence())).collect()
    }

    /// The long-term value of every measure.
    fn measurements<'py>(&self, py: Python<'py>, problem: &Problem) -> PyResult<Named<'py>> {
        named(py, problem, &self.found.measurements)
    }

    /// Each constraint's name, measure, value, requirement, slack, whether it holds, and its distance.
    #[allow(clippy::type_complexity)]
    fn rows(&self, problem: &Problem) -> Vec<(String, String, String, String, String, bool, f64)> {
        let rows = self.found.rows(&problem.problem).into_iter();
        rows.map(|row| (row.name, row.measure, row.value, row.required, row.slack, row.holds, row.distance))
            .collect()
    }

    /// What fresh episodes said, where the policy was learnt.
    #[getter]
    fn evaluation<'py>(&self, py: Python<'py>) -> PyResult<Option<Named<'py>>> {
        let Some(evaluation) = &self.found.evaluation else { return Ok(None) };
        let found = Named::new(py);
        found.set_item("mean", PyArray1::from_slice(py, &evaluation.mean))?;
        found.set_item("radii", PyArray1::from_slice(py, &evaluation.radii))?;
        found.set_item("episodes", evaluation.episodes)?;
        found.set_item("samples", self.found.evaluation_samples())?;
        found.set_item("distance", evaluation.distance)?;
        found.set_item("finding", format!("{:?}", evaluation.finding).to_lowercase())?;
        found.set_item("confidence", evaluation.confidence)?;
        Ok(Some(found))
    }

    /// What logs say, where they were learnt from.
    fn logged<'py>(&self, py: Python<'py>, problem: &Problem) -> PyResult<Option<Named<'py>>> {
        let Some(estimate) = &self.found.off_policy else { return Ok(None) };
        let found = Named::new(py);
        found.set_item("value", named(py, problem, &estimate.value)?)?;
        found.set_item("lower", named(py, problem, &estimate.lower)?)?;
        found.set_item("upper", named(py, problem, &estimate.upper)?)?;
        found.set_item("level", estimate.level)?;
        found.set_item("resamples", estimate.resamples)?;
        found.set_item("episodes", estimate.episodes)?;
        found.set_item("steps", estimate.steps)?;
        found.set_item("checksum", &estimate.checksum)?;
        found.set_item("fitted", &estimate.fitted)?;
        found.set_item("unlogged", estimate.unlogged)?;
        found.set_item("assumptions", estimate.assumptions())?;
        Ok(Some(found))
    }

    /// The claim with all that is needed to check it again.
    #[getter]
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Named<'py>> {
        let claim = &self.found.certificate;
        let found = Named::new(py);
        found.set_item("verdict", self.verdict())?;
        found.set_item("tolerance", claim.tolerance)?;
        found.set_item("z_bar", PyArray1::from_slice(py, &claim.z_bar))?;
        found.set_item("distance", claim.distance)?;
        found.set_item("lower_bound", claim.lower_bound)?;
        let separation = claim.separation.as_ref().map(|separation| proof(py, separation)).transpose()?;
        found.set_item("separation", separation)?;
        found.set_item("confidence", claim.confidence)?;
        Ok(found)
    }

    /// The rounds, one array a column.
    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Named<'py>> {
        let (history, columns) = (&self.found.history, Named::new(py));
        let lines = &history.lines;
        columns.set_item("round", PyArray1::from_iter(py, lines.iter().map(|line| line.round)))?;
        columns.set_item("samples", PyArray1::from_iter(py, lines.iter().map(|line| line.samples)))?;
        columns.set_item("distance", PyArray1::from_iter(py, lines.iter().map(|line| line.distance)))?;
        columns
            .set_item("lower_bound", PyArray1::from_iter(py, lines.iter().map(|line| line.lower_bound)))?;
        if lines.iter().any(|line| line.objective.is_some()) {
            let best = lines.iter().map(|line| line.objective.unwrap_or(f64::NAN));
            columns.set_item("objective", PyArray1::from_iter(py, best))?;
        }
        for (block, of) in [("lam", 0), ("answer", 1), ("mixture", 2)] {
            for (i, name) in history.names.iter().enumerate() {
                let column = lines.iter().map(|line| [&line.lam, &line.answer, &line.mixture][of][i]);
                columns.set_item(format!("{block}/{name}"), PyArray1::from_iter(py, column))?;
            }
        }
        Ok(columns)
    }

    /// The mixed policy.
    fn policy(&self, problem: &Problem) -> PyResult<Policy> {
        self.must_act()?;
        let env = problem.problem.env();
        let spaces = (env.observations().clone(), env.actions().clone());
        Ok(Policy::new(self.found.mixture.clone(), spaces, self.raised.clone()))
    }

    /// What fresh episodes measure: name, mean, standard error and the ends of a confidence interval, entry by entry.
    fn evaluate(
        &self,
        py: Python,
        problem: &Problem,
        episodes: usize,
        seed: u64,
    ) -> PyResult<Vec<(String, f64, f64, f64, f64)>> {
        problem.forget();
        self.must_act()?;
        let found = py.detach(|| evaluate(&problem.problem, &self.found.mixture, episodes, seed));
        let found = problem.unless_raised(found.map_err(|error| of_library(&error)))?;
        let rows = found.measurements.into_iter();
        Ok(rows.map(|row| (row.measure, row.mean, row.standard_error, row.low, row.high)).collect())
    }

    /// How one policy is made of the mixture, by options as the table [solve] has them.
    fn distilling(&self, problem: &Problem, plan: &Plan, settings: &Bound<PyAny>) -> PyResult<Plan> {
        problem.forget();
        self.must_act()?;
        let settings = options::table(settings)?;
        let (method, budget, seed) = Reader::default()
            .distil(&problem.problem, (&self.found, &plan.budget), &settings)
            .map_err(of_problem)?;
        Ok(Plan { method: Arc::new(method), budget, seed })
    }

    /// Refuses policies of Python's that can't act.
    fn must_act(&self) -> PyResult<()> {
        must_act(&self.found.mixture).map_err(of_files)
    }

    /// Computes the claim again: what was checked of it, and whether it holds.
    fn verify(&self, py: Python, problem: &Problem, plan: &Plan, seed: u64) -> PyResult<(String, bool)> {
        problem.forget();
        let (inner, found) = (&problem.problem, &self.found);
        let checked = py.detach(|| {
            let checked = verify(inner, found, seed)?;
            let of_logs = verify_off_policy(inner, plan.method.as_ref(), found)?;
            Ok(checked.into_iter().chain(of_logs).collect::<Vec<_>>())
        });
        let mut lines: Vec<String> =
            problem.problem.statements().map(|statement| format!("claim   {statement}")).collect();
        let verdict = match problem.unless_raised(Ok(checked))? {
            Ok(checked) => {
                lines.extend(checked.into_iter().map(|line| format!("ok      {line}")));
                Ok(self.sentence())
            }
            Err(Error::Refuted { problem }) => Err(problem),
            Err(error) => return Err(of_library(&error)),
        };
        Ok(verified(&lines, &verdict))
    }

    /// Writes the run into a new folder.
    fn save(&self, problem: &Problem, plan: &Plan, folder: PathBuf) -> PyResult<()> {
        let text = problem.text(plan).map_err(|error| of_library(&error))?;
        record::save(&folder, &problem.about(plan), &problem.problem, &text, &self.found).map_err(of_files)
    }

    /// Writes the networks as ONNX files; returns the path of the file with their weights.
    fn export(&self, problem: &Problem, file: PathBuf) -> PyResult<PathBuf> {
        let is_named = file.extension().is_some_and(|extension| extension == "onnx");
        match onnx::export(&self.found.mixture, problem.problem.name(), &file) {
            Err(error) if !is_named => Err(ProblemError::new_err(error.to_string())),
            written => written.map_err(of_files),
        }
    }
}

/// What was checked of a claim, and whether it holds.
pub fn verified(lines: &[String], verdict: &Result<String, String>) -> (String, bool) {
    let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    match verdict {
        Ok(verdict) => text += &format!("verified: {verdict}\n"),
        Err(problem) => text += &format!("FAILED  {problem}\nnot verified\n"),
    }
    (text, verdict.is_ok())
}

fn proof<'py>(py: Python<'py>, separation: &Separation) -> PyResult<Named<'py>> {
    let found = Named::new(py);
    found.set_item("lam", PyArray1::from_slice(py, &separation.lam))?;
    found.set_item("offset", separation.offset)?;
    found.set_item("values", PyArray1::from_slice(py, &separation.witness.values))?;
    let steps = separation.witness.steps.as_ref().map(|steps| PyArray1::from_slice(py, steps));
    found.set_item("steps", steps)?;
    Ok(found)
}

/// An outcome with its problem, its plan and its name.
type Shown = (Py<Outcome>, Py<Problem>, Py<Plan>, Option<String>);

/// The page of an outcome, or the comparison of several.
#[pyfunction]
pub fn report(py: Python, runs: Vec<Shown>) -> PyResult<String> {
    let mut pages = Vec::new();
    for (outcome, problem, plan, name) in runs {
        let (outcome, problem, plan) = (outcome.get(), problem.get(), plan.get());
        problem.forget();
        let text = problem.text(plan).map_err(|error| of_library(&error))?;
        let about = problem.about(plan);
        let page = py.detach(|| page_of(&problem.problem, &outcome.found, &about, &text, &Times::default()));
        let mut page = problem.unless_raised(Ok(page))?;
        page.name = name.unwrap_or(page.name);
        pages.push(page);
    }
    Ok(render(&pages))
}
