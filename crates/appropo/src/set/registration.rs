use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::{ConvexSet, SharedSet};
use crate::error::Result as LibraryResult;
use crate::options::{Entry, Given, Key, Kind, Range, Result};

/// A kind of set that constraints can name.
#[derive(Debug)]
pub struct SetEntry {
    /// The key that states it, with what may stand there, an example and its formula.
    pub key: Key,
    /// Makes the set that stands at the key.
    pub make: fn(&Entry, &SetSpace) -> Result<SharedSet>,
}

/// Where the points of a set lie, and what its options may refer to.
pub struct SetSpace<'a> {
    /// The entries of a point.
    pub dim: usize,
    /// The vector of this name, where there is one.
    pub vectors: &'a dyn Fn(&str) -> Option<Vec<f64>>,
    /// Sets of the calling program, by name.
    pub externals: &'a HashMap<String, SharedSet>,
    /// The one set that a table states. The registry, which knows what sets there are, fills it in.
    pub part: &'a dyn Fn(&Given) -> Result<SharedSet>,
}

impl fmt::Debug for SetSpace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("SetSpace").field("dim", &self.dim).finish_non_exhaustive()
    }
}

impl<'a> SetSpace<'a> {
    /// The space of points with `dim` entries.
    pub fn new(
        dim: usize,
        vectors: &'a dyn Fn(&str) -> Option<Vec<f64>>,
        externals: &'a HashMap<String, SharedSet>,
    ) -> Self {
        Self { dim, vectors, externals, part: &no_parts }
    }

    /// A vector of the space: numbers, or the name of one.
    pub fn vector(&self, entry: &Entry) -> Result<Vec<f64>> {
        if !entry.is_text() {
            return entry.entries(self.dim);
        }
        let name = entry.text()?;
        if name == "uniform" {
            return Ok(vec![1.0 / self.dim as f64; self.dim]);
        }
        (self.vectors)(name).filter(|vector| vector.len() == self.dim).ok_or_else(|| {
            let needs = match name {
                "expert" => "a world with a model of at most 1,000,000 states and a measure \"reward\"",
                _ => "a measure with one entry a cell of a map, such as visits",
            };
            entry.error(format!("\"{name}\" needs {needs}"))
        })
    }

    /// A vector, or one number for every entry.
    pub(super) fn per_entry(&self, entry: &Entry) -> Result<Vec<f64>> {
        if entry.is_list() || entry.is_text() {
            self.vector(entry)
        } else {
            Ok(vec![entry.number()?; self.dim])
        }
    }

    /// Rows of vectors.
    pub(super) fn rows(&self, entry: &Entry) -> Result<Vec<Vec<f64>>> {
        entry.items()?.iter().map(|row| row.entries(self.dim)).collect()
    }
}

fn no_parts(table: &Given) -> Result<SharedSet> {
    Err(table.error("sets made of others are made by a registry"))
}

/// The set, or an error at `entry`.
pub(super) fn made(entry: &Entry, set: LibraryResult<impl ConvexSet + 'static>) -> Result<SharedSet> {
    entry.at(set.map(|set| Arc::new(set) as SharedSet))
}

/// One number a row.
pub(super) fn offsets(table: &Given, rows: usize) -> Result<Vec<f64>> {
    let entry = table.require("offsets")?;
    let numbers = entry.numbers()?;
    let found = numbers.len();
    if found == rows {
        return Ok(numbers);
    }
    Err(entry.error(format!("found {found} numbers; expected {rows}, one for each row")))
}

pub(super) fn below(upper: f64, lower: f64) -> String {
    format!("found {upper}, below lower; expected {lower} or more")
}

pub(super) const CENTER: Key = Key::required("center", Kind::Vector, "[0, 0]", "The middle.");
pub(super) const RADIUS: Key =
    Key::required("radius", Kind::Number(Range::FROM_ZERO), "0.1", "How far from it x may be.");
pub(super) const NORMAL: Key =
    Key::required("normal", Kind::Vector, "[1, 2]", "The direction that is bounded.");
pub(super) const ROWS: Key =
    Key::required("rows", Kind::Rows, "[[1, 1]]", "A matrix with one column an entry of x.");
pub(super) const OFFSETS: Key = Key::required("offsets", Kind::Numbers, "[1]", "One number a row.");
pub(super) const REFERENCE: Key =
    Key::required("reference", Kind::Vector, "\"uniform\"", "The distribution q.");
