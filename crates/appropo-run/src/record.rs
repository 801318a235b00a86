//! A run on disk while it goes on: an observer that writes its log, its checkpoints and its curves.

use std::fmt;
use std::fs::File;
use std::io::BufWriter;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use appropo::error::{Error as LibraryError, Result as LibraryResult};
use appropo::method::Resume;
use appropo::outcome::{Outcome, RoundLine};
use appropo::problem::Problem;
use appropo::rl::workers::WORKER;
use appropo::scalars::{Scalar, scalars};
use appropo::solver::{Observer, Phase, Progress, Round};

use crate::about::{About, Times};
use crate::error::Result;
use crate::log::LogLine;
use crate::presence::Presence;
use crate::tensorboard::{EventWriter, file_name, names};
use crate::{Checkpoint, Directory, Error, Log, StopRequest, files, result};

/// Writing may take at most one part in this many of the time.
const SHARE: u32 = 100;

/// Writes what a solve leaves behind. It is an [`Observer`] of the solve, and takes its outcome in the end.
pub struct Recorder<'a> {
    /// Before the folder, whose lock goes last.
    presence: Presence,
    directory: Directory,
    problem: &'a Problem,
    scalars: Vec<Scalar>,
    log: Log,
    every: Duration,
    /// Asked after every round; then a checkpoint is written and the solve ends.
    is_interrupted: Box<dyn Fn() -> bool + 'a>,
    written: Instant,
    cost: Duration,
    times: Times,
    start: Instant,
    last_round: Instant,
    responding: Duration,
    curves: Option<Curves>,
    failure: Option<Error>,
}

