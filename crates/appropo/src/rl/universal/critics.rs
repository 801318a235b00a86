use std::sync::Arc;

use super::reach::Reach;
use super::{Batch, NetworkOptions};
use crate::error::Result;
use crate::nn::{Activation, Inputs, Mlp, Scratch, Shape};
use crate::policy::{Actions, NetworkPolicy};
use crate::random::Generator;
use crate::rl::{Encoder, Tracked, least};
use crate::state::{Loader, Saver, misfit};

/// ψ(s, a, λ): the long-term measurements of doing a in s and then following π_λ, in one network for every λ.
///
/// π_λ(a|s) ∝ exp(−λ·ψ(s, a, λ) / temperature) is what policies do, and so what targets expect of them. The best response
/// jumps where two policies are worth the same, which is where games end, and no network follows a jump; π_λ changes
/// smoothly with λ.
///
/// Several critics learn the same from different beginnings. For every target the one is believed that says the largest
/// λ·ψ: what only one of them hopes for does not spread.
#[derive(Debug)]
pub(super) struct Critics {
    network: Arc<Mlp>,
    /// The network of a policy: all critics side by side.
    acting: Arc<Mlp>,
    critics: Vec<Tracked>,
    actions: usize,
    /// The size of each measurement: networks predict ψ divided by it.
    scale: Vec<f32>,
    temperature: f32,
    pub reach: Reach,
    scratch: Scratch,
    targets: Vec<Scratch>,
    rows: Vec<f32>,
    nexts: Vec<f32>,
    aims: Vec<f32>,
    expected: Vec<f32>,
    chances: Vec<f32>,
}

/// Sizes that change by less than this share are left alone.
const SAME_SIZE: f32 = 0.05;

impl Critics {
    /// Critics of `dim` measurements that know nothing yet.
    pub fn new(
        encoder: &Encoder,
        actions: usize,
        dim: usize,
        options: &NetworkOptions,
        rng: &mut Generator,
    ) -> Result<Self> {
        let observation = encoder.inputs();
        let shape = Shape {
            inputs: Inputs::Vector(observation.width() + dim),
            hidden: options.hidden.clone(),
            activation: Activation::Relu,
            policy: 1,
            value: actions * dim,
        };
        let acting = Shape {
            inputs: observation,
            hidden: options.hidden.iter().map(|units| units * options.critics).collect(),
            policy: actions,
            value: 1,
            ..shape.clone()
        };
        let network = Mlp::new(shape)?;
        let critics = (0..options.critics)
            .map(|_| Tracked::new(&network, options.learning_rate, options.tau, rng))
            .collect::<Result<_>>()?;
        Ok(Self {
            scratch: network.scratch(options.batch),
            targets: (0..options.critics).map(|_| network.scratch(options.batch)).collect(),
            network: Arc::new(network),
            acting: Arc::new(Mlp::new(acting)?),
            critics,
            actions,
            scale: vec![1.0; dim],
            temperature: options.temperature,
            reach: Reach::new(options.gamma, dim),
            rows: Vec::new(),
            nexts: Vec::new(),
            aims: Vec::new(),
            expected: vec![0.0; dim],
            chances: vec![0.0; actions],
        })
    }

    /// The direction of λ for measurements divided by their sizes, appended.
    pub fn direction(&self, lam: &[f64], to: &mut Vec<f32>) {
        direction(lam, &self.scale, to);
    }

    /// One step of learning for every critic.
    pub fn learn(&mut self, encoder: &Encoder, batch: Batch) {
        let (dim, count) = (self.scale.len(), batch.places.len());
        self.rows.clear();
        self.nexts.clear();
        for (place, lam) in batch.places.iter().zip(batch.lams.chunks_exact(dim)) {
            let transition = batch.replay.get(*place);
            encoder.push_dense(transition.observation, &mut self.rows);
            self.rows.extend_from_slice(lam);
            encoder.push_dense(transition.next, &mut self.nexts);
            self.nexts.extend_from_slice(lam);
        }
        self.aim(batch);
        // Actions are chosen along λ, and the errors of many measurements would hide the one along it.
        let weight = (dim as f32).sqrt();
        for critic in &mut self.critics {
            self.network.forward(critic.parameters(), &self.rows, &mut self.scratch);
            for (row, place) in batch.places.iter().enumerate() {
                let (lam, aim) = (&batch.lams[row * dim..][..dim], &self.aims[row * dim..][..dim]);
                let transition = batch.replay.get(*place);
                let left = self.reach.left(transition.steps);
                let first = (row * self.actions + transition.counted_action()) * dim;
                let psi = &self.scratch.value.output[first..first + dim];
                let along: f32 = (0..dim).map(|k| lam[k] * (left * psi[k] - aim[k])).sum();
                let gradient = &mut self.scratch.value.gradient[first..first + dim];
                for k in 0..dim {
                    let error = left * psi[k] - aim[k];
                    gradient[k] = left * (error + weight * along * lam[k]) / count as f32;
                }
            }
            critic.step(&self.network, &self.rows, &mut self.scratch);
        }
    }

