use std::fmt;
use std::sync::Arc;

use super::fisher::{Fisher, conjugate_gradients};
use super::region::Region;
use super::{ActorCritic, ActorCriticOptions, Collect, Critic, MOST, ROWS};
use crate::env::{EnvSpec, Space};
use crate::error::Result;
use crate::nn::Activation;
use crate::options::{Kind, Options, Range, Table, options};
use crate::policy::{Actions, softmax};
use crate::random;
use crate::rl::cut_normal::log_probability;
use crate::rl::frame::UNCUT;
use crate::rl::{EpisodeWindow, Learner, LearnerContext, MakeLearner};
use crate::vector;

options! {
    /// The options of steps within a trust region. Where defaults differ, the first is for observations that are counted, the second for numbers.
    pub struct TrustRegionOptions {
        /// How far a step may move the policy: the mean Kullback-Leibler divergence.
        target_kl: f64 = Kind::Number(Range::POSITIVE), defaulted "0.01";
        /// What is added to the Fisher matrix.
        cg_damping: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0.1";
        /// Steps of conjugate gradients for every measurement.
        cg_max_steps: usize = Kind::Count(1, 1000), defaulted "10";
        /// The step size of the critic.
        learning_rate: f64 = Kind::Number(Range::POSITIVE), defaulted "0.001";
        /// Passes of the critic over what was played.
        n_critic_updates: usize = Kind::Count(1, 1000), defaulted "10";
        /// Rows of a step of the critic.
        batch_size: usize = Kind::Count(1, MOST), defaulted "64";
        /// Steps played in each environment between two steps of the policy; by default 128, or together a three-hundredth of the samples, at least the longest episode (256 to 2048) and at most 8192.
        n_steps: Option<usize> = Kind::Count(1, MOST), optional "256";
        /// The discount that is learnt with, unless the problem's is less.
        gamma: f64 = Kind::Number(Range::UNIT), defaulted "0.99";
        /// λ of generalised advantages.
        gae_lambda: f64 = Kind::Number(Range::UNIT), defaulted "0.95";
        /// Whether observations that are numbers are brought to mean 0 and deviation 1.
        norm_obs: bool = Kind::Flag, defaulted "true";
        /// Units of each hidden layer; by default one layer of 128, or two of 64.
        net_arch: Option<Vec<usize>> = Kind::Counts(1, 100_000), optional "[64, 64]";
        /// The activation of hidden layers.
        activation_fn: Activation = Kind::Word(Activation::WORDS), defaulted "\"tanh\"";
    }
}

/// What a step is for: where measurements are to go, and whether they went there.
pub trait Aim: fmt::Debug + Send + Sync {
    /// y of at most this length, where measurements become z + Ly; L is a list of rows.
    fn step(&self, z: &[f64], rows: &[Vec<f64>], length: f64) -> Result<Vec<f64>>;

    /// Whether measurements that are expected to be `after` are no step back from `before`.
    fn is_kept(&self, before: &[f64], after: &[f64]) -> bool;

    /// How far measurements lie outside of where they are to be: 0 for those that may be anything.
    fn outside(&self, z: &[f64]) -> Vec<f64>;
}

/// A learner that goes where an aim says, within a trust region; the weights of a reward are nothing to it.
#[derive(Debug, Clone)]
pub struct TrustRegion {
    /// How.
    pub options: TrustRegionOptions,
    /// Where to.
    pub aim: Arc<dyn Aim>,
    /// Whether to keep back from the edge of where measurements are to be, which an objective leads out of.
    pub is_leaning: bool,
}

impl TrustRegionOptions {
    fn in_force(&self, env: &EnvSpec) -> Self {
        let net_arch = if is_counted(env) { vec![128] } else { vec![64, 64] };
        Self { net_arch: self.net_arch.clone().or(Some(net_arch)), ..self.clone() }
    }

