//! A run on disk while it goes on: its log, its checkpoints, its curves.

use std::fs::File;
use std::io::BufWriter;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use appropo::error::Error as LibraryError;
use appropo::policy::Policy;
use appropo::solver::Round;
use appropo_run::tensorboard::{EventWriter, file_name, names};
use appropo_run::{Checkpoint, Directory, Log, LogDigest, RoundLine};
use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::problem::{OracleKind, Problem, Settings};
use crate::progress::Progress;
use crate::quantity::{self, Quantity};
use crate::search::Watch;

pub const PROBLEM: &str = "problem.toml";
pub const RUN: &str = "run.json";
pub const CERTIFICATE: &str = "certificate.json";
pub const RESULT: &str = "result.json";
pub const REPORT: &str = "report.html";
pub const CHECKPOINT: &str = "checkpoint";
pub const TIMES: &str = "times.json";
const CURVES: &str = "tensorboard";

/// Writing may take at most one part in this many of the time.
const SHARE: u32 = 100;

/// How often the user asked to stop.
static STOPS: AtomicUsize = AtomicUsize::new(0);

/// What a run is of.
#[derive(Serialize, Deserialize)]
pub struct About {
    /// The version of the program that began it.
    pub version: String,
    /// The problem's name.
    pub problem: String,
    pub seed: u64,
    /// The command that does it again.
    pub command: String,
}

/// Where the time went, in seconds, over all processes that worked on the run.
#[derive(Default, Clone, Serialize, Deserialize)]
pub struct Times {
    pub oracle: f64,
    pub player: f64,
    pub evaluation: f64,
    pub writing: f64,
}

/// Writes what a search leaves behind.
pub struct Recorder<'a> {
    pub directory: Directory,
    problem: &'a Problem,
    quantities: Vec<Quantity>,
    log: Log,
    /// A learnt model plays the round again that a state was saved in.
    repeats: bool,
    every: Duration,
    written: Instant,
    cost: Duration,
    pub times: Times,
    curves: Option<Curves>,
    progress: Progress<'a>,
    observe: Observe<'a>,
    pub failure: Option<Failure>,
    pub interrupted: bool,
    /// Whether an observer has seen enough.
    is_enough: bool,
}

/// Looks at every round of a run; breaking ends it.
pub type Observe<'a> = Box<dyn FnMut(&RoundLine) -> Result<ControlFlow<()>, LibraryError> + 'a>;

/// Looks at nothing.
pub fn unobserved<'a>() -> Observe<'a> {
    Box::new(|_| Ok(ControlFlow::Continue(())))
}

impl<'a> Recorder<'a> {
    /// Begins a run in a new folder.
    pub fn begin(
        path: &Path,
        problem: &'a Problem,
        settings: &Settings,
        about: &About,
        every: Duration,
        progress: Progress<'a>,
    ) -> Result<Self, Failure> {
        let directory = Directory::create(path)?;
        directory.write_text(PROBLEM, &problem.resolved(settings)?)?;
        let log = Log::create(&directory)?;
        // This makes it a run: all that a run needs is there by now.
        directory.write_json(RUN, about)?;
        Ok(Self::new(directory, problem, settings, log, 0, every, progress))
    }

    /// Goes on with a run. Also returns the state of its last checkpoint; none where it had not come that far.
    pub fn resume(
        directory: Directory,
        problem: &'a Problem,
        settings: &Settings,
        every: Duration,
        progress: Progress<'a>,
    ) -> Result<(Self, Option<Checkpoint>), Failure> {
        let checkpoint = Checkpoint::read(&directory)?;
        let log = match &checkpoint {
            Some(checkpoint) => Log::open(&directory, &checkpoint.log)?,
            None => Log::create(&directory)?,
        };
        let times = if directory.has(TIMES) { directory.read_json(TIMES)? } else { Times::default() };
        let rounds = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.rounds);
        let recorder = Self::new(directory, problem, settings, log, rounds, every, progress);
        Ok((Self { times, ..recorder }, checkpoint))
    }

    fn new(
        directory: Directory,
        problem: &'a Problem,
        settings: &Settings,
        log: Log,
        rounds: usize,
        every: Duration,
        progress: Progress<'a>,
    ) -> Self {
        Self {
            // Curves are a convenience: a run does not fail for them.
            curves: Curves::open(&directory, rounds).ok(),
            directory,
            problem,
            quantities: quantity::all(problem),
            log,
            repeats: settings.oracle_for(&problem.world) == OracleKind::Model,
            every,
            written: Instant::now(),
            cost: Duration::ZERO,
            times: Times::default(),
            progress,
            observe: unobserved(),
            failure: None,
            interrupted: false,
            is_enough: false,
        }
    }

    /// Has every round looked at.
    pub fn observed_by(self, observe: Observe<'a>) -> Self {
        Self { observe, ..self }
    }

    fn checkpoint<P>(&mut self, round: &Round<P>) -> Result<(), Failure> {
        let start = Instant::now();
        let rounds = round.round - usize::from(self.repeats);
        let checkpoint =
            Checkpoint { rounds, log: self.log.flush(&self.directory)?, state: (round.state)()? };
        checkpoint.write(&self.directory)?;
        self.cost = start.elapsed();
        self.times.writing += self.cost.as_secs_f64();
        self.written = Instant::now();
        if let Some(curves) = &mut self.curves {
            let _ = curves.events.flush();
        }
        self.directory.write_json(TIMES, &self.times)?;
        Ok(())
    }

    fn write<P: Policy>(&mut self, round: &Round<P>) -> Result<(), Failure> {
        if !self.repeats {
            self.add(round)?;
        }
        self.interrupted = was_interrupted();
        if self.interrupted || self.written.elapsed() >= self.every.max(SHARE * self.cost) {
            match self.checkpoint(round) {
                // A world of another program: the run goes on without.
                Err(Failure::Library(LibraryError::Unsaved { .. })) => self.every = Duration::MAX,
                written => written?,
            }
        }
        if self.repeats {
            self.add(round)?;
        }
        Ok(())
    }

    fn add<P>(&mut self, round: &Round<P>) -> Result<(), Failure> {
        let value = |quantity: &Quantity, z: &[f64]| (quantity.name.clone(), quantity.value(self.problem, z));
        let all = self.quantities.iter();
        let line = RoundLine {
            round: round.round,
            samples: round.samples,
            distance: round.distance,
            lower_bound: round.lower_bound,
            lambda: all.clone().map(|q| (q.name.clone(), q.price(self.problem, round.lam))).collect(),
            answer: all.clone().map(|q| value(q, round.z_hat)).collect(),
            mixture: all.map(|q| value(q, round.z_bar)).collect(),
        };
        self.log.add(&self.directory, &line)?;
        self.is_enough = (self.observe)(&line)?.is_break();
        Ok(())
    }

    /// The whole log, now on disk.
    pub fn finish_log(&mut self) -> Result<LogDigest, Failure> {
        self.progress.clear();
        Ok(self.log.flush(&self.directory)?)
    }

    /// Marks the end of the run: it needs no checkpoint any more.
    pub fn close(&mut self) -> Result<(), Failure> {
        self.directory.write_json(TIMES, &self.times)?;
        self.directory.remove(CHECKPOINT)?;
        Ok(())
    }
}

