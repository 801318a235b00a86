//! The master problem of one measure.

use super::{Decision, Hull, LEAST_SIZE, STEPS, Smooth, Units, project};
use crate::error::Result;
use crate::set::{ConvexSet, SharedSet};
use crate::vector::{distance, dot, norm};

impl Hull {
    /// The largest last entry, with every block and the objective in units of their own.
    pub(super) fn maximize_last(&mut self, set: &SharedSet, y: &mut Vec<f64>) -> Result<Decision> {
        let last = self.point.len() - 1;
        y.resize(last + 1, 0.0);
        let units = Units::of_extents(set, self);
        let objective = units.entries()[last];
        let mut scaled = self.clone();
        for vertex in &mut scaled.vertices {
            // Counted from the point, a large objective takes no digits from the rest.
            vertex.z[last] -= self.point[last];
            vertex.z.iter_mut().zip(units.entries()).for_each(|(z, unit)| *z /= unit);
        }
        scaled.gather();
        let price = |y: f64, unit: f64| y * unit / objective;
        let mut scaled_y: Vec<f64> =
            y.iter().zip(units.entries()).map(|(y, unit)| price(*y, *unit)).collect();
        let decision = scaled.maximize_centred(&units.of_set(set)?, &mut scaled_y)?;
        self.take_weights(&scaled);
        *y = scaled_y.iter().zip(units.entries()).map(|(y, unit)| y * objective / unit).collect();
        let mut lam = y.clone();
        lam[last] = -1.0;
        Ok(Decision { lam, offset: objective * decision.offset })
    }

    fn maximize_centred(&mut self, set: &dyn ConvexSet, y: &mut Vec<f64>) -> Result<Decision> {
        let last = self.point.len() - 1;
        let size = self.vertices.iter().map(|v| norm(&v.z)).fold(LEAST_SIZE, f64::max);
        // One unit of the objective for a violation of a thousandth of the hull's size; more where it is longer along
        // the objective than across.
        let across =
            self.vertices.iter().map(|v| distance(&v.z[..last], &self.point[..last])).fold(0.0, f64::max);
        let mut rho = 1e3 / size;
        let most = 1e5 / across.clamp(LEAST_SIZE, size);
        y.resize(last + 1, 0.0);
        let mut nearest = vec![0.0; last + 1];
        let mut violation = f64::INFINITY;
        for _ in 0..STEPS {
            let shift: Vec<f64> = y.iter().map(|y| y / rho).collect();
            let mut linear = vec![0.0; last + 1];
            linear[last] = -1.0 / rho;
            self.minimize(&Smooth { set, linear: &linear, shift: &shift, concave: None }, false)?;
            let moved: Vec<f64> = self.point.iter().zip(&shift).map(|(x, s)| x + s).collect();
            project(set, &moved, &mut nearest)?;
            *y = moved.iter().zip(&nearest).map(|(u, p)| rho * (u - p)).collect();
            y[last] = 0.0;
            let before = std::mem::replace(&mut violation, distance(&self.point, &nearest));
            if violation <= 1e-13 * size {
                break;
            }
            // A larger penalty converges faster but loses as many digits of y = ρ(u − Γ(u)).
            if violation > 0.5 * before {
                rho = (4.0 * rho).min(most);
            }
        }
        let offset = dot(y, &nearest);
        let mut lam = y.clone();
        lam[last] = -1.0;
        Ok(Decision { lam, offset })
    }
}
