//! The algorithms: repeated play of a λ-player against an oracle.

mod appropo;
pub mod game;
mod maximize;
mod model_based;
mod observer;
mod record;

pub use appropo::{Goal, Solution, Stop, StopRule, appropo, resume};
pub use maximize::{Maximum, binary_search, maximize, with_free_objective};
pub use model_based::{MakePlayer, appropo_model_based, resume_model_based};
pub use observer::{Observer, Observers, Phase, Progress, Round};
