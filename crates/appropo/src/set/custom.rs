use super::ConvexSet;

/// A set of your own, given by the function that projects onto it.
pub struct FromProjection<F> {
    dim: usize,
    project: F,
}

impl<F: Fn(&[f64], &mut [f64]) + Send + Sync> FromProjection<F> {
    /// `project(x, out)` writes the point of the set nearest to `x` into `out`.
    pub fn new(dim: usize, project: F) -> Self {
        Self { dim, project }
    }
}

impl<F: Fn(&[f64], &mut [f64]) + Send + Sync> ConvexSet for FromProjection<F> {
    fn dim(&self) -> usize {
        self.dim
    }
    fn project(&self, x: &[f64], out: &mut [f64]) {
        (self.project)(x, out);
    }
}
