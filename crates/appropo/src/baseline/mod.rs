//! Other ways to the same answers.

mod occupancy;

pub use occupancy::{Programme, maximize_occupancy, solve_occupancy};
