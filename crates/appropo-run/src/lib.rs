//! Runs of appropo on disk: files that survive anything, evidence that anyone can check, and reports.
//!
//! A run is a folder. Every file in it is written whole or not at all and carries a checksum; one process writes at a
//! time. A [`record::Recorder`] observes a solve and writes its run; [`result::read`] gives the outcome back,
//! [`verify::verify`] computes its claim again, and [`report::page`] shows it.

pub mod about;
mod checkpoint;
mod directory;
mod error;
pub mod evaluation;
pub mod files;
mod follow;
pub mod front;
pub mod live;
mod log;
pub mod onnx;
mod outline;
pub mod page;
pub mod policies;
mod presence;
mod protobuf;
pub mod record;
pub mod report;
pub mod result;
mod sealed;
pub mod stop;
pub mod study;
pub mod tensorboard;
pub mod verify;
mod visits;

pub use checkpoint::Checkpoint;
pub use directory::{Directory, write_whole};
pub use error::{Error, Result};
pub use log::{Log, LogDigest, LogLine};
pub use presence::Activity;
pub use stop::StopRequest;

/// The version of the format of a run's files.
pub const FORMAT: u32 = 2;
