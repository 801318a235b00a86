use std::sync::Arc;

use super::registration::{CENTER, RADIUS, SetEntry, below, made};
use super::{Cone, Conic, ConvexSet, Derivative, Errors, SharedSet};
use crate::error::{Error, Result, dimension, in_range};
use crate::options::{Key, Kind};

/// {x : lower ≤ x ≤ upper}, entry by entry; bounds may be infinite.
///
/// Projection: xᵢ clipped to its interval. Orthants and ℓ∞ balls are boxes too.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Bounds {
    /// The box between two corners.
    pub fn new(lower: Vec<f64>, upper: Vec<f64>) -> Result<Self> {
        dimension("upper bound", upper.len(), lower.len())?;
        for (what, values, wrong) in
            [("lower bound", &lower, f64::INFINITY), ("upper bound", &upper, f64::NEG_INFINITY)]
        {
            if let Some(&value) = values.iter().find(|v| v.is_nan() || **v == wrong) {
                return Err(Error::OutOfRange { what: what.into(), value, expected: "a number".into() });
            }
        }
        match lower.iter().zip(&upper).find(|(l, u)| l > u) {
            Some((&l, &u)) => Err(Error::OutOfRange {
                what: "lower bound".into(),
                value: l,
                expected: format!("at most the upper bound {u}"),
            }),
            None => Ok(Self { lower, upper }),
        }
    }

    /// {x ∈ ℝ : x ≤ bound}.
    pub fn at_most(bound: f64) -> Result<Self> {
        Self::new(vec![f64::NEG_INFINITY], vec![bound])
    }

    /// {x ∈ ℝ : x ≥ bound}.
    pub fn at_least(bound: f64) -> Result<Self> {
        Self::new(vec![bound], vec![f64::INFINITY])
    }

    /// {x ∈ ℝ : lower ≤ x ≤ upper}.
    pub fn between(lower: f64, upper: f64) -> Result<Self> {
        Self::new(vec![lower], vec![upper])
    }

    /// The orthant x ≥ 0.
    pub fn nonnegative(dim: usize) -> Self {
        Self { lower: vec![0.0; dim], upper: vec![f64::INFINITY; dim] }
    }

    /// The orthant x ≤ 0.
    pub fn nonpositive(dim: usize) -> Self {
        Self { lower: vec![f64::NEG_INFINITY; dim], upper: vec![0.0; dim] }
    }

    /// The ℓ∞ ball: no entry differs from the centre's by more than `radius`.
    pub fn around(center: &[f64], radius: f64) -> Result<Self> {
        in_range("radius", radius, radius >= 0.0, "0 or more")?;
        Self::new(center.iter().map(|c| c - radius).collect(), center.iter().map(|c| c + radius).collect())
    }
}

impl ConvexSet for Bounds {
    fn requirement(&self) -> String {
        match (self.lower.as_slice(), self.upper.as_slice()) {
            ([l], [u]) if l == u => format!("equal to {u}"),
            ([l], [u]) if l.is_infinite() => format!("at most {u}"),
            ([l], [u]) if u.is_infinite() => format!("at least {l}"),
            ([l], [u]) => format!("between {l} and {u}"),
            (l, u) if u.iter().all(|u| *u == f64::INFINITY) => {
                format!("at least its bound in each of {} entries", l.len())
            }
            (l, u) if l.iter().all(|l| *l == f64::NEG_INFINITY) => {
                format!("at most its bound in each of {} entries", u.len())
            }
            (l, _) => format!("in a box of {} entries", l.len()),
        }
    }

    fn slack(&self, x: &[f64]) -> Option<f64> {
        let rooms = (0..x.len()).map(|i| (x[i] - self.lower[i]).min(self.upper[i] - x[i]));
        Some(rooms.fold(f64::INFINITY, f64::min))
    }

