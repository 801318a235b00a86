//! A log that is read while another process writes it.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use appropo::outcome::{History, RoundLine, number};

use crate::LogLine;
use crate::error::{Result, damaged, io};

/// Rounds of which the tail of the log is shown.
const TAIL: usize = 20;
/// Bytes of the log that are read at once.
const CHUNK: u64 = 8 << 20;
/// A line of more bytes is none of a run's.
const LONGEST: usize = 4 << 20;

/// A log that is read as it grows.
#[derive(Debug)]
pub(crate) struct Follower {
    pub history: History,
    /// The last lines, in words.
    tail: VecDeque<String>,
    /// Bytes read, all of them of whole lines, and the last of these lines.
    read: u64,
    last: Vec<u8>,
}

impl Follower {
    pub fn new(names: Vec<String>) -> Self {
        Self {
            history: History { names, lines: Vec::new() },
            tail: VecDeque::new(),
            read: 0,
            last: Vec::new(),
        }
    }

    pub fn rounds(&self) -> usize {
        self.history.lines.last().map_or(0, |line| line.round)
    }

    pub fn tail(&self) -> Vec<String> {
        self.tail.iter().cloned().collect()
    }

    /// Reads the lines that were added. A log that is not what it was, as where a run goes on from its last checkpoint, is
    /// read from its beginning.
    pub fn follow(&mut self, path: &Path) -> Result<()> {
        if !fs::metadata(path).map_err(io(path, "read"))?.is_file() {
            return Err(damaged(path, "it is not a plain file"));
        }
        let mut file = File::open(path).map_err(io(path, "read"))?;
        if !self.goes_on(&mut file) {
            *self = Self::new(std::mem::take(&mut self.history.names));
        }
        loop {
            file.seek(SeekFrom::Start(self.read)).map_err(io(path, "read"))?;
            let mut bytes = Vec::new();
            Read::by_ref(&mut file).take(CHUNK).read_to_end(&mut bytes).map_err(io(path, "read"))?;
            let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
                if bytes.len() > LONGEST {
                    return Err(damaged(path, format!("it has a line of more than {LONGEST} bytes")));
                }
                return Ok(());
            };
            for line in bytes[..end].split(|byte| *byte == b'\n') {
                self.add(path, line)?;
            }
            self.read += end as u64 + 1;
        }
    }

    /// Whether what was read is still there.
    fn goes_on(&self, file: &mut File) -> bool {
        let from = self.read.saturating_sub(self.last.len() as u64 + 1);
        let mut found = vec![0; self.last.len()];
        self.last.is_empty()
            || (file.seek(SeekFrom::Start(from)).is_ok()
                && file.read_exact(&mut found).is_ok()
                && found == self.last)
    }

    fn add(&mut self, path: &Path, line: &[u8]) -> Result<()> {
        let number = self.rounds() + 1;
        let read: LogLine = serde_json::from_slice(line)
            .map_err(|error| damaged(path, format!("the line of round {number}: {error}")))?;
        let round = read.round(&self.history.names);
        if self.tail.len() == TAIL {
            self.tail.pop_front();
        }
        self.tail.push_back(told(&round, &self.history.names));
        self.history.add(round);
        line.clone_into(&mut self.last);
        Ok(())
    }
}

/// "round 12: distance 0.0312, at least 0, 4096 samples; failure 0.19, reward -0.17".
fn told(line: &RoundLine, names: &[String]) -> String {
    let RoundLine { round, samples, distance, lower_bound, .. } = line;
    let mut text =
        format!("round {round}: distance {}, at least {}", number(*distance), number(*lower_bound));
    if let Some(objective) = line.objective {
        text += &format!(", best {}", number(objective));
    }
    if *samples > 0 {
        text += &format!(", {samples} samples");
    }
    let measured: Vec<String> =
        names.iter().zip(&line.mixture).map(|(name, value)| format!("{name} {}", number(*value))).collect();
    if !measured.is_empty() {
        text += &format!("; {}", measured.join(", "));
    }
    text
}
