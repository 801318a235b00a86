use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use appropo::error::Error;
use appropo::method::Budget;
use appropo::outcome::Outcome;
use appropo::problem::Direction;
use appropo::registry::Registry;
use appropo::solver::Observers;
use appropo::utility::Utility;
use appropo_file::{ProblemFile, Reader, written, written_solve};
use appropo_run::about::{About, times};
use appropo_run::record::{Recorder, complete};
use appropo_run::{Directory, files, result};

use super::problem_of;
use crate::args::{Optimize, Overrides, Recording, Solve};
use crate::progress::Progress;
use crate::shown::output;
use crate::{Failure, Output, interrupts};

/// A problem with the settings in force.
fn load(problem: &str, overrides: &Overrides) -> Result<ProblemFile, Failure> {
    Ok(Reader { settings: overrides.table(), ..Reader::default() }.load(problem)?)
}

/// The budget of a solve that Ctrl-C or a request to its folder ends.
fn interruptible(budget: &Budget, recorder: &Recorder) -> Budget {
    let asked = recorder.stop_request();
    budget.clone().until(Arc::new(move || interrupts::is_out_of_patience() || asked.is_overdue()))
}

/// Whether someone asked to stop.
fn was_stopped(recorder: &Recorder) -> bool {
    interrupts::was_interrupted() || recorder.stop_request().is_made()
}

/// Finds a mixed policy for a problem and shows the evidence.
pub fn run(arguments: &Solve) -> Result<Output, Failure> {
    let file = load(&arguments.problem, &arguments.settings)?;
    if file.problem.target().constraints().is_empty() && file.problem.objective().is_none() {
        let text = format!("{}: no [[constraint]]; add one, or use \"appropo maximize\"", arguments.problem);
        return Err(Failure::Input(text));
    }
    solve(&file, &arguments.recording)
}

fn solve(file: &ProblemFile, recording: &Recording) -> Result<Output, Failure> {
    let Recording { run, checkpoint_every, quiet, json } = recording;
    if run.is_some() {
        interrupts::catch();
    }
    let progress = Progress::new(&file.problem, file.budget.samples, *quiet || *json);
    match run {
        Some(folder) => {
            let every = Duration::from_secs_f64(*checkpoint_every);
            recorded(file, Path::new(folder), every, progress, *json)
        }
        None => unrecorded(file, progress, *json),
    }
}

/// Optimises a measure subject to the constraints.
pub fn optimize(arguments: &Optimize, direction: Direction) -> Result<Output, Failure> {
    let mut overrides = arguments.settings.table();
    arguments.search.iter().for_each(|search| overrides.set("search", search.as_str()));
    let measure = arguments.measure.as_deref().map(Utility::from);
    let utility = measure.or_else(|| arguments.entropy.as_deref().map(Utility::entropy));
    if utility.is_none() && arguments.share {
        return Err(Failure::Input("--share is about --measure or --entropy; name one of them".into()));
    }
    let utility = utility.map(|utility| if arguments.share { utility.per_step() } else { utility });
    let objective = utility.map(|utility| (utility, direction));
    let reader = Reader { settings: overrides, objective, ..Reader::default() };
    let file = reader.load(&arguments.problem)?;
    if file.problem.objective().is_none_or(|objective| objective.direction != direction) {
        let word = direction.word();
        return Err(Failure::Input(format!("the problem has nothing to {word}; name it with --measure")));
    }
    solve(&file, &arguments.recording)
}

fn unrecorded(file: &ProblemFile, mut progress: Progress, json: bool) -> Result<Output, Failure> {
    let start = Instant::now();
    let ProblemFile { problem, method, budget, seed, .. } = file;
    let outcome = problem.solve(method.as_ref(), budget, *seed, &mut progress)?;
    drop(progress);
    Ok(output(problem, method.as_ref(), &outcome, Some(start.elapsed().as_secs_f64()), json))
}

