//! That a process works on a run, and what it is doing: the file `progress.json`.
//!
//! The file is there from when a process begins until it ends in an orderly way. Where it is there and no process holds
//! the folder's lock, the process was killed.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use appropo::solver::{Phase, Progress};
use serde::{Deserialize, Serialize};

use crate::{Directory, StopRequest, files};

/// How often the file is written at most.
const EVERY: Duration = Duration::from_millis(500);

/// What takes its steps at the moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// "learning" or "evaluation".
    pub phase: String,
    /// Episodes played in it; 0 where they are not counted.
    pub episodes: usize,
    /// Steps taken in it.
    pub samples: u64,
    /// Steps that it may take in all; 0 where that is not known.
    pub of: u64,
    /// The constraints that are not decided yet, by name.
    pub open: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct ProgressFile {
    /// The process, for people; nothing relies on it.
    process: u32,
    activity: Option<Activity>,
}

/// What the process that works on a run does, if that is known. `None` where there is no such process, and it ended in an
/// orderly way.
pub(crate) fn read(directory: &Directory) -> Option<Option<Activity>> {
    let bytes = directory.read_bytes(files::PROGRESS).ok()?;
    Some(serde_json::from_slice::<ProgressFile>(&bytes).ok().and_then(|file| file.activity))
}

/// This process at work.
#[derive(Debug)]
pub(crate) struct Presence {
    path: PathBuf,
    temporary: PathBuf,
    stop: StopRequest,
    stop_path: PathBuf,
    written: Instant,
    is_idle: bool,
}

impl Presence {
    pub fn new(directory: &Directory) -> Self {
        let presence = Self {
            path: directory.file(files::PROGRESS),
            temporary: directory.temporary(files::PROGRESS),
            stop: StopRequest::new(directory),
            stop_path: directory.file(files::STOP),
            written: Instant::now(),
            is_idle: true,
        };
        presence.write(None);
        presence
    }

    pub fn stop(&self) -> &StopRequest {
        &self.stop
    }

    /// A round is over: what was said of its parts is, too.
    pub fn round(&mut self) {
        if !self.is_idle && self.is_due() {
            self.write(None);
            self.is_idle = true;
        }
    }

    /// A part of a round, or the evaluation, has got this far.
    pub fn progress(&mut self, progress: &Progress) {
        if !self.is_due() {
            return;
        }
        let phase = match progress.phase {
            Phase::Learning => "learning",
            Phase::Evaluation => "evaluation",
        };
        self.write(Some(Activity {
            phase: phase.into(),
            episodes: progress.episodes,
            samples: progress.samples,
            of: progress.of,
            open: (progress.open)(),
        }));
        self.is_idle = false;
    }

    fn is_due(&mut self) -> bool {
        let is_due = self.written.elapsed() >= EVERY;
        if is_due {
            self.written = Instant::now();
        }
        is_due
    }

    /// Whole or not at all, but not flushed: it is of no use after a power cut. A run does not end for it either.
    fn write(&self, activity: Option<Activity>) {
        let file = ProgressFile { process: std::process::id(), activity };
        if let Ok(text) = serde_json::to_string(&file) {
            let _ = fs::write(&self.temporary, text + "\n")
                .and_then(|()| fs::rename(&self.temporary, &self.path));
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.stop_path);
    }
}
