use nalgebra::{DMatrix, SymmetricEigen};

use super::ConvexSet;
use super::registration::{SetEntry, made};
use crate::options::{Key, Kind};

/// The positive semidefinite n × n matrices, row by row, as vectors of n² entries.
///
/// Projection: the symmetric part with its negative eigenvalues set to 0 (Higham 1988).
#[derive(Debug, Clone, PartialEq)]
pub struct Semidefinite {
    order: usize,
}

impl Semidefinite {
    /// Matrices of the given order n.
    pub fn new(order: usize) -> Self {
        Self { order }
    }
}

impl ConvexSet for Semidefinite {
    fn requirement(&self) -> String {
        format!("a positive semidefinite {0} by {0} matrix", self.order)
    }

    fn dim(&self) -> usize {
        self.order * self.order
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        let n = self.order;
        if n == 0 {
            return;
        }
        let symmetric = DMatrix::from_fn(n, n, |i, j| (x[i * n + j] + x[j * n + i]) / 2.0);
        let eigen = SymmetricEigen::new(symmetric);
        out.fill(0.0);
        for (k, &value) in eigen.eigenvalues.iter().enumerate() {
            let u = eigen.eigenvectors.column(k);
            for i in 0..n {
                for j in 0..n {
                    out[i * n + j] += value.max(0.0) * u[i] * u[j];
                }
            }
        }
    }

    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        self.project(x, out);
    }
}

pub(crate) static ENTRIES: [SetEntry; 1] = [SetEntry {
    key: Key::optional(
        "semidefinite",
        Kind::True,
        "true",
        "x, read row by row, is a positive semidefinite matrix; d must be a square.",
    ),
    make: |entry, space| {
        let order = (space.dim as f64).sqrt().round() as usize;
        if order * order != space.dim {
            let dim = space.dim;
            return Err(
                entry.error(format!("{dim} entries make no square matrix; give measures with n² entries"))
            );
        }
        made(entry, Ok(Semidefinite::new(order)))
    },
}];
