//! The corrective player's master problem: the best point of the hull of all answers.

mod concave;

use std::ops::Range;
use std::slice::ChunksExact;

use nalgebra::{Cholesky, DMatrix, DVector};

use super::units::Units;
use super::{Decision, project};
use crate::error::{Error, Result};
use crate::measurement::Spread;
use crate::set::{ConvexSet, SharedSet};
use crate::state::{Loader, Saver, misfit};
use crate::utility::{Concave, Criterion};
use crate::vector::{add_scaled, difference, distance, dot, norm, scale};

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

/// Points this close to the set, relative to the size of the hull, lie in it but for rounding.
const NONE: f64 = 1e-15;

/// The point of a hull that lies apart from the set, relative to its size, is close enough if what is left to gain is this little
/// of what the last answer brought: the next answer moves the point further.
const APART: f64 = 1e-3;
const LEFT: f64 = 0.01;

/// A step is shortened where the slope at its end is this much of what it was, upward.
const RISE: f64 = 0.5;

/// A step is taken twice where the slope at its end is still more than this of what it was.
const STEEP: f64 = 0.2;

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

    /// The largest last entry, with every block and the objective in units of their own.
    fn maximize_last(&mut self, set: &SharedSet, y: &mut Vec<f64>) -> Result<Decision> {
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

    /// Minimises a smooth function over the hull by Newton's method; roughly, where that will do, a distance that stays above 0.
    fn minimize(&mut self, function: &Smooth, is_rough: bool) -> Result<()> {
        let size = self.vertices.iter().map(|v| norm(&v.z)).fold(0.0, f64::max);
        let (dim, count) = (self.point.len(), self.vertices.len());
        let (mut directions, mut step) = (Directions::new(dim, count), vec![0.0; dim]);
        let mut gradient = function.gradient(&self.point)?;
        let mut first_gap = 0.0;
        for step_number in 0..STEPS {
            directions.point_from(&self.point, &self.vertices);
            let slopes: Vec<f64> = directions.iter().map(|d| dot(&gradient, d)).collect();
            let longest = directions.iter().map(norm).fold(0.0, f64::max);
            let gap = -slopes.iter().copied().fold(0.0, f64::min);
            // The gap of the distance itself, not of its square.
            let reach = norm(&gradient);
            if gap <= 1e-12 * size * reach || reach <= NONE * size {
                break;
            }
            if step_number == 0 {
                first_gap = gap;
            }
            // No point of the hull is closer than reach − gap/reach. Next to the set every digit decides.
            let is_apart = gap <= 0.5 * reach * reach && reach >= APART * size;
            if is_rough && is_apart && gap <= LEFT * first_gap {
                break;
            }
            let hessian = function.hessian(&self.point, &directions)?;
            let weights: Vec<f64> = self.vertices.iter().map(|v| v.weight).collect();
            let noise = f64::EPSILON * size * longest;
            let change =
                difference(&quadratic_on_simplex(&slopes, noise, hessian, weights.clone()), &weights);
            step.fill(0.0);
            for (direction, change) in directions.iter().zip(&change) {
                add_scaled(&mut step, *change, direction);
            }
            let slope = dot(&slopes, &change);
            // Near the minimum the slope along the step drowns in rounding, and Newton's step needs no search.
            let is_sure = slope.abs() <= 1e-14 * size * norm(&step);
            if !is_sure && !(slope < 0.0) {
                break;
            }
            let search = Search { function, weights: &weights, change: &change, step: &step };
            gradient = if is_sure { search.gradient_at(1.0, self)? } else { search.run(self, slope)? };
        }
        Ok(())
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

    /// Drops answers without weight, and by Carathéodory's theorem all but d + 1.
    fn prune(&mut self) {
        self.vertices.retain(|v| v.weight > 1e-15);
        while self.vertices.len() > self.point.len() + 1 {
            let along = affine_dependence(&self.vertices);
            let ratio = |v: &Vertex, a: f64| if a > 0.0 { v.weight / a } else { f64::INFINITY };
            let ratios: Vec<f64> = self.vertices.iter().zip(&along).map(|(v, &a)| ratio(v, a)).collect();
            let t = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            for (vertex, a) in self.vertices.iter_mut().zip(&along) {
                vertex.weight = (vertex.weight - t * a).max(0.0);
            }
            let emptied = ratios.iter().position(|r| *r == t).unwrap_or(0);
            self.vertices.remove(emptied);
            self.vertices.retain(|v| v.weight > 1e-15);
        }
        self.gather();
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

/// α ≠ 0 with Σ αᵢzᵢ = 0 and Σ αᵢ = 0, for more than d + 1 points, by Gaussian elimination.
fn affine_dependence(vertices: &[Vertex]) -> Vec<f64> {
    let count = vertices.len();
    let dim = vertices[0].z.len();
    let mut rows: Vec<Vec<f64>> = (0..dim).map(|i| vertices.iter().map(|v| v.z[i]).collect()).collect();
    rows.push(vec![1.0; count]);
    let mut pivots: Vec<(usize, Vec<f64>)> = Vec::new();
    for mut row in rows {
        for (pivot, reduced) in &pivots {
            let factor = row[*pivot];
            add_scaled(&mut row, -factor, reduced);
        }
        let largest = (0..count).max_by(|&a, &b| row[a].abs().total_cmp(&row[b].abs())).unwrap_or(0);
        if row[largest].abs() > 1e-13 {
            let factor = 1.0 / row[largest];
            scale(&mut row, factor);
            for (_, other) in &mut pivots {
                let factor = other[largest];
                add_scaled(other, -factor, &row);
            }
            pivots.push((largest, row));
        }
    }
    let free = (0..count).find(|c| pivots.iter().all(|(p, _)| p != c)).unwrap_or(0);
    let mut alpha = vec![0.0; count];
    alpha[free] = 1.0;
    for (pivot, row) in &pivots {
        alpha[*pivot] = -row[free];
    }
    alpha
}

/// linear·x − w·f(x) + ½ dist²(x + shift, set), where f looks at the last entries only.
struct Smooth<'a> {
    set: &'a dyn ConvexSet,
    linear: &'a [f64],
    shift: &'a [f64],
    /// f and w.
    concave: Option<(&'a dyn Concave, f64)>,
}

impl Smooth<'_> {
    /// linear − w·∇f(x) + u − Γ(u) at u = x + shift.
    fn gradient(&self, x: &[f64]) -> Result<Vec<f64>> {
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
    fn hessian(&self, x: &[f64], directions: &Directions) -> Result<DMatrix<f64>> {
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
            for (i, d) in directions.iter().enumerate().skip(j) {
                hessian[(i, j)] = dot(d, &image);
                hessian[(j, i)] = hessian[(i, j)];
            }
        }
        match hessian.iter().find(|h| !h.is_finite()) {
            None => Ok(hessian),
            Some(&value) => Err(Error::Projection { entry: 0, value }),
        }
    }
}

/// The ways from a point to the vertices of a hull, one after the other.
struct Directions {
    dim: usize,
    entries: Vec<f64>,
}

impl Directions {
    fn new(dim: usize, count: usize) -> Self {
        Self { dim, entries: vec![0.0; dim * count] }
    }

    fn point_from(&mut self, point: &[f64], vertices: &[Vertex]) {
        for (direction, vertex) in self.entries.chunks_exact_mut(self.dim.max(1)).zip(vertices) {
            for i in 0..direction.len() {
                direction[i] = vertex.z[i] - point[i];
            }
        }
    }

    fn iter(&self) -> ChunksExact<'_, f64> {
        self.entries.chunks_exact(self.dim.max(1))
    }
}

/// A search along a change of a hull's weights, which moves its point along `step`.
struct Search<'a> {
    function: &'a Smooth<'a>,
    weights: &'a [f64],
    change: &'a [f64],
    step: &'a [f64],
}

