use super::frame::Moments;
use crate::env::Space;
use crate::error::Result;
use crate::nn::Inputs;
use crate::state::{Loader, Saver};

/// Observations as a network takes them: an index as it is, numbers brought to mean 0 and deviation 1.
#[derive(Debug, Clone)]
pub struct Encoder {
    inputs: Inputs,
    moments: Moments,
}

impl Encoder {
    /// For the observations of a space.
    pub fn new(space: &Space) -> Self {
        let (inputs, entries) = match space {
            Space::Discrete(count) => (Inputs::OneHot(*count), 0),
            Space::Continuous(bounds) => (Inputs::Vector(bounds.len()), bounds.len()),
        };
        Self { inputs, moments: Moments::new(entries) }
    }

    /// What a network takes.
    pub fn inputs(&self) -> Inputs {
        self.inputs
    }

    /// Learns how large observations are from one more.
    pub fn add(&mut self, observation: &[f32]) {
        self.moments.add(observation.iter().map(|value| f64::from(*value)));
    }

    /// Entry k is (x − shift) / deviation.
    fn affine(&self, k: usize) -> (f32, f32) {
        (self.moments.mean(k) as f32, self.moments.deviation(k) as f32)
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

    /// The other way round, for a whole layer.
    pub fn unfold(&self, weights: &mut [f32], biases: &mut [f32]) {
        let Inputs::Vector(entries) = self.inputs else { return };
        for (k, weights) in weights.chunks_exact_mut(biases.len()).enumerate().take(entries) {
            let (shift, deviation) = self.affine(k);
            for (weight, bias) in weights.iter_mut().zip(biases.iter_mut()) {
                *bias += *weight * shift;
                *weight *= deviation;
            }
        }
    }

    pub(crate) fn save(&self, to: &mut Saver) {
        self.moments.save(to);
    }

    pub(crate) fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.moments.load(from)
    }
}
