use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use appropo::policy::Policy;
use appropo::random;
use appropo::solver::Round;
use appropo_run::Directory;

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
        let folder = Path::new(folder);
        let recorder = Recorder::begin(folder, &problem, &settings, &about, every, progress)?;
        let end = run::to_its_end(&problem, &settings, recorder, None)?;
        return ended(end, folder, &problem, &settings, arguments.settings.json);
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
    let path = Path::new(folder);
    let directory = Directory::open(path)?;
    let problem = Problem::load_run(&directory, &Surroundings::default())?;
    let every = Duration::from_secs_f64(every);
    let end = run::resume(directory, &problem, every, record::unobserved(), quiet || json)?;
    ended(end, path, &problem, &problem.settings, json)
}

/// Shows how a run on disk ended.
fn ended(
    end: End,
    folder: &Path,
    problem: &Problem,
    settings: &Settings,
    json: bool,
) -> Result<Output, Failure> {
    let shown = folder.display().to_string();
    let failure = match end {
        End::Stopped => return Ok(stopped(&shown, json)),
        End::Done { failure } => failure,
    };
    let report = ended::report(&Directory::read(folder)?, problem, settings)?;
    let mut output = report.output(problem, json)?;
    if let Some(error) = failure {
        eprintln!("error: {error}; the result is what had been found by then");
        output.status = 1;
    }
    if !json {
        output.text += &format!("run: {shown}, with {}\n", record::REPORT);
    }
    Ok(output)
}
