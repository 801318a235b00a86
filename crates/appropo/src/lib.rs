//! x
pub mod error;
pub mod random;
mod root;
pub mod set;
mod vector;