    /// z + γψ(s′, a′, λ) for every row, expected over what π_λ does in s′.
    fn aim(&mut self, batch: Batch) {
        for (critic, scratch) in self.critics.iter().zip(&mut self.targets) {
            self.network.forward(critic.average(), &self.nexts, scratch);
        }
        self.aims.clear();
        let dim = self.scale.len();
        for (row, place) in batch.places.iter().enumerate() {
            let transition = batch.replay.get(*place);
            let next = self.reach.gamma(transition.ended) * self.reach.left(transition.steps + 1);
            self.expect(row, &batch.lams[row * dim..][..dim]);
            let gains = transition.gains.iter().zip(&self.scale).map(|(z, scale)| z / scale);
            self.aims.extend(gains.zip(&self.expected).map(|(gain, psi)| gain + next * psi));
        }
    }

    /// ψ of π_λ in a row of the last passes: actions are chosen by the mean of the critics, and believed is the one that
    /// thinks least of them.
    fn expect(&mut self, row: usize, lam: &[f32]) {
        let (targets, actions, dim) = (&self.targets, self.actions, lam.len());
        let psi = |critic: &Scratch, action: usize| (row * actions + action) * dim..critic.value.output.len();
        let cost =
            |critic: &Scratch, action: usize| dot(lam, &critic.value.output[psi(critic, action)][..dim]);
        let chances = &mut self.chances;
        for (action, chance) in chances.iter_mut().enumerate() {
            *chance = targets.iter().map(|critic| cost(critic, action)).sum::<f32>() / targets.len() as f32;
        }
        let least_cost = chances.iter().copied().fold(f32::INFINITY, f32::min);
        chances.iter_mut().for_each(|chance| *chance = ((least_cost - *chance) / self.temperature).exp());
        let total: f32 = chances.iter().sum();
        chances.iter_mut().for_each(|chance| *chance /= total);
        let costs = targets.iter().map(|critic| {
            -chances.iter().enumerate().map(|(action, chance)| chance * cost(critic, action)).sum::<f32>()
        });
        let dearest = &targets[least(costs)];
        self.expected.fill(0.0);
        for (action, chance) in self.chances.iter().enumerate() {
            let psi = &dearest.value.output[psi(dearest, action)][..dim];
            self.expected.iter_mut().zip(psi).for_each(|(sum, psi)| *sum += chance * psi);
        }
        self.reach.clamp(&mut self.expected, &self.scale);
    }

    /// ẑ of π_λ from these starts on.
    pub fn predict(&mut self, encoder: &Encoder, starts: &[Vec<f32>], lam: &[f32]) -> Vec<f64> {
        self.nexts.clear();
        let count = starts.len();
        for start in starts {
            encoder.push_dense(start, &mut self.nexts);
            self.nexts.extend_from_slice(lam);
        }
        for (critic, scratch) in self.critics.iter().zip(&mut self.targets) {
            self.network.forward(critic.average(), &self.nexts, scratch);
        }
        let mut mean = vec![0.0; lam.len()];
        for row in 0..count {
            self.expect(row, lam);
            for ((mean, psi), scale) in mean.iter_mut().zip(&self.expected).zip(&self.scale) {
                *mean += f64::from(psi * scale) / count as f64;
            }
        }
        mean
    }

    /// π_λ by the mean of the critics, which stand side by side in one network with λ built into it.
    pub fn policy(&self, encoder: &Encoder, lam: &[f32]) -> Result<NetworkPolicy> {
        let mut parameters = vec![0.0; self.acting.parameters()];
        let (from, to) = (self.network.layers(), self.acting.layers());
        let (width, hidden) = (encoder.inputs().width(), from.len() - 2);
        let share = 1.0 / (self.temperature * self.critics.len() as f32);
        for (place, critic) in self.critics.iter().enumerate() {
            let critic = critic.average();
            for (layer, (small, large)) in from.iter().zip(to).take(hidden).enumerate() {
                let (rows, first) =
                    if layer == 0 { (width, 0) } else { (small.inputs, place * small.inputs) };
                let columns = place * small.outputs..(place + 1) * small.outputs;
                let weights = &critic[small.weights.clone()];
                let (into, biases) =
                    parameters[large.weights.start..large.biases.end].split_at_mut(large.weights.len());
                for row in 0..rows {
                    into[(first + row) * large.outputs..][columns.clone()]
                        .copy_from_slice(&weights[row * small.outputs..][..small.outputs]);
                }
                let biases = &mut biases[columns.clone()];
                biases.copy_from_slice(&critic[small.biases.clone()]);
                if layer == 0 {
                    // λ is the same in every step: its share of the first layer is one of the biases.
                    for (lam, row) in lam.iter().zip(weights[width * small.outputs..].chunks(small.outputs)) {
                        biases.iter_mut().zip(row).for_each(|(bias, weight)| *bias += lam * weight);
                    }
                    encoder.fold(into, large.outputs, columns, biases);
                }
            }
            let (psi, head) = (&from[hidden + 1], &to[hidden]);
            let (weights, biases) = (&critic[psi.weights.clone()], &critic[psi.biases.clone()]);
            for action in 0..self.actions {
                let into = head.weights.start + action * head.inputs + place * psi.inputs;
                for (k, lam) in lam.iter().enumerate() {
                    let output = action * self.scale.len() + k;
                    let row = &weights[output * psi.inputs..][..psi.inputs];
                    let logits = &mut parameters[into..into + psi.inputs];
                    logits.iter_mut().zip(row).for_each(|(logit, weight)| *logit -= share * lam * weight);
                    parameters[head.biases.start + action] -= share * lam * biases[output];
                }
            }
        }
        NetworkPolicy::new(Arc::clone(&self.acting), Actions::Categorical, parameters)
    }

