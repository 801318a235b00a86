use crate::error::Result;
use crate::nn::{Gains, Mlp, Optimizer, Rule, Scratch, clip};
use crate::random::Generator;
use crate::state::{Loader, Saver};

/// The parameters of a network that learns, followed by their slow average. Targets, predictions and policies come from
/// the average, which the last few batches hardly move.
#[derive(Debug)]
pub struct Tracked {
    parameters: Vec<f32>,
    average: Vec<f32>,
    optimizer: Optimizer,
    gradient: Vec<f32>,
    tau: f32,
}

/// The largest norm of a gradient.
const MAX_GRAD_NORM: f32 = 10.0;

impl Tracked {
    /// Random parameters; `tau` is how far the average moves in a step.
    pub fn new(network: &Mlp, learning_rate: f64, tau: f32, rng: &mut Generator) -> Result<Self> {
        let empty = vec![0.0; network.parameters()];
        let optimizer = Optimizer::new(Rule::ADAM, learning_rate, empty.len())?;
        let mut tracked =
            Self { parameters: empty.clone(), average: empty.clone(), optimizer, gradient: empty, tau };
        tracked.start_afresh(network, rng);
        Ok(tracked)
    }

    /// Begins with other random parameters.
    pub fn start_afresh(&mut self, network: &Mlp, rng: &mut Generator) {
        let gains = Gains { trunk: std::f64::consts::SQRT_2, policy: 0.0, value: 0.1 };
        network.initialize(&gains, &mut self.parameters, rng);
        self.average.copy_from_slice(&self.parameters);
        self.optimizer.reset();
    }

    /// The parameters that learn.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// Their average.
    pub fn average(&self) -> &[f32] {
        &self.average
    }

    /// Multiplies the outputs of the value head, each by its ratio.
    pub fn scale_values(&mut self, network: &Mlp, ratio: impl Fn(usize) -> f32) {
        let Some(head) = network.layers().last() else { return };
        for parameters in [&mut self.parameters, &mut self.average] {
            let (weights, biases) =
                parameters[head.weights.start..head.biases.end].split_at_mut(head.weights.len());
            for (output, (row, bias)) in weights.chunks_mut(head.inputs).zip(biases).enumerate() {
                let ratio = ratio(output);
                row.iter_mut().for_each(|weight| *weight *= ratio);
                *bias *= ratio;
            }
        }
    }

    /// A step against the gradient that stands in `scratch` after a pass of these rows.
    pub fn step(&mut self, network: &Mlp, rows: &[f32], scratch: &mut Scratch) {
        self.gradient.fill(0.0);
        network.backward(&self.parameters, rows, scratch, &mut self.gradient);
        clip(&mut self.gradient, MAX_GRAD_NORM);
        self.optimizer.step(&mut self.parameters, &self.gradient);
        for (average, parameter) in self.average.iter_mut().zip(&self.parameters) {
            *average += self.tau * (parameter - *average);
        }
    }

    pub(crate) fn save(&self, to: &mut Saver) {
        to.put_all(&self.parameters);
        to.put_all(&self.average);
        self.optimizer.save(to);
    }

    pub(crate) fn load(&mut self, from: &mut Loader) -> Result<()> {
        from.get_finite("a parameter", &mut self.parameters)?;
        from.get_finite("an averaged parameter", &mut self.average)?;
        self.optimizer.load(from)
    }
}
