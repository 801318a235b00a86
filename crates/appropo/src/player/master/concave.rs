//! The master problem of a concave objective.

use std::sync::Arc;

use super::{Decision, Hull, LEAST_SIZE, STEPS, Smooth, Units, Vertex, project};
use crate::error::{Error, Result};
use crate::set::{ConvexSet, Lift, Product, SharedSet};
use crate::utility::Criterion;
use crate::vector::{difference, distance, dot, norm};

impl Hull {
    /// The best point for a concave function of the last entries, or of those per step.
    pub(super) fn maximize_concave(
        &mut self,
        set: &SharedSet,
        criterion: &Criterion,
        y: &mut Vec<f64>,
    ) -> Result<Decision> {
        if !criterion.is_share() {
            return self.maximize_in_units(set, criterion, y);
        }
        let mut per_step = self.per_step(criterion)?;
        let cone = per_step_set(set, criterion);
        let decision = per_step.maximize_function(&cone, criterion, y)?;
        let steps: Vec<f64> = self.vertices.iter().map(|v| criterion.steps(&v.z)).collect();
        for ((vertex, found), steps) in self.vertices.iter_mut().zip(&per_step.vertices).zip(steps) {
            vertex.weight = found.weight / steps;
        }
        self.gather();
        // λ̃ = (y, y₀, −g) prices z̃ = (z, 1, v)/L: λ̃·z̃ ≥ τ for all policies is (y, −g)·(z, v) − τL ≥ −y₀.
        let tau = dot(&decision.lam, per_step.point());
        let constrained = self.point.len() - criterion.dim();
        let (y, rest) = decision.lam.split_at(constrained);
        let (height, prices) = (rest[0], &rest[1..]);
        let lam = y.iter().chain(prices).copied().chain([-tau]).collect();
        Ok(Decision { lam, offset: -height })
    }

    /// The method of multipliers with every constraint in units of its own. f is what it is of the entries as they are.
    fn maximize_in_units(
        &mut self,
        set: &SharedSet,
        criterion: &Criterion,
        y: &mut Vec<f64>,
    ) -> Result<Decision> {
        let constrained = self.point.len() - criterion.dim();
        let units = Units::of_extents(set, self).with_plain(constrained);
        let mut scaled = self.clone();
        for vertex in &mut scaled.vertices {
            vertex.z.iter_mut().zip(units.entries()).for_each(|(z, unit)| *z /= unit);
        }
        scaled.gather();
        y.resize(self.point.len(), 0.0);
        let mut scaled_y: Vec<f64> = y.iter().zip(units.entries()).map(|(y, unit)| y * unit).collect();
        let Decision { mut lam, offset } =
            scaled.maximize_function(&units.of_set(set)?, criterion, &mut scaled_y)?;
        self.take_weights(&scaled);
        *y = scaled_y.iter().zip(units.entries()).map(|(y, unit)| y / unit).collect();
        lam.iter_mut().zip(units.entries()).for_each(|(lam, unit)| *lam /= unit);
        Ok(Decision { lam, offset })
    }

    /// What every answer measures per step, (z, 1, v)/L for z = (z, v, L), weighed by its steps: mixtures of policies are
    /// mixtures of these, and constraints on z are a cone here.
    fn per_step(&self, criterion: &Criterion) -> Result<Hull> {
        let dim = self.point.len();
        let constrained = dim - criterion.dim();
        let mut vertices = Vec::with_capacity(self.vertices.len());
        for vertex in &self.vertices {
            let steps = criterion.steps(&vertex.z);
            if !(steps > 0.0) {
                return Err(Error::NoSteps { steps });
            }
            let (z, rest) = vertex.z.split_at(constrained);
            let objective = &rest[..rest.len() - 1];
            let z = z.iter().chain([&1.0]).chain(objective).map(|v| v / steps).collect();
            vertices.push(Vertex { z, weight: vertex.weight * steps, spread: None, index: vertex.index });
        }
        let mut hull = Hull { vertices, point: vec![0.0; dim] };
        hull.gather();
        Ok(hull)
    }

    /// The method of multipliers for f of the last entries.
    fn maximize_function(
        &mut self,
        set: &SharedSet,
        criterion: &Criterion,
        y: &mut Vec<f64>,
    ) -> Result<Decision> {
        let f = criterion.function().as_ref();
        let dim = self.point.len();
        let start = dim - f.dim();
        let size = self.vertices.iter().map(|v| norm(&v.z)).fold(LEAST_SIZE, f64::max);
        // The objective counts as much as a violation of a thousandth of the hull's size.
        let slope = norm(&criterion.gradient(&self.point[start..])).max(LEAST_SIZE);
        let mut rho = 1e3 * slope / size;
        let most = 1e3 * rho;
        y.resize(dim, 0.0);
        let linear = vec![0.0; dim];
        let mut nearest = vec![0.0; dim];
        let mut violation = f64::INFINITY;
        for _ in 0..STEPS {
            let shift: Vec<f64> = y.iter().map(|y| y / rho).collect();
            let smooth = Smooth { set, linear: &linear, shift: &shift, concave: Some((f, 1.0 / rho)) };
            self.minimize(&smooth, false)?;
            let moved: Vec<f64> = self.point.iter().zip(&shift).map(|(x, s)| x + s).collect();
            project(set, &moved, &mut nearest)?;
            *y = difference(&moved, &nearest).iter().map(|apart| rho * apart).collect();
            y[start..].fill(0.0);
            let before = std::mem::replace(&mut violation, distance(&self.point, &nearest));
            if violation <= 1e-13 * size {
                break;
            }
            if violation > 0.5 * before {
                rho = (4.0 * rho).min(most);
            }
        }
        let offset = dot(y, &nearest);
        let lam = criterion.function_prices(&y[..start], &self.point[start..]);
        Ok(Decision { lam, offset })
    }
}

/// The cone of what may be measured per step, with the objective's entries after it, which are free.
fn per_step_set(set: &SharedSet, criterion: &Criterion) -> SharedSet {
    // The constraints are what the objective was put after.
    let constraints = set.blocks().and_then(|blocks| blocks.first()).unwrap_or(set);
    let cone: SharedSet = Arc::new(Lift::share(Arc::clone(constraints)));
    Arc::new(Product::new(vec![cone, criterion.free_function()]))
}
