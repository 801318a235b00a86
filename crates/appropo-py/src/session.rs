use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use appropo::env::{Environment, Space};
use appropo::error::Error;
use appropo::measurement::Measures;
use appropo_cli::session::{self, OutsideWorld, Surroundings};
use appropo_run::RoundLine;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::Raised;
use crate::errors::{of_failure, of_library};
use crate::model::Model;
use crate::oracle;
use crate::policy::Policy;
use crate::set::ConvexSet;
use crate::world::{PythonWorld, World};

/// How long Python waits at most until it learns of Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// A number of elements, or the bounds of each number.
#[derive(FromPyObject)]
enum Size {
    Count(usize),
    Bounds(Vec<(f64, f64)>),
}

impl From<Size> for Space {
    fn from(size: Size) -> Self {
        match size {
            Size::Count(count) => Space::Discrete(count),
            Size::Bounds(bounds) => Space::Continuous(bounds),
        }
    }
}

/// A world that Python gives.
#[derive(FromPyObject)]
enum Given {
    Model(Py<Model>),
    Outside(Outside),
}

/// How Python makes worlds, and of what kind they are.
#[derive(FromPyObject)]
struct Outside {
    make: Py<PyAny>,
    observations: Size,
    actions: Size,
    measures: Vec<(String, usize)>,
    /// How many are played in at once.
    lanes: usize,
}

/// A problem with the world and the sets that Python gives it.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct Session {
    session: session::Session,
    raised: Raised,
    /// What the sets' own functions raised.
    of_sets: Vec<Raised>,
}

#[pymethods]
impl Session {
    /// Reads a problem. `world` is a model, or says how to make a world; `sets` are those that the text names.
    #[new]
    #[pyo3(signature = (name, text, world = None, sets = HashMap::new(), oracle = None))]
    fn new(
        name: &str,
        text: &str,
        world: Option<Given>,
        sets: HashMap<String, Py<ConvexSet>>,
        oracle: Option<Bound<PyAny>>,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let of_sets = sets.values().flat_map(|set| set.get().raised.clone()).collect();
        let surroundings = Surroundings {
            world: world.map(|world| outside(world, raised.clone())),
            sets: sets.into_iter().map(|(name, set)| (name, Arc::clone(&set.get().set))).collect(),
            oracle: oracle.as_ref().map(|oracle| oracle::answers(oracle, raised.clone())),
            revive: oracle.as_ref().map(|oracle| oracle::revives(oracle, raised.clone())),
            stop: Some(stop(raised.clone())),
        };
        let session = session::Session::new(name, text, &surroundings).map_err(of_failure)?;
        Ok(Self { session, raised, of_sets })
    }

    /// Names and numbers of entries of the measures.
    #[getter]
    fn measures(&self) -> Vec<(String, usize)> {
        self.session.measures()
    }

    /// The problem as a file with every default written out.
    fn resolved(&self) -> PyResult<String> {
        self.session.resolved().map_err(of_failure)
    }

    /// The map, where the states are cells of one.
    #[getter]
    fn grid(&self) -> Option<Vec<String>> {
        let grid = self.session.grid()?;
        Some(grid.cells.chunks(grid.columns).map(|row| row.iter().collect()).collect())
    }

    /// A copy of the world, to act in.
    fn world(&self) -> World {
        World::new(self.session.play())
    }

