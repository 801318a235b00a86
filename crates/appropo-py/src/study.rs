//! Studies: many solves in one folder, from which processes and machines draw.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use appropo::error::Error;
use appropo_file::{Externals, Reader, printable};
use appropo_run::study::{self, Job, LeftOut, Options, Patience, Planned, Progress, State};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{ProblemError, of_files, of_library};
use crate::problem::{Plan, Problem};

/// How often Python is asked whether to go on.
const PATIENCE: Duration = Duration::from_millis(50);

/// A solve of a study.
struct Solve {
    problem: Py<Problem>,
    plan: Py<Plan>,
    planned: Planned,
}

/// A study in a folder.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct Study {
    study: study::Study,
    solves: Vec<Solve>,
    left_out: Vec<LeftOut>,
}

#[pymethods]
impl Study {
    /// Plans solves in a folder: problems, how to solve them, and what that is called; `left_out` are
    /// problems that methods can't solve, with the reasons. Besides, it has those of `planned`,
    /// by their names, that are planned there already and need nothing of Python's.
    #[new]
    #[pyo3(signature = (folder, runs, left_out, planned = None))]
    fn new(
        py: Python,
        folder: PathBuf,
        runs: Vec<(Py<Problem>, Py<Plan>, String)>,
        left_out: Vec<(String, String, String)>,
        planned: Option<HashSet<String>>,
    ) -> PyResult<Self> {
        let left = |(problem, method, why)| LeftOut { problem, method, why };
        let mut left_out: Vec<LeftOut> = left_out.into_iter().map(left).collect();
        let (mut solves, mut names) = (Vec::new(), HashSet::new());
        for (problem, plan, method) in runs {
            let (inner, how) = (problem.get(), plan.get());
            let name = inner.problem.name().to_owned();
            if let Err(error) = how.method.check(&inner.problem) {
                let left = LeftOut { problem: name, method, why: error.to_string() };
                if !left_out.contains(&left) {
                    left_out.push(left);
                }
                continue;
            }
            let text = inner.text(how).map_err(|error| of_library(&error))?;
            let planned = Planned { problem: name, method, seed: how.seed, text };
            if !names.insert(planned.name()) {
                return Err(ProblemError::new_err(format!(
                    "{} would be two runs; give every problem, method and seed once, under names of their own: \
                     methods={{\"slow\": ap.PPO(learning_rate=1e-4), ...}}",
                    planned.name()
                )));
            }
            solves.push(Solve { problem, plan, planned });
        }
        let study = study::Study::create(&folder).map_err(of_files)?;
        solves.iter().try_for_each(|solve| study.add(&solve.planned)).map_err(of_files)?;
        if let Some(wanted) = planned {
            solves.extend(stated(py, &study, &wanted)?);
        }
        Ok(Self { study, solves, left_out })
    }

    /// The runs, by name: how far each is, what went wrong, and where it is once it has ended.
    fn states(&self) -> PyResult<Vec<(String, &'static str, String, PathBuf)>> {
        let state = |solve: &Solve| {
            let name = solve.planned.name();
            let (word, error) = match self.study.state(&name).map_err(of_files)? {
                State::Waiting => ("waiting", String::new()),
                State::Running => ("running", String::new()),
                State::Failed(error) => ("failed", error),
                State::Done => ("done", String::new()),
            };
            Ok((name.to_string(), word, error, self.study.place(&name)))
        };
        self.solves.iter().map(state).collect()
    }

    /// The problems, methods and seeds of the runs, in the order of `states`.
    fn runs(&self) -> Vec<(String, String, u64)> {
        let of = |solve: &Solve| {
            let Planned { problem, method, seed, .. } = &solve.planned;
            (problem.clone(), method.clone(), *seed)
        };
        self.solves.iter().map(of).collect()
    }

