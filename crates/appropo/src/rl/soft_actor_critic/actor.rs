use std::sync::Arc;

use crate::error::{Result, finite};
use crate::nn::{Activation, Gains, Inputs, Mlp, Optimizer, Rule, Scratch, Shape, clip};
use crate::policy::{Actions, squash};
use crate::random::{self, Generator};
use crate::state::{Loader, Saver, misfit};

/// A policy of squashed actions, between −1 and 1, that learns where they lead to more.
#[derive(Debug)]
pub(super) struct Actor {
    pub network: Arc<Mlp>,
    pub actions: Actions,
    pub parameters: Vec<f32>,
    gradient: Vec<f32>,
    optimizer: Optimizer,
    scratch: Scratch,
    /// How many deviations each entry of the last draw is off its mean.
    off: Vec<f32>,
    /// The last draw, and the logarithms of its densities.
    pub drawn: Vec<f32>,
    pub log_densities: Vec<f32>,
}

/// The largest norm of a gradient.
const MAX_GRAD_NORM: f32 = 10.0;

impl Actor {
    /// A policy for actions within bounds.
    pub fn new(
        inputs: Inputs,
        hidden: &[usize],
        bounds: &[(f64, f64)],
        learning_rate: f64,
        rows: usize,
    ) -> Result<Self> {
        let actions = Actions::Squashed(bounds.to_vec());
        let (hidden, policy) = (hidden.to_vec(), actions.outputs(bounds.len()));
        let network = Mlp::new(Shape { inputs, hidden, activation: Activation::Relu, policy, value: 0 })?;
        Ok(Self {
            parameters: vec![0.0; network.parameters()],
            gradient: vec![0.0; network.parameters()],
            optimizer: Optimizer::new(Rule::ADAM, learning_rate, network.parameters())?,
            scratch: network.scratch(rows),
            network: Arc::new(network),
            actions,
            off: Vec::new(),
            drawn: Vec::new(),
            log_densities: Vec::new(),
        })
    }

    pub fn width(&self) -> usize {
        self.network.shape().policy / 2
    }

    /// Begins anew, nearly without preference.
    pub fn start_afresh(&mut self, rng: &mut Generator) {
        self.network.initialize(&Gains::default(), &mut self.parameters, rng);
        self.optimizer.reset();
    }

    /// Begins with these parameters.
    pub fn start_from(&mut self, parameters: &[f32]) {
        self.parameters.copy_from_slice(parameters);
        self.optimizer.reset();
    }

    /// Draws an action for every row of inputs.
    pub fn draw(&mut self, inputs: &[f32], rng: &mut Generator) {
        self.network.forward(&self.parameters, inputs, &mut self.scratch);
        let width = self.width();
        self.off.clear();
        self.drawn.clear();
        self.log_densities.clear();
        for output in self.scratch.policy.output.chunks_exact(2 * width) {
            let (means, log_deviations) = output.split_at(width);
            let mut log_density = 0.0;
            for (mean, log_deviation) in means.iter().zip(log_deviations) {
                let off = random::normal(rng) as f32;
                let (drawn, density) = squash(*mean, *log_deviation, off);
                self.off.push(off);
                self.drawn.push(drawn);
                log_density += density;
            }
            self.log_densities.push(log_density);
        }
    }

    /// A step towards larger scores and larger entropy by the last draw, for which the scores have `slopes`.
    pub fn learn(&mut self, inputs: &[f32], slopes: &[f32], ent_coef: f32) -> Result<()> {
        let width = self.width();
        let share = 1.0 / self.log_densities.len() as f32;
        let (least, most) = Actions::LOG_DEVIATIONS;
        let head = &mut self.scratch.policy;
        let rows = head.output.chunks_exact(2 * width).zip(head.gradient.chunks_exact_mut(2 * width));
        for (row, (output, pulled)) in rows.enumerate() {
            for i in 0..width {
                let (place, raw) = (row * width + i, output[width + i]);
                let action = self.drawn[place];
                let moved = raw.clamp(least, most).exp() * self.off[place];
                let slope = slopes[place] * (1.0 - action * action);
                pulled[i] = share * (ent_coef * 2.0 * action - slope);
                let is_inside = raw > least && raw < most;
                let by_deviation = ent_coef * (2.0 * action * moved - 1.0) - slope * moved;
                pulled[width + i] = if is_inside { share * by_deviation } else { 0.0 };
            }
        }
        self.gradient.fill(0.0);
        self.network.backward(&self.parameters, inputs, &mut self.scratch, &mut self.gradient);
        let length = clip(&mut self.gradient, MAX_GRAD_NORM);
        finite("the length of a gradient", &[f64::from(length)])?;
        self.optimizer.step(&mut self.parameters, &self.gradient);
        Ok(())
    }

    pub fn save(&self, to: &mut Saver) {
        to.put_shared(&self.network);
        to.put_all(&self.parameters);
        self.optimizer.save(to);
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        // Policies found before share the network with those to come.
        let network = from.get_shared::<Mlp>()?;
        if network.shape() != self.network.shape() {
            return Err(misfit("a network has another shape"));
        }
        self.network = network;
        from.get_finite("a parameter", &mut self.parameters)?;
        self.optimizer.load(from)
    }
}
