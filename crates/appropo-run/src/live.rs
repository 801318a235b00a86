//! A run as others see it while it goes on: its log is followed, and nothing of it is ever written.

use appropo::outcome::{RoundLine, count, number};
use appropo::problem::Problem;
use appropo::scalars::{Scalar, scalars};
use serde::Serialize;

use crate::about::{About, times};
use crate::error::Result;
use crate::follow::Follower;
use crate::page::{Constraint, Objective, Page};
use crate::presence::{self, Activity};
use crate::report::{measure_of, rounds};
use crate::{Directory, files, outline, report};

/// Whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A process works on it.
    Running,
    /// A process works on it, and was asked to stop.
    Stopping,
    /// No process works on it; the last one left it in order, and it can be gone on with.
    Stopped,
    /// No process works on it; the last one was killed, and it can be gone on with.
    Killed,
    /// It has a result.
    Ended,
}

/// What is to be seen of a run at the moment.
#[derive(Debug, Clone, Serialize)]
pub struct Snapshot {
    /// The report's page: of the result, or of what there is so far.
    #[serde(flatten)]
    pub page: Page,
    /// How the run is.
    pub live: Status,
}

/// How a run is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// Which it is of those that are watched, counted from 0.
    pub number: usize,
    /// Whether it goes on.
    pub state: State,
    /// The same in a sentence.
    pub sentence: String,
    /// What takes its steps at the moment.
    pub activity: Option<Activity>,
    /// The last rounds of its log, a line each.
    pub tail: Vec<String>,
    /// What is wrong with its files, if anything is.
    pub problem: Option<String>,
}

/// A run that is watched.
#[derive(Debug)]
pub struct Watched {
    number: usize,
    directory: Directory,
    problem: Problem,
    tolerance: f64,
    about: About,
    text: String,
    scalars: Vec<Scalar>,
    log: Follower,
    /// The page of the result, once there is one.
    ended: Option<Box<Page>>,
    last: Option<Status>,
}

impl Watched {
    /// The run of a problem in a folder, the `number`th of those that are watched; distances up to `tolerance` count as 0.
    pub fn new(number: usize, directory: Directory, problem: Problem, tolerance: f64) -> Result<Self> {
        let (about, text) = (directory.read_json(files::RUN)?, directory.read_text(files::PROBLEM)?);
        let scalars = scalars(&problem);
        let log = Follower::new(scalars.iter().map(|scalar| scalar.name.clone()).collect());
        Ok(Self { number, directory, problem, tolerance, about, text, scalars, log, ended: None, last: None })
    }

    /// Its folder.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Reads what is new. Returns whether anything is.
    pub fn look(&mut self) -> bool {
        // Before the log: what a process wrote before it ended is then in it.
        let (state, activity) = self.state();
        let followed = self.log.follow(&self.directory.file(files::ROUNDS));
        let mut problem = followed.as_ref().err().map(ToString::to_string);
        if state == State::Ended && self.ended.is_none() {
            match report::page(&self.directory, &self.problem) {
                Ok(page) => self.ended = Some(Box::new(page)),
                Err(error) => problem = Some(error.to_string()),
            }
        }
        let sentence = self.sentence(state, activity.as_ref());
        let status =
            Status { number: self.number, state, sentence, activity, tail: self.log.tail(), problem };
        let is_new = self.last.as_ref() != Some(&status);
        self.last = Some(status);
        is_new
    }

    /// What was last seen.
    pub fn snapshot(&mut self) -> Snapshot {
        let live = match self.last.clone() {
            Some(status) => status,
            None => {
                self.look();
                return self.snapshot();
            }
        };
        let page = match &self.ended {
            Some(page) => page.as_ref().clone(),
            None => self.page(&live),
        };
        Snapshot { page, live }
    }

    fn state(&self) -> (State, Option<Activity>) {
        if self.directory.has(files::RESULT) {
            return (State::Ended, None);
        }
        // In this order: a process that begins takes the lock first, and one that ends lets go of it last.
        let present = presence::read(&self.directory);
        if self.directory.is_in_use() {
            let is_asked = self.directory.has(files::STOP);
            return (if is_asked { State::Stopping } else { State::Running }, present.flatten());
        }
        // It may have ended between the two looks.
        match (self.directory.has(files::RESULT), presence::read(&self.directory)) {
            (true, _) => (State::Ended, None),
            (false, Some(_)) => (State::Killed, None),
            (false, None) => (State::Stopped, None),
        }
    }