impl Search<'_> {
    /// Goes all of the step, or twice that where the slope stays steep, or as little of it as the slope does not rise. Slopes stay
    /// accurate where differences of values drown in rounding. Returns the gradient there.
    fn run(&self, hull: &mut Hull, slope: f64) -> Result<Vec<f64>> {
        let mut gradient = self.gradient_at(1.0, hull)?;
        let mut at_end = dot(&gradient, self.step);
        // A distance that is about to vanish falls off as a square, its square as a fourth power: Newton's step is a third of the way.
        if at_end < STEEP * slope && self.has_room(2.0) {
            let further = self.gradient_at(2.0, hull)?;
            if dot(&further, self.step) <= -RISE * slope {
                return Ok(further);
            }
            self.go(1.0, hull);
        }
        // By convexity, half of the way to where it rises is worth half of all that there is to gain.
        let mut t = 1.0;
        while at_end > -RISE * slope && t > f64::EPSILON {
            t *= 0.5;
            gradient = self.gradient_at(t, hull)?;
            at_end = dot(&gradient, self.step);
        }
        Ok(gradient)
    }

    /// Whether so many steps leave no weight below 0.
    fn has_room(&self, steps: f64) -> bool {
        self.weights.iter().zip(self.change).all(|(weight, change)| weight + steps * change >= 0.0)
    }

    fn gradient_at(&self, t: f64, hull: &mut Hull) -> Result<Vec<f64>> {
        self.go(t, hull);
        self.function.gradient(&hull.point)
    }

    fn go(&self, t: f64, hull: &mut Hull) {
        for (vertex, (weight, change)) in hull.vertices.iter_mut().zip(self.weights.iter().zip(self.change)) {
            vertex.weight = (weight + t * change).max(0.0);
        }
        hull.gather();
    }
}

