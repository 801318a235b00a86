use crate::error::Result;
use crate::state::{Loader, Saver};

/// The uniform mean of the answers so far.
#[derive(Debug, Clone)]
pub(crate) struct Mean {
    count: usize,
    point: Vec<f64>,
}

impl Mean {
    pub(crate) fn new(dim: usize) -> Self {
        Self { count: 0, point: vec![0.0; dim] }
    }

    pub(crate) fn add(&mut self, z_hat: &[f64]) {
        self.count += 1;
        let step = 1.0 / self.count as f64;
        for (mean, z) in self.point.iter_mut().zip(z_hat) {
            *mean += step * (z - *mean);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn point(&self) -> &[f64] {
        &self.point
    }

    pub(crate) fn save(&self, to: &mut Saver) {
        to.put(&self.count);
        to.put_all(&self.point);
    }

    pub(crate) fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.count = from.get_count("a number of answers")?;
        from.get_finite("a mean measurement", &mut self.point)
    }
}
