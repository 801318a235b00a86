use super::registration::{OFFSETS, ROWS, SetEntry, made, offsets};
use super::{Cone, Conic, ConvexSet, Derivative};
use crate::error::{Error, Result, dimension, finite, moderate};
use crate::options::{Key, Kind};
use crate::vector;

/// {x : A x = b}.
///
/// Projection: x − Qᵀ(Q x − c), where the orthonormal rows Q and c describe the same subspace.
#[derive(Debug, Clone, PartialEq)]
pub struct AffineSubspace {
    dim: usize,
    rows: Vec<Vec<f64>>,
    offsets: Vec<f64>,
}

impl AffineSubspace {
    /// The solutions of `rows`·x = `offsets` in ℝ`dim`. Dependent rows are merged, contradictory ones refused.
    pub fn new(dim: usize, rows: &[Vec<f64>], offsets: &[f64]) -> Result<Self> {
        dimension("offsets", offsets.len(), rows.len())?;
        finite("offset", offsets)?;
        let mut subspace = Self { dim, rows: Vec::new(), offsets: Vec::new() };
        for (row, &offset) in rows.iter().zip(offsets) {
            dimension("row", row.len(), dim)?;
            finite("row", row)?;
            if row.iter().any(|v| *v != 0.0) {
                moderate("a row's largest entry", row)?;
            }
            subspace.add(row.clone(), offset)?;
        }
        Ok(subspace)
    }

    /// Gram–Schmidt, done twice for accuracy.
    fn add(&mut self, mut row: Vec<f64>, mut offset: f64) -> Result<()> {
        let (length, size) = (vector::norm(&row), offset.abs());
        for _ in 0..2 {
            for (q, c) in self.rows.iter().zip(&self.offsets) {
                let along = vector::dot(q, &row);
                vector::add_scaled(&mut row, -along, q);
                offset -= along * c;
            }
        }
        let rest = vector::norm(&row);
        if rest > 1e-12 * length {
            vector::scale(&mut row, 1.0 / rest);
            self.rows.push(row);
            self.offsets.push(offset / rest);
        } else if offset.abs() > 1e-9 * (length + size) {
            return Err(Error::EmptySet { what: "the affine subspace" });
        }
        Ok(())
    }

    fn onto(&self, x: &[f64], at_origin: bool, out: &mut [f64]) {
        out.copy_from_slice(x);
        for (q, c) in self.rows.iter().zip(&self.offsets) {
            let excess = vector::dot(q, x) - if at_origin { 0.0 } else { *c };
            vector::add_scaled(out, -excess, q);
        }
    }
}

impl ConvexSet for AffineSubspace {
    fn requirement(&self) -> String {
        "in the affine subspace".into()
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        self.onto(x, false, out);
    }

    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        self.onto(x, true, out);
    }

    fn derivative<'a>(&'a self, _: &[f64]) -> Derivative<'a> {
        Box::new(move |d, out| self.onto(d, true, out))
    }

    fn conic(&self) -> Option<Conic> {
        let mut form = Conic::free(self.dim);
        let rows = self.rows.iter().zip(&self.offsets);
        form.constrain(
            Cone::Zero(self.rows.len()),
            rows.map(|(q, c)| (q.iter().copied().enumerate().collect(), *c)),
        );
        Some(form)
    }
}

pub(crate) static ENTRIES: [SetEntry; 1] = [SetEntry {
    key: Key::optional(
        "affine",
        Kind::Table(&[ROWS, OFFSETS]),
        "{ rows = [[1, 1]], offsets = [1] }",
        "rows·x = offsets.",
    ),
    make: |entry, space| {
        let table = entry.open_table()?;
        let stated = table.require("rows")?;
        let rows = space.rows(&stated)?;
        made(&stated, AffineSubspace::new(space.dim, &rows, &offsets(&table, rows.len())?))
    },
}];
