//! The corrective player's master problem: the best point of the hull of all answers.

mod caratheodory;
mod concave;
mod linear;
mod newton;
mod quadratic;
mod smooth;

use std::ops::Range;

use smooth::Smooth;

use super::units::Units;
use super::{Decision, project};
use crate::error::Result;
use crate::measurement::Spread;
use crate::set::{ConvexSet, SharedSet};
use crate::state::{Loader, Saver, misfit};
use crate::utility::Criterion;
use crate::vector::{add_scaled, distance, norm};

/// The convex hull of some answers ẑ, and a point in it.
#[derive(Debug, Clone)]
pub(crate) struct Hull {
    vertices: Vec<Vertex>,
    point: Vec<f64>,
}

#[derive(Debug, Clone)]
struct Vertex {
    index: usize,
    z: Vec<f64>,
    /// What stands behind z; `None` where it is exact.
    spread: Option<Spread>,
    weight: f64,
}

/// A hull is taken to be at least so large: it may be one point, at the origin.
const LEAST_SIZE: f64 = 1e-100;

/// Answers that are kept in units of their own, besides three an entry.
const MOST_KEPT: usize = 32;

/// Newton steps, and steps of the method of multipliers: both end far earlier unless rounding keeps them going.
const STEPS: usize = 60;

impl Hull {
    pub(crate) fn new(dim: usize) -> Self {
        Self { vertices: Vec::new(), point: vec![0.0; dim] }
    }

    /// Adds an answer; the first one carries all the weight.
    pub(crate) fn add(&mut self, index: usize, z: &[f64], spread: Option<Spread>) {
        let weight = if self.vertices.is_empty() {
            self.point.copy_from_slice(z);
            1.0
        } else {
            0.0
        };
        self.vertices.push(Vertex { index, z: z.to_vec(), spread, weight });
    }

    /// Whether any answer is an estimate.
    pub(crate) fn is_uncertain(&self) -> bool {
        self.vertices.iter().any(|v| v.spread.is_some())
    }

    /// Gives an answer a better estimate.
    pub(crate) fn revise(&mut self, index: usize, z: Vec<f64>, spread: Spread) {
        if let Some(vertex) = self.vertices.iter_mut().find(|v| v.index == index) {
            vertex.z = z;
            vertex.spread = Some(spread);
        }
        self.gather();
    }

    /// The standard errors of the point: what an episode differs from it, within a policy and between them, over the
    /// square root of the number of episodes, or of `most` where there were more.
    pub(crate) fn errors(&self, most: f64) -> Vec<f64> {
        let mut squares = vec![0.0; self.point.len()];
        for vertex in &self.vertices {
            let Some(spread) = &vertex.spread else { continue };
            for (i, square) in squares.iter_mut().enumerate() {
                let away = vertex.z[i] - self.point[i];
                let deviation = spread.deviations[i];
                *square += vertex.weight * (deviation * deviation + away * away) / spread.episodes.min(most);
            }
        }
        squares.iter().map(|s| s.sqrt()).collect()
    }

    /// How far answers lie from the point in these entries, at most.
    pub(super) fn extent(&self, entries: Range<usize>) -> f64 {
        let away = |vertex: &Vertex| distance(&vertex.z[entries.clone()], &self.point[entries.clone()]);
        self.vertices.iter().map(away).fold(0.0, f64::max)
    }

    /// The point.
    pub(crate) fn point(&self) -> &[f64] {
        &self.point
    }

    /// The answers that carry weight.
    pub(crate) fn weights(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.vertices.iter().map(|v| (v.index, v.weight))
    }

    /// Moves to the point of the hull that is closest to the set.
    pub(crate) fn approach(&mut self, set: &dyn ConvexSet) -> Result<()> {
        self.come_close(set)?;
        if !self.is_uncertain() {
            self.prune();
        }
        Ok(())
    }

