//! Claims: who works on a run of a study, and whether it still does.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::{Failure, RunName, Study, failure_name};
use crate::directory::{flush_folder_of, sealed_json, write_shared};
use crate::error::{Result, io};
use crate::files;

/// Bytes of a claim. It is written over in place, since the system's lock is on the file and not on its name.
const LENGTH: usize = 1024;

/// The machine of a process, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine(Option<String>);

impl Machine {
    /// This one since it was started: what the variable `APPROPO_MACHINE` says, or the system.
    pub fn this() -> Self {
        let named = std::env::var("APPROPO_MACHINE").ok();
        let started = || fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        let name = named.or_else(started).map(|name| name.trim().chars().take(80).collect::<String>());
        Self(name.filter(|name| !name.is_empty()))
    }

    /// One by its name.
    pub fn named(name: &str) -> Self {
        Self(Some(name.into()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stage {
    /// Someone works on it.
    Held,
    /// Its owner stopped on request.
    Released,
    /// Its run was put in its place.
    Finished,
    /// Another run was put there before.
    Beaten,
    /// It ended without a result.
    Failed,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Content {
    machine: Option<String>,
    process: u32,
    /// Whether the owner holds the system's lock on this file for as long as it lives.
    is_locked: bool,
    /// What was saved of the run when the claim was made.
    began_with: String,
    /// Claims in a row before this one that ended without getting further and without saying why.
    stalled: u32,
    stage: Stage,
    /// How often it was renewed.
    beat: u64,
}

/// A claim of this process on a run of a study.
#[derive(Debug)]
pub struct Claim {
    study: Study,
    name: RunName,
    number: u32,
    path: PathBuf,
    file: Mutex<(File, Content)>,
}

/// The name of the file of a claim.
pub(super) fn file_name(number: u32) -> String {
    format!("claim-{number}.json")
}

/// The number of the last claim; 0 where there is none.
pub(super) fn last(desk: &Path) -> Result<u32> {
    let mut last = 0;
    let entries = match fs::read_dir(desk) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        entries => entries.map_err(io(desk, "read"))?,
    };
    for entry in entries {
        let name = entry.map_err(io(desk, "read"))?.file_name();
        let number =
            name.to_str().and_then(|name| name.strip_prefix("claim-")?.strip_suffix(".json")?.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last)
}

/// A claim as its file has it; `None` where its owner was about to write it.
fn parse(bytes: &[u8]) -> Option<Content> {
    serde_json::from_slice(bytes).ok()
}

/// Whether the owner of a claim said that it does not hold it any more.
pub(super) fn is_given_back(bytes: &[u8]) -> bool {
    parse(bytes).is_some_and(|content| content.stage == Stage::Released)
}

/// Whether the owner of a claim is known to be dead: it was a process of this machine, and the system let go of its lock.
pub(super) fn is_dead(path: &Path, bytes: &[u8], this: &Machine) -> bool {
    let is_ours = |content: &Content| content.is_locked && this.0.is_some() && content.machine == this.0;
    parse(bytes).as_ref().is_some_and(is_ours)
        && File::open(path).is_ok_and(|file| file.try_lock_shared().is_ok())
}

/// Claims in a row, the one with these bytes the last, that ended without getting further than `saved`.
pub(super) fn stalled(bytes: &[u8], saved: &str) -> u32 {
    parse(bytes).filter(|content| content.began_with == saved).map_or(0, |content| content.stalled + 1)
}

/// Removes what is left of work on a run that is in its place: of claims that were taken over, of slow owners that still
/// write, and of one that was killed right after its run was put there.
pub(super) fn clear(study: &Study, name: &RunName) {
    let Ok(entries) = fs::read_dir(study.desk(name)) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.starts_with("run-")) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Claim {
    /// Claims a run by the claim of this number; `None` where another has it.
    pub(super) fn make(
        study: &Study,
        name: &RunName,
        number: u32,
        (machine, stalled, saved): (&Machine, u32, String),
    ) -> Result<Option<Self>> {
        let path = study.desk(name).join(file_name(number));
        let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
            file => file.map_err(io(&path, "written"))?,
        };
        // Locked before it says whose it is: an unlocked claim of this machine is that of a dead process.
        let is_locked = file.try_lock().is_ok();
        let content = Content {
            machine: machine.0.clone(),
            process: std::process::id(),
            is_locked,
            began_with: saved,
            stalled,
            stage: Stage::Held,
            beat: 0,
        };
        let claim = Self {
            study: study.clone(),
            name: name.clone(),
            number,
            path,
            file: Mutex::new((file, content)),
        };
        claim.rewrite(|_| {})?;
        flush_folder_of(&claim.path)?;
        if claim.study.is_done(name) {
            claim.set(Stage::Beaten)?;
            return Ok(None);
        }
        Ok(Some(claim))
    }

    /// What is claimed.
    pub fn name(&self) -> &RunName {
        &self.name
    }

    /// The number of the claim, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Claims in a row before this one that ended without getting further.
    pub(super) fn stalled(&self) -> u32 {
        self.file.lock().map_or(0, |file| file.1.stalled)
    }

    /// The folder of the run, in which nobody else writes.
    pub fn folder(&self) -> PathBuf {
        self.study.desk(&self.name).join(format!("run-{}", self.number))
    }

    pub(super) fn study(&self) -> &Study {
        &self.study
    }

    /// Says that its owner is alive.
    pub fn renew(&self) -> Result<()> {
        self.rewrite(|content| content.beat += 1)
    }

    /// Whether another took the run over, because this claim was not renewed for too long.
    pub fn is_lost(&self) -> bool {
        self.study.desk(&self.name).join(file_name(self.number + 1)).exists()
            || self.study.is_done(&self.name)
    }

    /// Gives the run back as it is, for anyone to go on with.
    pub fn release(&self) -> Result<()> {
        self.set(Stage::Released)
    }

    /// Ends the claim without a result. Returns whether it still held.
    pub fn fail(&self, error: &str) -> Result<bool> {
        if self.is_lost() {
            return Ok(false);
        }
        let path = self.study.desk(&self.name).join(failure_name(self.number));
        let failure = Failure { error: error.into() };
        write_shared(&path, sealed_json(&path, &failure)?.as_bytes())?;
        self.set(Stage::Failed)?;
        Ok(true)
    }

    /// Puts the run, which has ended, in its place, and ends the claim. Returns whether it was the first to get there.
    pub fn finish(&self) -> Result<bool> {
        let (work, place) = (self.folder(), self.study.place(&self.name));
        let is_first = !self.is_lost() && self.put(&work, &place)?;
        self.set(if is_first { Stage::Finished } else { Stage::Beaten })?;
        match self.study.is_done(&self.name) {
            true => clear(&self.study, &self.name),
            // Another is still at it, in a folder of its own.
            false => drop(fs::remove_dir_all(work)),
        }
        Ok(is_first)
    }

    /// One rename, which only the first of several can do.
    fn put(&self, work: &Path, place: &Path) -> Result<bool> {
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent).map_err(io(parent, "made"))?;
        }
        match fs::rename(work, place) {
            Ok(()) => {}
            // The answer of a file server may get lost, and asked again it says that there is nothing to rename.
            Err(_) if place.join(files::RESULT).is_file() => return Ok(!work.exists()),
            Err(error) => return Err(io(place, "written")(error)),
        }
        flush_folder_of(work)?;
        flush_folder_of(place)?;
        Ok(true)
    }

    fn set(&self, stage: Stage) -> Result<()> {
        self.rewrite(|content| content.stage = stage)
    }

    fn rewrite(&self, change: impl FnOnce(&mut Content)) -> Result<()> {
        let mut held = self.file.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (file, content) = &mut *held;
        change(content);
        let mut bytes = serde_json::to_vec(content).unwrap_or_default();
        bytes.resize(bytes.len().max(LENGTH - 1), b' ');
        bytes.push(b'\n');
        let written = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&bytes));
        written.and_then(|()| file.sync_data()).map_err(io(&self.path, "written"))
    }
}
