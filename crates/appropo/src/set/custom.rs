use std::fmt;
use std::sync::Arc;

use super::ConvexSet;
use super::registration::SetEntry;
use crate::options::{Key, Kind};

/// A set of your own, given by the function that projects onto it.
pub struct FromProjection<F> {
    dim: usize,
    project: F,
    requirement: String,
}

impl<F> fmt::Debug for FromProjection<F> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "FromProjection({})", self.requirement)
    }
}

impl<F: Fn(&[f64], &mut [f64]) + Send + Sync> FromProjection<F> {
    /// `project(x, out)` writes the point of the set nearest to `x` into `out`.
    pub fn new(dim: usize, project: F) -> Self {
        Self { dim, project, requirement: "in a set of one's own".into() }
    }

    /// The same set, described to people in these words.
    pub fn described(self, requirement: impl Into<String>) -> Self {
        Self { requirement: requirement.into(), ..self }
    }
}

impl<F: Fn(&[f64], &mut [f64]) + Send + Sync> ConvexSet for FromProjection<F> {
    fn requirement(&self) -> String {
        self.requirement.clone()
    }
    fn dim(&self) -> usize {
        self.dim
    }
    fn project(&self, x: &[f64], out: &mut [f64]) {
        (self.project)(x, out);
    }
}

pub(crate) static ENTRIES: [SetEntry; 1] = [SetEntry {
    key: Key::optional(
        "custom",
        Kind::Name,
        "\"mine\"",
        "A set of the calling program, such as a Python function, by the name that it has there.",
    ),
    make: |entry, space| {
        let name = entry.text()?;
        let Some(set) = space.externals.get(name) else {
            return Err(entry.error(format!(
                "the set \"{name}\" was given by another program and is not here; use that program"
            )));
        };
        if set.dim() != space.dim {
            let (found, expected) = (set.dim(), space.dim);
            return Err(entry.error(format!("the set has {found} entries, its measures {expected}")));
        }
        Ok(Arc::clone(set))
    },
}];