    fn come_close(&mut self, set: &dyn ConvexSet) -> Result<()> {
        let zero = vec![0.0; self.point.len()];
        self.minimize(&Smooth { set, linear: &zero, shift: &zero, concave: None }, true)
    }

    /// The same with every entry counted in its unit, which the set is stated in.
    pub(crate) fn approach_in(&mut self, units: &[f64], set: &dyn ConvexSet) -> Result<()> {
        let mut scaled = self.clone();
        for vertex in &mut scaled.vertices {
            vertex.z.iter_mut().zip(units).for_each(|(z, unit)| *z /= unit);
        }
        scaled.gather();
        scaled.come_close(set)?;
        self.take_weights(&scaled);
        // Units follow from the answers: those that are let go could come back in others, for ever.
        if !self.is_uncertain() && self.vertices.len() > MOST_KEPT + 3 * self.point.len() {
            self.prune();
        }
        Ok(())
    }

    /// Weighs answers as another hull does.
    fn take_weights(&mut self, other: &Self) {
        for (vertex, found) in self.vertices.iter_mut().zip(&other.vertices) {
            vertex.weight = found.weight;
        }
        self.gather();
    }

    /// How much episodes vary in these entries and how far they are off, in the first answer that says anything of it.
    pub(crate) fn unit(&self, entries: Range<usize>, distance: impl Fn(&[f64]) -> f64) -> Option<f64> {
        let size = |vertex: &Vertex| {
            let spread = vertex.spread.as_ref().map_or(&[][..], |spread| &spread.deviations[entries.clone()]);
            distance(&vertex.z[entries.clone()]).hypot(norm(spread))
        };
        self.vertices.iter().map(size).find(|size| *size > 0.0)
    }

    /// Moves to the best point of hull ∩ set, by the method of multipliers, and returns the decision λ = (y, −g) for the
    /// set's multiplier y and the gradient g of what is maximised: its oracle answer is the best column to add.
    /// The set must leave the entries of the objective free. The search for y starts from the one before.
    pub(crate) fn maximize(
        &mut self,
        set: &SharedSet,
        criterion: &Criterion,
        y: &mut Vec<f64>,
    ) -> Result<Decision> {
        let decision = match criterion.is_last() {
            true => self.maximize_last(set, y),
            false => self.maximize_concave(set, criterion, y),
        }?;
        if !self.is_uncertain() {
            self.prune();
        }
        Ok(decision)
    }

    /// The point from its weights.
    fn gather(&mut self) {
        let total: f64 = self.vertices.iter().map(|v| v.weight).sum();
        self.point.fill(0.0);
        for vertex in &mut self.vertices {
            vertex.weight /= total;
            add_scaled(&mut self.point, vertex.weight, &vertex.z);
        }
    }

    pub(crate) fn save(&self, to: &mut Saver) {
        to.put_all(&self.point);
        to.put(&self.vertices.len());
        for vertex in &self.vertices {
            to.put(&(vertex.index, vertex.weight));
            to.put_all(&vertex.z);
            to.put(&vertex.spread);
        }
    }

