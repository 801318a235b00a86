//! Other ways to the same answers.

mod margin;
mod occupancy;

pub use margin::{MarginProgramme, widest_margin_occupancy};
pub use occupancy::{Programme, maximize_occupancy, solve_occupancy};
