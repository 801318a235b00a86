use std::sync::Arc;

use crate::env::Space;
use crate::error::{Result, finite};
use crate::nn::{Activation, Gains, Inputs, Mlp, Optimizer, Rule, Scratch, Shape, clip};
use crate::policy::{Actions, NetworkPolicy, softmax, squash};
use crate::random::{self, Generator};
use crate::state::{Loader, Saver, misfit};

/// A policy that learns what scores more.
#[derive(Debug)]
pub(in crate::rl) struct Actor {
    pub network: Arc<Mlp>,
    pub actions: Actions,
    pub parameters: Vec<f32>,
    gradient: Vec<f32>,
    optimizer: Optimizer,
    scratch: Scratch,
    /// How many deviations each number of the last draw is off its mean.
    off: Vec<f32>,
    /// The last draw of actions that are numbers, between −1 and 1; of counted ones the probabilities of all.
    pub drawn: Vec<f32>,
    /// Of each row; where actions are numbers, by the density of the draw alone.
    pub entropies: Vec<f32>,
}

/// The largest norm of a gradient.
const MAX_GRAD_NORM: f32 = 10.0;

impl Actor {
    /// A policy for actions of a space.
    pub fn new(
        inputs: Inputs,
        hidden: &[usize],
        (actions, space): (Actions, &Space),
        learning_rate: f64,
        rows: usize,
    ) -> Result<Self> {
        let policy = actions.outputs(space.count().unwrap_or(space.entries()));
        let shape = Shape { inputs, hidden: hidden.to_vec(), activation: Activation::Relu, policy, value: 0 };
        let network = Mlp::new(shape)?;
        Ok(Self {
            parameters: vec![0.0; network.parameters()],
            gradient: vec![0.0; network.parameters()],
            optimizer: Optimizer::new(Rule::ADAM, learning_rate, network.parameters())?,
            scratch: network.scratch(rows),
            network: Arc::new(network),
            actions,
            off: Vec::new(),
            drawn: Vec::new(),
            entropies: Vec::new(),
        })
    }

    /// Numbers of a row of [`drawn`](Self::drawn).
    pub fn width(&self) -> usize {
        match &self.actions {
            Actions::Squashed(bounds) => bounds.len(),
            Actions::Categorical | Actions::Gaussian(_) => self.network.shape().policy,
        }
    }

    pub fn is_counted(&self) -> bool {
        self.actions == Actions::Categorical
    }

    /// Begins anew, nearly without preference.
    pub fn start_afresh(&mut self, rng: &mut Generator) {
        self.network.initialize(&Gains::default(), &mut self.parameters, rng);
        self.optimizer.reset();
    }

    /// Begins with a policy of this network. One without noise does not say how to explore: that stays as it is.
    pub fn start_from(&mut self, policy: &NetworkPolicy) {
        let before = std::mem::replace(&mut self.parameters, policy.parameters().to_vec());
        if let (Actions::Squashed(bounds), false) = (&self.actions, policy.has_noise()) {
            let (head, width) = (self.network.policy_head(), bounds.len());
            let (noise, noise_biases) = head.of(&before);
            let (weights, biases) = head.of_mut(&mut self.parameters);
            weights[width * head.inputs..].copy_from_slice(&noise[width * head.inputs..]);
            biases[width..].copy_from_slice(&noise_biases[width..]);
        }
        self.optimizer.reset();
    }

    /// Draws for every row of inputs, or says how likely each action is.
    pub fn draw(&mut self, inputs: &[f32], rng: &mut Generator) {
        self.network.forward(&self.parameters, inputs, &mut self.scratch);
        let (width, is_counted) = (self.width(), self.is_counted());
        self.off.clear();
        self.drawn.clear();
        self.entropies.clear();
        for output in self.scratch.policy.output.chunks_exact_mut(self.network.shape().policy) {
            if is_counted {
                softmax(output);
                self.drawn.extend_from_slice(output);
                self.entropies.push(-output.iter().map(|p| p * logarithm(*p)).sum::<f32>());
                continue;
            }
            let (means, log_deviations) = output.split_at(width);
            let mut log_density = 0.0;
            for (mean, log_deviation) in means.iter().zip(log_deviations) {
                let off = random::normal(rng) as f32;
                let (drawn, density) = squash(*mean, *log_deviation, off);
                self.off.push(off);
                self.drawn.push(drawn);
                log_density += density;
            }
            self.entropies.push(-log_density);
        }
    }

    /// The middle of what would be drawn, of actions that are numbers.
    pub fn draw_middle(&mut self, inputs: &[f32]) {
        self.network.forward(&self.parameters, inputs, &mut self.scratch);
        let width = self.width();
        self.drawn.clear();
        for output in self.scratch.policy.output.chunks_exact(self.network.shape().policy) {
            self.drawn.extend(output[..width].iter().map(|mean| squash(*mean, 0.0, 0.0).0));
        }
    }

    /// A step towards larger scores and larger entropy by the last draw. `scores` are those of all actions, or, where
    /// actions are numbers, the slopes of the score by them.
    pub fn learn(&mut self, inputs: &[f32], scores: &[f32], ent_coef: f32) -> Result<()> {
        let (width, is_counted) = (self.width(), self.is_counted());
        let (outputs, share) = (self.network.shape().policy, 1.0 / self.entropies.len() as f32);
        let head = &mut self.scratch.policy;
        let rows = head.output.chunks_exact(outputs).zip(head.gradient.chunks_exact_mut(outputs));
        for (row, (output, pulled)) in rows.enumerate() {
            let range = row * width..(row + 1) * width;
            if is_counted {
                pull_logits(output, pulled, &scores[range], (ent_coef, share));
            } else {
                let drawn = (&self.drawn[range.clone()], &self.off[range.clone()]);
                pull_normal(output, pulled, drawn, &scores[range], (ent_coef, share));
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

fn logarithm(probability: f32) -> f32 {
    probability.max(f32::MIN_POSITIVE).ln()
}

/// The gradient of Σ p(α ln p − score) by the logits of the probabilities p.
fn pull_logits(probabilities: &[f32], pulled: &mut [f32], scores: &[f32], (ent_coef, share): (f32, f32)) {
    let mut mean = 0.0;
    for ((pulled, p), score) in pulled.iter_mut().zip(probabilities).zip(scores) {
        *pulled = ent_coef * logarithm(*p) - score;
        mean += p * *pulled;
    }
    pulled.iter_mut().zip(probabilities).for_each(|(pulled, p)| *pulled = share * p * (*pulled - mean));
}

/// The gradient of α ln(density) − score by means and logarithmic deviations, for the draw that was made.
fn pull_normal(
    output: &[f32],
    pulled: &mut [f32],
    (drawn, off): (&[f32], &[f32]),
    slopes: &[f32],
    (ent_coef, share): (f32, f32),
) {
    let (width, (least, most)) = (drawn.len(), Actions::LOG_DEVIATIONS);
    for i in 0..width {
        let (action, raw) = (drawn[i], output[width + i]);
        let moved = raw.clamp(least, most).exp() * off[i];
        let slope = slopes[i] * (1.0 - action * action);
        pulled[i] = share * (ent_coef * 2.0 * action - slope);
        let by_deviation = ent_coef * (2.0 * action * moved - 1.0) - slope * moved;
        pulled[width + i] = if raw > least && raw < most { share * by_deviation } else { 0.0 };
    }
}
