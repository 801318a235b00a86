//! Solving, going on with runs, and reading them.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use appropo::env::StopSignal;
use appropo::error::{Error, Result};
use appropo::method::Budget;
use appropo::outcome::{Outcome as Found, RoundLine};
use appropo::scalars::{Scalar, scalars};
use appropo::solver::{Observer, Observers, Phase, Progress, Round};
use appropo_run::record::{Recorder, complete, reopen};
use appropo_run::result::Revive;
use appropo_run::{Directory, StopRequest, files, result};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{of_files, of_library};
use crate::outcome::{Outcome, verified};
use crate::problem::{Plan, Problem};
use crate::workers::Pool;
use crate::{Raised, oracle};

/// How long Python waits at most until it learns of Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// What went wrong in a solve: in the library, or with its files.
type Solved = std::result::Result<Found, appropo_run::Error>;

/// Solves the problem; where a folder is given, the run is recorded there. After every round `observe(line)` is
/// called, unless it is None; it ends the search by returning False. `progress(line)` is called now and then within what
/// takes long. Returns the outcome and whether Ctrl-C ended it.
#[pyfunction]
#[pyo3(signature = (problem, plan, folder = None, every = 60.0, observe = None, progress = None, workers = None))]
#[allow(clippy::too_many_arguments)]
pub fn solve(
    py: Python,
    problem: &Problem,
    plan: &Plan,
    folder: Option<PathBuf>,
    every: f64,
    observe: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
    workers: Option<Bound<PyAny>>,
) -> PyResult<(Outcome, bool)> {
    problem.forget();
    let every = Duration::try_from_secs_f64(every).unwrap_or(Duration::MAX);
    let watch = Watch::new(problem, observe, progress);
    let budget = within(problem, plan, workers)?;
    let solved = py.detach(|| recorded(problem, plan, &budget, folder.as_deref(), every, watch));
    finished(problem, py, solved)
}

/// Goes on with the run in a folder, as `solve` does from the start.
#[pyfunction]
#[pyo3(signature = (problem, plan, folder, every = 60.0, observe = None, oracle = None, progress = None, workers = None))]
#[allow(clippy::too_many_arguments)]
pub fn resume(
    py: Python,
    problem: &Problem,
    plan: &Plan,
    folder: PathBuf,
    every: f64,
    observe: Option<Py<PyAny>>,
    oracle: Option<Bound<PyAny>>,
    progress: Option<Py<PyAny>>,
    workers: Option<Bound<PyAny>>,
) -> PyResult<(Outcome, bool)> {
    problem.forget();
    let revive = oracle.map(|oracle| oracle::revives(&oracle, problem.raised.clone()));
    let every = Duration::try_from_secs_f64(every).unwrap_or(Duration::MAX);
    let watch = Watch::new(problem, observe, progress);
    let budget = within(problem, plan, workers)?;
    let solved = py.detach(|| resumed(problem, plan, &budget, &folder, every, watch, revive.as_ref()));
    finished(problem, py, solved)
}

/// The outcome of the run in a folder.
#[pyfunction]
#[pyo3(signature = (problem, folder, oracle = None))]
pub fn outcome(problem: &Problem, folder: PathBuf, oracle: Option<Bound<PyAny>>) -> PyResult<Outcome> {
    problem.forget();
    let revive = oracle.map(|oracle| oracle::revives(&oracle, problem.raised.clone()));
    let directory = Directory::read(&folder).map_err(of_files)?;
    let found = result::read(&directory, &problem.problem, revive.as_ref());
    problem.unless_raised(found.map_err(of_files)).map(|found| Outcome::new(found, problem))
}

