use std::sync::Arc;

use super::registration::{CENTER, RADIUS, SetEntry, made};
use super::{Cone, Conic, ConvexSet, Errors, SharedSet, simplex};
use crate::error::{Result, finite, in_range};
use crate::options::{Key, Kind};
use crate::vector;

/// {x : Σ |xᵢ − centerᵢ| ≤ radius}.
///
/// Projection: soft thresholding of x − center, with the simplex's threshold of the absolute values.
#[derive(Debug, Clone, PartialEq)]
pub struct L1Ball {
    center: Vec<f64>,
    radius: f64,
}

impl L1Ball {
    /// The ℓ₁ ball of `radius` ≥ 0 round `center`.
    pub fn new(center: Vec<f64>, radius: f64) -> Result<Self> {
        finite("center", &center)?;
        in_range("radius", radius, radius >= 0.0, "0 or more")?;
        Ok(Self { center, radius })
    }
}

impl ConvexSet for L1Ball {
    fn requirement(&self) -> String {
        format!("within {} in the l1 norm", self.radius)
    }

    fn dim(&self) -> usize {
        self.center.len()
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        for i in 0..x.len() {
            out[i] = (x[i] - self.center[i]).abs();
        }
        if out.iter().sum::<f64>() <= self.radius {
            return out.copy_from_slice(x);
        }
        let theta = simplex::threshold(out, self.radius);
        for i in 0..x.len() {
            out[i] = self.center[i] + (out[i] - theta).max(0.0).copysign(x[i] - self.center[i]);
        }
    }

    fn project_recession(&self, _: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }

    /// ‖x‖ is convex, so it is largest at a corner center ± radius·eᵢ.
    fn radius(&self) -> Option<f64> {
        let square = vector::dot(&self.center, &self.center);
        let farthest = self.center.iter().map(|c| c.abs()).fold(0.0, f64::max);
        Some((square + 2.0 * self.radius * farthest + self.radius * self.radius).sqrt())
    }

    fn can_tighten(&self) -> bool {
        true
    }

    fn tightened(&self, _: &[f64], errors: &Errors) -> Option<SharedSet> {
        Some(Arc::new(
            Self::new(self.center.clone(), self.radius - errors.along(&vec![1.0; self.dim()])).ok()?,
        ))
    }

    fn conic(&self) -> Option<Conic> {
        let n = self.dim();
        let mut form = Conic::free(n);
        let t = form.auxiliary(n);
        for (i, &c) in self.center.iter().enumerate() {
            let above = (vec![(i, 1.0), (t + i, -1.0)], c);
            let below = (vec![(i, -1.0), (t + i, -1.0)], -c);
            form.constrain(Cone::Nonnegative(2), [above, below]);
        }
        form.constrain(Cone::Nonnegative(1), [((0..n).map(|i| (t + i, 1.0)).collect(), self.radius)]);
        Some(form)
    }
}

pub(crate) static ENTRIES: [SetEntry; 1] = [SetEntry {
    key: Key::optional(
        "l1_ball",
        Kind::Table(&[CENTER, RADIUS]),
        "{ center = [0, 0], radius = 0.1 }",
        "Σ |xᵢ − centerᵢ| ≤ radius.",
    ),
    make: |entry, space| {
        let table = entry.open_table()?;
        made(entry, L1Ball::new(space.vector(&table.require("center")?)?, table.number("radius")?))
    },
}];
