//! x
pub mod baseline;
pub mod certificate;
pub mod constraint;
pub mod env;
pub mod error;
pub mod measurement;
pub mod oracle;
pub mod player;
pub mod policy;
pub mod random;
pub mod rl;
mod root;
pub mod set;
pub mod solver;
pub mod theory;
mod vector;
