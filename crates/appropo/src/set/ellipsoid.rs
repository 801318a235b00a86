use nalgebra::{DMatrix, SymmetricEigen};

use super::registration::{CENTER, SetEntry, made};
use super::{Cone, Conic, ConvexSet};
use crate::error::{Error, Result, dimension, finite, in_range};
use crate::options::{Key, Kind};
use crate::{root, vector};

/// {x : (x − center)ᵀ M (x − center) ≤ 1} for a positive definite M.
///
/// Projection: in the eigenbasis y of M with eigenvalues m, yᵢ/(1 + νmᵢ), where ν ≥ 0 solves
/// Σ mᵢyᵢ²/(1 + νmᵢ)² = 1.
#[derive(Debug, Clone)]
pub struct Ellipsoid {
    center: Vec<f64>,
    /// Eigenvectors of M, one a row.
    axes: Vec<Vec<f64>>,
    eigenvalues: Vec<f64>,
}

impl Ellipsoid {
    /// The ellipsoid of the symmetric positive definite `matrix`, given by its rows.
    pub fn new(center: Vec<f64>, matrix: &[Vec<f64>]) -> Result<Self> {
        let n = center.len();
        finite("center", &center)?;
        in_range("the ellipsoid's dimension", n as f64, n > 0, "1 or more")?;
        dimension("matrix", matrix.len(), n)?;
        for row in matrix {
            dimension("matrix row", row.len(), n)?;
            finite("matrix row", row)?;
        }
        let largest = matrix.iter().flatten().fold(0.0, |m: f64, v| m.max(v.abs()));
        for i in 0..n {
            for j in 0..i {
                let skew = matrix[i][j] - matrix[j][i];
                if skew.abs() > 1e-12 * largest {
                    return Err(Error::OutOfRange {
                        what: format!("matrix entry ({i}, {j}) less entry ({j}, {i})"),
                        value: skew,
                        expected: "0: the matrix must be symmetric".into(),
                    });
                }
            }
        }
        let eigen = SymmetricEigen::new(DMatrix::from_fn(n, n, |i, j| matrix[i][j]));
        if let Some(&value) = eigen.eigenvalues.iter().find(|v| **v <= 1e-14 * largest) {
            return Err(Error::OutOfRange {
                what: "an eigenvalue of the matrix".into(),
                value,
                expected: "more than 0: the matrix must be positive definite".into(),
            });
        }
        let axes = eigen.eigenvectors.column_iter().map(|c| c.iter().copied().collect()).collect();
        Ok(Self { center, axes, eigenvalues: eigen.eigenvalues.iter().copied().collect() })
    }
}

impl ConvexSet for Ellipsoid {
    fn requirement(&self) -> String {
        "in the ellipsoid".into()
    }

    fn dim(&self) -> usize {
        self.center.len()
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        let offset = vector::difference(x, &self.center);
        let y: Vec<f64> = self.axes.iter().map(|u| vector::dot(u, &offset)).collect();
        // With q(ν) = Σ mᵢyᵢ²/(1 + νmᵢ)², 1 − 1/√q is nearly linear in ν.
        let excess = |nu: f64| {
            let q: f64 = self.eigenvalues.iter().zip(&y).map(|(m, y)| m * (y / (1.0 + nu * m)).powi(2)).sum();
            1.0 / q.sqrt() - 1.0
        };
        let inside = excess(0.0);
        if inside >= 0.0 {
            return out.copy_from_slice(x);
        }
        let mut high = 1.0 / self.eigenvalues.iter().fold(f64::INFINITY, |a, b| a.min(*b));
        while excess(high) < 0.0 {
            high *= 2.0;
        }
        let nu = root::bracketed(excess, (0.0, inside), (high, excess(high)));
        out.copy_from_slice(&self.center);
        for ((u, m), y) in self.axes.iter().zip(&self.eigenvalues).zip(&y) {
            vector::add_scaled(out, y / (1.0 + nu * m), u);
        }
    }

    fn project_recession(&self, _: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }

    fn radius(&self) -> Option<f64> {
        let least = self.eigenvalues.iter().fold(f64::INFINITY, |a, b| a.min(*b));
        Some(vector::norm(&self.center) + 1.0 / least.sqrt())
    }

    fn conic(&self) -> Option<Conic> {
        let mut form = Conic::free(self.dim());
        let rows = self.axes.iter().zip(&self.eigenvalues).map(|(u, m)| {
            let row = u.iter().enumerate().map(|(i, u)| (i, -m.sqrt() * u)).collect();
            (row, -m.sqrt() * vector::dot(u, &self.center))
        });
        form.constrain(Cone::SecondOrder(self.dim() + 1), std::iter::once((vec![], 1.0)).chain(rows));
        Some(form)
    }
}

pub(crate) static ENTRIES: [SetEntry; 1] = [SetEntry {
    key: Key::optional(
        "ellipsoid",
        Kind::Table(&[
            CENTER,
            Key::required("matrix", Kind::Rows, "[[4, 0], [0, 1]]", "M, symmetric and positive definite."),
        ]),
        "{ center = [0, 0], matrix = [[4, 0], [0, 1]] }",
        "(x − center)ᵀ M (x − center) ≤ 1.",
    ),
    make: |entry, space| {
        let table = entry.open_table()?;
        let matrix = table.require("matrix")?;
        made(&matrix, Ellipsoid::new(space.vector(&table.require("center")?)?, &space.rows(&matrix)?))
    },
}];
