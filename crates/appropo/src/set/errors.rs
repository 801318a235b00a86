use std::ops::Range;

use super::{ConvexSet, SharedSet};
use crate::vector;

/// How far the entries of a measurement may be off.
#[derive(Debug, Clone, PartialEq)]
pub enum Errors {
    /// By at most this much each, all at once and in any direction.
    AtMost(Vec<f64>),
    /// By independent errors with these standard deviations.
    Standard(Vec<f64>),
}

impl Errors {
    /// One for each entry.
    pub fn entries(&self) -> &[f64] {
        match self {
            Self::AtMost(entries) | Self::Standard(entries) => entries,
        }
    }

    /// The same kind of errors for other entries.
    pub fn with(&self, entries: impl IntoIterator<Item = f64>) -> Self {
        let entries = entries.into_iter().collect();
        match self {
            Self::AtMost(_) => Self::AtMost(entries),
            Self::Standard(_) => Self::Standard(entries),
        }
    }

    /// Those of some entries.
    pub fn block(&self, entries: Range<usize>) -> Self {
        self.with(self.entries()[entries].iter().copied())
    }

    /// These errors times a factor.
    pub fn scaled(&self, factor: f64) -> Self {
        self.with(self.entries().iter().map(|error| factor * error))
    }

    /// The error of normal·z.
    pub fn along(&self, normal: &[f64]) -> f64 {
        let parts = normal.iter().zip(self.entries()).map(|(n, e)| (n * e).abs());
        match self {
            Self::AtMost(_) => parts.sum(),
            Self::Standard(_) => parts.map(|part| part * part).sum::<f64>().sqrt(),
        }
    }

    /// The error of ‖z − center‖ for z near `at`.
    pub(super) fn away_from(&self, center: &[f64], at: &[f64]) -> f64 {
        match self {
            Self::AtMost(entries) => vector::norm(entries),
            Self::Standard(_) => {
                let mut away = vector::difference(at, center);
                let length = vector::norm(&away);
                vector::scale(&mut away, 1.0 / length.max(f64::MIN_POSITIVE));
                self.along(&away)
            }
        }
    }

    /// The error of a + b, of which the entries' errors are these.
    pub(super) fn of_sum(&self, a: f64, b: f64) -> f64 {
        match self {
            Self::AtMost(_) => a + b,
            Self::Standard(_) => a.hypot(b),
        }
    }
}

/// Whether `x` lies in the set even if it is off by `errors`; in blocks that are too small for that, whether it may lie
/// in them.
pub(crate) fn holds(set: &SharedSet, x: &[f64], errors: &Errors, tolerance: f64) -> bool {
    match set.blocks() {
        Some(blocks) => placed(blocks)
            .all(|(block, range)| holds(block, &x[range.clone()], &errors.block(range), tolerance)),
        None => match set.tightened(x, errors) {
            Some(inner) => inner.contains(x, tolerance),
            None => set.contains(x, tolerance + vector::norm(errors.entries())),
        },
    }
}

/// Blocks with the entries of a vector that they are about.
pub(crate) fn placed(blocks: &[SharedSet]) -> impl Iterator<Item = (&SharedSet, Range<usize>)> {
    let mut start = 0;
    blocks.iter().map(move |block| {
        let range = start..start + block.dim();
        start = range.end;
        (block, range)
    })
}
