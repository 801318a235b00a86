//! Asking a run to stop from outside its process: an empty file `stop` in its folder.
//!
//! A file reaches every process that works on the run, the program's or Python's, on every system. A signal would need a
//! process number, which may belong to someone else by the time it is used, and would stop all runs of a process.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::error::{Result, io};
use crate::{Directory, files};

/// How often the file is looked for at most.
const EVERY: Duration = Duration::from_millis(100);
/// How long a round may go on after the request.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether someone asked the run of a folder to stop.
#[derive(Debug, Clone)]
pub struct StopRequest {
    path: Arc<PathBuf>,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug)]
struct Seen {
    looked: Instant,
    since: Option<Instant>,
}

impl StopRequest {
    pub(crate) fn new(directory: &Directory) -> Self {
        let seen = Seen { looked: Instant::now(), since: None };
        Self { path: Arc::new(directory.file(files::STOP)), seen: Arc::new(Mutex::new(seen)) }
    }

    /// Whether someone asked.
    pub fn is_made(&self) -> bool {
        self.since().is_some()
    }

    /// Whether someone asked so long ago that a round is not worth waiting for.
    pub fn is_overdue(&self) -> bool {
        self.since().is_some_and(|since| since.elapsed() > PATIENCE)
    }

    fn since(&self) -> Option<Instant> {
        // A thread that panicked while it looked left a moment behind, which is all there is.
        let mut seen = self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if seen.since.is_none() && seen.looked.elapsed() >= EVERY {
            seen.looked = Instant::now();
            seen.since = self.path.exists().then_some(seen.looked);
        }
        seen.since
    }
}

/// Asks the process that works on a run to stop. Returns whether there is one.
pub fn request(directory: &Directory) -> Result<bool> {
    if directory.has(files::RESULT) || !directory.is_in_use() {
        return Ok(false);
    }
    let path = directory.file(files::STOP);
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(io(&path, "written")(error)),
        _ => Ok(true),
    }
}

/// Takes back a request that came too late: nothing works on the run any more.
pub fn withdraw(directory: &Directory) -> Result<()> {
    if directory.is_in_use() { Ok(()) } else { directory.remove(files::STOP) }
}