fn recorded(
    file: &ProblemFile,
    folder: &Path,
    every: Duration,
    mut progress: Progress,
    json: bool,
) -> Result<Output, Failure> {
    let ProblemFile { problem, method, budget, seed, .. } = file;
    let registry = Registry::standard();
    let text =
        written(problem, &registry) + &written_solve(problem, method.as_ref(), budget, *seed, &registry)?;
    let about = About {
        version: env!("CARGO_PKG_VERSION").into(),
        problem: problem.name().into(),
        seed: *seed,
        // All that was asked for stands in that file.
        command: format!("appropo solve {}", files::PROBLEM),
    };
    let recorder = Recorder::begin(folder, &about, problem, &text, every)?;
    let mut recorder = recorder.interrupted_by(interrupts::was_interrupted);
    let budget = interruptible(budget, &recorder);
    let mut observers = Observers(vec![&mut progress, &mut recorder]);
    let outcome = problem.solve(method.as_ref(), &budget, *seed, &mut observers);
    drop(progress);
    ended(recorder, outcome, file, folder, json)
}

/// Goes on with a run from its last checkpoint.
pub fn resume(folder: &str, every: f64, json: bool, quiet: bool) -> Result<Output, Failure> {
    interrupts::catch();
    let path = Path::new(folder);
    let directory = Directory::open(path)?;
    let file = problem_of(&directory)?;
    let ProblemFile { problem, method, budget, seed, .. } = &file;
    if directory.has(files::RESULT) {
        result::mixture(&directory, problem.env(), None)?;
        complete(&directory, problem)?;
        drop(directory);
        return shown(path, &file, json);
    }
    let every = Duration::from_secs_f64(every);
    let (recorder, from) = Recorder::resume(directory, problem, every)?;
    if let (Some(from), false) = (&from, quiet || json) {
        eprintln!("going on after round {}", from.history.lines.last().map_or(0, |line| line.round));
    }
    let mut recorder = recorder.interrupted_by(interrupts::was_interrupted);
    let mut progress = Progress::new(problem, budget.samples, quiet || json);
    let budget = interruptible(budget, &recorder);
    let mut observers = Observers(vec![&mut progress, &mut recorder]);
    let outcome = problem.resume(method.as_ref(), &budget, *seed, from, &mut observers);
    drop(progress);
    let outcome = outcome.map_err(|error| match error {
        Error::State { .. } => {
            let path = recorder.directory().file(files::CHECKPOINT);
            appropo_run::Error::Damaged { path, problem: error.to_string() }.into()
        }
        error => Failure::Library(error),
    });
    match outcome {
        Ok(outcome) => ended(recorder, Ok(outcome), &file, path, json),
        Err(failure) if !was_stopped(&recorder) => Err(failure),
        Err(_) => Ok(stopped(path, json)),
    }
}

/// Writes the end of a run and shows it.
fn ended(
    mut recorder: Recorder,
    outcome: Result<Outcome, Error>,
    file: &ProblemFile,
    folder: &Path,
    json: bool,
) -> Result<Output, Failure> {
    recorder.take_failure()?;
    let was_stopped = was_stopped(&recorder);
    let outcome = match outcome {
        Err(_) if was_stopped => return Ok(stopped(folder, json)),
        Ok(outcome) if was_stopped && outcome.failure().is_some() => {
            return Ok(stopped(folder, json));
        }
        outcome => outcome?,
    };
    let failure = outcome.failure().is_some();
    recorder.finish(&outcome)?;
    let mut output = shown(folder, file, json)?;
    if failure {
        output.status = 1;
    }
    if !json {
        output.text += &format!("run: {}, with {}\n", folder.display(), files::REPORT);
    }
    Ok(output)
}

/// The outcome of a run that has ended, as it was printed then.
pub fn shown(folder: &Path, file: &ProblemFile, json: bool) -> Result<Output, Failure> {
    let directory = Directory::read(folder)?;
    let outcome = result::read(&directory, &file.problem, None)?;
    let seconds = Some(times(&directory).total());
    Ok(output(&file.problem, file.method.as_ref(), &outcome, seconds, json))
}

/// There is no result to print: what programs read stays empty.
fn stopped(folder: &Path, json: bool) -> Output {
    let text = format!("stopped; go on with \"appropo resume {}\"\n", folder.display());
    if json {
        eprint!("{text}");
    }
    Output { text: if json { String::new() } else { text }, status: 130 }
}
