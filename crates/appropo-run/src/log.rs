use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use appropo::outcome::{History, RoundLine};
use appropo::scalars::Scalar;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Result, damaged, io};
use crate::{Directory, files, sealed};

const NAME: &str = files::ROUNDS;

/// Bytes that are handed to the system at once.
const CHUNK: usize = 1 << 20;

/// How long a line is held back at most while more are added, so that others can follow the run.
const SOON: Duration = Duration::from_millis(500);

/// What a round left behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// t, counted from 1.
    pub round: usize,
    /// Steps taken in the world so far.
    pub samples: u64,
    /// The distance of the mixture from the set.
    pub distance: f64,
    /// No policy comes closer than this.
    pub lower_bound: f64,
    /// The best value of the objective so far with the constraints held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<f64>,
    /// λ of each measure of one number, and the length of λ for each constraint on several.
    pub lambda: BTreeMap<String, f64>,
    /// What the answer measures: those numbers, and the slack of those constraints.
    pub answer: BTreeMap<String, f64>,
    /// What the mixture measures.
    pub mixture: BTreeMap<String, f64>,
}

/// How long a log is, and its SHA-256 in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LogDigest {
    /// Bytes.
    pub bytes: u64,
    /// The SHA-256 of these bytes.
    pub sha256: String,
}

/// The log of a run. The system has lines soon after they were added; they are safe on disk with the checkpoint that they
/// belong to.
#[derive(Debug)]
pub struct Log {
    file: File,
    length: u64,
    digest: Sha256,
    waiting: Vec<u8>,
    handed: Instant,
}

impl Log {
    /// An empty log.
    pub fn create(directory: &Directory) -> Result<Self> {
        directory.write(NAME, b"")?;
        Ok(Self::open(directory, &LogDigest { bytes: 0, sha256: sealed::digest(b"") })?.0)
    }

    /// The log as it was when it had this length. Later lines, which no checkpoint knows of, are dropped.
    /// Also returns the lines.
    pub fn open(directory: &Directory, digest: &LogDigest) -> Result<(Self, Vec<LogLine>)> {
        let length = digest.bytes;
        let path = directory.file(NAME);
        let mut file = OpenOptions::new().read(true).write(true).open(&path).map_err(io(&path, "opened"))?;
        let mut known = Vec::new();
        Read::by_ref(&mut file).take(length).read_to_end(&mut known).map_err(io(&path, "read"))?;
        let sum = Sha256::new_with_prefix(&known);
        if known.len() as u64 != length || sealed::hexadecimal(&sum.clone().finalize()) != digest.sha256 {
            return Err(damaged(&path, "it is not what the checkpoint says of it"));
        }
        file.set_len(length).map_err(io(&path, "written"))?;
        let lines = parse(&path, &known)?;
        Ok((Self { file, length, digest: sum, waiting: Vec::new(), handed: Instant::now() }, lines))
    }

    /// Adds a line, which is not safe on disk yet.
    pub fn add(&mut self, directory: &Directory, line: &LogLine) -> Result<()> {
        // Numbers and lists always make a line of JSON.
        if serde_json::to_writer(&mut self.waiting, line).is_ok() {
            self.waiting.push(b'\n');
        }
        // The system writes while the run goes on, so that little is left to wait for.
        if self.waiting.len() >= CHUNK { self.hand_over(directory) } else { self.show(directory) }
    }

    /// Lets others see the lines that have waited for long.
    pub fn show(&mut self, directory: &Directory) -> Result<()> {
        let is_due = !self.waiting.is_empty() && self.handed.elapsed() >= SOON;
        if is_due { self.hand_over(directory) } else { Ok(()) }
    }

    fn hand_over(&mut self, directory: &Directory) -> Result<()> {
        self.file.write_all(&self.waiting).map_err(io(&directory.file(NAME), "written"))?;
        self.length += self.waiting.len() as u64;
        self.digest.update(&self.waiting);
        self.waiting.clear();
        self.handed = Instant::now();
        Ok(())
    }

    /// Puts all lines on disk.
    pub fn flush(&mut self, directory: &Directory) -> Result<LogDigest> {
        self.hand_over(directory)?;
        self.file.sync_data().map_err(io(&directory.file(NAME), "written"))?;
        let sha256 = sealed::hexadecimal(&self.digest.clone().finalize());
        Ok(LogDigest { bytes: self.length, sha256 })
    }

    /// All lines of the log of a run that has ended.
    pub fn read(directory: &Directory, digest: &LogDigest) -> Result<Vec<LogLine>> {
        let path = directory.file(NAME);
        let bytes = directory.read_bytes(NAME)?;
        if sealed::digest(&bytes) != digest.sha256 {
            return Err(damaged(&path, "its checksum does not fit its content"));
        }
        parse(&path, &bytes)
    }
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<LogLine>> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate();
    lines
        .map(|(i, line)| {
            let wrong = |error| damaged(path, format!("line {}: {error}", i + 1));
            serde_json::from_slice(line).map_err(wrong)
        })
        .collect()
}

impl LogLine {
    /// The line of a round.
    pub fn of(line: &RoundLine, scalars: &[Scalar]) -> Self {
        let named = |values: &[f64]| {
            scalars.iter().zip(values).map(|(scalar, value)| (scalar.name.clone(), *value)).collect()
        };
        Self {
            round: line.round,
            samples: line.samples,
            distance: line.distance,
            lower_bound: line.lower_bound,
            objective: line.objective,
            lambda: named(&line.lam),
            answer: named(&line.answer),
            mixture: named(&line.mixture),
        }
    }

    /// The history that lines tell.
    pub fn history(lines: Vec<Self>, scalars: &[Scalar]) -> History {
        let names: Vec<String> = scalars.iter().map(|scalar| scalar.name.clone()).collect();
        let mut history = History { names: names.clone(), lines: Vec::new() };
        lines.iter().for_each(|line| history.add(line.round(&names)));
        history
    }

    /// The round that it tells of, its numbers in the order of their names.
    pub(crate) fn round(&self, names: &[String]) -> RoundLine {
        let values = |named: &BTreeMap<String, f64>| {
            names.iter().map(|name| named.get(name).copied().unwrap_or(f64::NAN)).collect()
        };
        RoundLine {
            round: self.round,
            samples: self.samples,
            distance: self.distance,
            lower_bound: self.lower_bound,
            objective: self.objective,
            lam: values(&self.lambda),
            answer: values(&self.answer),
            mixture: values(&self.mixture),
        }
    }
}
