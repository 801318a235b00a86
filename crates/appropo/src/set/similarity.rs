use std::sync::Arc;

use super::{Cone, Conic, ConvexSet, Derivative, Errors, SharedSet};
use crate::error::{Error, Result, dimension, finite, in_range};
use crate::vector;

/// {factor·Q y + shift : y ∈ C} for orthonormal columns Q: a set moved, resized, turned or embedded.
///
/// Similarities keep right angles, so Γ(x) = factor·Q Γ_C(Qᵀ(x − shift)/factor) + shift.
#[derive(Debug, Clone)]
pub struct Similarity {
    set: SharedSet,
    factor: f64,
    shift: Vec<f64>,
    /// Columns of Q; `None` for the identity.
    columns: Option<Vec<Vec<f64>>>,
}

impl Similarity {
    /// C + shift.
    pub fn translate(set: SharedSet, shift: Vec<f64>) -> Result<Self> {
        dimension("shift", shift.len(), set.dim())?;
        finite("shift", &shift)?;
        Ok(Self { set, factor: 1.0, shift, columns: None })
    }

    /// factor·C, for a factor other than 0.
    pub fn scale(set: SharedSet, factor: f64) -> Result<Self> {
        in_range("scale", factor, factor != 0.0, "a number other than 0")?;
        let shift = vec![0.0; set.dim()];
        Ok(Self { set, factor, shift, columns: None })
    }

    /// {Q y : y ∈ C}, where `columns` holds one orthonormal column an entry of y.
    pub fn image(set: SharedSet, columns: Vec<Vec<f64>>) -> Result<Self> {
        dimension("columns", columns.len(), set.dim())?;
        let dim = columns.first().map_or(0, Vec::len);
        for (i, column) in columns.iter().enumerate() {
            dimension("column", column.len(), dim)?;
            finite("column", column)?;
            for (j, other) in columns[..=i].iter().enumerate() {
                let product = vector::dot(column, other);
                let expected = if i == j { 1.0 } else { 0.0 };
                if (product - expected).abs() > 1e-9 {
                    return Err(Error::OutOfRange {
                        what: format!("the product of columns {j} and {i}"),
                        value: product,
                        expected: format!("{expected}: the columns must be orthonormal"),
                    });
                }
            }
        }
        Ok(Self { set, factor: 1.0, shift: vec![0.0; dim], columns: Some(columns) })
    }

    fn through(
        &self,
        factor: f64,
        shift: &[f64],
        x: &[f64],
        out: &mut [f64],
        project: impl Fn(&[f64], &mut [f64]),
    ) {
        let moved: Vec<f64> = x.iter().zip(shift).map(|(x, t)| (x - t) / factor).collect();
        let Some(columns) = &self.columns else {
            project(&moved, out);
            for (out, t) in out.iter_mut().zip(shift) {
                *out = factor * *out + t;
            }
            return;
        };
        let y: Vec<f64> = columns.iter().map(|q| vector::dot(q, &moved)).collect();
        let mut nearest = vec![0.0; y.len()];
        project(&y, &mut nearest);
        out.copy_from_slice(shift);
        for (q, y) in columns.iter().zip(&nearest) {
            vector::add_scaled(out, factor * y, q);
        }
    }
}

impl ConvexSet for Similarity {
    fn requirement(&self) -> String {
        format!("{}, moved or scaled", self.set.requirement())
    }

    fn dim(&self) -> usize {
        self.shift.len()
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        self.through(self.factor, &self.shift, x, out, |x, out| self.set.project(x, out));
    }

    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        let origin = vec![0.0; self.dim()];
        self.through(self.factor.signum(), &origin, x, out, |x, out| self.set.project_recession(x, out));
    }

    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        let moved: Vec<f64> = x.iter().zip(&self.shift).map(|(x, t)| (x - t) / self.factor).collect();
        let Some(columns) = &self.columns else { return self.set.derivative(&moved) };
        let y: Vec<f64> = columns.iter().map(|q| vector::dot(q, &moved)).collect();
        let inner = self.set.derivative(&y);
        Box::new(move |d, out| {
            let turned: Vec<f64> = columns.iter().map(|q| vector::dot(q, d)).collect();
            let mut image = vec![0.0; turned.len()];
            inner(&turned, &mut image);
            out.fill(0.0);
            for (q, y) in columns.iter().zip(&image) {
                vector::add_scaled(out, *y, q);
            }
        })
    }

    fn radius(&self) -> Option<f64> {
        Some(self.set.radius()? * self.factor.abs() + vector::norm(&self.shift))
    }

    fn is_solved(&self) -> bool {
        self.set.is_solved()
    }

    fn can_tighten(&self) -> bool {
        // Turned axes would need errors for every direction.
        self.columns.is_none() && self.set.can_tighten()
    }

    fn tightened(&self, at: &[f64], errors: &Errors) -> Option<SharedSet> {
        if self.columns.is_some() {
            return None;
        }
        let inner: Vec<f64> = at.iter().zip(&self.shift).map(|(x, s)| (x - s) / self.factor).collect();
        Some(Arc::new(Self {
            set: self.set.tightened(&inner, &errors.scaled(1.0 / self.factor.abs()))?,
            ..self.clone()
        }))
    }

    fn conic(&self) -> Option<Conic> {
        let mut inner = self.set.conic()?;
        let Some(columns) = &self.columns else {
            // y = (x − shift)/factor needs no variables of its own.
            for (row, b) in &mut inner.rows {
                for (v, coefficient) in row.iter_mut().filter(|(v, _)| *v < inner.dim) {
                    *coefficient /= self.factor;
                    *b += *coefficient * self.shift[*v];
                }
            }
            return Some(inner);
        };
        let mut form = Conic::free(self.dim());
        let y = form.auxiliary(inner.dim);
        let rows = (0..self.dim()).map(|i| {
            let turned = columns.iter().enumerate().map(|(j, q)| (y + j, -self.factor * q[i]));
            (std::iter::once((i, 1.0)).chain(turned).collect(), self.shift[i])
        });
        form.constrain(Cone::Zero(self.dim()), rows);
        let place: Vec<usize> = (y..y + inner.dim).collect();
        form.embed(&inner, &place);
        Some(form)
    }
}
