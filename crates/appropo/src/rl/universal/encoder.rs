use crate::env::Space;
use crate::error::Result;
use crate::nn::Inputs;
use crate::state::{Loader, Saver, misfit};

/// Observations as a network takes them: an index as it is, numbers brought to mean 0 and deviation 1.
#[derive(Debug, Clone)]
pub struct Encoder {
    inputs: Inputs,
    count: f64,
    mean: Vec<f64>,
    squares: Vec<f64>,
}

/// Deviations below this are of numbers that do not change.
const LEAST_DEVIATION: f64 = 1e-6;

impl Encoder {
    /// For the observations of a space.
    pub fn new(space: &Space) -> Self {
        let (inputs, entries) = match space {
            Space::Discrete(count) => (Inputs::OneHot(*count), 0),
            Space::Continuous(bounds) => (Inputs::Vector(bounds.len()), bounds.len()),
        };
        Self { inputs, count: 0.0, mean: vec![0.0; entries], squares: vec![0.0; entries] }
    }

    /// What a network takes.
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Learns how large observations are from one more.
    pub fn add(&mut self, observation: &[f32]) {
        self.count += 1.0;
        for ((mean, squares), value) in self.mean.iter_mut().zip(&mut self.squares).zip(observation) {
            let off = f64::from(*value) - *mean;
            *mean += off / self.count;
            *squares += off * (f64::from(*value) - *mean);
        }
    }

    /// Entry k is (x − shift) / deviation.
    fn affine(&self, k: usize) -> (f32, f32) {
        let deviation = (self.squares[k] / self.count.max(1.0)).sqrt();
        (self.mean[k] as f32, if deviation > LEAST_DEVIATION { deviation as f32 } else { 1.0 })
    }

    /// Appends an observation.
    pub fn push(&self, observation: &[f32], rows: &mut Vec<f32>) {
        match self.inputs {
            Inputs::OneHot(_) => rows.push(observation[0]),
            Inputs::Vector(entries) => rows.extend((0..entries).map(|k| {
                let (shift, deviation) = self.affine(k);
                (observation[k] - shift) / deviation
            })),
        }
    }

    /// Appends an observation with an index written out as a unit vector.
    pub fn push_dense(&self, observation: &[f32], rows: &mut Vec<f32>) {
        match self.inputs {
            Inputs::OneHot(width) => {
                let start = rows.len();
                rows.resize(start + width, 0.0);
                rows[start + observation[0] as usize] = 1.0;
            }
            Inputs::Vector(_) => self.push(observation, rows),
        }
    }

    /// Makes a first layer that took encoded observations take plain ones. `weights` has a row of `outputs` an input.
    pub fn fold(&self, weights: &mut [f32], row: usize, columns: std::ops::Range<usize>, biases: &mut [f32]) {
        let Inputs::Vector(entries) = self.inputs else { return };
        for k in 0..entries {
            let (shift, deviation) = self.affine(k);
            let weights = &mut weights[k * row..][columns.clone()];
            for (weight, bias) in weights.iter_mut().zip(biases.iter_mut()) {
                *weight /= deviation;
                *bias -= *weight * shift;
            }
        }
    }

    pub(crate) fn save(&self, to: &mut Saver) {
        to.put(&self.count);
        to.put_all(&self.mean);
        to.put_all(&self.squares);
    }

    pub(crate) fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.count = from.get_where("a number of observations", |count: &f64| *count >= 0.0)?;
        from.get_finite("the mean of an observation", &mut self.mean)?;
        from.get_finite("the spread of an observation", &mut self.squares)?;
        if self.squares.iter().any(|s| *s < 0.0) {
            return Err(misfit("the spread of an observation is below 0"));
        }
        Ok(())
    }
}