/// What was checked of the claim of the run in a folder, and whether it holds.
#[pyfunction]
#[pyo3(signature = (problem, plan, folder, seed = None, oracle = None))]
pub fn verify(
    py: Python,
    problem: &Problem,
    plan: &Plan,
    folder: PathBuf,
    seed: Option<u64>,
    oracle: Option<Bound<PyAny>>,
) -> PyResult<(String, bool)> {
    problem.forget();
    let revive = oracle.map(|oracle| oracle::revives(&oracle, problem.raised.clone()));
    let directory = Directory::read(&folder).map_err(of_files)?;
    let (inner, budget) = (&problem.problem, &plan.budget);
    let found = py.detach(|| {
        appropo_run::verify::verify(
            &directory,
            inner,
            (plan.method.as_ref(), budget, plan.seed),
            seed,
            revive.as_ref(),
        )
    });
    let verification = problem.unless_raised(found.map_err(of_files))?;
    Ok(verified(&verification.lines, &verification.outcome))
}

/// What a solve may take: it ends with Ctrl-C, and workers play for it where there are any.
fn within(problem: &Problem, plan: &Plan, workers: Option<Bound<PyAny>>) -> PyResult<Budget> {
    let budget = plan.budget.clone().until(stop(problem.raised.clone()));
    Ok(match workers {
        None => budget,
        Some(pool) => budget.on(Arc::new(Pool::new(&pool, problem.raised.clone())?)),
    })
}

fn recorded(
    problem: &Problem,
    plan: &Plan,
    budget: &Budget,
    folder: Option<&Path>,
    every: Duration,
    mut watch: Watch,
) -> Solved {
    let Plan { method, seed, .. } = plan;
    let Some(folder) = folder else {
        return Ok(problem.problem.solve(method.as_ref(), budget, *seed, &mut watch)?);
    };
    let text = problem.text(plan)?;
    let mut recorder = Recorder::begin(folder, &problem.about(plan), &problem.problem, &text, every)?;
    let budget = budget.clone().until(stop_or_asked(problem.raised.clone(), recorder.stop_request()));
    let mut observers = Observers(vec![&mut recorder, &mut watch]);
    let found = problem.problem.solve(method.as_ref(), &budget, *seed, &mut observers)?;
    recorder.take_failure()?;
    recorder.finish(&found)?;
    Ok(found)
}

fn resumed(
    problem: &Problem,
    plan: &Plan,
    budget: &Budget,
    folder: &Path,
    every: Duration,
    mut watch: Watch,
    revive: Option<&Revive>,
) -> Solved {
    let Plan { method, seed, .. } = plan;
    let directory = Directory::open(folder)?;
    if directory.has(files::RESULT) {
        let found = result::read(&directory, &problem.problem, revive)?;
        if !reopen(&directory, &found)? {
            complete(&directory, &problem.problem)?;
            return Ok(found);
        }
    }
    let (mut recorder, from) = Recorder::resume(directory, &problem.problem, every)?;
    let budget = budget.clone().until(stop_or_asked(problem.raised.clone(), recorder.stop_request()));
    let mut observers = Observers(vec![&mut recorder, &mut watch]);
    let found = problem.problem.resume(method.as_ref(), &budget, *seed, from, &mut observers)?;
    recorder.take_failure()?;
    recorder.finish(&found)?;
    Ok(found)
}

/// The outcome, or what Python raised on the way to it.
fn finished(problem: &Problem, py: Python, solved: Solved) -> PyResult<(Outcome, bool)> {
    let is_interrupt = |error: &PyErr| error.is_instance_of::<PyKeyboardInterrupt>(py);
    match (solved, problem.raised()) {
        (Ok(found), Some(error)) if is_interrupt(&error) => Ok((Outcome::new(found, problem), true)),
        (_, Some(error)) => Err(error),
        (Err(error), None) => Err(of_files(error)),
        (Ok(found), None) => match found.failure().cloned() {
            None => Ok((Outcome::new(found, problem), false)),
            Some(Error::Interrupted) => Ok((Outcome::new(found, problem), true)),
            Some(error) => Err(of_library(&error)),
        },
    }
}

