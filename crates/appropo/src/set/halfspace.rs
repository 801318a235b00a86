use std::sync::Arc;

use super::registration::{NORMAL, SetEntry, below, made};
use super::{Cone, Conic, ConvexSet, Derivative, Errors, SharedSet};
use crate::error::{Error, Result, finite, moderate};
use crate::options::{Key, Kind, Range};
use crate::vector;

/// {x : normal·x ≤ offset}.
///
/// Projection: x − max(0, normal·x − offset)·normal/‖normal‖².
#[derive(Debug, Clone, PartialEq)]
pub struct HalfSpace(Slab);

impl HalfSpace {
    /// The half-space below `normal`·x = `offset`; the normal must not be 0.
    pub fn new(normal: Vec<f64>, offset: f64) -> Result<Self> {
        finite("offset", &[offset])?;
        Slab::new(normal, f64::NEG_INFINITY, offset).map(Self)
    }
}

/// {x : lower ≤ normal·x ≤ upper}; one of the bounds may be infinite.
///
/// Projection: x moved along the normal until normal·x is clipped to the interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Slab {
    normal: Vec<f64>,
    lower: f64,
    upper: f64,
}

impl Slab {
    /// The slab between two parallel planes; the normal must not be 0.
    pub fn new(normal: Vec<f64>, lower: f64, upper: f64) -> Result<Self> {
        finite("normal", &normal)?;
        let expected = |what: &str, value, expected: &str| Error::OutOfRange {
            what: what.into(),
            value,
            expected: expected.into(),
        };
        if vector::norm(&normal) == 0.0 {
            return Err(expected("the normal's length", 0.0, "more than 0"));
        }
        moderate("the normal's largest entry", &normal)?;
        if lower.is_nan() || upper.is_nan() || lower > upper {
            return Err(expected("lower offset", lower, &format!("at most the upper offset {upper}")));
        }
        Ok(Self { normal, lower, upper })
    }

    fn shift(&self, x: &[f64], lower: f64, upper: f64, out: &mut [f64]) {
        let height = vector::dot(&self.normal, x);
        let step = (height.max(lower).min(upper) - height) / vector::dot(&self.normal, &self.normal);
        for i in 0..x.len() {
            out[i] = x[i] + step * self.normal[i];
        }
    }
}

impl ConvexSet for Slab {
    fn requirement(&self) -> String {
        format!("in the slab from {} to {}", self.lower, self.upper)
    }

    fn dim(&self) -> usize {
        self.normal.len()
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        self.shift(x, self.lower, self.upper, out);
    }

    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        let zero_if_finite = |bound: f64| if bound.is_finite() { 0.0 } else { bound };
        self.shift(x, zero_if_finite(self.lower), zero_if_finite(self.upper), out);
    }

    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        let height = vector::dot(&self.normal, x);
        if self.lower <= height && height <= self.upper {
            return Box::new(|d, out| out.copy_from_slice(d));
        }
        Box::new(move |d, out| {
            let along = vector::dot(&self.normal, d) / vector::dot(&self.normal, &self.normal);
            for i in 0..d.len() {
                out[i] = d[i] - along * self.normal[i];
            }
        })
    }

    fn can_tighten(&self) -> bool {
        true
    }

    fn tightened(&self, _: &[f64], errors: &Errors) -> Option<SharedSet> {
        let reach = errors.along(&self.normal);
        Some(Arc::new(Self::new(self.normal.clone(), self.lower + reach, self.upper - reach).ok()?))
    }

    fn conic(&self) -> Option<Conic> {
        let mut form = Conic::free(self.dim());
        for (sign, bound) in [(1.0, self.upper), (-1.0, -self.lower)] {
            if bound.is_finite() {
                let row = self.normal.iter().enumerate().map(|(i, a)| (i, sign * a)).collect();
                form.constrain(Cone::Nonnegative(1), [(row, bound)]);
            }
        }
        Some(form)
    }
}

impl ConvexSet for HalfSpace {
    fn requirement(&self) -> String {
        format!("in the half-space below {}", self.0.upper)
    }

    fn slack(&self, x: &[f64]) -> Option<f64> {
        Some(self.0.upper - vector::dot(x, &self.0.normal))
    }

    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn project(&self, x: &[f64], out: &mut [f64]) {
        self.0.project(x, out);
    }
    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        self.0.project_recession(x, out);
    }
    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        self.0.derivative(x)
    }

    fn can_tighten(&self) -> bool {
        true
    }

    fn tightened(&self, at: &[f64], errors: &Errors) -> Option<SharedSet> {
        self.0.tightened(at, errors)
    }

    fn conic(&self) -> Option<Conic> {
        self.0.conic()
    }
}

pub(crate) static ENTRIES: [SetEntry; 2] = [
    SetEntry {
        key: Key::optional(
            "halfspace",
            Kind::Table(&[
                NORMAL,
                Key::required("offset", Kind::Number(Range::ANY), "0.5", "The most of normal·x."),
            ]),
            "{ normal = [1, 2], offset = 0.5 }",
            "normal·x ≤ offset.",
        ),
        make: |entry, space| {
            let table = entry.open_table()?;
            let normal = table.require("normal")?;
            made(&normal, HalfSpace::new(space.vector(&normal)?, table.number("offset")?))
        },
    },
    SetEntry {
        key: Key::optional(
            "slab",
            Kind::Table(&[
                NORMAL,
                Key::required("lower", Kind::Number(Range::ANY), "0", "The least of normal·x."),
                Key::required("upper", Kind::Number(Range::ANY), "0.5", "The most of normal·x."),
            ]),
            "{ normal = [1, 2], lower = 0, upper = 0.5 }",
            "lower ≤ normal·x ≤ upper.",
        ),
        make: |entry, space| {
            let table = entry.open_table()?;
            let (lower, upper) = (table.number("lower")?, table.number("upper")?);
            if lower > upper {
                return Err(table.require("upper")?.error(below(upper, lower)));
            }
            let normal = table.require("normal")?;
            made(&normal, Slab::new(space.vector(&normal)?, lower, upper))
        },
    },
];
