//! How a solve is getting on, on standard error.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use appropo::error::Result;
use appropo::problem::Problem;
use appropo::solver::{Observer, Phase, Progress as Part, Round};
use appropo_run::study::Progress as Study;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a line is written where there is no terminal.
const EVERY: Duration = Duration::from_secs(10);

/// One line that changes on a terminal, and a line now and then where there is none.
pub struct Progress<'a> {
    problem: &'a Problem,
    samples: u64,
    start: Instant,
    /// Steps taken before this process began.
    before: Option<u64>,
    shown: Instant,
    /// What takes its steps now, since when, and how many it had taken by then.
    phase: Option<(Phase, Instant, u64)>,
    bar: ProgressBar,
    is_terminal: bool,
    is_quiet: bool,
}

/// A line that changes, which is hidden where there is no terminal or nothing is wanted.
fn line_that_changes(is_hidden: bool) -> ProgressBar {
    let target = match is_hidden {
        true => ProgressDrawTarget::hidden(),
        false => ProgressDrawTarget::stderr_with_hz(10),
    };
    let bar = ProgressBar::with_draw_target(None, target);
    bar.set_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar
}

impl<'a> Progress<'a> {
    pub fn new(problem: &'a Problem, samples: u64, is_quiet: bool) -> Self {
        let (start, is_terminal) = (Instant::now(), std::io::stderr().is_terminal());
        let bar = line_that_changes(is_quiet || !is_terminal);
        Self { problem, samples, start, before: None, shown: start, phase: None, bar, is_terminal, is_quiet }
    }

    /// "round 12, distance 0.0312, at least 0, 4,096 samples, 51,200 steps/s, at most 2 s left, tightest: safety".
    fn line(&self, round: &Round) -> String {
        let Round { round: number, distance, lower_bound, samples, .. } = round;
        let mut line = format!("round {number}, distance {distance:.4}, at least {lower_bound:.4}");
        if *samples > 0 {
            let taken = samples - self.before.unwrap_or(0).min(*samples);
            let rate = taken as f64 / self.start.elapsed().as_secs_f64().max(1e-9);
            let left = self.samples.saturating_sub(*samples) as f64 / rate.max(1e-9);
            line += &format!(", {samples} samples, {rate:.0} steps/s, at most {left:.0} s left");
        }
        let target = self.problem.target();
        let dim = target.selection().entries.len();
        let distances = target.distances_of_selected(&round.z_bar[..dim]);
        let tightest = distances.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        if let Some((i, _)) = tightest.filter(|(_, distance)| **distance > 0.0) {
            line += &format!(", tightest: {}", target.constraints()[i].name);
        }
        line
    }
}

impl Progress<'_> {
    /// "evaluation: 120 episodes, 24,000 of at most 25,000 steps, 51,200 steps/s, at most 2 s left, open: safety".
    fn part(&self, part: &Part) -> String {
        let Part { phase, episodes, samples, of, open, .. } = *part;
        let (_, start, before) = self.phase.unwrap_or((phase, Instant::now(), samples));
        let before = before.min(samples);
        let rate = (samples - before) as f64 / start.elapsed().as_secs_f64().max(1e-9);
        let mut line = match phase {
            Phase::Learning => "learning: ".to_owned(),
            Phase::Evaluation => format!("evaluation: {episodes} episodes, "),
        };
        line += &match of {
            0 => format!("{samples} steps"),
            _ => format!("{samples} of at most {of} steps"),
        };
        if samples > before {
            let left = of.saturating_sub(samples) as f64 / rate;
            line += &format!(", {rate:.0} steps/s, at most {left:.0} s left");
        }
        let open = open();
        if !open.is_empty() {
            line += &format!(", open: {}", open.join(", "));
        }
        line
    }

    /// Whether it is time for another line.
    fn is_due(&mut self) -> bool {
        let every = if self.is_terminal { Duration::from_millis(100) } else { EVERY };
        let is_due = !self.is_quiet && self.shown.elapsed() >= every;
        if is_due {
            self.shown = Instant::now();
        }
        is_due
    }

    fn show(&self, line: String) {
        if self.is_terminal {
            self.bar.set_message(line)
        } else {
            eprintln!("{line}")
        }
        self.bar.tick();
    }
}

impl Observer for Progress<'_> {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        self.before.get_or_insert(if round.round == 1 { 0 } else { round.samples });
        if self.is_due() {
            self.show(self.line(round));
        }
        Ok(ControlFlow::Continue(()))
    }

    fn progress(&mut self, part: &Part) -> Result<()> {
        // The rate of a part counts from when it is first heard of.
        if self.phase.is_none_or(|(phase, ..)| phase != part.phase) {
            self.phase = Some((part.phase, Instant::now(), part.samples));
        }
        if self.is_due() {
            let line = self.part(part);
            self.show(line);
        }
        Ok(())
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// How far a study is: one line that changes on a terminal, and a line whenever it gets on where there is none.
pub struct StudyProgress {
    bar: ProgressBar,
    shown: Instant,
    line: String,
    is_terminal: bool,
    is_quiet: bool,
}

impl StudyProgress {
    pub fn new(is_quiet: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let bar = line_that_changes(is_quiet || !is_terminal);
        Self { bar, shown: Instant::now(), line: String::new(), is_terminal, is_quiet }
    }

    pub fn show(&mut self, progress: &Study) {
        let every = if self.is_terminal { Duration::from_millis(100) } else { EVERY };
        let line = progress.to_string();
        if self.is_quiet || self.shown.elapsed() < every || line == self.line {
            return;
        }
        self.shown = Instant::now();
        match self.is_terminal {
            true => self.bar.set_message(line.clone()),
            false => eprintln!("{line}"),
        }
        self.line = line;
    }
}

impl Drop for StudyProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
