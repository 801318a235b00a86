//! What may stand at a key of a problem file. The reader, `check --explain` and the schema all go by these tables.

use std::ops::{Bound, RangeBounds};

use super::format::{Environment, SETS};

/// A key, what may stand there and what it means.
pub struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub presence: Presence,
    /// What one may write there, as in "write radius = 0.1".
    pub example: &'static str,
    pub about: &'static str,
}

pub enum Presence {
    Required,
    Optional,
    /// The default as one would write it, in the form in which numbers are written out.
    Default(&'static str),
}

pub enum Kind {
    Number(Range),
    /// A whole number, from the least to the most.
    Count(u64, u64),
    Flag,
    /// A flag that only states something when it is set.
    True,
    /// A text that is shown to people.
    Name,
    /// One of several words, with what each stands for.
    Word(&'static [(&'static str, &'static str)]),
    /// Texts that are shown to people.
    Names,
    /// The name of a measure, or several.
    Measures,
    /// The name of a map, its text, or where there are keys for that how to draw one.
    Map(&'static [(&'static str, &'static str)], Option<&'static [Key]>),
    /// One number an entry of the measures, or the name of such a vector.
    Vector,
    /// A vector, or one number for every entry.
    PerEntry,
    Pair,
    Numbers,
    Rows,
    Table(&'static [Key]),
    /// Tables that each state one set.
    Parts,
    /// Measurements by the names of their measures.
    Measurements,
    Environment(&'static [Environment]),
    /// Tables with these keys that each state one set.
    Constraints(&'static [Key]),
}

/// The finite numbers between two bounds.
pub struct Range {
    pub least: Bound<f64>,
    pub most: Bound<f64>,
    pub words: &'static str,
}

impl Range {
    pub fn contains(&self, number: f64) -> bool {
        (self.least, self.most).contains(&number)
    }

    const fn new(least: Bound<f64>, most: Bound<f64>, words: &'static str) -> Self {
        Self { least, most, words }
    }
}

pub const ANY: Range = Range::new(Bound::Unbounded, Bound::Unbounded, "a number");
pub const POSITIVE: Range = Range::new(Bound::Excluded(0.0), Bound::Unbounded, "a number above 0");
pub const FROM_ZERO: Range = Range::new(Bound::Included(0.0), Bound::Unbounded, "a number, 0 or more");
pub const UNIT: Range = Range::new(Bound::Included(0.0), Bound::Included(1.0), "a number between 0 and 1");
pub const BELOW_ONE: Range =
    Range::new(Bound::Included(0.0), Bound::Excluded(1.0), "a number from 0 to below 1");
pub const SLOPE: Range = Range::new(Bound::Included(0.0), Bound::Included(1e9), "a number between 0 and 1e9");
/// Numbers whose inverses and products stay within the range of numbers.
pub const MODERATE: Range =
    Range::new(Bound::Included(1e-100), Bound::Included(1e100), "a number above 0, from 1e-100 to 1e100");

/// Named vectors of one number an entry.
pub const VECTORS: [(&str, &str); 2] = [
    ("uniform", "every entry 1/d"),
    ("uniform-upper-triangle", "uniform over the free cells of the map on or above the diagonal"),
];

impl Key {
    pub const fn required(
        name: &'static str,
        kind: Kind,
        example: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, kind, presence: Presence::Required, example, about }
    }

    pub const fn optional(
        name: &'static str,
        kind: Kind,
        example: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, kind, presence: Presence::Optional, example, about }
    }

    pub const fn defaulted(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, kind, presence: Presence::Default(default), example: default, about }
    }

    pub fn default(&self) -> Option<&'static str> {
        match self.presence {
            Presence::Default(text) => Some(text),
            _ => None,
        }
    }
}

/// The keys of a table that states one set besides `others`.
pub fn with_sets(others: &'static [Key]) -> Vec<&'static Key> {
    others.iter().chain(&SETS).collect()
}
