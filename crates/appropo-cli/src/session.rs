//! What the command line does, for programs that bring worlds and sets of their own.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use appropo::env::{Environment, Grid, TabularMdp};
use appropo::error::Error;
use appropo::policy::{AnyPolicy, Mixed};
use appropo::set::SharedSet;
use appropo_run::{Directory, page};

use crate::Failure;
use crate::args::Search;
use crate::commands;
use crate::ended;
use crate::problem::{self, ENVIRONMENTS, OUTSIDE, Problem};
use crate::progress::Progress;
use crate::record::{About, PROBLEM, Recorder};
use crate::run::{self, End};

pub use crate::problem::{Answer, Make, Oracle, OutsideWorld, Revive, Stop, Surroundings};
pub use crate::record::Observe;

/// A problem with what it refers to beyond its file.
pub struct Session {
    problem: Problem,
}

impl Session {
    /// Reads the text of a problem file.
    pub fn new(name: &str, text: &str, surroundings: &Surroundings) -> Result<Self, Failure> {
        Ok(Self { problem: Problem::parse(name, text, surroundings)? })
    }

    /// The measures, with their numbers of entries.
    pub fn measures(&self) -> Vec<(String, usize)> {
        let measures = self.problem.world.measures();
        measures.iter().map(|(name, range)| (name.to_owned(), range.len())).collect()
    }

    /// The problem as a file with every default written out.
    pub fn resolved(&self) -> Result<String, Failure> {
        Ok(self.problem.resolved(&self.problem.settings)?)
    }

    /// The model, where the world has one.
    pub fn model(&self) -> Option<&TabularMdp> {
        self.problem.world.model().map(AsRef::as_ref)
    }

    /// The map, where the states are cells of one.
    pub fn grid(&self) -> Option<&Grid> {
        self.problem.world.grid()
    }

    /// Another copy of the world.
    pub fn play(&self) -> Box<dyn Environment> {
        self.problem.world.play(self.problem.discounting.horizon())
    }

    /// Solves the problem, and writes the run into a folder that is empty or not there yet. Returns what went wrong on
    /// the way, where the result is what had been found by then.
    pub fn solve(&self, folder: &Path, every: Duration, observe: Observe) -> Result<Option<Error>, Failure> {
        let problem = &self.problem;
        if problem.target.constraints().is_empty() {
            return Err(Failure::Input("the problem has no constraint; add one".into()));
        }
        let about = About {
            version: env!("CARGO_PKG_VERSION").into(),
            problem: problem.name.clone(),
            seed: problem.settings.seed,
            command: format!("appropo solve {PROBLEM}"),
        };
        let progress = Progress::new(problem, problem.settings.samples, true);
        let recorder = Recorder::begin(folder, problem, &problem.settings, &about, every, progress)?;
        Ok(failure(run::to_its_end(problem, &problem.settings, recorder.observed_by(observe), None)?))
    }

    /// Goes on with a run of this problem from its last checkpoint, as [`Self::solve`] does from the start.
    pub fn resume(&self, folder: &Path, every: Duration, observe: Observe) -> Result<Option<Error>, Failure> {
        let directory = Directory::open(folder)?;
        let problem = Problem::load_run(&directory, self.surroundings())?;
        Ok(failure(run::resume(directory, &problem, every, observe, true)?))
    }

    /// The largest value of a measure subject to the constraints (`sign` 1), or the least (−1): what was found as JSON,
    /// and the mixed policy.
    pub fn optimize(&self, measure: &str, sign: f64) -> Result<(String, Mixed<AnyPolicy>), Failure> {
        let problem = &self.problem;
        let (report, mixture) = commands::optimum(problem, &problem.settings, measure, Search::Master, sign)?;
        let text = serde_json::to_string(&report).map_err(|error| Failure::Other(error.to_string()))?;
        Ok((text, mixture.map(|policy| AnyPolicy::Table(policy.clone()))))
    }

    /// The mixed policy of a run.
    pub fn policy(&self, folder: &Path) -> Result<Mixed<AnyPolicy>, Failure> {
        let directory = Directory::read(folder)?;
        let problem = Problem::load_run(&directory, self.surroundings())?;
        commands::load_alive(&directory, &problem)
    }

    /// What was checked of a run's claim, and whether it holds.
    pub fn verify(&self, folder: &str, seed: Option<u64>) -> Result<(String, bool), Failure> {
        let output = commands::verify(folder, seed, self.surroundings())?;
        Ok((output.text, output.status == 0))
    }

    /// What fresh episodes of a run's mixture measure, as JSON.
    pub fn evaluate(&self, folder: &str, episodes: usize, seed: u64) -> Result<String, Failure> {
        Ok(commands::evaluate(folder, episodes, seed, true, self.surroundings())?.text)
    }

    /// The constraints of a run that has ended, as the command line shows them: name, measure, value, requirement, slack
    /// and whether it holds. Then what fresh episodes say, and the budget that was used up.
    pub fn table(&self, folder: &Path) -> Result<(Vec<[String; 6]>, Vec<String>), Failure> {
        let directory = Directory::read(folder)?;
        let problem = Problem::load_run(&directory, self.surroundings())?;
        let report = ended::report(&directory, &problem, &problem.settings)?;
        let remarks = [Some(report.evidence.clone()), report.used_up(&problem.settings)];
        let remarks = remarks.into_iter().flatten().filter(|remark| !remark.is_empty()).collect();
        Ok((report.rows(&problem), remarks))
    }

    /// The page of a run, or the comparison of several.
    pub fn report(&self, folders: &[String]) -> Result<String, Failure> {
        let page =
            |folder: &String| commands::page(&Directory::read(Path::new(folder))?, self.surroundings());
        Ok(page::render(&folders.iter().map(page).collect::<Result<Vec<_>, _>>()?))
    }

    /// Writes the networks of a run as ONNX files with the mixture's weights beside them.
    pub fn export(&self, folder: &str, file: &str) -> Result<String, Failure> {
        Ok(commands::export(folder, file, self.surroundings())?.text)
    }

    fn surroundings(&self) -> &Surroundings {
        &self.problem.surroundings
    }
}

fn failure(end: End) -> Option<Error> {
    match end {
        End::Done { failure } => failure,
        End::Stopped => Some(Error::Interrupted),
    }
}

/// The names of the built-in worlds.
pub fn worlds() -> impl Iterator<Item = &'static str> {
    ENVIRONMENTS.iter().map(|environment| environment.name).filter(|name| *name != OUTSIDE)
}

/// The text of a built-in problem.
pub fn built_in(name: &str) -> Option<&'static str> {
    problem::BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The set that a line of a problem file states, such as `at_most = 0.2`, for vectors of `dim` entries; and how it is
/// shown to people.
pub fn set(
    line: &str,
    dim: usize,
    sets: &HashMap<String, SharedSet>,
) -> Result<(SharedSet, String), Failure> {
    Ok(problem::set_of(line, dim, sets)?)
}
