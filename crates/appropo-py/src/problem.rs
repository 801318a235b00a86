use std::path::PathBuf;
use std::sync::Arc;

use appropo::env::explicit::Asked;
use appropo::env::{EnvSpec, Environment, Space};
use appropo::error::{Error, Result};
use appropo::measurement::Measures;
use appropo::method::{Budget, Method};
use appropo::options::{Entry, Table};
use appropo::problem::Direction;
use appropo::registry::Registry;
use appropo::utility::Utility;
use appropo_file::{Externals, ProblemFile, Reader, custom_sets, printable, written, written_solve};
use appropo_run::about::About;
use appropo_run::{Directory, files};
use pyo3::prelude::*;

use crate::Raised;
use crate::constraint::Constraint;
use crate::dataset::Dataset;
use crate::errors::{of_files, of_library, of_problem};
use crate::explicit::ExplicitModel;
use crate::model::Model;
use crate::space::Size;
use crate::world::{PythonWorld, World};
use crate::{options, oracle};

/// An environment as a problem has it.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct Env {
    spec: EnvSpec,
    /// The horizon that its options state.
    horizon: Option<usize>,
    raised: Raised,
}

#[pymethods]
impl Env {
    /// A built-in environment with these options.
    #[staticmethod]
    fn built_in(
        name: &str,
        settings: &Bound<PyAny>,
        discount: f64,
        horizon: Option<usize>,
    ) -> PyResult<Self> {
        let mut table = options::table(settings)?;
        table.set("name", name);
        horizon.into_iter().for_each(|horizon| table.set("horizon", horizon));
        let problem = Reader::default().environment(&table, discount).map_err(of_problem)?;
        let horizon = problem.discounting().horizon();
        Ok(Self { spec: problem.env().clone(), horizon, raised: Raised::default() })
    }

    /// A known model.
    #[staticmethod]
    fn model(model: &Model, about: &str) -> Self {
        let spec = EnvSpec::from(Arc::clone(&model.0)).given_by_caller();
        let spec = described(spec, about);
        Self { spec, horizon: None, raised: Raised::default() }
    }

    /// A model as model checkers keep it, with what is asked of it. One of a file is named by it.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn explicit(
        model: &ExplicitModel,
        rewards: Option<Vec<String>>,
        reach: Vec<String>,
        time: Vec<String>,
        average: Vec<String>,
        share: Vec<String>,
        end: Vec<String>,
        file: Option<&str>,
        about: &str,
    ) -> PyResult<Self> {
        let asked = Asked { rewards, reach, time, average, share, end };
        let world = model.0.world(&asked).map_err(|error| of_library(&error))?;
        let spec = EnvSpec::from(Arc::new(world));
        let spec = match file {
            None => described(spec.given_by_caller(), about),
            Some(file) => {
                let mut options = Table::new([("model", file)]);
                options.set("checksum", model.0.checksum());
                let given = [
                    ("reach", &asked.reach),
                    ("time", &asked.time),
                    ("average", &asked.average),
                    ("share", &asked.share),
                    ("end", &asked.end),
                ];
                for (key, names) in given {
                    if !names.is_empty() {
                        options.set(key, names.as_slice());
                    }
                }
                asked.rewards.iter().for_each(|names| options.set("rewards", names.as_slice()));
                spec.stated_as(appropo::env::explicit::NAME, options)
            }
        };
        Ok(Self { spec, horizon: None, raised: Raised::default() })
    }

    /// Logged episodes, in which nobody can play. Those of a file are named by it.
    #[staticmethod]
    fn logged(dataset: &Dataset, file: Option<&str>, about: &str) -> Self {
        let spec = EnvSpec::from(Arc::clone(&dataset.0));
        let spec = match file {
            None => described(spec.given_by_caller(), about),
            Some(file) => {
                let mut options = Table::new([("dataset", file), ("checksum", dataset.0.checksum())]);
                let counts = [("states", spec.observations().count()), ("choices", spec.actions().count())];
                for (key, count) in counts {
                    count.into_iter().for_each(|count| options.set(key, count));
                }
                if let Space::Continuous(bounds) = spec.actions()
                    && bounds.iter().all(|(low, high)| low.is_finite() && high.is_finite())
                {
                    options.set("lower", bounds.iter().map(|(low, _)| *low).collect::<Vec<_>>());
                    options.set("upper", bounds.iter().map(|(_, high)| *high).collect::<Vec<_>>());
                }
                spec.stated_as(appropo::env::logged::NAME, options)
            }
        };
        Self { spec, horizon: None, raised: Raised::default() }
    }

    /// Environments that `make(copy)` makes, `num_envs` of which are played in at once.
    #[staticmethod]
    fn external(
        make: Py<PyAny>,
        observations: Size,
        actions: Size,
        measures: Vec<(String, usize)>,
        num_envs: usize,
        about: &str,
    ) -> Self {
        let raised = Raised::default();
        let spaces: (Space, Space) = (observations.into(), actions.into());
        let measures = Measures::new(measures.iter().map(|(name, count)| (name.as_str(), *count)));
        let (kept, known, of) = (raised.clone(), measures.clone(), spaces.clone());
        let make = move |copy: Option<usize>| {
            let made = Python::attach(|py| {
                let world = make.call1(py, (copy,))?;
                PythonWorld::new(world.bind(py), known.clone(), of.clone(), kept.clone())
            });
            made.map(|world| Box::new(world) as Box<dyn Environment>).map_err(|error| {
                kept.keep(error);
                Error::External { what: "making the environment" }
            })
        };
        let spec = described(EnvSpec::external(measures, spaces, num_envs, make), about);
        Self { spec, horizon: None, raised }
    }
}