    fn dim(&self) -> usize {
        self.lower.len()
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        for i in 0..x.len() {
            out[i] = x[i].max(self.lower[i]).min(self.upper[i]);
        }
    }

    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        for i in 0..x.len() {
            let lower = if self.lower[i].is_finite() { 0.0 } else { f64::NEG_INFINITY };
            let upper = if self.upper[i].is_finite() { 0.0 } else { f64::INFINITY };
            out[i] = x[i].max(lower).min(upper);
        }
    }

    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        let free: Vec<bool> = (0..x.len()).map(|i| self.lower[i] < x[i] && x[i] < self.upper[i]).collect();
        Box::new(move |d, out| {
            for i in 0..d.len() {
                out[i] = if free[i] { d[i] } else { 0.0 };
            }
        })
    }

    fn radius(&self) -> Option<f64> {
        let square: f64 = self.lower.iter().zip(&self.upper).map(|(l, u)| l.abs().max(u.abs()).powi(2)).sum();
        square.is_finite().then(|| square.sqrt())
    }

    fn can_tighten(&self) -> bool {
        self.lower.iter().chain(&self.upper).any(|bound| bound.is_finite())
    }

    fn tightened(&self, _: &[f64], errors: &Errors) -> Option<SharedSet> {
        let lower = self.lower.iter().zip(errors.entries()).map(|(l, e)| l + e).collect();
        let upper = self.upper.iter().zip(errors.entries()).map(|(u, e)| u - e).collect();
        Some(Arc::new(Self::new(lower, upper).ok()?))
    }

    fn conic(&self) -> Option<Conic> {
        let mut form = Conic::free(self.dim());
        for i in 0..self.dim() {
            if self.upper[i].is_finite() {
                form.constrain(Cone::Nonnegative(1), [(vec![(i, 1.0)], self.upper[i])]);
            }
            if self.lower[i].is_finite() {
                form.constrain(Cone::Nonnegative(1), [(vec![(i, -1.0)], -self.lower[i])]);
            }
        }
        Some(form)
    }
}

pub(crate) static ENTRIES: [SetEntry; 6] = [
    SetEntry {
        key: Key::optional("at_most", Kind::PerEntry, "0.2", "xᵢ ≤ bᵢ; a single number bounds every entry."),
        make: |entry, space| {
            made(entry, Bounds::new(vec![f64::NEG_INFINITY; space.dim], space.per_entry(entry)?))
        },
    },
    SetEntry {
        key: Key::optional(
            "at_least",
            Kind::PerEntry,
            "-0.17",
            "xᵢ ≥ bᵢ; a single number bounds every entry.",
        ),
        make: |entry, space| {
            made(entry, Bounds::new(space.per_entry(entry)?, vec![f64::INFINITY; space.dim]))
        },
    },
    SetEntry {
        key: Key::optional("between", Kind::Pair, "[0.1, 0.2]", "lower ≤ xᵢ ≤ upper for every entry."),
        make: |entry, space| {
            let pair = entry.numbers()?;
            made(entry, Bounds::new(vec![pair[0]; space.dim], vec![pair[1]; space.dim]))
        },
    },
    SetEntry {
        key: Key::optional(
            "equals",
            Kind::PerEntry,
            "0.5",
            "xᵢ = bᵢ; a single number stands for every entry.",
        ),
        make: |entry, space| made(entry, Bounds::new(space.per_entry(entry)?, space.per_entry(entry)?)),
    },
    SetEntry {
        key: Key::optional(
            "box",
            Kind::Table(&[
                Key::required("lower", Kind::Vector, "[0, 0]", "The least of every entry."),
                Key::required("upper", Kind::Vector, "[1, 2]", "The most of every entry."),
            ]),
            "{ lower = [0, 0], upper = [1, 2] }",
            "lowerᵢ ≤ xᵢ ≤ upperᵢ.",
        ),
        make: |entry, space| {
            let table = entry.open_table()?;
            let above = table.require("upper")?;
            let (lower, upper) = (space.vector(&table.require("lower")?)?, space.vector(&above)?);
            if let Some(i) = (0..space.dim).find(|&i| lower[i] > upper[i]) {
                return Err(above.error(below(upper[i], lower[i])));
            }
            made(&above, Bounds::new(lower, upper))
        },
    },
    SetEntry {
        key: Key::optional(
            "linf_ball",
            Kind::Table(&[CENTER, RADIUS]),
            "{ center = [0, 0], radius = 0.1 }",
            "max |xᵢ − centerᵢ| ≤ radius.",
        ),
        make: |entry, space| {
            let table = entry.open_table()?;
            made(entry, Bounds::around(&space.vector(&table.require("center")?)?, table.number("radius")?))
        },
    },
];