    /// A learner's options for so many samples, in environments of which an episode takes at most so many steps.
    pub(super) fn actor_critic(&self, env: &EnvSpec, limit: usize, samples: u64) -> ActorCriticOptions {
        let usual = ActorCriticOptions::ppo();
        let rows = (samples / STEPS).clamp(limit.clamp(256, LONGEST) as u64, MOST_ROWS) as usize;
        let n_steps = self.n_steps.unwrap_or(match is_counted(env) {
            true => 128,
            false => rows.div_ceil(env.num_envs()),
        });
        ActorCriticOptions {
            net_arch: self.net_arch.clone().unwrap_or(usual.net_arch),
            activation: self.activation_fn,
            learning_rate: self.learning_rate,
            gamma: self.gamma,
            n_steps: Collect::Steps(n_steps),
            gae_lambda: self.gae_lambda,
            norm_obs: self.norm_obs,
            critic: Critic::Measurements,
            reuse_rows: 0,
            ..usual
        }
    }
}

/// Steps of the policy that a batch leaves room for, its rows at most, and those at most that the longest episode asks for.
const STEPS: u64 = 300;
const MOST_ROWS: u64 = 8192;
const LONGEST: usize = 2048;

fn is_counted(env: &EnvSpec) -> bool {
    matches!(env.observations(), Space::Discrete(_))
}

impl MakeLearner for TrustRegion {
    fn name(&self) -> &str {
        "cpo"
    }

    fn is_batched(&self) -> bool {
        true
    }

    fn make(&self, context: LearnerContext) -> Result<Box<dyn Learner>> {
        let options = self.options.in_force(context.env);
        let actor_critic = options.actor_critic(context.env, context.limit, context.samples);
        let (discount, dim) = (context.gamma, context.envs[0].measures().dim());
        let mut learner = ActorCritic::in_context(context, actor_critic)?;
        let region = Region::new(options, Arc::clone(&self.aim), discount);
        learner.region = Some(if self.is_leaning { region.leaning(dim) } else { region });
        Ok(Box::new(learner))
    }

    fn table(&self, env: &EnvSpec) -> Table {
        Options::table(&self.options.in_force(env))
    }
}

/// How often a step is shortened, and to what part of it.
const SHORTER: f64 = 0.7;
const SHORTENED: i32 = 12;

impl ActorCritic {
    /// A step of the policy within its trust region, by what the episodes that are just over measured; then the critic learns.
    pub(super) fn trust_region_update(
        &mut self,
        region: &mut Region,
        ended: usize,
        window: &EpisodeWindow,
    ) -> Result<()> {
        if ended > 0 {
            let advantages = self.measured_advantages(ended, region.discount);
            let z = region.measured(window, ended, self.batch.rows, self.budget);
            self.policy_step(region, &z, &advantages)?;
        }
        let (epochs, minibatch) = (region.options.n_critic_updates, region.options.batch_size);
        let rows = self.order.len();
        for _ in 0..epochs {
            random::shuffle(&mut self.order, &mut self.rng);
            for start in (0..rows).step_by(minibatch) {
                self.accumulate_critic(start..rows.min(start + minibatch));
                self.step()?;
            }
        }
        Ok(())
    }

    /// What every step adds to each measurement of an episode beyond what was expected, row by row: γᵗ times the advantage
    /// in the measurement's units, divided by the episodes.
    fn measured_advantages(&self, episodes: usize, discount: f64) -> Vec<f64> {
        let (heads, rows) = (self.weights.len(), self.batch.rows);
        let mut advantages = vec![0.0; rows * heads];
        for head in 0..heads {
            let unit = self.returns.deviation(head);
            let places = || (0..rows).map(|row| row * heads + head);
            let advantage = |i: usize| f64::from(self.batch.targets[i] - self.batch.values[i]);
            let mean = places().map(advantage).sum::<f64>() / rows as f64;
            for (row, i) in places().enumerate() {
                let weight = discount.powi(self.batch.elapsed[row] as i32) / episodes as f64;
                advantages[i] = weight * unit * (advantage(i) - mean);
            }
        }
        advantages
    }

