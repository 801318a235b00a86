use std::sync::Arc;

use super::registration::{CENTER, RADIUS, SetEntry, made};
use super::{Cone, Conic, ConvexSet, Derivative, Errors, Radial, SharedSet};
use crate::error::{Result, finite, in_range};
use crate::options::{Key, Kind};
use crate::vector;

/// {x : ‖x − center‖ ≤ radius}.
///
/// Projection: center + (x − center)·min(1, radius/‖x − center‖).
#[derive(Debug, Clone, PartialEq)]
pub struct Ball {
    center: Vec<f64>,
    radius: f64,
}

impl Ball {
    /// The ball of `radius` ≥ 0 round `center`.
    pub fn new(center: Vec<f64>, radius: f64) -> Result<Self> {
        finite("center", &center)?;
        in_range("radius", radius, radius >= 0.0, "0 or more")?;
        Ok(Self { center, radius })
    }
}

impl ConvexSet for Ball {
    fn requirement(&self) -> String {
        format!("within {} of the center", self.radius)
    }

    fn slack(&self, x: &[f64]) -> Option<f64> {
        Some(self.radius - vector::distance(x, &self.center))
    }

    fn dim(&self) -> usize {
        self.center.len()
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        let distance = vector::distance(x, &self.center);
        if distance <= self.radius {
            return out.copy_from_slice(x);
        }
        let shrink = self.radius / distance;
        for i in 0..x.len() {
            out[i] = self.center[i] + shrink * (x[i] - self.center[i]);
        }
    }

    fn project_recession(&self, _: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }

    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        let mut normal = vector::difference(x, &self.center);
        let distance = vector::norm(&normal);
        if distance <= self.radius {
            return Box::new(|d, out| out.copy_from_slice(d));
        }
        vector::scale(&mut normal, 1.0 / distance);
        let shrink = self.radius / distance;
        Box::new(move |d, out| {
            let along = vector::dot(&normal, d);
            for i in 0..d.len() {
                out[i] = shrink * (d[i] - along * normal[i]);
            }
        })
    }

    /// With x = t·center + p, where p is across: ‖x − a·center‖² = (t − a)²‖center‖² + ‖p‖².
    fn radial<'a>(&'a self, x: &[f64]) -> Option<Radial<'a>> {
        let square = vector::dot(&self.center, &self.center);
        let along = if square > 0.0 { vector::dot(x, &self.center) / square } else { 0.0 };
        let across = x.iter().zip(&self.center).map(|(x, c)| (x - along * c).powi(2)).sum::<f64>();
        Some(Box::new(move |a| {
            let beyond = (along - a) * square;
            let distance = ((along - a) * beyond + across).sqrt();
            // A point of the cone is its own projection.
            let outside = distance - a * self.radius;
            if outside <= 0.0 { 0.0 } else { outside * (beyond / distance + self.radius) }
        }))
    }

    fn radius(&self) -> Option<f64> {
        Some(vector::norm(&self.center) + self.radius)
    }

    fn can_tighten(&self) -> bool {
        true
    }

    fn tightened(&self, at: &[f64], errors: &Errors) -> Option<SharedSet> {
        Some(Arc::new(Self::new(self.center.clone(), self.radius - errors.away_from(&self.center, at)).ok()?))
    }

    fn conic(&self) -> Option<Conic> {
        let mut form = Conic::free(self.dim());
        let entries = self.center.iter().enumerate().map(|(i, c)| (vec![(i, -1.0)], -c));
        form.constrain(
            Cone::SecondOrder(self.dim() + 1),
            std::iter::once((vec![], self.radius)).chain(entries),
        );
        Some(form)
    }
}

pub(crate) static ENTRIES: [SetEntry; 1] = [SetEntry {
    key: Key::optional(
        "ball",
        Kind::Table(&[CENTER, RADIUS]),
        "{ center = \"uniform\", radius = 0.1 }",
        "‖x − center‖ ≤ radius.",
    ),
    make: |entry, space| {
        let table = entry.open_table()?;
        made(entry, Ball::new(space.vector(&table.require("center")?)?, table.number("radius")?))
    },
}];
