//! Other ways to the same answers.

mod occupancy;
mod rcpo;

pub use occupancy::{Programme, maximize_occupancy, solve_occupancy};
pub use rcpo::{Cost, Rcpo, RcpoOptions};