    fn policy_step(&mut self, region: &Region, z: &[f64], advantages: &[f64]) -> Result<()> {
        let options = &region.options;
        let gradients = self.policy_gradients(advantages);
        let mut fisher = Fisher::new(self, options.cg_damping);
        let directions: Vec<Vec<f64>> = gradients
            .iter()
            .map(|g| conjugate_gradients(g, options.cg_max_steps, |v| fisher.product(v)))
            .collect();
        let rows = cholesky(&gradients, &directions);
        let y = region.aim.step(z, &rows, (2.0 * options.target_kl).sqrt())?;
        let mut step = vec![0.0; gradients.first().map_or(0, Vec::len)];
        for (weight, direction) in back_substituted(&rows, &y).iter().zip(&directions) {
            vector::add_scaled(&mut step, *weight, direction);
        }
        if step.iter().any(|v| !v.is_finite()) || step.iter().all(|v| *v == 0.0) {
            return Ok(());
        }
        let before = self.split().0.to_vec();
        let played = self.outputs(&before);
        for shortened in 0..SHORTENED {
            let part = SHORTER.powi(shortened);
            let moved: Vec<f32> = before
                .iter()
                .zip(&step)
                .map(|(from, step)| (f64::from(*from) + part * step) as f32)
                .collect();
            let (divergence, change) = self.compare(&before, &played, &moved, advantages);
            let after: Vec<f64> = z.iter().zip(&change).map(|(z, change)| z + change).collect();
            if divergence <= options.target_kl && region.aim.is_kept(z, &after) {
                self.parameters[..moved.len()].copy_from_slice(&moved);
                break;
            }
        }
        Ok(())
    }

    /// The gradient of every measurement with respect to the policy's parameters.
    fn policy_gradients(&mut self, advantages: &[f64]) -> Vec<Vec<f64>> {
        let (heads, width) = (self.weights.len(), self.action.len());
        let (outputs, own) = (self.actor.shape().policy, self.split().0.len());
        let mut gradients = vec![vec![0.0_f32; own]; heads];
        let entries = self.episodes[0].observation().len();
        let (network, deviations) = self.parameters[..own].split_at(self.actor.parameters());
        let mut slopes = Vec::new();
        for first in (0..self.batch.rows).step_by(ROWS) {
            let rows = first..self.batch.rows.min(first + ROWS);
            let inputs = &self.batch.inputs[rows.start * entries..rows.end * entries];
            self.actor.forward(network, inputs, &mut self.acting);
            // The derivatives of ln π(a|s) by the outputs.
            slopes.clear();
            for (place, row) in rows.clone().enumerate() {
                let output = &mut self.acting.policy.output[place * outputs..(place + 1) * outputs];
                let action = &self.batch.actions[row * width..(row + 1) * width];
                slopes_of(&self.actions, output, deviations, action, &mut slopes);
            }
            for (head, gradient) in gradients.iter_mut().enumerate() {
                let (network_gradient, deviation_gradient) = gradient.split_at_mut(self.actor.parameters());
                for (place, row) in rows.clone().enumerate() {
                    let weight = advantages[row * heads + head] as f32;
                    let range = place * outputs..(place + 1) * outputs;
                    for i in range.clone() {
                        self.acting.policy.gradient[i] = weight * slopes[i];
                    }
                    // For normal actions, those by the logarithmic deviations follow from those by the means.
                    for (entry, gradient) in deviation_gradient.iter_mut().enumerate() {
                        let away = slopes[range.start + entry] * deviations[entry].exp();
                        *gradient += weight * (away * away - 1.0);
                    }
                }
                self.actor.backward(network, inputs, &mut self.acting, network_gradient);
            }
        }
        gradients.iter().map(|gradient| gradient.iter().map(|v| f64::from(*v)).collect()).collect()
    }

