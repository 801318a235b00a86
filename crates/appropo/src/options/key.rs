use std::ops::{Bound, RangeBounds};

/// An option: its name, what it may be and what it means.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// Whether it must be given.
    pub presence: Presence,
    /// What one may write there, as in "write radius = 0.1".
    pub example: &'static str,
    /// What it means, in a sentence.
    pub about: &'static str,
}

/// Something that problems can name: an environment, a player, an oracle, a learner or a method.
#[derive(Debug)]
pub struct Registered<R> {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Its options.
    pub keys: &'static [Key],
    /// Reads them.
    pub read: R,
}

/// Whether an option must be given.
#[derive(Debug, Clone, Copy)]
pub enum Presence {
    /// It must.
    Required,
    /// It may be left out, and then means what its description says.
    Optional,
    /// Its default as one would write it.
    Default(&'static str),
}

/// What an option may be.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A number in a range.
    Number(Range),
    /// A whole number, from the least to the most.
    Count(u64, u64),
    /// True or false.
    Flag,
    /// A flag that only states something when it is set.
    True,
    /// A text that is shown to people.
    Name,
    /// One of several words, with what each stands for.
    Word(&'static [(&'static str, &'static str)]),
    /// Texts that are shown to people.
    Names,
    /// The same, or none of them.
    NamesOrNone,
    /// The name of a map, its text, or where there are keys for that how to draw one.
    Map(&'static [(&'static str, &'static str)], Option<&'static [Key]>),
    /// One number an entry of the measures, or one of [`VECTORS`].
    Vector,
    /// A vector, one of [`VECTORS`], or one number for every entry.
    PerEntry,
    /// A lower and an upper bound.
    Pair,
    /// Several numbers.
    Numbers,
    /// Several whole numbers, each from the least to the most.
    Counts(u64, u64),
    /// Several rows of numbers.
    Rows,
    /// Options of their own.
    Table(&'static [Key]),
    /// Tables that each state one set.
    Parts,
    /// A table whose options depend on what it names.
    Open,
    /// Several of those.
    Tables,
    /// A measure, or several.
    Measures,
    /// Measurements by the names of their measures.
    Measurements,
    /// A measure, a table with these keys that states a function of measures, or several such tables.
    Utility(&'static [Key]),
}

/// The finite numbers between two bounds.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// The lower bound.
    pub least: Bound<f64>,
    /// The upper bound.
    pub most: Bound<f64>,
    /// The range in words.
    pub words: &'static str,
}

impl Range {
    /// Any number.
    pub const ANY: Self = Self::new(Bound::Unbounded, Bound::Unbounded, "a number");
    /// Above 0.
    pub const POSITIVE: Self = Self::new(Bound::Excluded(0.0), Bound::Unbounded, "a number above 0");
    /// 0 or more.
    pub const FROM_ZERO: Self = Self::new(Bound::Included(0.0), Bound::Unbounded, "a number, 0 or more");
    /// 0 to 1.
    pub const UNIT: Self = Self::new(Bound::Included(0.0), Bound::Included(1.0), "a number between 0 and 1");
    /// 0 to below 1.
    pub const BELOW_ONE: Self =
        Self::new(Bound::Included(0.0), Bound::Excluded(1.0), "a number from 0 to below 1");
    /// Above 0 to 1.
    pub const SHARE: Self =
        Self::new(Bound::Excluded(0.0), Bound::Included(1.0), "a number above 0, at most 1");
    /// Numbers whose inverses and products stay within the range of numbers.
    pub const MODERATE: Self =
        Self::new(Bound::Included(1e-100), Bound::Included(1e100), "a number above 0, from 1e-100 to 1e100");

    /// The numbers between two bounds, which are `words`.
    pub const fn new(least: Bound<f64>, most: Bound<f64>, words: &'static str) -> Self {
        Self { least, most, words }
    }

    /// Whether a number lies in it.
    pub fn contains(&self, number: f64) -> bool {
        (self.least, self.most).contains(&number)
    }
}

/// Named vectors of one number an entry.
pub const VECTORS: [(&str, &str); 3] = [
    ("uniform", "every entry 1/d"),
    ("uniform-upper-triangle", "uniform over the free cells of the map on or above the diagonal"),
    ("expert", "what the policy with the largest reward measures, planned in the model"),
];

impl Key {
    /// An option that must be given.
    pub const fn required(
        name: &'static str,
        kind: Kind,
        example: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, kind, presence: Presence::Required, example, about }
    }

    /// An option that may be left out.
    pub const fn optional(
        name: &'static str,
        kind: Kind,
        example: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, kind, presence: Presence::Optional, example, about }
    }

    /// An option with a default, as one would write it.
    pub const fn defaulted(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        about: &'static str,
    ) -> Self {
        Self { name, kind, presence: Presence::Default(default), example: default, about }
    }

    /// The default as one would write it, where there is one.
    pub fn default(&self) -> Option<&'static str> {
        match self.presence {
            Presence::Default(text) => Some(text),
            Presence::Required | Presence::Optional => None,
        }
    }
}
