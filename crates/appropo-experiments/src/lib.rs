//! Many solves at once: methods compared on the same problems, and the experiments of "Reinforcement Learning with Convex
//! Constraints" (section 4 and the tuning appendix), repeated and judged by exact evaluation, with their figures.

mod apprenticeship;
mod compare;
mod figure;
mod reproduce;

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};

pub use apprenticeship::{Apprenticeship, apprenticeship};
pub use compare::{Comparison, join};
pub use reproduce::reproduce;

/// Why an experiment could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ExperimentError {
    /// The library refused.
    #[error(transparent)]
    Library(#[from] appropo::error::Error),
    /// The files of a run.
    #[error(transparent)]
    Run(#[from] appropo_run::Error),
    /// A problem of the experiments can't be read.
    #[error(transparent)]
    Problem(#[from] appropo_file::Diagnostic),
    /// The folder for data and figures can't be made.
    #[error("{}: {source}; choose another folder", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    /// A file can't be written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    /// Two solves of a comparison would be one run.
    #[error("{} would be two runs; name every problem and every method once", path.display())]
    Twice { path: PathBuf },
    /// A figure can't be drawn.
    #[error("{0}")]
    Figure(String),
    /// No threads could be started.
    #[error("{0}")]
    Threads(String),
}

type Result<T> = std::result::Result<T, ExperimentError>;

/// Threads; 0 are as many as there are processors.
fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| ExperimentError::Threads(error.to_string()))
}

/// How many runs are done; shown on terminals only.
fn bar(runs: u64, title: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(runs).with_message(title);
    let template = "{msg} [{bar:20}] {pos} of {len} runs, {per_sec}, {eta} left";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