    /// Takes measurements to be of another size; what is predicted stays the same.
    pub fn rescale(&mut self, sizes: &[f32]) {
        let is_same = |(old, new): (&f32, &f32)| (old / new - 1.0).abs() < SAME_SIZE;
        if self.scale.iter().zip(sizes).all(is_same) {
            return;
        }
        let ratio = |output: usize| self.scale[output % sizes.len()] / sizes[output % sizes.len()];
        self.critics.iter_mut().for_each(|critic| critic.scale_values(&self.network, ratio));
        self.scale.copy_from_slice(sizes);
    }

    /// Whether a policy could be one of [`policy`](Self::policy).
    pub fn fits(&self, policy: &NetworkPolicy) -> bool {
        policy.network().shape() == self.acting.shape() && *policy.actions() == Actions::Categorical
    }

    pub fn save(&self, to: &mut Saver) {
        self.critics.iter().for_each(|critic| critic.save(to));
        to.put_all(&self.scale);
        self.reach.save(to);
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.critics.iter_mut().try_for_each(|critic| critic.load(from))?;
        from.get_finite("the size of a measurement", &mut self.scale)?;
        if self.scale.iter().any(|scale| *scale <= 0.0) {
            return Err(misfit("the size of a measurement is not above 0"));
        }
        self.reach.load(from)
    }
}

fn dot(x: &[f32], y: &[f32]) -> f32 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// The direction of λ for measurements divided by their sizes, appended.
pub(super) fn direction(lam: &[f64], scale: &[f32], to: &mut Vec<f32>) {
    let start = to.len();
    to.extend(lam.iter().zip(scale).map(|(l, s)| *l as f32 * s));
    let norm = dot(&to[start..], &to[start..]).sqrt().max(f32::MIN_POSITIVE);
    to[start..].iter_mut().for_each(|l| *l /= norm);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Space;
    use crate::policy::AnyPolicy;
    use crate::random;

    fn critics(encoder: &Encoder, temperature: f32) -> Critics {
        let options = NetworkOptions {
            critics: 1,
            hidden: vec![16],
            learning_rate: 1e-3,
            tau: 0.01,
            batch: 4,
            gamma: 0.9,
            temperature,
        };
        Critics::new(encoder, 3, 2, &options, &mut random::generator(1)).unwrap()
    }

    /// Predictions were those of the best action, and episodes measured what the others brought.
    #[test]
    fn predicted_is_what_the_policy_does() {
        let encoder = Encoder::new(&Space::Discrete(4));
        let mut critics = critics(&encoder, 0.05);
        critics.reach.see(&[-100.0, -100.0]);
        critics.reach.see(&[100.0, 100.0]);
        let lam = [0.6, -0.8];
        let (start, mut row) = (vec![2.0], Vec::new());
        let predicted = critics.predict(&encoder, std::slice::from_ref(&start), &lam);
        let policy = AnyPolicy::from(critics.policy(&encoder, &lam).unwrap());
        let table = policy.as_table().unwrap();
        encoder.push_dense(&start, &mut row);
        row.extend(lam);
        let (network, mut scratch) = (Arc::clone(&critics.network), critics.scratch.clone());
        network.forward(critics.critics[0].average(), &row, &mut scratch);
        let probabilities = [0, 1, 2].map(|action| table.probability(0, 2, action));
        assert!(probabilities.iter().all(|p| (0.01..0.99).contains(p)), "{probabilities:?}");
        for (k, predicted) in predicted.iter().enumerate() {
            let psi = |action: usize| f64::from(scratch.value.output[action * 2 + k]);
            let expected: f64 = (0..3).map(|action| probabilities[action] * psi(action)).sum();
            assert!((predicted - expected).abs() < 1e-5, "{predicted} {expected}");
        }
    }

    /// A network that has learnt nothing predicted that a rover crashes less often than never.
    #[test]
    fn nothing_is_predicted_that_no_policy_can_measure() {
        let encoder = Encoder::new(&Space::Discrete(4));
        let mut critics = critics(&encoder, 0.05);
        critics.rescale(&[1e-3, 1e-3]);
        critics.rescale(&[1e3, 1e3]);
        critics.reach.see(&[0.0, -1e-6]);
        for state in 0..4 {
            let z = critics.predict(&encoder, &[vec![state as f32]], &[0.6, -0.8]);
            assert!(z[0] == 0.0 && (-1.1e-5..=0.0).contains(&z[1]), "{z:?}");
        }
    }
}
