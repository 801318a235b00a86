//! A run of a study from its claim to its end.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use appropo::error::Error as LibraryError;
use appropo::method::{Budget, Method, Resume};
use appropo::outcome::Outcome;
use appropo::problem::Problem;

use super::{Claim, Planned, RunName, Study, failure_name};
use crate::about::About;
use crate::error::{Error, Result, io};
use crate::record::{Recorder, complete};
use crate::{Directory, files};

/// Bytes of a checkpoint that tell it from any other: its beginning and its checksum.
const MARK: usize = 64;

/// Files of the process that works on a run, which another does not take up.
const OF_A_PROCESS: [&str; 3] = ["lock", files::PROGRESS, files::STOP];

/// A solve of a study: what is planned, and how it is done.
pub struct Job<'a> {
    /// What the folder says of it.
    pub planned: Planned,
    /// The problem.
    pub problem: &'a Problem,
    /// How to solve it.
    pub method: &'a dyn Method,
    /// What solving may take.
    pub budget: &'a Budget,
    /// What went wrong in words, where the library's are not enough.
    pub explain: &'a (dyn Fn(&LibraryError) -> String + Sync),
}

impl std::fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Job").field("name", &self.planned.name()).finish_non_exhaustive()
    }
}

/// Asked while a run goes on.
#[derive(Debug, Clone, Default)]
pub(super) struct Stops {
    /// To end at the next checkpoint.
    pub soon: Arc<AtomicBool>,
    /// To end at once.
    pub now: Arc<AtomicBool>,
}

/// The folder of the last run before a claim that can be gone on with.
fn predecessor(study: &Study, name: &RunName, before: u32) -> Option<PathBuf> {
    let desk = study.desk(name);
    (1..=before)
        .rev()
        .take_while(|number| !desk.join(failure_name(*number)).exists())
        .map(|number| desk.join(format!("run-{number}")))
        .find(|folder| folder.join(files::RUN).is_file())
}

/// What is saved of a run after so many claims, in a word that differs from any other.
pub(super) fn saved(study: &Study, name: &RunName, claims: u32) -> String {
    let Some(folder) = predecessor(study, name, claims) else { return "nothing".into() };
    if folder.join(files::RESULT).is_file() {
        return "result".into();
    }
    let checkpoint = fs::read(folder.join(files::CHECKPOINT)).unwrap_or_default();
    match checkpoint.len() {
        0 => "nothing".into(),
        length => crate::sealed::hexadecimal(&checkpoint[..length.min(MARK)]),
    }
}

/// Solves what is claimed, from where the run before it was, and ends the claim. `is_lost` says that another has the run.
pub(super) fn solve(
    claim: &Claim,
    job: &Job,
    every: Duration,
    stops: &Stops,
    is_lost: &Arc<AtomicBool>,
) -> Result<()> {
    let ended = attempt(claim, job, every, stops, is_lost);
    if is_lost.load(Ordering::Relaxed) || claim.is_lost() {
        let _ = fs::remove_dir_all(claim.folder());
        return Ok(());
    }
    match ended {
        Ok(Ended::Whole) => claim.finish().map(drop),
        Ok(Ended::Failed(error)) => claim.fail(&error).map(drop),
        Ok(Ended::Stopped) => claim.release(),
        Err(error) => {
            // The trouble is this machine's: another may go on.
            let _ = claim.release();
            Err(error)
        }
    }
}

enum Ended {
    Whole,
    Failed(String),
    Stopped,
}

fn attempt(
    claim: &Claim,
    job: &Job,
    every: Duration,
    stops: &Stops,
    is_lost: &Arc<AtomicBool>,
) -> Result<Ended> {
    let Job { planned, problem, method, explain, .. } = job;
    let folder = claim.folder();
    let is_taken_up = take_up(claim, &planned.text)?;
    let (recorder, from) = match is_taken_up.then(|| taken_up(&folder, problem, every)).transpose() {
        Ok(Some(TakenUp::Ended)) => return Ok(Ended::Whole),
        Ok(Some(TakenUp::Begun(recorder, from))) => (*recorder, from),
        Ok(None) => (begun(&folder, job, every)?, None),
        Err(Error::Io { .. }) if !folder.exists() => (begun(&folder, job, every)?, None),
        Err(error @ Error::Io { .. }) => return Err(error),
        // What was copied is of no use; the result is the same from the beginning.
        Err(_) => {
            remove(&folder)?;
            (begun(&folder, job, every)?, None)
        }
    };
    let is_interrupted = || stops.soon.load(Ordering::Relaxed) || is_lost.load(Ordering::Relaxed);
    let mut recorder = recorder.interrupted_by(is_interrupted);
    let request = recorder.stop_request();
    let (now, lost, asked) = (Arc::clone(&stops.now), Arc::clone(is_lost), request.clone());
    let stop = move || now.load(Ordering::Relaxed) || lost.load(Ordering::Relaxed) || asked.is_overdue();
    let budget = job.budget.clone().until(Arc::new(stop));
    let mut found = problem.resume(*method, &budget, planned.seed, from, &mut recorder);
    if matches!(found, Err(LibraryError::State { .. })) {
        drop(recorder);
        remove(&folder)?;
        recorder = begun(&folder, job, every)?.interrupted_by(is_interrupted);
        found = problem.solve(*method, &budget, planned.seed, &mut recorder);
    }
    recorder.take_failure()?;
    match ended(recorder, found, *explain)? {
        // Given back, it would be drawn again at once.
        Ended::Stopped if request.is_made() && !is_interrupted() => Ok(Ended::Failed(
            "it was stopped by a file \"stop\" in its folder; trying it again begins it anew".into(),
        )),
        ended => Ok(ended),
    }
}

