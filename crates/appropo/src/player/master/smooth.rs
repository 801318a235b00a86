//! What a master problem minimises.

use nalgebra::DMatrix;

use super::newton::Directions;
use super::project;
use crate::error::{Error, Result};
use crate::set::ConvexSet;
use crate::utility::Concave;
use crate::vector::{add_scaled, dot, wide};

/// linear·x − w·f(x) + ½ dist²(x + shift, set), where f looks at the last entries only.
pub(super) struct Smooth<'a> {
    pub set: &'a dyn ConvexSet,
    pub linear: &'a [f64],
    pub shift: &'a [f64],
    /// f and w.
    pub concave: Option<(&'a dyn Concave, f64)>,
}

impl Smooth<'_> {
    /// linear − w·∇f(x) + u − Γ(u) at u = x + shift.
    pub(super) fn gradient(&self, x: &[f64]) -> Result<Vec<f64>> {
        let u: Vec<f64> = x.iter().zip(self.shift).map(|(x, s)| x + s).collect();
        let mut nearest = vec![0.0; u.len()];
        project(self.set, &u, &mut nearest)?;
        let mut gradient: Vec<f64> = (0..u.len()).map(|i| self.linear[i] + u[i] - nearest[i]).collect();
        if let Some((f, weight)) = self.concave {
            let start = x.len() - f.dim();
            let mut slopes = vec![0.0; f.dim()];
            f.gradient(&x[start..], &mut slopes);
            add_scaled(&mut gradient[start..], -weight, &slopes);
        }
        Ok(gradient)
    }

    /// dᵢ·(I − DΓ − w·∇²f)dⱼ for all directions.
    pub(super) fn hessian(&self, x: &[f64], directions: &Directions) -> Result<DMatrix<f64>> {
        let u: Vec<f64> = x.iter().zip(self.shift).map(|(x, s)| x + s).collect();
        let derivative = self.set.derivative(&u);
        let (mut image, mut curved) = (vec![0.0; u.len()], vec![0.0; u.len()]);
        let count = directions.iter().len();
        let mut hessian = DMatrix::zeros(count, count);
        for (j, d) in directions.iter().enumerate() {
            derivative(d, &mut image);
            image.iter_mut().zip(d).for_each(|(image, d)| *image = d - *image);
            if let Some((f, weight)) = self.concave {
                let start = x.len() - f.dim();
                f.curvature(&x[start..], &d[start..], &mut curved[start..]);
                add_scaled(&mut image[start..], -weight, &curved[start..]);
            }
            wide(
                #[inline(always)]
                || {
                    for (i, d) in directions.iter().enumerate().skip(j) {
                        hessian[(i, j)] = dot(d, &image);
                        hessian[(j, i)] = hessian[(i, j)];
                    }
                },
            );
        }
        match hessian.iter().find(|h| !h.is_finite()) {
            None => Ok(hessian),
            Some(&value) => Err(Error::Projection { entry: 0, value }),
        }
    }
}