impl fmt::Debug for Recorder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Recorder").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl<'a> Recorder<'a> {
    /// Begins a run of `problem`, which `text` states, in a new folder.
    pub fn begin(
        path: &Path,
        about: &About,
        problem: &'a Problem,
        text: &str,
        every: Duration,
    ) -> Result<Self> {
        let directory = Directory::create(path)?;
        directory.write_text(files::PROBLEM, text)?;
        let log = Log::create(&directory)?;
        // This makes it a run: all that a run needs is there by now.
        directory.write_json(files::RUN, about)?;
        Ok(Self::new(directory, problem, log, 0, every))
    }

    /// Goes on with a run from its last checkpoint; from the beginning where there is none.
    pub fn resume(
        directory: Directory,
        problem: &'a Problem,
        every: Duration,
    ) -> Result<(Self, Option<Resume>)> {
        let checkpoint = Checkpoint::read(&directory)?;
        let (log, resume, rounds) = match checkpoint {
            Some(checkpoint) => {
                let (log, lines) = Log::open(&directory, &checkpoint.log)?;
                let history = LogLine::history(lines, &scalars(problem));
                (log, Some(Resume { state: checkpoint.state, history }), checkpoint.rounds)
            }
            None => (Log::create(&directory)?, None, 0),
        };
        let times =
            if directory.has(files::TIMES) { directory.read_json(files::TIMES)? } else { Times::default() };
        Ok((Self { times, ..Self::new(directory, problem, log, rounds, every) }, resume))
    }

    fn new(directory: Directory, problem: &'a Problem, log: Log, rounds: usize, every: Duration) -> Self {
        let now = Instant::now();
        Self {
            // Curves are a convenience: a run does not fail for them.
            curves: Curves::open(&directory, rounds).ok(),
            presence: Presence::new(&directory),
            directory,
            problem,
            scalars: scalars(problem),
            log,
            every,
            is_interrupted: Box::new(|| false),
            written: now,
            cost: Duration::ZERO,
            times: Times::default(),
            start: now,
            last_round: now,
            responding: Duration::ZERO,
            failure: None,
        }
    }

    /// The same recorder, which writes a checkpoint and ends the solve once this says so.
    pub fn interrupted_by(self, is_interrupted: impl Fn() -> bool + 'a) -> Self {
        Self { is_interrupted: Box::new(is_interrupted), ..self }
    }

    /// Whether someone asked the run to stop by a file in its folder. The recorder asks after every round, writes a
    /// checkpoint and ends the solve; a budget can ask within one.
    pub fn stop_request(&self) -> StopRequest {
        self.presence.stop().clone()
    }

    fn is_interrupted(&self) -> bool {
        (self.is_interrupted)() || self.presence.stop().is_made()
    }

    /// Writes the end of the run: policies, certificate, result and, last of all, its report.
    pub fn finish(mut self, outcome: &Outcome) -> Result<()> {
        self.take_failure()?;
        let log = self.log.flush(&self.directory)?;
        result::write(&self.directory, self.problem, outcome, log)?;
        let (oracle, all) = (self.responding.as_secs_f64(), self.start.elapsed().as_secs_f64());
        let evaluation = self.last_round.elapsed().as_secs_f64();
        self.times.oracle += oracle;
        self.times.evaluation += evaluation;
        self.times.player += (all - oracle - evaluation - self.times.writing).max(0.0);
        self.directory.write_json(files::TIMES, &self.times)?;
        if !is_of_workers(outcome) {
            self.directory.remove(files::CHECKPOINT)?;
        }
        crate::report::write(&self.directory, self.problem)
    }

    /// What went wrong with the files, if anything did: the solve itself only says that something failed.
    pub fn take_failure(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// The folder.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    fn add(&mut self, round: &Round) -> Result<()> {
        let line = RoundLine::of(round, self.problem, &self.scalars);
        self.log.add(&self.directory, &LogLine::of(&line, &self.scalars))
    }

    fn checkpoint(&mut self, rounds: usize, state: Vec<u8>) -> Result<()> {
        let start = Instant::now();
        let checkpoint = Checkpoint { rounds, log: self.log.flush(&self.directory)?, state };
        checkpoint.write(&self.directory)?;
        self.cost += start.elapsed();
        self.times.writing += self.cost.as_secs_f64();
        self.written = Instant::now();
        if let Some(curves) = &mut self.curves {
            let _ = curves.events.flush();
        }
        self.directory.write_json(files::TIMES, &self.times)
    }

    /// What to save now, if a checkpoint is due.
    fn due(
        &mut self,
        state: &dyn Fn() -> LibraryResult<(usize, Vec<u8>)>,
        is_interrupted: bool,
    ) -> Result<Option<(usize, Vec<u8>)>> {
        let is_due = is_interrupted || self.written.elapsed() >= self.every.max(SHARE * self.cost);
        if !is_due {
            return Ok(None);
        }
        let asked = Instant::now();
        let state = match state() {
            // An environment of the calling program: the run goes on without.
            Err(LibraryError::Unsaved { .. }) => {
                self.every = Duration::MAX;
                return Ok(None);
            }
            state => state?,
        };
        self.cost = asked.elapsed();
        Ok(Some(state))
    }

    fn write(&mut self, round: &Round, is_interrupted: bool) -> Result<()> {
        let Some((rounds, state)) = self.due(round.state, is_interrupted)? else { return self.add(round) };
        // Where a round is played again, the log of a checkpoint ends before it.
        let is_repeated = rounds < round.round;
        if !is_repeated {
            self.add(round)?;
        }
        self.checkpoint(rounds, state)?;
        if is_repeated { self.add(round) } else { Ok(()) }
    }
}

impl Observer for Recorder<'_> {
    fn round(&mut self, round: &Round) -> LibraryResult<ControlFlow<()>> {
        self.responding = round.responding;
        if let Some(curves) = &mut self.curves {
            // A run does not end for its curves.
            if curves.add(self.problem, &self.scalars, round).is_err() {
                self.curves = None;
            }
        }
        // Asked once: a checkpoint is written whenever the solve ends for it.
        let is_interrupted = self.is_interrupted();
        self.presence.round();
        if let Err(failure) = self.write(round, is_interrupted) {
            self.failure = Some(failure);
            return Err(LibraryError::External { what: "writing the run" });
        }
        self.last_round = Instant::now();
        if is_interrupted { Err(LibraryError::Interrupted) } else { Ok(ControlFlow::Continue(())) }
    }

    fn progress(&mut self, progress: &Progress) -> LibraryResult<()> {
        // A search without rounds ends with the last that is heard of it.
        if progress.phase == Phase::Learning {
            self.last_round = Instant::now();
        }
        self.presence.progress(progress);
        if let Err(failure) = self.log.show(&self.directory) {
            self.failure = Some(failure);
            return Err(LibraryError::External { what: "writing the run" });
        }
        let Some(state) = progress.state else { return Ok(()) };
        let is_interrupted = self.is_interrupted();
        let written = self
            .due(state, is_interrupted)
            .and_then(|due| due.map_or(Ok(()), |(rounds, state)| self.checkpoint(rounds, state)));
        if let Err(failure) = written {
            self.failure = Some(failure);
            return Err(LibraryError::External { what: "writing the run" });
        }
        if is_interrupted { Err(LibraryError::Interrupted) } else { Ok(()) }
    }
}