    fn sentence(&self, state: State, activity: Option<&Activity>) -> String {
        let rounds = count(self.log.rounds(), "round", "rounds");
        let resume = format!("go on with \"appropo resume {}\"", self.directory.path().display());
        match state {
            State::Ended => format!("This run has ended after {rounds}."),
            State::Stopping => {
                format!("This run was asked to stop, and does at the end of its round; {rounds} so far.")
            }
            State::Stopped => format!("This run was stopped after {rounds}; {resume}."),
            State::Killed => {
                format!("This run was killed: its process ended without a word after {rounds}; {resume}.")
            }
            State::Running => match activity {
                None => format!("This run goes on; {rounds} so far."),
                Some(Activity { phase, episodes, samples, of, open }) => {
                    let episodes = match episodes {
                        0 => String::new(),
                        n => format!("{}, ", count(*n, "episode", "episodes")),
                    };
                    let of = if *of == 0 { String::new() } else { format!(" of at most {of}") };
                    let open = match open.as_slice() {
                        [] => String::new(),
                        open => format!(", open: {}", open.join(", ")),
                    };
                    format!(
                        "This run goes on; {rounds} so far. Now {phase}: {episodes}{samples}{of} steps{open}."
                    )
                }
            },
        }
    }

    /// The page of a run that has no result yet: what its last round says.
    fn page(&self, live: &Status) -> Page {
        let (problem, history) = (&self.problem, &self.log.history);
        let last = history.lines.last();
        let value = |i: usize| last.and_then(|line| line.mixture.get(i).copied()).unwrap_or(f64::NAN);
        let measures: Vec<_> = self
            .scalars
            .iter()
            .enumerate()
            .map(|(i, scalar)| measure_of(scalar, problem, value(i), None))
            .collect();
        let objective = problem.objective().map(|objective| {
            let found = last.and_then(|line| line.objective);
            let best = found.map_or("nothing feasible so far".into(), number);
            let (goal, measure) = (objective.direction.word(), objective.statement());
            let sentence = format!("{goal} {measure}: {best}");
            Objective { goal: goal.into(), measure, sentence, value: found, ..Objective::default() }
        });
        let times = times(&self.directory);
        Page {
            name: problem.name().to_owned(),
            verdict: format!("{:?}", live.state).to_lowercase(),
            sentence: self.found(last),
            version: self.about.version.clone(),
            seed: self.about.seed,
            command: self.about.command.clone(),
            problem: self.text.clone(),
            samples: last.map_or(0, |line| line.samples),
            oracle_calls: self.log.rounds(),
            distance: last.map_or(f64::NAN, |line| line.distance),
            lower_bound: last.map_or(f64::NAN, |line| line.lower_bound),
            tolerance: self.tolerance,
            objective,
            constraints: self.constraints(last),
            sets: outline::all(problem, history, &self.known(last), &self.scalars, &measures),
            rounds: rounds(history),
            measures,
            times: report::parts_of_time(&times),
            ..Page::default()
        }
    }

    /// How the search stands, in a sentence.
    fn found(&self, last: Option<&RoundLine>) -> String {
        let Some(RoundLine { distance, lower_bound, .. }) = last else {
            return "The first round is not over yet.".into();
        };
        let proved = match *lower_bound > 0.0 {
            true => format!("; no policy comes closer than {}", number(*lower_bound)),
            false => String::new(),
        };
        let distance = number(*distance);
        format!(
            "No result yet. The mixture is {distance} away from the target set, as the search sees it{proved}."
        )
    }

    /// The rows of the table of constraints, as the last round has them.
    fn constraints(&self, last: Option<&RoundLine>) -> Vec<Constraint> {
        let Some(last) = last else { return Vec::new() };
        let of = |name: &str| self.scalars.iter().position(|scalar| scalar.name == name);
        let row = |constraint: &appropo::constraint::Constraint| {
            let slack_of = of(&format!("slack of {}", constraint.name));
            let single = constraint.measures.first().and_then(|name| of(name)).filter(|_| slack_of.is_none());
            let value = single.and_then(|i| last.mixture.get(i).copied());
            let slack = match (value, slack_of.and_then(|i| last.mixture.get(i).copied())) {
                (_, Some(slack)) => slack,
                (Some(value), None) => constraint.set.slack(&[value]).unwrap_or(f64::NAN),
                (None, None) => f64::NAN,
            };
            let entries = constraint.set.dim();
            let per_step = if constraint.share { " per step" } else { "" };
            Constraint {
                name: constraint.name.clone(),
                measure: format!("{}{per_step}", constraint.measures.join(", ")),
                value: value.map_or_else(|| count(entries, "entry", "entries"), number),
                required: constraint.requirement(),
                slack: if slack.is_nan() { "unknown".into() } else { number(slack) },
                interval: None,
                holds: slack >= -self.tolerance * constraint.scale.max(1.0),
            }
        };
        self.problem.target().constraints().iter().map(row).collect()
    }

    /// The entries that constraints look at, as far as the log tells them.
    fn known(&self, last: Option<&RoundLine>) -> Vec<f64> {
        let mut z = vec![0.0; self.problem.target().selection().entries.len()];
        for (i, scalar) in self.scalars.iter().enumerate() {
            if let appropo::scalars::ScalarKind::Entry(held) = &scalar.kind {
                let value = last.and_then(|line| line.mixture.get(i).copied()).filter(|v| v.is_finite());
                held.iter().for_each(|(place, factor)| z[*place] = value.unwrap_or(0.0) * factor);
            }
        }
        z
    }
}
