//! How a search is getting on, on standard error.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use appropo::solver::Round;

use crate::problem::Problem;

/// One line that is written over and over on a terminal, and a line now and then where there is none.
pub struct Progress<'a> {
    problem: &'a Problem,
    samples: u64,
    start: Instant,
    /// Steps taken before this process began.
    before: Option<u64>,
    shown: Instant,
    is_terminal: bool,
    is_quiet: bool,
    is_dirty: bool,
}

impl<'a> Progress<'a> {
    pub fn new(problem: &'a Problem, samples: u64, is_quiet: bool) -> Self {
        let start = Instant::now();
        let is_terminal = std::io::stderr().is_terminal();
        Self { problem, samples, start, before: None, shown: start, is_terminal, is_quiet, is_dirty: false }
    }

    /// Steps per second so far.
    pub fn rate(&self, samples: u64) -> f64 {
        (samples - self.before.unwrap_or(0).min(samples)) as f64
            / self.start.elapsed().as_secs_f64().max(1e-9)
    }

    pub fn show<P>(&mut self, round: &Round<P>) {
        self.before.get_or_insert(if round.round == 1 { 0 } else { round.samples });
        let every = Duration::from_millis(if self.is_terminal { 100 } else { 10_000 });
        if self.is_quiet || self.shown.elapsed() < every {
            return;
        }
        self.shown = Instant::now();
        let line = self.line(round);
        let mut out = std::io::stderr();
        let _ = if self.is_terminal { write!(out, "\r\x1b[K{line}") } else { writeln!(out, "{line}") };
        self.is_dirty = self.is_terminal;
    }

    /// "round 12, distance 0.0312, at least 0, 4,096 samples, 51,200 steps/s, at most 2 s left, tightest: safety".
    fn line<P>(&self, round: &Round<P>) -> String {
        let Round { round: number, distance, lower_bound, samples, .. } = round;
        let mut line = format!("round {number}, distance {distance:.4}, at least {lower_bound:.4}");
        if *samples > 0 {
            let rate = self.rate(*samples);
            let left = self.samples.saturating_sub(*samples) as f64 / rate.max(1e-9);
            line += &format!(", {samples} samples, {rate:.0} steps/s, at most {left:.0} s left");
        }
        let distances = self.problem.target.distances_of_selected(round.z_bar);
        let tightest = distances.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        if let Some((i, _)) = tightest.filter(|(_, distance)| **distance > 0.0) {
            line += &format!(", tightest: {}", self.problem.target.constraints()[i].name);
        }
        line
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_dirty) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}
