//! The experiments of "Reinforcement Learning with Convex Constraints" (section 4 and the tuning appendix), repeated and
//! judged by exact evaluation, and their figures.

mod figure;
mod reproduce;

use std::path::PathBuf;

pub use reproduce::reproduce;

/// Why an experiment could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ExperimentError {
    /// The library refused.
    #[error(transparent)]
    Library(#[from] appropo::error::Error),
    /// A problem of the experiments can't be read.
    #[error(transparent)]
    Problem(#[from] appropo_file::Diagnostic),
    /// The folder for data and figures can't be made.
    #[error("{}: {source}; choose another folder", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    /// A file can't be written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// A figure can't be drawn.
    #[error("{0}")]
    Figure(String),
    /// No threads could be started.
    #[error("{0}")]
    Threads(String),
}

type Result<T> = std::result::Result<T, ExperimentError>;
