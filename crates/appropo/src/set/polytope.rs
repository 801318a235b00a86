use std::sync::Arc;

use super::registration::{OFFSETS, ROWS, SetEntry, made, offsets};
use super::{AffineSubspace, Cone, Conic, ConvexSet, Derivative, Errors, SharedSet};
use crate::error::{Error, Result, dimension, finite};
use crate::options::{Key, Kind};
use crate::vector;

/// {x : A x ≤ b}.
///
/// Projection: Clarabel finds the active rows, then the point is computed exactly on their face.
#[derive(Debug, Clone)]
pub struct Polytope {
    dim: usize,
    rows: Vec<Vec<f64>>,
    offsets: Vec<f64>,
    form: Conic,
}

impl Polytope {
    /// The solutions of `rows`·x ≤ `offsets` in ℝ`dim`; refuses a system without any.
    pub fn new(dim: usize, rows: Vec<Vec<f64>>, offsets: Vec<f64>) -> Result<Self> {
        dimension("offsets", offsets.len(), rows.len())?;
        finite("offset", &offsets)?;
        for row in &rows {
            dimension("row", row.len(), dim)?;
            finite("row", row)?;
        }
        let (rows, offsets): (Vec<_>, Vec<_>) = rows.iter().zip(offsets).map(|(r, b)| unit(r, b)).unzip();
        let polytope = Self { dim, form: inequalities(dim, &rows, &offsets), rows, offsets };
        match polytope.form.nearest(&vec![0.0; dim]) {
            Ok(_) => Ok(polytope),
            Err(_) => Err(Error::EmptySet { what: "the polytope" }),
        }
    }

    /// Projects, and returns the affine hull of the face that was reached; `None` inside.
    fn onto(&self, form: &Conic, offsets: &[f64], x: &[f64], out: &mut [f64]) -> Option<AffineSubspace> {
        let scale = 1.0 + vector::norm(x);
        let slack = |point: &[f64], r: usize| offsets[r] - vector::dot(&self.rows[r], point);
        let inside = |point: &[f64]| {
            (0..offsets.len()).all(|r| {
                slack(point, r) >= -1e-12 * (scale + offsets[r].abs()) * (1.0 + vector::norm(&self.rows[r]))
            })
        };
        if inside(x) {
            out.copy_from_slice(x);
            return None;
        }
        let Ok(solution) = form.nearest(x) else {
            out.fill(f64::NAN);
            return None;
        };
        out.copy_from_slice(&solution.x);
        let active: Vec<usize> =
            (0..offsets.len()).filter(|&r| solution.multipliers[r] > slack(out, r)).collect();
        let rows: Vec<Vec<f64>> = active.iter().map(|&r| self.rows[r].clone()).collect();
        let on_face: Vec<f64> = active.iter().map(|&r| offsets[r]).collect();
        let face = AffineSubspace::new(self.dim, &rows, &on_face).ok()?;
        let mut exact = vec![0.0; self.dim];
        face.project(x, &mut exact);
        if inside(&exact) && vector::distance(&exact, out) <= 1e-4 * scale {
            out.copy_from_slice(&exact);
        }
        Some(face)
    }
}

/// The same inequality with a row of length 1, so that tolerances mean distances. A row of zeros stays.
fn unit(row: &[f64], offset: f64) -> (Vec<f64>, f64) {
    let largest = row.iter().fold(0.0, |m: f64, a| m.max(a.abs()));
    if largest == 0.0 {
        return (row.to_vec(), offset);
    }
    // Divided by the largest entry first, no square overflows.
    let mut scaled: Vec<f64> = row.iter().map(|a| a / largest).collect();
    let length = vector::norm(&scaled);
    vector::scale(&mut scaled, 1.0 / length);
    (scaled, offset / largest / length)
}

fn inequalities(dim: usize, rows: &[Vec<f64>], offsets: &[f64]) -> Conic {
    let mut form = Conic::free(dim);
    let entries = rows.iter().zip(offsets);
    form.constrain(
        Cone::Nonnegative(rows.len()),
        entries.map(|(row, b)| (row.iter().copied().enumerate().filter(|(_, a)| *a != 0.0).collect(), *b)),
    );
    form
}

impl ConvexSet for Polytope {
    fn requirement(&self) -> String {
        "in the polytope".into()
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        self.onto(&self.form, &self.offsets, x, out);
    }

    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        self.onto(&self.form.recession(), &vec![0.0; self.offsets.len()], x, out);
    }

    /// The projection onto the directions of the face that the nearest point lies on.
    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        let mut nearest = vec![0.0; x.len()];
        let face = self.onto(&self.form, &self.offsets, x, &mut nearest);
        Box::new(move |d, out| match &face {
            Some(face) => face.project_recession(d, out),
            None => out.copy_from_slice(d),
        })
    }

    fn can_tighten(&self) -> bool {
        true
    }

    fn tightened(&self, _: &[f64], errors: &Errors) -> Option<SharedSet> {
        let offsets = self.rows.iter().zip(&self.offsets).map(|(row, b)| b - errors.along(row)).collect();
        Some(Arc::new(Self::new(self.dim, self.rows.clone(), offsets).ok()?))
    }

    fn conic(&self) -> Option<Conic> {
        Some(self.form.clone())
    }
}

pub(crate) static ENTRIES: [SetEntry; 1] = [SetEntry {
    key: Key::optional(
        "polytope",
        Kind::Table(&[ROWS, OFFSETS]),
        "{ rows = [[1, 1], [-1, 0]], offsets = [1, 0] }",
        "rows·x ≤ offsets.",
    ),
    make: |entry, space| {
        let table = entry.open_table()?;
        let rows = space.rows(&table.require("rows")?)?;
        let offsets = offsets(&table, rows.len())?;
        made(entry, Polytope::new(space.dim, rows, offsets))
    },
}];
