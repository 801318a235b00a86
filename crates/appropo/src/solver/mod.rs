//! The algorithms: repeated play of a λ-player against an oracle.

mod appropo;
pub mod game;
mod imagined;
mod maximize;
mod observer;

pub use appropo::{Goal, Options, Solution, appropo, resume};
pub use imagined::{Assurance, appropo_imagined, resume_imagined};
pub use maximize::{Maximum, binary_search, maximize, with_free_objective};
pub use observer::{Observer, Round};
