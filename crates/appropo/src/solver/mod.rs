//! The algorithms: repeated play of a λ-player against an oracle.

mod appropo;
mod binary_search;
pub mod game;
mod lagrangian;
mod last_iterate;
mod lead;
mod margin;
mod maximize;
mod maximize_model_based;
mod measured;
mod model_based;
mod multipliers;
mod observer;
mod pareto;
mod record;

pub use appropo::{Goal, Solution, Stop, StopRule, appropo, resume};
pub use binary_search::binary_search;
pub use lagrangian::{Deployed, LagrangianTarget, lagrangian};
pub use last_iterate::{LastIterateSteps, last_iterate};
pub use margin::{WidestMargin, widest_margin};
pub use maximize::{Maximum, maximize, resume_maximize, with_free_objective};
pub use maximize_model_based::{maximize_model_based, resume_maximize_model_based};
pub use model_based::{MakePlayer, appropo_model_based, resume_model_based};
pub use multipliers::Pace;
pub use observer::{Doubts, Judgement, Observer, Observers, Phase, Progress, Round};
pub use pareto::{
    Approximation, FrontBound, FrontPoint, MOST_MEASURES, Pareto, ParetoProgress, ParetoRule, ParetoWatch,
    approximation, pareto_front, ranges,
};