    /// The outputs of a policy for every row: probabilities, or means.
    fn outputs(&mut self, parameters: &[f32]) -> Vec<f32> {
        let (outputs, entries) = (self.actor.shape().policy, self.episodes[0].observation().len());
        let mut all = Vec::with_capacity(self.batch.rows * outputs);
        for inputs in self.batch.inputs[..self.batch.rows * entries].chunks(ROWS * entries) {
            self.actor.forward(parameters, inputs, &mut self.acting);
            if self.actions == Actions::Categorical {
                self.acting.policy.output.chunks_exact_mut(outputs).for_each(softmax);
            }
            all.extend_from_slice(&self.acting.policy.output);
        }
        all
    }

    /// The mean divergence of a policy from the one that played, and by how much it is expected to measure more.
    fn compare(
        &mut self,
        before: &[f32],
        played: &[f32],
        moved: &[f32],
        advantages: &[f64],
    ) -> (f64, Vec<f64>) {
        let (heads, width, outputs) = (self.weights.len(), self.action.len(), self.actor.shape().policy);
        let (old, new) = (&before[self.actor.parameters()..], &moved[self.actor.parameters()..]);
        let moved = self.outputs(moved);
        // As in the gradients: actions as they were drawn.
        let uncut = vec![UNCUT; width];
        let mut change = vec![0.0; heads];
        let mut sum = 0.0;
        for row in 0..self.batch.rows {
            let range = row * outputs..(row + 1) * outputs;
            let (then, now) = (&played[range.clone()], &moved[range]);
            let action = &self.batch.actions[row * width..(row + 1) * width];
            let log_probability =
                |outputs, deviations| log_probability(&self.actions, &uncut, (outputs, deviations), action);
            let ratio = f64::from(log_probability(now, new) - log_probability(then, old)).exp();
            sum += divergence(&self.actions, (then, old), (now, new));
            for (head, change) in change.iter_mut().enumerate() {
                *change += advantages[row * heads + head] * (ratio - 1.0);
            }
        }
        (sum / self.batch.rows as f64, change)
    }
}

/// Adds the derivatives of ln π(a|s) by a row of outputs.
fn slopes_of(
    actions: &Actions,
    output: &mut [f32],
    deviations: &[f32],
    action: &[f32],
    slopes: &mut Vec<f32>,
) {
    match actions {
        Actions::Categorical => {
            softmax(output);
            let chosen = action[0] as usize;
            slopes.extend(output.iter().enumerate().map(|(i, p)| if i == chosen { 1.0 - p } else { -p }));
        }
        Actions::Gaussian(_) | Actions::Squashed(_) => {
            slopes.extend((0..action.len()).map(|i| (action[i] - output[i]) * (-2.0 * deviations[i]).exp()));
        }
    }
}

/// The Kullback-Leibler divergence of one row's distribution from another: probabilities, or means with their logarithmic
/// deviations.
fn divergence(actions: &Actions, (then, old): (&[f32], &[f32]), (now, new): (&[f32], &[f32])) -> f64 {
    let wide = |value: f32| f64::from(value);
    match actions {
        Actions::Categorical => {
            let part = |(then, now): (&f32, &f32)| {
                let (then, now) = (wide(*then), wide(*now).max(wide(f32::MIN_POSITIVE)));
                if then > 0.0 { then * (then / now).ln() } else { 0.0 }
            };
            then.iter().zip(now).map(part).sum()
        }
        Actions::Gaussian(_) | Actions::Squashed(_) => (0..then.len())
            .map(|i| {
                let (a, b) = (wide(old[i]), wide(new[i]));
                let away = wide(then[i]) - wide(now[i]);
                b - a + ((2.0 * a).exp() + away * away) / (2.0 * (2.0 * b).exp()) - 0.5
            })
            .sum(),
    }
}

/// What a pivot has to be of its diagonal entry to count.
const RANK: f64 = 1e-9;