impl Watch for Recorder<'_> {
    fn round<P: Policy>(&mut self, round: &Round<P>) -> ControlFlow<()> {
        self.progress.show(round);
        if let Some(curves) = &mut self.curves {
            let rate = self.progress.rate(round.samples);
            // Nor does it end for them.
            if curves.add(self.problem, &self.quantities, round, rate).is_err() {
                self.curves = None;
            }
        }
        if let Err(failure) = self.write(round) {
            self.failure = Some(failure);
        }
        if self.interrupted || self.is_enough || self.failure.is_some() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

pub fn was_interrupted() -> bool {
    STOPS.load(Ordering::Relaxed) > 0
}

/// How long a round may go on after someone asked to stop.
const PATIENCE: Duration = Duration::from_secs(2);

/// When someone first asked to stop.
static STOPPED: OnceLock<Instant> = OnceLock::new();

/// Whether someone asked to stop so long ago that a round is not worth waiting for.
pub fn is_out_of_patience() -> bool {
    STOPPED.get().is_some_and(|since| since.elapsed() > PATIENCE)
}

/// From now on Ctrl-C ends a run at the end of its round, or soon after; a second one ends the program at once.
pub fn catch_interrupts() {
    let handler = || {
        if STOPS.fetch_add(1, Ordering::Relaxed) > 0 {
            std::process::exit(130);
        }
        STOPPED.get_or_init(Instant::now);
        eprintln!("\nstopping; press Ctrl-C again to stop at once");
    };
    // Without a handler Ctrl-C kills the run, which it survives as well.
    let _ = ctrlc::set_handler(handler);
}

pub fn times(directory: &Directory) -> Times {
    directory.read_json(TIMES).unwrap_or_default()
}

/// The curves for TensorBoard.
struct Curves {
    events: EventWriter<BufWriter<File>>,
    start: Instant,
}

impl Curves {
    fn open(directory: &Directory, rounds: usize) -> std::io::Result<Self> {
        let folder = directory.file(CURVES);
        std::fs::create_dir_all(&folder)?;
        let parts = std::fs::read_dir(&folder)?.count() as u32;
        let file = File::create(folder.join(file_name(now() as u64, parts)))?;
        let mut events = EventWriter::new(BufWriter::new(file), now())?;
        if rounds > 0 {
            events.resume(rounds as u64 + 1, now())?;
        }
        Ok(Self { events, start: Instant::now() })
    }

    fn add<P>(
        &mut self,
        problem: &Problem,
        quantities: &[Quantity],
        round: &Round<P>,
        rate: f64,
    ) -> std::io::Result<()> {
        let (step, time) = (round.round as u64, now());
        let mut add = |name: &str, value: f64| self.events.scalar(name, step, time, value as f32);
        add(names::DISTANCE, round.distance)?;
        add(names::LOWER_BOUND, round.lower_bound)?;
        if round.samples > 0 {
            add(names::TOTAL_STEPS, round.samples as f64)?;
            add(names::STEPS_PER_SECOND, rate)?;
        }
        add(names::TIME_ELAPSED, self.start.elapsed().as_secs_f64())?;
        for quantity in quantities {
            add(&names::measure(&quantity.name), quantity.value(problem, round.z_bar))?;
            add(&names::lambda(&quantity.name), quantity.price(problem, round.lam))?;
            // What the latest policy does, under the names that others use.
            let latest = quantity.value(problem, round.z_hat);
            match quantity.name.as_str() {
                "reward" => add(names::EPISODE_REWARD, latest)?,
                "steps" if problem.discounting.gamma() == 1.0 => add(names::EPISODE_LENGTH, latest)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}