/// The curves for TensorBoard.
struct Curves {
    events: EventWriter<BufWriter<File>>,
    start: Instant,
    /// Steps taken before this process began.
    before: Option<u64>,
}

impl Curves {
    fn open(directory: &Directory, rounds: usize) -> std::io::Result<Self> {
        let folder = directory.file(files::CURVES);
        std::fs::create_dir_all(&folder)?;
        let parts = std::fs::read_dir(&folder)?.count() as u32;
        let file = File::create(folder.join(file_name(now() as u64, parts)))?;
        let mut events = EventWriter::new(BufWriter::new(file), now())?;
        if rounds > 0 {
            events.resume(rounds as u64 + 1, now())?;
        }
        Ok(Self { events, start: Instant::now(), before: None })
    }

    fn add(&mut self, problem: &Problem, scalars: &[Scalar], round: &Round) -> std::io::Result<()> {
        let (step, time) = (round.round as u64, now());
        let before = *self.before.get_or_insert(if round.round == 1 { 0 } else { round.samples });
        let elapsed = self.start.elapsed().as_secs_f64();
        let mut add = |name: &str, value: f64| self.events.scalar(name, step, time, value as f32);
        add(names::DISTANCE, round.distance)?;
        add(names::LOWER_BOUND, round.lower_bound)?;
        if round.samples > 0 {
            add(names::TOTAL_STEPS, round.samples as f64)?;
            add(
                names::STEPS_PER_SECOND,
                (round.samples - before.min(round.samples)) as f64 / elapsed.max(1e-9),
            )?;
        }
        add(names::TIME_ELAPSED, elapsed)?;
        for scalar in scalars {
            add(&names::measure(&scalar.name), scalar.value(problem, round.z_bar))?;
            add(&names::lambda(&scalar.name), scalar.price(problem, round.lam))?;
            // What the latest policy does, under the names that others use.
            let latest = scalar.value(problem, round.z_hat);
            match scalar.name.as_str() {
                "reward" => add(names::EPISODE_REWARD, latest)?,
                "steps" if problem.discounting().gamma() == 1.0 => add(names::EPISODE_LENGTH, latest)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// Writes the run of an outcome that was not recorded on the way into a new folder.
pub fn save(path: &Path, about: &About, problem: &Problem, text: &str, outcome: &Outcome) -> Result<()> {
    let (kept, rounds) = (outcome.history.lines.len(), outcome.rounds);
    if kept != rounds {
        return Err(Error::Unfit {
            path: path.to_owned(),
            problem: format!(
                "only {kept} of {rounds} rounds are still known; record the solve from its beginning to keep them"
            ),
        });
    }
    let mut recorder = Recorder::begin(path, about, problem, text, Duration::MAX)?;
    recorder.curves = None;
    for line in &outcome.history.lines {
        recorder.log.add(&recorder.directory, &LogLine::of(line, &recorder.scalars))?;
    }
    recorder.finish(outcome)
}

/// Whether a run ended for its workers. Its result is what was found so far; others may go on from its checkpoint.
fn is_of_workers(outcome: &Outcome) -> bool {
    let failed = LibraryError::External { what: WORKER }.to_string();
    outcome.failure().is_some_and(|failure| failure.to_string() == failed)
}

/// Takes the result of a run away that ended for its workers, and returns whether it did: it is gone on with.
pub fn reopen(directory: &Directory, outcome: &Outcome) -> Result<bool> {
    let is_open = is_of_workers(outcome);
    if is_open {
        directory.remove(files::RESULT)?;
    }
    Ok(is_open)
}

/// Writes what is missing of a run that was killed between its result and its report.
pub fn complete(directory: &Directory, problem: &Problem) -> Result<()> {
    if !directory.has(files::TIMES) {
        directory.write_json(files::TIMES, &Times::default())?;
    }
    directory.remove(files::CHECKPOINT)?;
    if directory.has(files::REPORT) { Ok(()) } else { crate::report::write(directory, problem) }
}
