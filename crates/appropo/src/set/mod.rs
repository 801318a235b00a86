//! Convex sets, each known by its Euclidean projection Γ.
//!
//! Distance, membership and the separating direction x − Γ(x) follow from the projection, so a set of
//! your own is one function:
//!
//! ```
//! use appropo::set::{ConvexSet, FromProjection};
//!
//! let even = FromProjection::new(2, |x, out| {
//!     let mean = (x[0] + x[1]) / 2.0;
//!     out.fill(mean);
//! });
//! assert_eq!(even.distance(&[1.0, -1.0]), 2f64.sqrt());
//! ```

mod affine;
mod ball;
mod bounds;
mod conic;
mod custom;
mod divergence;
mod ellipsoid;
mod errors;
mod faces;
mod halfspace;
mod intersection;
mod l1_ball;
mod lift;
mod polar;
mod polytope;
mod product;
mod registration;
mod second_order_cone;
mod semidefinite;
mod similarity;
mod simplex;

use std::sync::Arc;

pub use affine::AffineSubspace;
pub use ball::Ball;
pub use bounds::Bounds;
pub use conic::{Cone, Conic, ConicSet, ConicSolution};
pub use custom::FromProjection;
pub use divergence::{KlBall, ReverseKlBall};
pub use ellipsoid::Ellipsoid;
pub use errors::Errors;
pub(crate) use errors::{holds, placed};
pub use faces::Faces;
pub use halfspace::{HalfSpace, Slab};
pub use intersection::Intersection;
pub use l1_ball::L1Ball;
pub use lift::Lift;
pub use polar::{Lambda, Polar};
pub use polytope::Polytope;
pub use product::Product;
pub use registration::{SetEntry, SetSpace};
pub use second_order_cone::SecondOrderCone;
pub use semidefinite::Semidefinite;
pub use similarity::Similarity;
pub use simplex::Simplex;

use std::fmt;

use crate::vector;

/// A closed convex set in ℝᵈ.
pub trait ConvexSet: Send + Sync {
    /// The dimension d of the space that the set lies in.
    fn dim(&self) -> usize;

    /// Writes Γ(x), the point of the set nearest to `x`, into `out`. Both have [`dim`](Self::dim) entries.
    /// A projection that can't be computed fills `out` with NaN, which the solver reports.
    fn project(&self, x: &[f64], out: &mut [f64]);

    /// Projects onto the recession cone, the directions in which the set never ends.
    /// It is {0} for a bounded set. The default takes the limit a·Γ(x/a) at a small a.
    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        const A: f64 = 1e-9;
        let scaled: Vec<f64> = x.iter().map(|v| v / A).collect();
        self.project(&scaled, out);
        vector::scale(out, A);
    }

    /// The derivative of the projection at `x`, as a linear map: `derivative(x)(d, out)` writes DΓ(x)d.
    /// The default takes a difference along d, pointing away from the set, where the projection is smooth.
    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        differences(x, EXACT, |x, out| self.project(x, out))
    }

    /// a ↦ (x − a·Γ(x/a))·Γ(x/a) for a > 0, where that takes no projection: cones over the set are then projected onto in a
    /// few passes over x.
    fn radial<'a>(&'a self, _x: &[f64]) -> Option<Radial<'a>> {
        None
    }

    /// A bound on the norm of every point of the set; `None` where it is unbounded or not known.
    fn radius(&self) -> Option<f64> {
        None
    }

    /// The set as linear images of standard cones, where it has such a form.
    fn conic(&self) -> Option<Conic> {
        None
    }

    /// Whether a conic solver does the projection. Cones over such a set are better projected onto in one programme.
    fn is_solved(&self) -> bool {
        false
    }

    /// A smaller set: near `at`, a point of it that is off by `errors` still lies in this set.
    /// `None` where no such set is known or none has points.
    fn tightened(&self, _at: &[f64], _errors: &Errors) -> Option<SharedSet> {
        None
    }

    /// Whether [`tightened`](Self::tightened) knows smaller sets at all. Where it does not, no margin can be kept from
    /// the set's edge, and who asks for one must be told.
    fn can_tighten(&self) -> bool {
        false
    }

    /// The sets of consecutive blocks, where this is a product of them.
    fn blocks(&self) -> Option<&[SharedSet]> {
        None
    }

    /// What points of the set satisfy, for people to read after the name of a measure: "at most 0.2".
    fn requirement(&self) -> String {
        format!("in a set of {} entries", self.dim())
    }

    /// How much room a point has before it leaves the set, negative outside; `None` where that is no plain number.
    fn slack(&self, _x: &[f64]) -> Option<f64> {
        None
    }

    /// The Euclidean distance ‖x − Γ(x)‖.
    fn distance(&self, x: &[f64]) -> f64 {
        let mut nearest = vec![0.0; x.len()];
        self.project(x, &mut nearest);
        vector::distance(x, &nearest)
    }

    /// Whether `x` lies within `tolerance` of the set.
    fn contains(&self, x: &[f64], tolerance: f64) -> bool {
        self.distance(x) <= tolerance
    }
}

