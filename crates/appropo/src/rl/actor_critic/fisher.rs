use super::{ActorCritic, ROWS};
use crate::nn::{Mlp, Scratch};
use crate::policy::{Actions, softmax};
use crate::vector;

/// Rows that the Fisher matrix is made of, at most.
const FISHER_ROWS: usize = 1024;
/// The Fisher matrix of a policy in the rows that it played, never written down: Σ JᵀMJ over rows, where J are the
/// derivatives of the outputs by the parameters and M is the Fisher matrix of the outputs.
pub(super) struct Fisher<'a> {
    actor: &'a Mlp,
    actions: &'a Actions,
    parameters: &'a [f32],
    inputs: Vec<f32>,
    damping: f64,
    scratch: Scratch,
}

impl<'a> Fisher<'a> {
    pub fn new(learner: &'a ActorCritic, damping: f64) -> Self {
        let entries = learner.episodes[0].observation().len();
        let rows = learner.batch.inputs[..learner.batch.rows * entries].chunks_exact(entries);
        let inputs: Vec<f32> =
            rows.step_by(learner.batch.rows.div_ceil(FISHER_ROWS)).flatten().copied().collect();
        Self::of(&learner.actor, &learner.actions, learner.split().0, inputs, damping)
    }

    pub fn of(
        actor: &'a Mlp,
        actions: &'a Actions,
        parameters: &'a [f32],
        inputs: Vec<f32>,
        damping: f64,
    ) -> Self {
        let scratch = actor.scratch(ROWS.min(inputs.len() / actor.shape().inputs.row()));
        Self { actor, actions, parameters, inputs, damping, scratch }
    }

    /// The product with a vector.
    pub fn product(&mut self, vector: &[f64]) -> Vec<f64> {
        let (row, outputs) = (self.actor.shape().inputs.row(), self.actor.shape().policy);
        let (network, deviations) = self.parameters.split_at(self.actor.parameters());
        let direction: Vec<f32> = vector.iter().map(|v| *v as f32).collect();
        let share = row as f32 / self.inputs.len() as f32;
        let mut product = vec![0.0; network.len()];
        for inputs in self.inputs.chunks(ROWS * row) {
            self.actor.forward(network, inputs, &mut self.scratch);
            self.actor.tangent(network, &direction, inputs, &mut self.scratch);
            let head = &mut self.scratch.policy;
            for (output, change) in
                head.output.chunks_exact_mut(outputs).zip(head.gradient.chunks_exact_mut(outputs))
            {
                match self.actions {
                    Actions::Categorical => {
                        softmax(output);
                        let mean: f32 = output.iter().zip(&*change).map(|(p, change)| p * change).sum();
                        change
                            .iter_mut()
                            .zip(output)
                            .for_each(|(change, p)| *change = share * *p * (*change - mean));
                    }
                    Actions::Gaussian(_) | Actions::Squashed(_) => {
                        for (change, deviation) in change.iter_mut().zip(deviations) {
                            *change *= share * (-2.0 * deviation).exp();
                        }
                    }
                }
            }
            self.actor.backward(network, inputs, &mut self.scratch, &mut product);
        }
        // A logarithmic deviation's own Fisher information is 2, whatever is observed.
        let beyond = vector[network.len()..].iter().map(|v| 2.0 * v);
        let product = product.iter().map(|v| f64::from(*v)).chain(beyond);
        product.zip(vector).map(|(product, v)| product + self.damping * v).collect()
    }
}

/// Below this part of its first length a residual counts as nothing.
const SOLVED: f64 = 1e-10;

/// The solution x of Hx = b as far as so many steps get (Hestenes and Stiefel 1952).
pub(super) fn conjugate_gradients(
    b: &[f64],
    steps: usize,
    mut product: impl FnMut(&[f64]) -> Vec<f64>,
) -> Vec<f64> {
    let mut x = vec![0.0; b.len()];
    let (mut residual, mut direction) = (b.to_vec(), b.to_vec());
    let mut length = vector::dot(b, b);
    let enough = SOLVED * length;
    for _ in 0..steps {
        if !(length > enough) {
            break;
        }
        let turned = product(&direction);
        let step = length / vector::dot(&direction, &turned);
        vector::add_scaled(&mut x, step, &direction);
        vector::add_scaled(&mut residual, -step, &turned);
        let next = vector::dot(&residual, &residual);
        let kept = next / length;
        direction.iter_mut().zip(&residual).for_each(|(d, r)| *d = r + kept * *d);
        length = next;
    }
    x
}
