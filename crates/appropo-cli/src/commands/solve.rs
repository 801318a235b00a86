use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use appropo::policy::Policy;
use appropo::random;
use appropo::solver::Round;
use appropo_run::Directory;

use super::verify::load_mixture;
use crate::args::Solve;
use crate::ended;
use crate::judge::judge;
use crate::problem::{Problem, Settings, Surroundings};
use crate::progress::Progress;
use crate::record::{self, About, Recorder};
use crate::report::Report;
use crate::run::{self, End};
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

/// There is no result to print: what programs read stays empty.
fn stopped(path: &str, json: bool) -> Output {
    let text = format!("stopped; go on with \"appropo resume {path}\"\n");
    if json {
        eprint!("{text}");
    }
    Output { text: if json { String::new() } else { text }, status: 130 }
}

/// Goes on with a run from its last checkpoint.
pub fn resume(folder: &str, every: f64, json: bool, quiet: bool) -> Result<Output, Failure> {
    record::catch_interrupts();
    let directory = Directory::open(Path::new(folder))?;
    let problem = Problem::load_run(&directory, &Surroundings::default())?;
    let settings = problem.settings.clone();
    if directory.has(record::RESULT) {
        load_mixture(&directory, &problem)?;
        run::complete(&directory, &Surroundings::default())?;
        return ended::report(&directory, &problem, &settings)?.output(&problem, json);
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

fn go_on(
    problem: &Problem,
    settings: &Settings,
    recorder: Recorder,
    state: Option<Vec<u8>>,
    json: bool,
) -> Result<Output, Failure> {
    let path = recorder.directory.path().to_owned();
    let shown = path.display().to_string();
    let failure = match run::to_its_end(problem, settings, recorder, state, &Surroundings::default())? {
        End::Stopped => return Ok(stopped(&shown, json)),
        End::Done { failure } => failure,
    };
    let mut output = ended::report(&Directory::read(&path)?, problem, settings)?.output(problem, json)?;
    if let Some(error) = failure {
        eprintln!("error: {error}; the result is what had been found by then");
        output.status = 1;
    }
    if !json {
        output.text += &format!("run: {shown}, with {}\n", record::REPORT);
    }
    Ok(output)
}
