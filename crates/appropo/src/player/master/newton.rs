//! Newton's method over a hull.

use std::slice::ChunksExact;

use super::quadratic::quadratic_on_simplex;
use super::{Hull, STEPS, Smooth, Vertex};
use crate::error::Result;
use crate::vector::{add_scaled, difference, dot, norm, wide};

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
    /// Minimises a smooth function over the hull by Newton's method; roughly, where that will do, a distance that stays above 0.
    pub(super) fn minimize(&mut self, function: &Smooth, is_rough: bool) -> Result<()> {
        let size = self.vertices.iter().map(|v| norm(&v.z)).fold(0.0, f64::max);
        let (dim, count) = (self.point.len(), self.vertices.len());
        let (mut directions, mut step) = (Directions::new(dim, count), vec![0.0; dim]);
        let mut gradient = function.gradient(&self.point)?;
        let mut first_gap = 0.0;
        for step_number in 0..STEPS {
            directions.point_from(&self.point, &self.vertices);
            let (slopes, longest) = directions.slopes(&gradient);
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
}

/// The ways from a point to the vertices of a hull, one after the other.
pub(super) struct Directions {
    dim: usize,
    entries: Vec<f64>,
}

impl Directions {
    fn new(dim: usize, count: usize) -> Self {
        Self { dim, entries: vec![0.0; dim * count] }
    }

    fn point_from(&mut self, point: &[f64], vertices: &[Vertex]) {
        wide(
            #[inline(always)]
            || {
                for (direction, vertex) in self.entries.chunks_exact_mut(self.dim.max(1)).zip(vertices) {
                    for ((direction, z), point) in direction.iter_mut().zip(&vertex.z).zip(point) {
                        *direction = z - point;
                    }
                }
            },
        );
    }

    /// How steep each is, and the length of the longest.
    fn slopes(&self, gradient: &[f64]) -> (Vec<f64>, f64) {
        let (mut slopes, mut longest) = (Vec::with_capacity(self.iter().len()), 0.0f64);
        wide(
            #[inline(always)]
            || {
                for direction in self.iter() {
                    slopes.push(dot(gradient, direction));
                    longest = longest.max(norm(direction));
                }
            },
        );
        (slopes, longest)
    }

    pub(super) fn iter(&self) -> ChunksExact<'_, f64> {
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
