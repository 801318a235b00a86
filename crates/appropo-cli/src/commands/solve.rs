use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use appropo::policy::Policy;
use appropo::random;
use appropo::solver::Round;
use appropo_run::Directory;

use super::report;
use super::verify::load_mixture;
use crate::args::Solve;
use crate::ended;
use crate::judge::judge;
use crate::problem::{Problem, Settings};
use crate::progress::Progress;
use crate::record::{self, About, Recorder};
use crate::report::Report;
use crate::search::{Watch, search};
use crate::{Failure, Output};

/// Finds a mixed policy for a problem and shows the evidence.
pub fn run(arguments: &Solve) -> Result<Output, Failure> {
    if arguments.run.is_some() {
        record::catch_interrupts();
    }
    let problem = Problem::load(&arguments.problem)?;
    let settings = arguments.settings.apply(&problem.settings);
    arguments.settings.check(&settings)?;
    if problem.target.constraints().is_empty() {
        let text = format!("{}: no [[constraint]]; add one, or use \"appropo maximize\"", arguments.problem);
        return Err(Failure::Input(text));
    }
    let progress = Progress::new(&problem, settings.samples, arguments.quiet || arguments.settings.json);
    if let Some(folder) = &arguments.run {
        let about = About {
            version: env!("CARGO_PKG_VERSION").into(),
            problem: problem.name.clone(),
            seed: settings.seed,
            // All that was asked for stands in that file.
            command: format!("appropo solve {}", record::PROBLEM),
        };
        let every = Duration::from_secs_f64(arguments.checkpoint_every);
        let recorder = Recorder::begin(Path::new(folder), &problem, &settings, &about, every, progress)?;
        return go_on(&problem, &settings, recorder, None, arguments.settings.json);
    }
    let start = Instant::now();
    let mut rng = random::generator(settings.seed);
    let solved = search(&problem, &settings, &mut rng, None, &mut Shown(progress))?;
    let found = judge(&problem, &settings, &solved, &mut rng)?;
    let report = Report::new(&problem, &settings, found, Some(start.elapsed()));
    let mut output = report.output(&problem, arguments.settings.json)?;
    if let Some(error) = solved.failure {
        eprintln!("error: {error}; the result is what had been found by then");
        output.status = 1;
    }
    Ok(output)
}

/// Shows progress and does nothing else.
struct Shown<'a>(Progress<'a>);

impl Watch for Shown<'_> {
    fn round<P: Policy>(&mut self, round: &Round<P>) -> ControlFlow<()> {
        self.0.show(round);
        ControlFlow::Continue(())
    }
}

fn stopped(path: &str) -> Output {
    Output { text: format!("stopped; go on with \"appropo resume {path}\"\n"), status: 130 }
}

/// Goes on with a run from its last checkpoint.
pub fn resume(folder: &str, every: f64, json: bool, quiet: bool) -> Result<Output, Failure> {
    record::catch_interrupts();
    let directory = Directory::open(Path::new(folder))?;
    let problem = Problem::load_run(&directory)?;
    let settings = problem.settings.clone();
    if directory.has(record::RESULT) {
        // Killed after its last file was written, or simply done.
        directory.remove(record::CHECKPOINT)?;
        load_mixture(&directory, &problem)?;
        return ended::report(&directory, &problem)?.output(&problem, json);
    }
    let quiet = quiet || json;
    let progress = Progress::new(&problem, settings.samples, quiet);
    let every = Duration::from_secs_f64(every);
    let (recorder, checkpoint) = Recorder::resume(directory, &problem, &settings, every, progress)?;
    if let (Some(checkpoint), false) = (&checkpoint, quiet) {
        eprintln!("going on after round {}", checkpoint.rounds);
    }
    go_on(&problem, &settings, recorder, checkpoint.map(|c| c.state), json)
}

/// Searches, judges, and writes the end of a run.
fn go_on(
    problem: &Problem,
    settings: &Settings,
    mut recorder: Recorder,
    state: Option<Vec<u8>>,
    json: bool,
) -> Result<Output, Failure> {
    let start = Instant::now();
    let (mut rng, written) = (random::generator(settings.seed), recorder.times.writing);
    let path = recorder.directory.path().display().to_string();
    let solved = match search(problem, settings, &mut rng, state.as_deref(), &mut recorder) {
        Err(_) if record::was_interrupted() => return Ok(stopped(&path)),
        solved => solved?,
    };
    if let Some(failure) = recorder.failure {
        return Err(failure);
    }
    let answering = solved.answering.as_secs_f64();
    recorder.times.oracle += answering;
    recorder.times.player +=
        (start.elapsed().as_secs_f64() - answering - (recorder.times.writing - written)).max(0.0);
    if recorder.interrupted || record::was_interrupted() && solved.failure.is_some() {
        return Ok(stopped(&path));
    }
    let judging = Instant::now();
    let found = match judge(problem, settings, &solved, &mut rng) {
        Err(_) if record::was_interrupted() => return Ok(stopped(&path)),
        found => found?,
    };
    recorder.times.evaluation += judging.elapsed().as_secs_f64();
    let log = recorder.finish_log()?;
    let failure = solved.failure.as_ref().map(ToString::to_string);
    ended::write(&recorder.directory, problem, settings, &solved.mixture, &found, failure.clone(), log)?;
    recorder.close()?;
    let page = report::page(&recorder.directory)?;
    recorder.directory.write(record::REPORT, appropo_run::page::render(&[page]).as_bytes())?;
    let mut output = ended::report(&recorder.directory, problem)?.output(problem, json)?;
    if let Some(error) = failure {
        eprintln!("error: {error}; the result is what had been found by then");
        output.status = 1;
    }
    if !json {
        output.text += &format!("run: {path}, with {}\n", record::REPORT);
    }
    Ok(output)
}
