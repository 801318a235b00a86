use std::sync::Arc;

use super::{FittedOptions, LoggedRows};
use crate::error::{Result, finite};
use crate::nn::{Activation, Gains, Inputs, Mlp, Optimizer, Rule, Scratch, Shape, clip};
use crate::random::{self, Generator};
use crate::state::{Loader, Saver, misfit};

/// Rows that pass through the network at once.
const ROWS: usize = 256;
/// Up to so many rows a step of the optimiser takes all of them.
const ALL: usize = 1024;
const MAX_GRAD_NORM: f32 = 10.0;
/// Larger errors pull no harder.
const LARGEST_ERROR: f32 = 10.0;

/// A network of values, one a head of every action, and how it is brought to targets.
#[derive(Debug, Clone)]
pub(crate) struct Regression {
    network: Arc<Mlp>,
    heads: usize,
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    optimizer: Optimizer,
    scratch: Scratch,
}

impl Regression {
    /// With random parameters, and values near 0.
    pub fn new(
        rows: &LoggedRows,
        heads: usize,
        options: &FittedOptions,
        rng: &mut Generator,
    ) -> Result<Self> {
        let (inputs, actions) = (rows.encoder().inputs(), rows.actions());
        let activation =
            if matches!(inputs, Inputs::OneHot(_)) { Activation::Relu } else { Activation::Tanh };
        let hidden = options.net_arch.clone();
        let network =
            Arc::new(Mlp::new(Shape { inputs, hidden, activation, policy: actions * heads, value: 0 })?);
        let mut parameters = vec![0.0; network.parameters()];
        let gains = Gains { policy: 0.01, ..Gains::default() };
        network.initialize(&gains, &mut parameters, rng);
        Ok(Self {
            heads,
            gradient: vec![0.0; parameters.len()],
            optimizer: Optimizer::new(Rule::ADAM, options.learning_rate, parameters.len())?,
            scratch: network.scratch(ROWS),
            parameters,
            network,
        })
    }

    pub fn network(&self) -> &Arc<Mlp> {
        &self.network
    }

    pub fn heads(&self) -> usize {
        self.heads
    }

    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// Forgets the gradients of the last fit.
    pub fn begin(&mut self) {
        self.optimizer.reset();
    }

    /// The values of all rows: those of one row's actions one after the other, heads first.
    pub fn outputs(&mut self, inputs: &[f32]) -> Vec<f32> {
        let mut outputs = Vec::new();
        for rows in inputs.chunks(ROWS * self.network.shape().inputs.row()) {
            self.network.forward(&self.parameters, rows, &mut self.scratch);
            outputs.extend_from_slice(&self.scratch.policy.output);
        }
        outputs
    }

    /// Brings the values of what was done closer to targets.
    pub fn fit(
        &mut self,
        rows: &LoggedRows,
        targets: &[f32],
        iteration: usize,
        options: &FittedOptions,
        rng: &mut Generator,
    ) -> Result<()> {
        let done = iteration as f64 / options.n_iterations as f64;
        self.optimizer.rate = options.learning_rate * (1.0 - 0.9 * done);
        let all: Vec<u32> = (0..rows.len() as u32).collect();
        let weights = rows.weights();
        let cumulative: Vec<f64> = weights
            .iter()
            .scan(0.0, |sum, weight| {
                *sum += f64::from(*weight);
                Some(*sum)
            })
            .collect();
        let total = cumulative.last().copied().unwrap_or(0.0);
        for _ in 0..options.gradient_steps {
            if rows.len() <= ALL {
                self.step(rows, &all, Some(weights), targets)?;
                continue;
            }
            let draw = |_| {
                let at = total * random::unit(rng);
                cumulative.partition_point(|sum| *sum <= at).min(rows.len() - 1) as u32
            };
            let drawn: Vec<u32> = (0..options.batch_size).map(draw).collect();
            self.step(rows, &drawn, None, targets)?;
        }
        Ok(())
    }

    /// One step of the optimiser on these rows.
    fn step(
        &mut self,
        rows: &LoggedRows,
        batch: &[u32],
        weights: Option<&[f32]>,
        targets: &[f32],
    ) -> Result<()> {
        let (heads, entries) = (self.heads, self.network.shape().inputs.row());
        let outputs = rows.actions() * heads;
        let share = 1.0 / batch.len() as f32;
        self.gradient.fill(0.0);
        for part in batch.chunks(ROWS) {
            let places = part.iter().map(|row| *row as usize);
            let inputs: Vec<f32> = places
                .clone()
                .flat_map(|row| rows.seen()[row * entries..(row + 1) * entries].iter().copied())
                .collect();
            self.network.forward(&self.parameters, &inputs, &mut self.scratch);
            let head = &mut self.scratch.policy;
            for (place, row) in places.enumerate() {
                let first = place * outputs + rows.done()[row] * heads;
                let share = share * weights.map_or(1.0, |weights| weights[row]);
                for k in 0..heads {
                    let error = head.output[first + k] - targets[row * heads + k];
                    head.gradient[first + k] = share * error.clamp(-LARGEST_ERROR, LARGEST_ERROR);
                }
            }
            self.network.backward(&self.parameters, &inputs, &mut self.scratch, &mut self.gradient);
        }
        let norm = clip(&mut self.gradient, MAX_GRAD_NORM);
        finite("the gradient of fitted values", &[norm.into()])?;
        self.optimizer.step(&mut self.parameters, &self.gradient);
        Ok(())
    }

    pub fn save(&self, to: &mut Saver) {
        to.put_shared(&self.network);
        to.put_all(&self.parameters);
    }

    /// Takes it back, with the network that policies share.
    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        let network: Arc<Mlp> = from.get_shared()?;
        if network.shape() != self.network.shape() {
            return Err(misfit("a network has another shape"));
        }
        self.network = network;
        from.get_finite("a parameter", &mut self.parameters)
    }
}