/// Rows of L with LLᵀ = (gᵢ·H⁻¹gⱼ): measurement i changes by (Ly)ᵢ where the step has the length ‖y‖ in the metric of H.
/// Columns of what depends on those before are 0.
fn cholesky(gradients: &[Vec<f64>], directions: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let count = gradients.len();
    let mut rows = vec![vec![0.0; count]; count];
    for j in 0..count {
        for i in j..count {
            // Solved in a few steps only, it is not quite symmetric.
            let ahead = vector::dot(&gradients[i], &directions[j]);
            let entry = 0.5 * (ahead + vector::dot(&gradients[j], &directions[i]));
            let rest = entry - (0..j).map(|k| rows[i][k] * rows[j][k]).sum::<f64>();
            if i == j {
                rows[j][j] = if rest > RANK * entry.abs() { rest.sqrt() } else { 0.0 };
            } else if rows[j][j] > 0.0 {
                rows[i][j] = rest / rows[j][j];
            }
        }
    }
    rows
}

/// α with Lᵀα = y; 0 where a column is 0.
fn back_substituted(rows: &[Vec<f64>], y: &[f64]) -> Vec<f64> {
    let mut weights = vec![0.0; y.len()];
    for j in (0..y.len()).rev() {
        if rows[j][j] > 0.0 {
            let known: f64 = (j + 1..y.len()).map(|i| rows[i][j] * weights[i]).sum();
            weights[j] = (y[j] - known) / rows[j][j];
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Inputs, Mlp, Shape};
    use crate::oracle::WithinSet;
    use crate::random::{Generator, generator, normal};
    use crate::set::Bounds;

    fn draw(count: usize, scale: f64, rng: &mut Generator) -> Vec<f64> {
        (0..count).map(|_| scale * normal(rng)).collect()
    }

    fn narrow(values: &[f64]) -> Vec<f32> {
        values.iter().map(|v| *v as f32).collect()
    }

    /// A small network, its actions, parameters and a few rows of inputs.
    fn policy(actions: Actions, rng: &mut Generator) -> (Mlp, Actions, Vec<f32>, Vec<f32>) {
        let (inputs, hidden, activation) = (Inputs::Vector(3), vec![5, 4], Activation::Tanh);
        let network = Mlp::new(Shape { inputs, hidden, activation, policy: 2, value: 0 }).unwrap();
        let parameters = narrow(&draw(network.parameters() + actions.parameters(), 0.5, rng));
        (network, actions, parameters, narrow(&draw(3 * 40, 1.0, rng)))
    }

    fn kinds() -> [Actions; 2] {
        [Actions::Categorical, Actions::Gaussian(vec![(-1.0, 1.0); 2])]
    }

    /// uᵀFv is the mixed second derivative of the divergence from the policy as it is.
    #[test]
    fn fisher_products_are_those_of_finite_differences_of_the_divergence() {
        for actions in kinds() {
            let rng = &mut generator(5);
            let (network, actions, parameters, inputs) = policy(actions, rng);
            let split = network.parameters();
            let mean_divergence = |moved: &[f32]| -> f64 {
                let outputs = |parameters: &[f32]| {
                    let mut scratch = network.scratch(40);
                    network.forward(parameters, &inputs, &mut scratch);
                    if actions == Actions::Categorical {
                        scratch.policy.output.chunks_exact_mut(2).for_each(softmax);
                    }
                    scratch.policy.output
                };
                let (then, now) = (outputs(&parameters), outputs(moved));
                let rows = then.chunks_exact(2).zip(now.chunks_exact(2));
                rows.map(|(then, now)| {
                    divergence(&actions, (then, &parameters[split..]), (now, &moved[split..]))
                })
                .sum::<f64>()
                    / 40.0
            };
            for _ in 0..5 {
                let (u, v) = (draw(parameters.len(), 0.3, rng), draw(parameters.len(), 0.3, rng));
                let at = |a: f64, b: f64| {
                    let moved = (0..u.len()).map(|i| (f64::from(parameters[i]) + a * u[i] + b * v[i]) as f32);
                    mean_divergence(&moved.collect::<Vec<_>>())
                };
                let h = 0.02;
                let expected = (at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4.0 * h * h);
                let mut fisher = Fisher::of(&network, &actions, &parameters, inputs.clone(), 0.0);
                let found = vector::dot(&u, &fisher.product(&v));
                assert!(
                    (found - expected).abs() < 0.02 * (0.1 + expected.abs()),
                    "{actions:?}: {found} {expected}"
                );
            }
        }
    }

    /// Hx = b by elimination.
    fn solved(mut h: Vec<Vec<f64>>, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        for i in 0..x.len() {
            for j in i + 1..x.len() {
                let factor = h[j][i] / h[i][i];
                let (above, below) = h.split_at_mut(j);
                vector::add_scaled(&mut below[0], -factor, &above[i]);
                x[j] -= factor * x[i];
            }
        }
        for i in (0..x.len()).rev() {
            x[i] = (x[i] - (i + 1..x.len()).map(|j| h[i][j] * x[j]).sum::<f64>()) / h[i][i];
        }
        x
    }

    /// The step for one cost and one reward is that of the paper's closed form with a dense Fisher matrix.
    #[test]
    fn the_step_is_that_of_a_dense_solve() {
        for actions in kinds() {
            let rng = &mut generator(9);
            let (network, actions, parameters, inputs) = policy(actions, rng);
            let mut fisher = Fisher::of(&network, &actions, &parameters, inputs, 0.1);
            let count = parameters.len();
            let unit = |i: usize| (0..count).map(|j| f64::from(u8::from(i == j))).collect::<Vec<_>>();
            let dense: Vec<Vec<f64>> = (0..count).map(|i| fisher.product(&unit(i))).collect();
            let (cost, reward) = (draw(count, 1.0, rng), draw(count, 1.0, rng));
            let gradients = vec![cost.clone(), reward.clone()];
            let directions: Vec<_> =
                gradients.iter().map(|g| conjugate_gradients(g, 200, |v| fisher.product(v))).collect();
            let exact: Vec<_> = gradients.iter().map(|g| solved(dense.clone(), g)).collect();
            for (found, exact) in directions.iter().zip(&exact) {
                assert!(vector::distance(found, exact) < 1e-3 * vector::norm(exact), "{actions:?}");
            }
            // c + b·x ≤ 0 and ½xᵀHx ≤ δ, both active.
            let delta = 0.01;
            let (q, r, s) = (
                vector::dot(&reward, &exact[1]),
                vector::dot(&reward, &exact[0]),
                vector::dot(&cost, &exact[0]),
            );
            let c = 0.5 * (2.0 * delta * s).sqrt();
            let lam = ((q - r * r / s) / (2.0 * delta - c * c / s)).sqrt();
            let nu = (lam * c + r) / s;
            assert!(nu > 0.0);
            let expected: Vec<f64> = (0..count).map(|i| (exact[1][i] - nu * exact[0][i]) / lam).collect();
            let rows = cholesky(&gradients, &directions);
            let aim = WithinSet::new(Arc::new(Bounds::at_most(0.0).unwrap()), true).unwrap();
            let y = aim.step(&[c, 0.0], &rows, (2.0 * delta).sqrt()).unwrap();
            let mut step = vec![0.0; count];
            for (weight, direction) in back_substituted(&rows, &y).iter().zip(&directions) {
                vector::add_scaled(&mut step, *weight, direction);
            }
            assert!(vector::distance(&step, &expected) < 1e-3 * vector::norm(&expected), "{actions:?}");
        }
    }

    /// What depends on what was there before adds nothing.
    #[test]
    fn measurements_that_go_together_are_one_direction() {
        let gradients = vec![vec![1.0, 0.0], vec![2.0, 0.0], vec![0.0, 0.0], vec![1.0, 1.0]];
        let rows = cholesky(&gradients, &gradients);
        assert_eq!(rows[1], [2.0, 0.0, 0.0, 0.0]);
        assert_eq!(rows[2], [0.0; 4]);
        assert_eq!(rows[3], [1.0, 0.0, 0.0, 1.0]);
        let weights = back_substituted(&rows, &[0.5, 9.0, 9.0, 1.0]);
        assert_eq!(weights, [-0.5, 0.0, 0.0, 1.0]);
    }
}