/// An environment of Python's, as files describe it.
fn described(spec: EnvSpec, about: &str) -> EnvSpec {
    let options = appropo::env::external::description(&spec, about);
    spec.stated_as(appropo::env::external::NAME, options)
}

/// A problem: an environment, how its measurements add up, and the constraints.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct Problem {
    pub(crate) problem: appropo::problem::Problem,
    externals: Externals,
    /// The table of how to solve that came with it.
    settings: Table,
    pub(crate) raised: Raised,
    /// What the sets' own functions raised.
    of_sets: Vec<Raised>,
}

#[pymethods]
impl Problem {
    /// A problem in an environment.
    #[new]
    fn new(
        name: &str,
        env: &Env,
        constraints: Vec<PyRef<'_, Constraint>>,
        discount: f64,
        horizon: Option<usize>,
    ) -> PyResult<Self> {
        let built = appropo::problem::Problem::builder(env.spec.clone())
            .name(name)
            .discount(discount)
            .horizon(horizon.or(env.horizon))
            .constraints(constraints.iter().map(|constraint| constraint.constraint.clone()))
            .build();
        let problem = built.map_err(|error| of_library(&error))?;
        let externals = Externals {
            env: env.spec.is_external().then(|| env.spec.clone()),
            sets: custom_sets(&problem),
            ..Externals::default()
        };
        let of_sets = constraints.iter().flat_map(|constraint| constraint.raised.iter().cloned()).collect();
        Ok(Self { problem, externals, settings: Table::default(), raised: env.raised.clone(), of_sets })
    }

    /// A problem file, or the built-in problem of this name.
    #[staticmethod]
    fn load(name_or_path: &str) -> PyResult<Self> {
        let file = Reader::default().load(name_or_path).map_err(of_problem)?;
        Ok(Self::of_file(file, Externals::default()))
    }

    /// The problem of a run. Where its environment, its sets or its oracle are Python's, those of `given` are; where
    /// nothing is given, what came out can be read, and nothing judged again.
    #[staticmethod]
    fn of_run(folder: PathBuf, given: Option<&Problem>, oracle: Option<Bound<PyAny>>) -> PyResult<Self> {
        let raised = given.map_or_else(Raised::default, |given| given.raised.clone());
        let oracle = oracle.map(|oracle| oracle::external(&oracle, raised.clone())).transpose()?;
        let externals = given.map_or_else(Externals::default, |given| given.externals.clone());
        let externals = Externals { oracle, is_partial: given.is_none(), ..externals };
        let directory = Directory::read(&folder).map_err(of_files)?;
        let file = problem_of(&directory, &externals)?;
        let mut problem = Self::of_file(file, externals);
        if let Some(given) = given {
            (problem.raised, problem.of_sets) = (raised, given.of_sets.clone());
        }
        Ok(problem)
    }

    /// The same problem with an objective, which is to be as large as the constraints allow, or as small.
    fn with_objective(&self, utility: &Bound<PyAny>, is_maximum: bool) -> PyResult<Self> {
        let direction = if is_maximum { Direction::Maximize } else { Direction::Minimize };
        let value = options::value(utility)?;
        let env = self.problem.env();
        let entry = Entry::alone("objective", &value);
        let utility = Utility::read(&entry, env.measures(), &|name| env.vector(name));
        let problem = utility
            .map_err(Error::from)
            .and_then(|utility| self.problem.clone().with_objective(utility, direction));
        Ok(Self {
            problem: problem.map_err(|error| of_library(&error))?,
            externals: self.externals.clone(),
            settings: self.settings.clone(),
            raised: self.raised.clone(),
            of_sets: self.of_sets.clone(),
        })
    }

    /// What it is called.
    #[getter]
    fn name(&self) -> &str {
        self.problem.name()
    }

