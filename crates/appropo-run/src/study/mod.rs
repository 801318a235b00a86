//! Studies: many solves in one folder, from which any number of processes and machines draw.
//!
//! Nothing is needed but the folder. `PROBLEM/METHOD/SEED` are the runs that have ended; `.study/PROBLEM/METHOD/SEED` is
//! where each is planned, claimed and worked on:
//!
//! | File | |
//! | --- | --- |
//! | `plan.json` | what is to be solved, written once |
//! | `claim-N.json` | the N-th claim, made by an atomic create; its owner renews it by a counter |
//! | `run-N/` | the run of that claim, in which nobody else writes |
//! | `failure-N.json` | why that claim ended without a result |
//!
//! The claim with the largest number holds. Whoever sees one that is not renewed for long enough, by a clock of its own,
//! creates the next, copies what the run before it had saved, and goes on from there. A run that has ended moves to its
//! place by one rename of its folder, which fails where another has been faster: each has exactly one result. An owner
//! that was only slow finds the next claim, or its place taken, and leaves.

mod attempt;
mod claim;
mod compare;
mod draw;
mod progress;
mod supervise;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::directory::{parse_json, sealed_json, write_once};
use crate::error::{Error, Result, io};
use crate::{Directory, files};

pub use attempt::Job;
pub use claim::{Claim, Machine};
pub use compare::{Compared, FailedRun, LeftOut, Row, compare};
pub use draw::{Drawer, Drawn, Patience};
pub use progress::Progress;
pub use supervise::{Options, run};

/// Where a study keeps what is not a run that has ended.
const DESK: &str = ".study";
const PLAN: &str = "plan.json";

/// A solve of a study, as its folder states it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// The problem's name.
    pub problem: String,
    /// The method, as it was asked for.
    pub method: String,
    /// Where every random draw comes from.
    pub seed: u64,
    /// The problem with every setting in force, as a problem file.
    pub text: String,
}

impl Planned {
    /// What the run is called.
    pub fn name(&self) -> RunName {
        RunName::new(&self.problem, &self.method, self.seed)
    }
}

/// The name of a run in its study, which is where it lies: PROBLEM/METHOD/SEED.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunName {
    problem: String,
    method: String,
    seed: u64,
}

impl RunName {
    /// The name of a solve.
    pub fn new(problem: &str, method: &str, seed: u64) -> Self {
        Self { problem: folder_name(problem), method: folder_name(method), seed }
    }

    /// The folder within the study.
    pub fn path(&self) -> PathBuf {
        Path::new(&self.problem).join(&self.method).join(self.seed.to_string())
    }

    /// The folder of all runs of the problem within the study.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}/{}/{}", self.problem, self.method, self.seed)
    }
}

/// What is no letter, digit or one of `-_.` is `-`, and no name is hidden.
fn folder_name(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    match plain.strip_prefix('.') {
        Some(rest) => format!("-{rest}"),
        None if plain.is_empty() => "-".into(),
        None => plain,
    }
}

/// How far a run of a study is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nobody is at it.
    Waiting,
    /// It is claimed.
    Running,
    /// It ended without a result.
    Failed(String),
    /// It has ended, and its run is in its place.
    Done,
}

/// What the folder says of a run.
#[derive(Debug)]
enum Found {
    /// Free, after so many claims.
    Free(u32),
    /// Held by the last of so many claims, with the bytes of its file.
    Held(u32, Vec<u8>),
    /// The last of so many claims ended without a result.
    Failed(u32, String),
    Done,
}

#[derive(Serialize, Deserialize)]
struct Failure {
    error: String,
}

/// The folder of a study.
#[derive(Debug, Clone)]
pub struct Study {
    folder: PathBuf,
}

impl Study {
    /// A study in a folder; a new one where there is none.
    pub fn create(folder: &Path) -> Result<Self> {
        let desk = folder.join(DESK);
        fs::create_dir_all(&desk).map_err(io(folder, "made"))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// A study that is there.
    pub fn open(folder: &Path) -> Result<Self> {
        match folder.join(DESK).is_dir() {
            true => Ok(Self { folder: folder.to_owned() }),
            false => Err(Error::NoStudy { path: folder.to_owned() }),
        }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of a run that has ended.
    pub fn place(&self, name: &RunName) -> PathBuf {
        self.folder.join(name.path())
    }

    /// Where a run is planned, claimed and worked on.
    fn desk(&self, name: &RunName) -> PathBuf {
        self.folder.join(DESK).join(name.path())
    }

    /// Plans a solve. Any number of processes may plan the same; with other settings it is another study.
    pub fn add(&self, planned: &Planned) -> Result<()> {
        let name = planned.name();
        let (desk, place) = (self.desk(&name), self.place(&name));
        let path = desk.join(PLAN);
        if place.join(files::RUN).is_file()
            && !Directory::read(&place)?.read_text(files::PROBLEM)?.starts_with(&planned.text)
        {
            return Err(Error::OtherSettings { path: place });
        }
        if !path.is_file() {
            fs::create_dir_all(&desk).map_err(io(&desk, "made"))?;
            write_once(&path, sealed_json(&path, planned)?.as_bytes())?;
        }
        match read_plan(&path)? == *planned {
            true => Ok(()),
            false => Err(Error::OtherSettings { path: place }),
        }
    }

    /// All that is planned, in the order of names and seeds.
    pub fn planned(&self) -> Result<Vec<Planned>> {
        let mut plans = vec![self.folder.join(DESK)];
        for _ in 0..3 {
            let below = plans.iter().map(|folder| folders(folder)).collect::<Result<Vec<_>>>()?;
            plans = below.concat();
        }
        let mut planned = plans
            .iter()
            .map(|folder| folder.join(PLAN))
            .filter(|path| path.is_file())
            .map(|path| read_plan(&path))
            .collect::<Result<Vec<_>>>()?;
        planned.sort_by_key(Planned::name);
        Ok(planned)
    }

    /// How far a run is.
    pub fn state(&self, name: &RunName) -> Result<State> {
        Ok(match self.find(name)? {
            Found::Free(_) => State::Waiting,
            Found::Held(..) => State::Running,
            Found::Failed(_, error) => State::Failed(error),
            Found::Done => State::Done,
        })
    }

    fn is_done(&self, name: &RunName) -> bool {
        self.place(name).join(files::RESULT).is_file()
    }

    fn find(&self, name: &RunName) -> Result<Found> {
        if self.is_done(name) {
            return Ok(Found::Done);
        }
        let desk = self.desk(name);
        let number = claim::last(&desk)?;
        if number == 0 {
            return Ok(Found::Free(0));
        }
        let failure = desk.join(failure_name(number));
        if failure.is_file() {
            let bytes = fs::read(&failure).map_err(io(&failure, "read"))?;
            return Ok(Found::Failed(number, parse_json::<Failure>(&failure, &bytes)?.error));
        }
        let path = desk.join(claim::file_name(number));
        let bytes = fs::read(&path).map_err(io(&path, "read"))?;
        // It may have ended between the two looks.
        Ok(match claim::is_given_back(&bytes) {
            _ if self.is_done(name) => Found::Done,
            true => Found::Free(number),
            false => Found::Held(number, bytes),
        })
    }
}

fn failure_name(number: u32) -> String {
    format!("failure-{number}.json")
}

fn read_plan(path: &Path) -> Result<Planned> {
    parse_json(path, &fs::read(path).map_err(io(path, "read"))?)
}

/// The folders in a folder.
fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(io(folder, "read"))? {
        let path = entry.map_err(io(folder, "read"))?.path();
        if path.is_dir() {
            found.push(path);
        }
    }
    Ok(found)
}