fn ended(
    recorder: Recorder,
    found: appropo::error::Result<Outcome>,
    explain: &dyn Fn(&LibraryError) -> String,
) -> Result<Ended> {
    match found {
        Err(LibraryError::Interrupted) => Ok(Ended::Stopped),
        Err(error) => Ok(Ended::Failed(explain(&error))),
        Ok(outcome) => match outcome.failure() {
            Some(LibraryError::Interrupted) => Ok(Ended::Stopped),
            failure => {
                let said = failure.map(explain);
                recorder.finish(&outcome)?;
                Ok(said.map_or(Ended::Whole, Ended::Failed))
            }
        },
    }
}

fn begun<'a>(folder: &Path, job: &Job<'a>, every: Duration) -> Result<Recorder<'a>> {
    let about = About {
        version: env!("CARGO_PKG_VERSION").into(),
        problem: job.planned.problem.clone(),
        seed: job.planned.seed,
        command: format!("appropo solve {}", files::PROBLEM),
    };
    Recorder::begin(folder, &about, job.problem, &job.planned.text, every)
}

enum TakenUp<'a> {
    /// All but its report was there.
    Ended,
    Begun(Box<Recorder<'a>>, Option<Resume>),
}

fn taken_up<'a>(folder: &Path, problem: &'a Problem, every: Duration) -> Result<TakenUp<'a>> {
    let directory = Directory::open(folder)?;
    if directory.has(files::RESULT) {
        complete(&directory, problem)?;
        return Ok(TakenUp::Ended);
    }
    let (recorder, from) = Recorder::resume(directory, problem, every)?;
    Ok(TakenUp::Begun(Box::new(recorder), from))
}

/// Copies what the run before had saved into the folder of a claim. Returns whether there was anything.
fn take_up(claim: &Claim, text: &str) -> Result<bool> {
    let (study, folder) = (claim.study(), claim.folder());
    let place = study.place(claim.name());
    // A run that was begun in its place and has not ended there.
    if place.join(files::RUN).is_file() && !place.join(files::RESULT).is_file() {
        return fs::rename(&place, &folder).map(|()| true).map_err(io(&place, "moved"));
    }
    let Some(from) = predecessor(study, claim.name(), claim.number() - 1) else { return Ok(false) };
    let is_of =
        |directory: Directory| directory.read_text(files::PROBLEM).map(|found| found.starts_with(text));
    if !Directory::read(&from).and_then(is_of).unwrap_or(false) {
        return Ok(false);
    }
    match copy(&from, &folder) {
        Ok(()) => Ok(true),
        // Its owner is alive after all, and about to end; or what it wrote can't be read.
        Err(_) if !from.join(files::RUN).is_file() => {
            remove(&folder)?;
            Ok(false)
        }
        Err(error) => Err(io(&folder, "written")(error)),
    }
}

/// Copies a run that another process may be at: first what says how far the rest has come, last what makes it a run.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name().into_string().unwrap_or_default();
        if entry.file_type()?.is_file() && !name.starts_with('.') && !OF_A_PROCESS.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let has_ended = names.iter().any(|name| name == files::RESULT);
    let order = |name: &str| match name {
        files::CHECKPOINT => 0,
        files::RUN => 2,
        _ => 1,
    };
    names.retain(|name| !has_ended || name != files::CHECKPOINT);
    names.sort_by_key(|name| order(name));
    for name in names {
        match fs::copy(from.join(&name), to.join(&name)) {
            // A checkpoint goes when its run ends.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && name == files::CHECKPOINT => {}
            copied => drop(copied?),
        }
    }
    // Curves are a convenience.
    let curves = to.join(files::CURVES);
    if let Ok(entries) = fs::read_dir(from.join(files::CURVES)) {
        let _ = fs::create_dir_all(&curves);
        for entry in entries.flatten() {
            let _ = fs::copy(entry.path(), curves.join(entry.file_name()));
        }
    }
    Ok(())
}

fn remove(folder: &Path) -> Result<()> {
    match folder.exists() {
        true => fs::remove_dir_all(folder).map_err(io(folder, "removed")),
        false => Ok(()),
    }
}
