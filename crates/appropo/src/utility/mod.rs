//! Utilities: what is optimised of long-term measurements, a measure or a concave function of several.

mod criterion;
mod direction;
mod entropy;
mod linear;
mod smooth_minimum;
mod squared_distance;
mod stated;
mod sum;

pub use criterion::Criterion;
pub use direction::Direction;
pub use entropy::Entropy;
pub use linear::Linear;
pub use smooth_minimum::SmoothMinimum;
pub use squared_distance::SquaredDistance;
pub use stated::{FUNCTIONS, KEYS, Shape, Term, Utility};
pub use sum::Sum;

use std::fmt;

use crate::set::Conic;

/// A concave function with a gradient everywhere. Outside of what it is meant for, such as below 0 for an entropy, it goes
/// on in any way that keeps it so.
pub trait Concave: fmt::Debug + Send + Sync {
    /// Entries of x.
    fn dim(&self) -> usize;

    /// f(x).
    fn value(&self, x: &[f64]) -> f64;

    /// ∇f(x).
    fn gradient(&self, x: &[f64], out: &mut [f64]);

    /// ∇²f(x)·d.
    fn curvature(&self, x: &[f64], d: &[f64], out: &mut [f64]);

    /// {(x, t) : t ≤ f(x)} where f means what it says.
    fn hypograph(&self) -> Conic;
}