    pub(crate) fn load(&mut self, from: &mut Loader) -> Result<()> {
        let dim = self.point.len();
        from.get_finite("a mixture's measurement", &mut self.point)?;
        self.vertices.clear();
        for _ in 0..from.get_length()? {
            let index = from.get()?;
            let weight = from.get_where("a weight", |w: &f64| (0.0..=1.0).contains(w))?;
            let mut z = vec![0.0; dim];
            from.get_finite("a measurement", &mut z)?;
            let fits = |spread: &Option<Spread>| spread.as_ref().is_none_or(|s| s.deviations.len() == dim);
            self.vertices.push(Vertex { index, weight, z, spread: from.get_where("a spread", fits)? });
        }
        let total: f64 = self.vertices.iter().map(|v| v.weight).sum();
        if (total - 1.0).abs() < 1e-9 { Ok(()) } else { Err(misfit("weights do not add up to 1")) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::random::{self, Generator};
    use crate::set::{Ball, Bounds, KlBall, Product, SharedSet, Simplex};
    use crate::vector::{difference, dot, scale};

    fn random_points(count: usize, dim: usize, rng: &mut Generator) -> Vec<Vec<f64>> {
        (0..count).map(|_| (0..dim).map(|_| 4.0 * random::unit(rng) - 2.0).collect()).collect()
    }

    fn hull(points: &[Vec<f64>]) -> Hull {
        let mut hull = Hull::new(points[0].len());
        for (i, z) in points.iter().enumerate() {
            hull.add(i, z, None);
        }
        hull
    }

    fn sets() -> Vec<SharedSet> {
        vec![
            Arc::new(Ball::new(vec![2.0; 5], 0.5).unwrap()),
            Arc::new(Bounds::new(vec![0.3; 5], vec![f64::INFINITY; 5]).unwrap()),
            Arc::new(Simplex::probability(5).unwrap()),
            Arc::new(KlBall::entropy_at_least(5, 1.5).unwrap()),
        ]
    }

    /// Optimality: no vertex lies further along −λ than the point, up to 1e-10. A point apart from the set is approached roughly,
    /// and each time by what is left: the hull of a game whose answers bring nothing new.
    #[test]
    fn the_closest_point_satisfies_the_optimality_condition() {
        let mut rng = random::generator(2);
        for (i, set) in sets().into_iter().enumerate() {
            for count in [1, 2, 5, 12, 30] {
                let points = random_points(count, 5, &mut rng);
                let mut hull = hull(&points);
                for _ in 0..5 {
                    hull.approach(&set).unwrap();
                }
                let x = hull.point().to_vec();
                assert!(hull.vertices.len() <= 6);
                assert!((hull.weights().map(|(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-12);
                let mut nearest = vec![0.0; 5];
                set.project(&x, &mut nearest);
                let mut lam = difference(&x, &nearest);
                let length = norm(&lam);
                if length < 1e-11 {
                    continue;
                }
                scale(&mut lam, 1.0 / length);
                let least = points.iter().map(|z| dot(&lam, z)).fold(f64::INFINITY, f64::min);
                assert!(
                    dot(&lam, &x) - least <= 1e-10,
                    "set {i}, {count} points: gap {:e}",
                    dot(&lam, &x) - least
                );
            }
        }
    }

    /// The maximum over hull ∩ set, judged by weak duality with the multiplier returned.
    #[test]
    fn the_largest_point_meets_its_dual_bound() {
        let mut rng = random::generator(4);
        let sets: [SharedSet; 2] = [
            Arc::new(Ball::new(vec![0.0; 3], 0.4).unwrap()),
            Arc::new(Bounds::new(vec![f64::NEG_INFINITY; 3], vec![0.1; 3]).unwrap()),
        ];
        for set in sets {
            let with_objective: SharedSet = Arc::new(Product::new(vec![
                set,
                Arc::new(Bounds::new(vec![f64::NEG_INFINITY], vec![f64::INFINITY]).unwrap()),
            ]));
            for (unit, origin) in [(1.0, 0.0), (1.0, 1e3), (1e4, 0.0), (1e-4, 0.0)] {
                for _ in 0..20 {
                    let mut points = random_points(10, 4, &mut rng);
                    points.push(vec![0.0, 0.0, 0.0, -2.0]);
                    points.iter_mut().for_each(|z| z[3] = origin + unit * z[3]);
                    let mut hull = hull(&points);
                    let decision =
                        hull.maximize(&with_objective, &Criterion::last(), &mut Vec::new()).unwrap();
                    assert!(with_objective.distance(hull.point()) <= 1e-11 * unit.max(1.0));
                    let least = points.iter().map(|z| dot(&decision.lam, z)).fold(f64::INFINITY, f64::min);
                    let upper = decision.offset - least;
                    let value = hull.point()[3];
                    assert!((upper - value).abs() <= 1e-7 * unit.max(0.1), "{upper} against {value}");
                }
            }
        }
    }
}
