//! Runs of appropo on disk: files that survive anything, evidence that anyone can check, and reports.
//!
//! A run is a folder. Every file in it is written whole or not at all and carries a checksum; one process writes at a
//! time. [`Directory`] writes and reads the files, [`policies`] the mixture, [`Checkpoint`] what is needed to go on.

mod checkpoint;
mod directory;
mod error;
mod log;
mod onnx;
pub mod page;
pub mod policies;
mod protobuf;
mod sealed;
pub mod tensorboard;

pub use checkpoint::Checkpoint;
pub use directory::{Directory, write_whole};
pub use error::{Error, Result};
pub use log::{Log, LogDigest, RoundLine};
pub use onnx::onnx;

/// The version of the format of a run's files.
pub const FORMAT: u32 = 1;
