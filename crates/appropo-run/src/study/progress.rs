//! How far a study is.

use std::fmt;
use std::time::Duration;

use super::{RunName, State, Study};
use crate::error::Result;

/// How far a study is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Runs that have ended, with a result in their place.
    pub done: usize,
    /// Runs that are claimed, by any process.
    pub running: usize,
    /// Runs that ended without a result.
    pub failed: usize,
    /// Runs that nobody is at.
    pub waiting: usize,
    /// When all will have ended, at the rate of those that ended since this process looked first.
    pub left: Option<Duration>,
}

impl Progress {
    /// All runs.
    pub fn runs(&self) -> usize {
        self.done + self.running + self.failed + self.waiting
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.running + self.waiting == 0
    }
}

impl fmt::Display for Progress {
    /// "12 of 40 runs done, 3 running, 1 failed, about 4 min left".
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "{} of {} runs done, {} running, {} failed",
            self.done,
            self.runs(),
            self.running,
            self.failed
        )?;
        match self.left.map(|left| left.as_secs()) {
            Some(seconds) if !self.is_over() => write!(f, ", about {} left", duration(seconds)),
            _ => Ok(()),
        }
    }
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// Counts the runs of a study now and then.
pub(super) struct Count<'a> {
    study: &'a Study,
    names: Vec<RunName>,
    is_done: Vec<bool>,
    before: Option<usize>,
}

impl<'a> Count<'a> {
    pub fn new(study: &'a Study, names: Vec<RunName>) -> Self {
        let is_done = vec![false; names.len()];
        Self { study, names, is_done, before: None }
    }

    /// How far the study is, so long after the first count.
    pub fn now(&mut self, elapsed: Duration) -> Result<Progress> {
        let mut progress = Progress::default();
        for (name, is_done) in self.names.iter().zip(&mut self.is_done) {
            match if *is_done { State::Done } else { self.study.state(name)? } {
                State::Done => (*is_done, progress.done) = (true, progress.done + 1),
                State::Running => progress.running += 1,
                State::Failed(_) => progress.failed += 1,
                State::Waiting => progress.waiting += 1,
            }
        }
        let ended = progress.done + progress.failed;
        let since = ended.saturating_sub(*self.before.get_or_insert(ended));
        let to_do = (progress.running + progress.waiting) as f64;
        progress.left = (since > 0).then(|| elapsed.mul_f64(to_do / since as f64));
        Ok(progress)
    }
}