/// Shows rounds to a function of Python's, and asks whether Ctrl-C was pressed.
struct Watch<'a> {
    problem: &'a Problem,
    scalars: Vec<Scalar>,
    observe: Option<Py<PyAny>>,
    progress: Option<Py<PyAny>>,
    asked: Instant,
}

impl<'a> Watch<'a> {
    fn new(problem: &'a Problem, observe: Option<Py<PyAny>>, progress: Option<Py<PyAny>>) -> Self {
        Self { problem, scalars: scalars(&problem.problem), observe, progress, asked: Instant::now() }
    }

    fn show(&self, py: Python, round: &Round) -> PyResult<ControlFlow<()>> {
        py.check_signals()?;
        let Some(observe) = &self.observe else { return Ok(ControlFlow::Continue(())) };
        let line = RoundLine::of(round, &self.problem.problem, &self.scalars);
        let answer = observe.call1(py, (shown(py, &line, &self.scalars)?,))?;
        let goes_on = answer.is_none(py) || answer.is_truthy(py)?;
        Ok(if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    }
}

impl Observer for Watch<'_> {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        if self.observe.is_none() && self.asked.elapsed() < PATIENCE {
            return Ok(ControlFlow::Continue(()));
        }
        self.asked = Instant::now();
        Python::attach(|py| self.show(py, round)).map_err(|error| {
            self.problem.raised.keep(error);
            Error::External { what: "the callback" }
        })
    }

    fn progress(&mut self, part: &Progress) -> Result<()> {
        let Some(progress) = self.progress.as_ref().filter(|_| self.asked.elapsed() >= PATIENCE) else {
            return Ok(());
        };
        self.asked = Instant::now();
        let shown = Python::attach(|py| progress.call1(py, (advanced(py, part)?,)).map(drop));
        shown.map_err(|error| {
            self.problem.raised.keep(error);
            Error::External { what: "the callback" }
        })
    }
}

/// How far a part of a solve has got, as a dictionary.
fn advanced<'py>(py: Python<'py>, part: &Progress) -> PyResult<Bound<'py, PyDict>> {
    let line = PyDict::new(py);
    let phase = match part.phase {
        Phase::Learning => "learning",
        Phase::Evaluation => "evaluation",
    };
    line.set_item("phase", phase)?;
    line.set_item("episodes", part.episodes)?;
    line.set_item("samples", part.samples)?;
    line.set_item("of", part.of)?;
    line.set_item("open", (part.open)())?;
    Ok(line)
}

/// Asks Python now and then whether Ctrl-C was pressed.
pub(crate) fn stop(raised: Raised) -> StopSignal {
    let asked = std::sync::Mutex::new(Instant::now());
    Arc::new(move || {
        let Ok(mut asked) = asked.lock() else { return true };
        if asked.elapsed() < PATIENCE {
            return false;
        }
        *asked = Instant::now();
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => false,
            Err(error) => {
                raised.keep(error);
                true
            }
        }
    })
}

/// The same, and whether someone asked the run to stop by a file in its folder.
fn stop_or_asked(raised: Raised, asked: StopRequest) -> StopSignal {
    let stop = stop(raised);
    Arc::new(move || stop() || asked.is_overdue())
}

/// A round as a dictionary.
fn shown<'py>(py: Python<'py>, line: &RoundLine, scalars: &[Scalar]) -> PyResult<Bound<'py, PyDict>> {
    let named = |values: &[f64]| -> HashMap<String, f64> {
        scalars.iter().zip(values).map(|(scalar, value)| (scalar.name.clone(), *value)).collect()
    };
    let round = PyDict::new(py);
    round.set_item("round", line.round)?;
    round.set_item("samples", line.samples)?;
    round.set_item("distance", line.distance)?;
    round.set_item("lower_bound", line.lower_bound)?;
    if let Some(objective) = line.objective {
        round.set_item("objective", objective)?;
    }
    round.set_item("lam", named(&line.lam))?;
    round.set_item("answer", named(&line.answer))?;
    round.set_item("mixture", named(&line.mixture))?;
    Ok(round)
}
