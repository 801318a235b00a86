//! A run from wherever it stands to its end.

use std::time::{Duration, Instant};

use appropo::error::Error;
use appropo::random;
use appropo_run::Directory;

use crate::Failure;
use crate::commands::{load_mixture, page};
use crate::ended;
use crate::judge::{estimated, judge};
use crate::problem::{Problem, Settings};
use crate::progress::Progress;
use crate::record::{self, Observe, Recorder, Times};
use crate::search::search;

/// How a run came to its end.
pub enum End {
    /// Someone asked to stop; it can be gone on with.
    Stopped,
    /// Everything is written.
    Done {
        /// What went wrong on the way, if anything did.
        failure: Option<Error>,
    },
}

/// Searches, judges, and writes the end of a run.
pub fn to_its_end(
    problem: &Problem,
    settings: &Settings,
    mut recorder: Recorder,
    state: Option<Vec<u8>>,
) -> Result<End, Failure> {
    let start = Instant::now();
    let (mut rng, written) = (random::generator(settings.seed), recorder.times.writing);
    let mut solved = match search(problem, settings, &mut rng, state.as_deref(), &mut recorder) {
        Err(_) if record::was_interrupted() => return Ok(End::Stopped),
        Err(Failure::Library(error @ Error::State { .. })) => {
            let path = recorder.directory.file(record::CHECKPOINT);
            return Err(appropo_run::Error::Damaged { path, problem: error.to_string() }.into());
        }
        solved => solved?,
    };
    match recorder.failure.take() {
        // What others do while they watch does not undo what was found.
        Some(Failure::Library(error @ Error::Outside { .. })) => solved.failure = Some(error),
        Some(failure) => return Err(failure),
        None => {}
    }
    let answering = solved.answering.as_secs_f64();
    recorder.times.oracle += answering;
    recorder.times.player +=
        (start.elapsed().as_secs_f64() - answering - (recorder.times.writing - written)).max(0.0);
    if recorder.interrupted || record::was_interrupted() && solved.failure.is_some() {
        return Ok(End::Stopped);
    }
    let judging = Instant::now();
    let found = match &solved.failure {
        // Whoever broke the world or wants to stop would break the judging or wait for it.
        Some(Error::Outside { .. } | Error::Interrupted) => estimated(problem, settings, &solved),
        _ => match judge(problem, settings, &solved, &mut rng) {
            Err(_) if record::was_interrupted() => return Ok(End::Stopped),
            Err(Failure::Library(error @ (Error::Outside { .. } | Error::Interrupted))) => {
                solved.failure = Some(error);
                estimated(problem, settings, &solved)
            }
            found => found?,
        },
    };
    recorder.times.evaluation += judging.elapsed().as_secs_f64();
    let log = recorder.finish_log()?;
    let failure = solved.failure.as_ref().map(ToString::to_string);
    ended::write(&recorder.directory, problem, settings, &solved.mixture, &found, failure, log)?;
    recorder.close()?;
    write_report(&recorder.directory, problem)?;
    Ok(End::Done { failure: solved.failure })
}

/// Goes on with a run from its last checkpoint. Of one that has its result, only what is missing is written.
pub fn resume(
    directory: Directory,
    problem: &Problem,
    every: Duration,
    observe: Observe,
    is_quiet: bool,
) -> Result<End, Failure> {
    if directory.has(record::RESULT) {
        load_mixture(&directory, problem)?;
        complete(&directory, problem)?;
        return Ok(End::Done { failure: None });
    }
    let settings = &problem.settings;
    let progress = Progress::new(problem, settings.samples, is_quiet);
    let (recorder, checkpoint) = Recorder::resume(directory, problem, settings, every, progress)?;
    if let (Some(checkpoint), false) = (&checkpoint, is_quiet) {
        eprintln!("going on after round {}", checkpoint.rounds);
    }
    to_its_end(
        problem,
        settings,
        recorder.observed_by(observe),
        checkpoint.map(|checkpoint| checkpoint.state),
    )
}

/// Writes what is missing of a run that was killed between its result and its report.
fn complete(directory: &Directory, problem: &Problem) -> Result<(), Failure> {
    if !directory.has(record::TIMES) {
        directory.write_json(record::TIMES, &Times::default())?;
    }
    directory.remove(record::CHECKPOINT)?;
    if directory.has(record::REPORT) { Ok(()) } else { write_report(directory, problem) }
}

fn write_report(directory: &Directory, problem: &Problem) -> Result<(), Failure> {
    let page = page(directory, &problem.surroundings)?;
    Ok(directory.write(record::REPORT, appropo_run::page::render(&[page]).as_bytes())?)
}