/// argmin of c·δ + ½ δᵀHδ, δ = w − w₀, over the probability simplex, by a primal active-set method from w₀.
///
/// H may be semidefinite, or that only up to rounding; as much of ½μ‖δ‖² as makes it definite is
/// added, which shortens the Newton step but keeps its fixed point. Slopes differ by `noise` from rounding.
fn quadratic_on_simplex(c: &[f64], noise: f64, mut h: DMatrix<f64>, mut w: Vec<f64>) -> Vec<f64> {
    let n = w.len();
    let spread = (0..n).map(|i| h[(i, i)].abs().max(c[i].abs())).fold(f64::MIN_POSITIVE, f64::max);
    // Σw is fixed, so adding (Σw)² changes nothing but makes H regular along w.
    h.add_scalar_mut(spread);
    let mut mu = 1e-13 * spread;
    (0..n).for_each(|i| h[(i, i)] += mu);
    let start = w.clone();
    let gradient_at = |h: &DMatrix<f64>, w: &[f64]| {
        let mut gradient = c.to_vec();
        for (column, (w, start)) in h.column_iter().zip(w.iter().zip(&start)) {
            add_scaled(&mut gradient, w - start, column.as_slice());
        }
        gradient
    };
    let mut free: Vec<bool> = w.iter().map(|w| *w > 0.0).collect();
    for _ in 0..20 * n + 20 {
        let gradient = gradient_at(&h, &w);
        let inside: Vec<usize> = (0..n).filter(|&i| free[i]).collect();
        let block = DMatrix::from_fn(inside.len(), inside.len(), |i, j| h[(inside[i], inside[j])]);
        let Some(factor) = Cholesky::new(block) else {
            mu *= 10.0;
            // Numbers near the largest overflow on the way, and then nothing helps.
            if !mu.is_finite() {
                break;
            }
            (0..n).for_each(|i| h[(i, i)] += mu);
            continue;
        };
        let down = factor.solve(&DVector::from_fn(inside.len(), |i, _| -gradient[inside[i]]));
        let ones = factor.solve(&DVector::from_element(inside.len(), 1.0));
        let nu = down.sum() / ones.sum();
        let step: Vec<f64> = (0..inside.len()).map(|i| down[i] - nu * ones[i]).collect();
        let (mut t, mut blocking) = (1.0, None);
        for (i, &at) in inside.iter().enumerate() {
            if step[i] < 0.0 && w[at] + t * step[i] < 0.0 {
                t = w[at] / -step[i];
                blocking = Some(at);
            }
        }
        for (i, &at) in inside.iter().enumerate() {
            w[at] = (w[at] + t * step[i]).max(0.0);
        }
        if let Some(at) = blocking {
            w[at] = 0.0;
            free[at] = false;
            continue;
        }
        // Optimal on this face: free the entry whose gradient lies furthest below the common level.
        let gradient = gradient_at(&h, &w);
        let level = inside.iter().map(|&i| w[i] * gradient[i]).sum::<f64>() / w.iter().sum::<f64>();
        let below = |i: usize| level - gradient[i];
        let largest = (0..n).filter(|&i| !free[i]).max_by(|&a, &b| below(a).total_cmp(&below(b)));
        let moved = w.iter().zip(&start).map(|(w, s)| (w - s).abs()).fold(0.0, f64::max);
        match largest.filter(|&i| below(i) > noise + f64::EPSILON * spread * moved) {
            Some(i) => free[i] = true,
            None => break,
        }
    }
    let total: f64 = w.iter().sum();
    w.iter().map(|w| w / total).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::random::{self, Generator};
    use crate::set::{Ball, Bounds, KlBall, Product, SharedSet, Simplex};

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
