//! Observations and actions as Python states them.

use appropo::env::Space;
use pyo3::prelude::*;

/// A number of elements, or the bounds of each number.
#[derive(FromPyObject)]
pub enum Size {
    Count(usize),
    Bounds(Vec<(f64, f64)>),
}

impl From<Size> for Space {
    fn from(size: Size) -> Self {
        match size {
            Size::Count(count) => Space::Discrete(count),
            Size::Bounds(bounds) => Space::Continuous(bounds),
        }
    }
}
