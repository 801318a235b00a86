use super::ConvexSet;
use crate::vector;

/// C° = {λ : λ·x ≤ 0 for all x ∈ C}, the polar of a convex cone C.
///
/// Projection: x − Γ_C(x), by Moreau's decomposition.
#[derive(Debug, Clone)]
pub struct Polar<C>(pub C);

impl<C: ConvexSet> ConvexSet for Polar<C> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn project(&self, x: &[f64], out: &mut [f64]) {
        self.0.project(x, out);
        for (out, x) in out.iter_mut().zip(x) {
            *out = x - *out;
        }
    }
    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        self.project(x, out);
    }
}

/// Λ = C° ∩ B, the decisions of the λ-player for a convex cone C; B is the unit ball.
///
/// Projection: (x − Γ_C(x)) / max(1, ‖x − Γ_C(x)‖).
#[derive(Debug, Clone)]
pub struct Lambda<C>(pub Polar<C>);

impl<C: ConvexSet> Lambda<C> {
    /// The decisions for the convex cone `cone`.
    pub fn new(cone: C) -> Self {
        Self(Polar(cone))
    }

    /// The cone C.
    pub fn cone(&self) -> &C {
        &self.0.0
    }
}

impl<C: ConvexSet> ConvexSet for Lambda<C> {
    fn dim(&self) -> usize {
        self.0.dim()
    }
    fn project(&self, x: &[f64], out: &mut [f64]) {
        self.0.project(x, out);
        let length = vector::norm(out);
        if length > 1.0 {
            vector::scale(out, 1.0 / length);
        }
    }
    fn project_recession(&self, _: &[f64], out: &mut [f64]) {
        out.fill(0.0);
    }
    fn radius(&self) -> Option<f64> {
        Some(1.0)
    }
}
