//! Drawing runs from a study: those that nobody has, and those whose owner is gone.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Duration;

use super::claim::{Claim, Machine, clear, file_name, is_dead, stalled};
use super::{Found, RunName, Study, attempt};
use crate::error::Result;

/// How long to wait for the owners of runs, and how often to try.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Patience {
    /// A claim that is not renewed for so long has expired.
    pub expire_after: Duration,
    /// Claims in a row that may end without getting further and without saying why, as those of processes that are killed.
    pub attempts: u32,
    /// Whether runs that had failed before are tried again.
    pub retry: bool,
}

impl Default for Patience {
    fn default() -> Self {
        Self { expire_after: Duration::from_secs(60), attempts: 10, retry: false }
    }
}

/// What there is to do.
#[derive(Debug)]
pub enum Drawn {
    /// The run of this place in the list, which is now this process's.
    Claimed(usize, Box<Claim>),
    /// Nothing, while others are at what is left.
    Wait,
    /// Nothing: all have ended.
    Over,
}

/// When a claim was seen, and for how long it had not changed.
struct Seen {
    bytes: Vec<u8>,
    unchanged: Duration,
    looked: Duration,
}

/// Draws runs for one process.
pub struct Drawer<'a> {
    study: &'a Study,
    names: Vec<RunName>,
    machine: Machine,
    patience: Patience,
    /// The time since some moment, by this process's own clock: those of other machines may be wrong.
    clock: Box<dyn Fn() -> Duration + Send + 'a>,
    seen: HashMap<usize, Seen>,
    is_over: Vec<bool>,
    /// Failures, by run and claim, that were there when drawing began.
    to_retry: HashSet<(usize, u32)>,
    /// Where the last run was found; the search goes on behind it.
    cursor: usize,
}

impl fmt::Debug for Drawer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Drawer").field("study", &self.study).finish_non_exhaustive()
    }
}

impl<'a> Drawer<'a> {
    /// Draws from these runs of a study.
    pub fn new(
        study: &'a Study,
        names: Vec<RunName>,
        machine: Machine,
        patience: Patience,
        clock: impl Fn() -> Duration + Send + 'a,
    ) -> Result<Self> {
        let mut to_retry = HashSet::new();
        if patience.retry {
            for (i, name) in names.iter().enumerate() {
                if let Found::Failed(number, _) = study.find(name)? {
                    to_retry.insert((i, number));
                }
            }
        }
        let (is_over, seen) = (vec![false; names.len()], HashMap::new());
        Ok(Self {
            study,
            names,
            machine,
            patience,
            clock: Box::new(clock),
            seen,
            is_over,
            to_retry,
            cursor: 0,
        })
    }

    /// Claims a run that is free, or whose claim has expired.
    pub fn draw(&mut self) -> Result<Drawn> {
        let count = self.names.len();
        for i in (0..count).map(|offset| (self.cursor + offset) % count).collect::<Vec<_>>() {
            if self.is_over[i] {
                continue;
            }
            if let Some(claim) = self.try_claim(i)? {
                self.cursor = i + 1;
                return Ok(Drawn::Claimed(i, Box::new(claim)));
            }
        }
        Ok(if self.is_over.iter().all(|is_over| *is_over) { Drawn::Over } else { Drawn::Wait })
    }

    fn try_claim(&mut self, i: usize) -> Result<Option<Claim>> {
        let (study, name) = (self.study, self.names[i].clone());
        let (before, stalled) = match study.find(&name)? {
            Found::Done => {
                clear(study, &name);
                self.is_over[i] = true;
                return Ok(None);
            }
            Found::Failed(number, _) if self.to_retry.contains(&(i, number)) => (number, 0),
            Found::Failed(..) => {
                self.is_over[i] = true;
                return Ok(None);
            }
            Found::Free(number) => (number, 0),
            Found::Held(number, bytes) => {
                let path = study.desk(&name).join(file_name(number));
                if !is_dead(&path, &bytes, &self.machine) && !self.has_expired(i, &bytes) {
                    return Ok(None);
                }
                (number, stalled(&bytes, &attempt::saved(study, &name, number)))
            }
        };
        let saved = attempt::saved(study, &name, before);
        let claim = Claim::make(study, &name, before + 1, (&self.machine, stalled, saved))?;
        let Some(claim) = claim else { return Ok(None) };
        if claim.stalled() >= self.patience.attempts {
            let times = claim.stalled();
            claim.fail(&format!(
                "{times} processes in a row ended within it without getting any further and without saying why, as where \
                 memory runs out; try it alone, then again with the study"
            ))?;
            return Ok(None);
        }
        Ok(Some(claim))
    }

    /// Whether a claim was not renewed for too long. A look long after the one before counts for little: this process may
    /// have been stopped together with the owner.
    fn has_expired(&mut self, i: usize, bytes: &[u8]) -> bool {
        let (now, expire_after) = ((self.clock)(), self.patience.expire_after);
        let fresh = || Seen { bytes: bytes.to_vec(), unchanged: Duration::ZERO, looked: now };
        let seen = self.seen.entry(i).or_insert_with(fresh);
        if seen.bytes != bytes {
            *seen = fresh();
        }
        seen.unchanged += now.saturating_sub(seen.looked).min(expire_after / 4);
        seen.looked = now;
        seen.unchanged >= expire_after
    }
}
