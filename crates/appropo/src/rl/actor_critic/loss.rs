use std::ops::Range;

use super::{ActorCritic, ROWS};
use crate::error::{Result, finite};
use crate::nn::{self, Head};
use crate::policy::{Actions, softmax};
use crate::rl::cut_normal::CutNormal;

impl ActorCritic {
    /// Adds up the gradient of the mean loss over rows `order[range]`. `pull` is the derivative of a row's policy
    /// loss by ln π(a|s), given ln π(a|s) now, the same before the update, and the advantage.
    pub(super) fn accumulate(&mut self, range: Range<usize>, pull: impl Fn(f32, f32, f32) -> f32) {
        self.accumulate_policy(range.clone(), pull);
        self.accumulate_critic(range);
    }

    fn accumulate_policy(&mut self, range: Range<usize>, pull: impl Fn(f32, f32, f32) -> f32) {
        let Self { batch, actor, actions, acting, options, inputs, bounds, .. } = self;
        let (entries, width) = (self.episodes[0].observation().len(), self.action.len());
        let outputs = actor.shape().policy;
        let share = 1.0 / range.len() as f32;
        let own = actor.parameters() + actions.parameters();
        let (parameters, deviations) = self.parameters[..own].split_at(actor.parameters());
        let (gradient, deviation_gradient) = self.gradient[..own].split_at_mut(actor.parameters());
        for rows in self.order[range].chunks(ROWS) {
            gather(&batch.inputs, entries, rows, inputs);
            actor.forward(parameters, inputs, acting);
            for (place, row) in rows.iter().map(|row| *row as usize).enumerate() {
                let (policy, pulled) = head_row(&mut acting.policy, place, outputs);
                let action = &batch.actions[row * width..(row + 1) * width];
                let before = batch.log_probabilities[row];
                let advantage = batch.traces[row] * batch.advantages[row];
                let pull = |now: f32| share * pull(now, before, advantage);
                let entropy = share * options.ent_coef;
                match actions {
                    Actions::Categorical => pull_logits(policy, pulled, action[0] as usize, pull, entropy),
                    // Learners of squashed actions are others.
                    Actions::Gaussian(_) | Actions::Squashed(_) => {
                        let means = Means { policy, pulled, bounds };
                        pull_means(means, (deviations, deviation_gradient), action, pull, entropy)
                    }
                }
            }
            actor.backward(parameters, inputs, acting, gradient);
        }
    }

    /// The critic's part of the same.
    pub(super) fn accumulate_critic(&mut self, range: Range<usize>) {
        let Self { batch, critic, valuing, options, inputs, .. } = self;
        let (entries, heads) = (self.episodes[0].observation().len(), self.weights.len());
        let share = 1.0 / range.len() as f32;
        let own = self.actor.parameters() + self.actions.parameters();
        let (parameters, gradient) = (&self.parameters[own..], &mut self.gradient[own..]);
        for rows in self.order[range].chunks(ROWS) {
            gather(&batch.inputs, entries, rows, inputs);
            critic.forward(parameters, inputs, valuing);
            for (place, row) in rows.iter().map(|row| *row as usize).enumerate() {
                let (values, pulled) = head_row(&mut valuing.value, place, heads);
                let targets = &batch.targets[row * heads..(row + 1) * heads];
                let left = batch.left[row];
                for head in 0..heads {
                    pulled[head] = share * options.vf_coef * left * (left * values[head] - targets[head]);
                }
            }
            critic.backward(parameters, inputs, valuing, gradient);
        }
    }

    /// Brings the advantages of the batch to mean 0 and deviation 1, if so wished.
    pub(super) fn normalize_advantages(&mut self) {
        if self.options.normalize_advantage {
            self.batch.normalize_advantages(&self.order);
        }
    }

    /// Follows the gradient.
    pub(super) fn step(&mut self) -> Result<()> {
        let length = nn::clip(&mut self.gradient, self.options.max_grad_norm);
        finite("the length of a gradient", &[f64::from(length)])?;
        self.optimizer.step(&mut self.parameters, &self.gradient);
        self.gradient.fill(0.0);
        Ok(())
    }
}

/// The inputs of some rows, one after another.
fn gather(all: &[f32], entries: usize, rows: &[u32], inputs: &mut Vec<f32>) {
    inputs.clear();
    for row in rows.iter().map(|row| *row as usize) {
        inputs.extend_from_slice(&all[row * entries..(row + 1) * entries]);
    }
}

/// One row of a head's outputs, and of their gradient.
fn head_row(head: &mut Head, row: usize, width: usize) -> (&mut [f32], &mut [f32]) {
    let range = row * width..(row + 1) * width;
    (&mut head.output[range.clone()], &mut head.gradient[range])
}

/// Writes the gradient by the logits of a categorical policy; `policy` holds them.
fn pull_logits(
    policy: &mut [f32],
    pulled: &mut [f32],
    action: usize,
    pull: impl Fn(f32) -> f32,
    entropy: f32,
) {
    softmax(policy);
    let logarithm = |p: f32| p.max(f32::MIN_POSITIVE).ln();
    let disorder: f32 = -policy.iter().map(|&p| p * logarithm(p)).sum::<f32>();
    let pull = pull(logarithm(policy[action]));
    for (i, &p) in policy.iter().enumerate() {
        let chosen = if i == action { 1.0 } else { 0.0 };
        pulled[i] = pull * (chosen - p) + entropy * p * (logarithm(p) + disorder);
    }
}

/// The means of a normal policy, what pulls them, and the bounds that draws are cut to.
struct Means<'a> {
    policy: &'a [f32],
    pulled: &'a mut [f32],
    bounds: &'a [(f32, f32)],
}

/// Writes the gradient by the means of a normal policy, and adds that by its logarithmic deviations.
fn pull_means(
    Means { policy, pulled, bounds }: Means,
    (deviations, deviation_gradient): (&[f32], &mut [f32]),
    action: &[f32],
    pull: impl Fn(f32) -> f32,
    entropy: f32,
) {
    let loss =
        |i: usize| CutNormal { mean: policy[i], log_deviation: deviations[i] }.loss(action[i], bounds[i]);
    let pull = pull(-(0..action.len()).map(|i| loss(i).value).sum::<f32>());
    for i in 0..action.len() {
        let loss = loss(i);
        pulled[i] = -pull * loss.by_mean;
        deviation_gradient[i] -= pull * loss.by_log_deviation + entropy;
    }
}
