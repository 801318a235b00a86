//! What a run is of, and where its time went.

use serde::{Deserialize, Serialize};

use crate::{Directory, files};

/// What a run is of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    /// The version that began it.
    pub version: String,
    /// The problem's name.
    pub problem: String,
    /// Where every random draw comes from.
    pub seed: u64,
    /// The command that does it again.
    pub command: String,
}

/// Where the time went, in seconds, over all processes that worked on the run.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub struct Times {
    /// Waiting for answers.
    pub oracle: f64,
    /// The rest of the search.
    pub player: f64,
    /// Fresh episodes.
    pub evaluation: f64,
    /// Writing files.
    pub writing: f64,
}

impl Times {
    /// Everything.
    pub fn total(&self) -> f64 {
        self.oracle + self.player + self.evaluation + self.writing
    }
}

/// The times of a run, as far as they are known.
pub fn times(directory: &Directory) -> Times {
    directory.read_json(files::TIMES).unwrap_or_default()
}