impl fmt::Debug for dyn ConvexSet {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ConvexSet({})", self.requirement())
    }
}

/// A linear map: `map(d, out)` writes the image of d.
pub type Derivative<'a> = Box<dyn Fn(&[f64], &mut [f64]) + 'a>;

/// What [`ConvexSet::radial`] finds.
pub type Radial<'a> = Box<dyn Fn(f64) -> f64 + 'a>;

/// How far differences reach at least and at most, relative to 1 + ‖x‖: for projections exact up to rounding, and for
/// those of a conic solver.
const EXACT: (f64, f64) = (1e-9, 1e-7);
const SOLVED: (f64, f64) = (1e-5, 1e-4);

/// The derivative of a projection at `x` by one-sided differences.
fn differences<'a>(
    x: &[f64],
    (least, most): (f64, f64),
    project: impl Fn(&[f64], &mut [f64]) + 'a,
) -> Derivative<'a> {
    let mut nearest = vec![0.0; x.len()];
    project(x, &mut nearest);
    let x = x.to_vec();
    let outward = vector::difference(&x, &nearest);
    let size = 1.0 + vector::norm(&x);
    let reach = (0.05 * vector::norm(&outward)).clamp(least * size, most * size);
    Box::new(move |d, out| {
        let length = vector::norm(d).max(f64::MIN_POSITIVE);
        let h = reach / length * vector::dot(&outward, d).signum();
        let mut moved = x.clone();
        vector::add_scaled(&mut moved, h, d);
        project(&moved, out);
        for (out, nearest) in out.iter_mut().zip(&nearest) {
            *out = (*out - nearest) / h;
        }
    })
}

/// The sets that constraints can name, in the order in which they are listed.
pub(crate) static ENTRIES: [&[SetEntry]; 13] = [
    &bounds::ENTRIES,
    &ball::ENTRIES,
    &l1_ball::ENTRIES,
    &ellipsoid::ENTRIES,
    &halfspace::ENTRIES,
    &affine::ENTRIES,
    &polytope::ENTRIES,
    &simplex::ENTRIES,
    &divergence::ENTRIES,
    &second_order_cone::ENTRIES,
    &semidefinite::ENTRIES,
    &custom::ENTRIES,
    &intersection::ENTRIES,
];

/// A set that can be shared between threads and compositions.
pub type SharedSet = Arc<dyn ConvexSet>;

impl<S: ConvexSet + ?Sized> ConvexSet for Arc<S> {
    fn dim(&self) -> usize {
        (**self).dim()
    }
    fn project(&self, x: &[f64], out: &mut [f64]) {
        (**self).project(x, out);
    }
    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        (**self).project_recession(x, out);
    }
    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        (**self).derivative(x)
    }
    fn radial<'a>(&'a self, x: &[f64]) -> Option<Radial<'a>> {
        (**self).radial(x)
    }
    fn radius(&self) -> Option<f64> {
        (**self).radius()
    }
    fn conic(&self) -> Option<Conic> {
        (**self).conic()
    }
    fn is_solved(&self) -> bool {
        (**self).is_solved()
    }
    fn tightened(&self, at: &[f64], errors: &Errors) -> Option<SharedSet> {
        (**self).tightened(at, errors)
    }
    fn can_tighten(&self) -> bool {
        (**self).can_tighten()
    }
    fn requirement(&self) -> String {
        (**self).requirement()
    }
    fn slack(&self, x: &[f64]) -> Option<f64> {
        (**self).slack(x)
    }
    fn blocks(&self) -> Option<&[SharedSet]> {
        (**self).blocks()
    }
}