    /// Solves the problem and writes the run into a folder, or goes on with the run that is there. After every round
    /// `observe(line)` is called, unless it is None; it stops the run by returning False. Returns whether Ctrl-C ended
    /// it.
    fn solve(
        &self,
        py: Python,
        folder: PathBuf,
        resume: bool,
        every: f64,
        observe: Option<Py<PyAny>>,
    ) -> PyResult<bool> {
        self.forget();
        let mut asked = Instant::now();
        let mut watch = |line: &RoundLine| {
            if observe.is_none() && asked.elapsed() < PATIENCE {
                return Ok(ControlFlow::Continue(()));
            }
            asked = Instant::now();
            Python::attach(|py| {
                py.check_signals()?;
                let Some(observe) = &observe else { return Ok(ControlFlow::Continue(())) };
                let answer = observe.call1(py, (shown(py, line)?,))?;
                let goes_on = answer.is_none(py) || answer.is_truthy(py)?;
                Ok(if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            })
        };
        let every = Duration::try_from_secs_f64(every).unwrap_or(Duration::MAX);
        let ended = py.detach(|| {
            let observe = |line: &RoundLine| {
                watch(line).map_err(|error: PyErr| {
                    self.raised.keep(error);
                    Error::Outside { what: "the callback" }
                })
            };
            match resume {
                false => self.session.solve(&folder, every, Box::new(observe)),
                true => self.session.resume(&folder, every, Box::new(observe)),
            }
        });
        let raised = self.raised();
        match (ended, raised) {
            (_, Some(error)) if error.is_instance_of::<PyKeyboardInterrupt>(py) => Ok(true),
            (_, Some(error)) => Err(error),
            (Ok(None), None) => Ok(false),
            (Ok(Some(Error::Interrupted)), None) => Ok(true),
            (Ok(Some(error)), None) => Err(of_library(&error)),
            (Err(failure), None) => Err(of_failure(failure)),
        }
    }

    /// The optimum of a measure subject to the constraints, as JSON, with the policy.
    fn optimize(&self, py: Python, measure: &str, sign: f64) -> PyResult<(String, Policy)> {
        self.forget();
        let found = py.detach(|| self.session.optimize(measure, sign));
        let (text, mixture) = self.unless_raised(found)?;
        let world = self.session.play();
        Ok((text, Policy::new(mixture, (world.observations(), world.actions()), self.raised.clone())))
    }

    /// What was checked of a run's claim, and whether it holds.
    fn verify(&self, py: Python, folder: &str, seed: Option<u64>) -> PyResult<(String, bool)> {
        self.forget();
        let found = py.detach(|| self.session.verify(folder, seed));
        self.unless_raised(found)
    }

    /// What fresh episodes of a run's policy measure, as JSON.
    fn evaluate(&self, py: Python, folder: &str, episodes: usize, seed: u64) -> PyResult<String> {
        self.forget();
        let found = py.detach(|| self.session.evaluate(folder, episodes, seed));
        self.unless_raised(found)
    }

    /// The constraints of a run (name, measure, value, requirement, slack, whether it holds), and remarks on its end.
    #[allow(clippy::type_complexity)]
    fn table(&self, py: Python, folder: PathBuf) -> PyResult<(Vec<[String; 6]>, Vec<String>)> {
        self.forget();
        let found = py.detach(|| self.session.table(&folder));
        self.unless_raised(found)
    }

    /// The page of a run, or the comparison of several.
    fn report(&self, py: Python, folders: Vec<String>) -> PyResult<String> {
        self.forget();
        let found = py.detach(|| self.session.report(&folders));
        self.unless_raised(found)
    }

    /// Writes a run's networks as ONNX files.
    fn export(&self, folder: &str, file: &str) -> PyResult<String> {
        self.session.export(folder, file).map_err(of_failure)
    }

    /// The mixed policy of a run.
    fn policy(&self, folder: PathBuf) -> PyResult<Policy> {
        self.forget();
        let mixture = self.unless_raised(self.session.policy(&folder))?;
        let world = self.session.play();
        Ok(Policy::new(mixture, (world.observations(), world.actions()), self.raised.clone()))
    }
}

impl Session {
    /// Lets go of what was raised before.
    fn forget(&self) {
        self.raised();
    }

    /// What Python code raised: the first of all.
    fn raised(&self) -> Option<PyErr> {
        self.of_sets.iter().chain([&self.raised]).fold(None, |first, raised| first.or(raised.take()))
    }

    fn unless_raised<T>(&self, found: Result<T, appropo_cli::Failure>) -> PyResult<T> {
        match self.raised() {
            Some(error) => Err(error),
            None => found.map_err(of_failure),
        }
    }
}

/// The world of a problem.
fn outside(world: Given, raised: Raised) -> OutsideWorld {
    let Outside { make, observations, actions, measures, lanes } = match world {
        Given::Model(model) => return OutsideWorld::Model(Arc::clone(&model.get().0)),
        Given::Outside(outside) => outside,
    };
    let (observations, actions) = (Space::from(observations), Space::from(actions));
    let measures = Measures::new(measures.iter().map(|(name, count)| (name.as_str(), *count)));
    let (maker, known) = (make, measures.clone());
    let make = Arc::new(move |lane: Option<usize>| {
        let made = Python::attach(|py| {
            let world = maker.call1(py, (lane,))?;
            let spaces = (observations.clone(), actions.clone());
            PythonWorld::new(world.bind(py), measures.clone(), spaces, raised.clone())
        });
        made.map(|world| Box::new(world) as Box<dyn Environment>).map_err(|error| {
            raised.keep(error);
            Error::Outside { what: "making the environment" }
        })
    });
    OutsideWorld::Played { measures: known, make, lanes: lanes.max(1) }
}

/// Asks Python now and then whether Ctrl-C was pressed.
fn stop(raised: Raised) -> session::Stop {
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

/// A round as a dictionary.
fn shown<'py>(py: Python<'py>, line: &RoundLine) -> PyResult<Bound<'py, PyDict>> {
    let round = PyDict::new(py);
    round.set_item("round", line.round)?;
    round.set_item("samples", line.samples)?;
    round.set_item("distance", line.distance)?;
    round.set_item("lower_bound", line.lower_bound)?;
    round.set_item("lam", &line.lambda)?;
    round.set_item("answer", &line.answer)?;
    round.set_item("mixture", &line.mixture)?;
    Ok(round)
}
