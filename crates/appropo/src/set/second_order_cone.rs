use std::ops::Bound;

use super::registration::{SetEntry, made};
use super::{Cone, Conic, ConvexSet};
use crate::error::{Error, Result, in_range};
use crate::options::{Key, Kind, Range};
use crate::vector;

/// {(w, l) : ‖w‖ ≤ slope·l}, with l the last entry.
///
/// Projection of (w, l), with slope τ:
/// - itself, if ‖w‖ ≤ τl;
/// - 0, if τ‖w‖ ≤ −l (the polar cone);
/// - otherwise l′ = (l + τ‖w‖)/(1 + τ²) and w′ = τl′·w/‖w‖.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondOrderCone {
    dim: usize,
    slope: f64,
}

impl SecondOrderCone {
    /// The cone in ℝ`dim` with `slope` ≥ 0.
    pub fn new(dim: usize, slope: f64) -> Result<Self> {
        in_range("slope", slope, (0.0..=1e9).contains(&slope), "between 0 and 1e9")?;
        if dim == 0 {
            return Err(Error::Dimension { what: "a second-order cone".into(), found: 0, expected: 1 });
        }
        Ok(Self { dim, slope })
    }
}

impl ConvexSet for SecondOrderCone {
    fn requirement(&self) -> String {
        format!("in the cone of slope {}", self.slope)
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        let last = self.dim - 1;
        let (length, height, slope) = (vector::norm(&x[..last]), x[last], self.slope);
        if length <= slope * height {
            return out.copy_from_slice(x);
        }
        if slope * length <= -height {
            return out.fill(0.0);
        }
        let new_height = (height + slope * length) / (1.0 + slope * slope);
        for i in 0..last {
            out[i] = slope * new_height / length * x[i];
        }
        out[last] = new_height;
    }

    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        self.project(x, out);
    }

    fn conic(&self) -> Option<Conic> {
        let last = self.dim - 1;
        let mut form = Conic::free(self.dim);
        let top = (vec![(last, -self.slope)], 0.0);
        let entries = (0..last).map(|i| (vec![(i, -1.0)], 0.0));
        form.constrain(Cone::SecondOrder(self.dim), std::iter::once(top).chain(entries));
        // Slope 0 leaves the height's sign open.
        form.constrain(Cone::Nonnegative(1), [(vec![(last, -1.0)], 0.0)]);
        Some(form)
    }
}

pub(crate) static ENTRIES: [SetEntry; 1] = [SetEntry {
    key: Key::optional(
        "second_order_cone",
        Kind::Table(&SLOPE),
        "{ slope = 1 }",
        "‖(x₁, …, x_{d−1})‖ ≤ slope·x_d.",
    ),
    make: |entry, space| made(entry, SecondOrderCone::new(space.dim, entry.table(&SLOPE)?.number("slope")?)),
}];

static SLOPE: [Key; 1] = [Key::defaulted(
    "slope",
    Kind::Number(Range::new(Bound::Included(0.0), Bound::Included(1e9), "a number between 0 and 1e9")),
    "1",
    "The slope of its sides.",
)];