    /// Draws runs until all have ended, here or elsewhere. `watch(progress)` is called now and then, unless it is None; it
    /// ends the drawing by returning False. Returns whether all have ended.
    #[pyo3(signature = (threads, checkpoint_every, expire_after, retry, watch = None))]
    fn draw(
        &self,
        py: Python,
        threads: usize,
        checkpoint_every: f64,
        expire_after: f64,
        retry: bool,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<bool> {
        let seconds = |number| Duration::try_from_secs_f64(number).unwrap_or(Duration::MAX);
        let patience = Patience { expire_after: seconds(expire_after), retry, ..Patience::default() };
        let options = Options { threads, checkpoint_every: seconds(checkpoint_every), patience };
        let explain: Vec<_> = self.solves.iter().map(|solve| explained(solve.problem.get())).collect();
        let jobs: Vec<Job> =
            self.solves.iter().zip(&explain).map(|(solve, explain)| solve.job(explain)).collect();
        self.solves.iter().for_each(|solve| solve.problem.get().forget());
        let (mut asked, mut raised) = (Instant::now(), None);
        let drawn = py.detach(|| {
            study::run(&self.study, &jobs, &options, &mut |progress| {
                if raised.is_some() {
                    return ControlFlow::Break(());
                }
                if asked.elapsed() < PATIENCE {
                    return ControlFlow::Continue(());
                }
                asked = Instant::now();
                match Python::attach(|py| goes_on(py, progress, watch.as_ref())) {
                    Ok(true) => ControlFlow::Continue(()),
                    Ok(false) => ControlFlow::Break(()),
                    Err(error) => {
                        raised = Some(error);
                        ControlFlow::Break(())
                    }
                }
            })
        });
        match (drawn, raised) {
            (_, Some(error)) => Err(error),
            (drawn, None) => drawn.map(|progress| progress.is_over()).map_err(of_files),
        }
    }

    /// Compares the runs that have ended: a table as text, and everything as JSON.
    fn compare(&self) -> PyResult<(String, String)> {
        let explain = |error: &Error| error.to_string();
        let jobs: Vec<Job> = self.solves.iter().map(|solve| solve.job(&explain)).collect();
        let compared = study::compare(&self.study, &jobs, self.left_out.clone()).map_err(of_files)?;
        Ok((compared.text(), compared.to_json()))
    }
}

/// Those of the wanted runs of a study that need nothing of Python's.
fn stated(py: Python, study: &study::Study, wanted: &HashSet<String>) -> PyResult<Vec<Solve>> {
    let mut solves = Vec::new();
    for planned in study.planned().map_err(of_files)? {
        let name = planned.name().to_string();
        if !wanted.contains(&name) {
            continue;
        }
        let file = Reader::default().read(&printable(&planned.problem), &name, &planned.text);
        let Some(file) = file.ok().filter(|file| !file.problem.env().is_external()) else { continue };
        let plan = Plan { method: file.method.clone(), budget: file.budget.clone(), seed: file.seed };
        let problem = Problem::of_file(file, Externals::default());
        solves.push(Solve { problem: Py::new(py, problem)?, plan: Py::new(py, plan)?, planned });
    }
    Ok(solves)
}

impl Solve {
    fn job<'a>(&'a self, explain: &'a (dyn Fn(&Error) -> String + Sync)) -> Job<'a> {
        let Plan { method, budget, .. } = self.plan.get();
        let problem = &self.problem.get().problem;
        Job { planned: self.planned.clone(), problem, method: method.as_ref(), budget, explain }
    }
}

/// What went wrong in a problem: what Python raised, where it did.
fn explained(problem: &Problem) -> impl Fn(&Error) -> String + Sync + '_ {
    |error| match problem.raised() {
        None => error.to_string(),
        Some(raised) => Python::attach(|py| {
            let name =
                raised.get_type(py).name().map_or_else(|_| "Exception".into(), |name| name.to_string());
            format!("{name}: {}", raised.value(py))
        }),
    }
}

fn goes_on(py: Python, progress: &Progress, watch: Option<&Py<PyAny>>) -> PyResult<bool> {
    py.check_signals()?;
    let Some(watch) = watch else { return Ok(true) };
    let line = PyDict::new(py);
    line.set_item("done", progress.done)?;
    line.set_item("running", progress.running)?;
    line.set_item("failed", progress.failed)?;
    line.set_item("waiting", progress.waiting)?;
    line.set_item("left", progress.left.map(|left| left.as_secs_f64()))?;
    line.set_item("text", progress.to_string())?;
    let answer = watch.call1(py, (line,))?;
    Ok(answer.is_none(py) || answer.is_truthy(py)?)
}