    /// γ.
    #[getter]
    fn discount(&self) -> f64 {
        self.problem.discounting().gamma()
    }

    /// Steps after which an episode is cut off.
    #[getter]
    fn horizon(&self) -> Option<usize> {
        self.problem.discounting().horizon()
    }

    /// How many constraints there are.
    #[getter]
    fn constraints(&self) -> usize {
        self.problem.target().constraints().len()
    }

    /// Names and numbers of entries of the measures.
    #[getter]
    fn measures(&self) -> Vec<(String, usize)> {
        self.problem.measures().iter().map(|(name, range)| (name.to_owned(), range.len())).collect()
    }

    /// The map, where the states are cells of one.
    #[getter]
    fn grid(&self) -> Option<Vec<String>> {
        let grid = self.problem.env().grid()?;
        Some(grid.cells.chunks(grid.columns).map(|row| row.iter().collect()).collect())
    }

    /// The environment, to act in.
    fn world(&self) -> PyResult<World> {
        let env = self.problem.env().make(self.problem.discounting().horizon());
        Ok(World::new(env.map_err(|error| of_library(&error))?))
    }

    /// How to solve it: options as the table [solve] of a problem file has them.
    #[pyo3(signature = (settings, oracle = None))]
    fn plan(&self, settings: &Bound<PyAny>, oracle: Option<Bound<PyAny>>) -> PyResult<Plan> {
        let mut table = self.settings.clone();
        appropo_file::overlay(&mut table, &options::table(settings)?);
        let oracle = oracle.map(|oracle| oracle::external(&oracle, self.raised.clone())).transpose()?;
        let reader =
            Reader { externals: Externals { oracle, ..self.externals.clone() }, ..Reader::default() };
        let (method, budget, seed) = reader.solve(&self.problem, &table).map_err(of_problem)?;
        Ok(Plan { method, budget, seed })
    }

    /// The problem as a file with every default written out.
    fn resolved(&self, plan: &Plan) -> PyResult<String> {
        self.text(plan).map_err(|error| of_library(&error))
    }

    /// Whether its environment is Python's.
    #[getter]
    fn is_external(&self) -> bool {
        self.problem.env().is_external()
    }

    /// What is Python's and was not given, if anything is.
    #[getter]
    fn missing(&self) -> Option<String> {
        if self.problem.env().is_external() && self.externals.env.is_none() {
            return Some("the environment of this problem".into());
        }
        let mut stated = self.problem.target().constraints().iter().flat_map(|constraint| &constraint.stated);
        let custom = stated.find(|stated| self.externals.is_partial && stated.key == "custom")?;
        Some(format!("the set {}", custom.value))
    }
}

/// A method with its options, what it may take, and the seed.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct Plan {
    pub(crate) method: Arc<dyn Method>,
    pub(crate) budget: Budget,
    pub(crate) seed: u64,
}

fn problem_of(directory: &Directory, externals: &Externals) -> PyResult<ProblemFile> {
    let about: About = directory.read_json(files::RUN).map_err(of_files)?;
    let text = directory.read_text(files::PROBLEM).map_err(of_files)?;
    let path = directory.file(files::PROBLEM).display().to_string();
    let reader = Reader { externals: externals.clone(), ..Reader::default() };
    reader.read(&printable(&about.problem), &path, &text).map_err(of_problem)
}

impl Problem {
    pub(crate) fn of_file(file: ProblemFile, externals: Externals) -> Self {
        let (raised, of_sets) = (Raised::default(), Vec::new());
        Self { problem: file.problem, externals, settings: file.settings, raised, of_sets }
    }

    pub(crate) fn text(&self, plan: &Plan) -> Result<String> {
        let registry = Registry::standard();
        let Plan { method, budget, seed } = plan;
        let solve = written_solve(&self.problem, method.as_ref(), budget, *seed, &registry)?;
        Ok(written(&self.problem, &registry) + &solve)
    }

    pub(crate) fn about(&self, plan: &Plan) -> About {
        About {
            version: env!("CARGO_PKG_VERSION").into(),
            problem: self.problem.name().into(),
            seed: plan.seed,
            command: match plan.method.name() {
                "distil" => "appropo distil RUN".into(),
                _ => format!("appropo solve {}", files::PROBLEM),
            },
        }
    }

    /// Lets go of what was raised before.
    pub(crate) fn forget(&self) {
        self.raised();
    }

    /// What Python code raised: the first of all.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.of_sets.iter().chain([&self.raised]).fold(None, |first, raised| first.or(raised.take()))
    }

    pub(crate) fn unless_raised<T>(&self, found: PyResult<T>) -> PyResult<T> {
        match self.raised() {
            Some(error) => Err(error),
            None => found,
        }
    }
}
