//! Fitted Q iteration and fitted Q evaluation with networks: values learnt from logged steps, by one regression after another
//! (Ernst, Geurts and Wehenkel 2005; Le, Voloshin and Yue 2019).

mod regression;
mod rows;

pub(crate) use regression::Regression;
pub(crate) use rows::LoggedRows;

use std::sync::Arc;

use crate::error::Result;
use crate::nn::Mlp;
use crate::policy::{Actions, AnyPolicy, NetworkPolicy, Policy, TabularPolicy, softmax};
use crate::random::Generator;

/// How regressions are run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FittedOptions {
    /// Units of each hidden layer.
    pub net_arch: Vec<usize>,
    /// The first step size of Adam, which falls to a tenth within a fit.
    pub learning_rate: f64,
    /// Regressions of a fit.
    pub n_iterations: usize,
    /// Steps of Adam of each.
    pub gradient_steps: usize,
    /// Rows of a step.
    pub batch_size: usize,
}

/// Actions that are worth less by this part of the largest return are e times less likely.
const TEMPERATURE: f32 = 1e-3;

/// Fitted Q iteration: Q(s, a) ← r + γ max over a′ of Q(s′, a′), for a reward a row, in units in which returns are about 1.
pub(crate) fn iterate(
    q: &mut Regression,
    rows: &LoggedRows,
    rewards: &[f32],
    gamma: f64,
    options: &FittedOptions,
    rng: &mut Generator,
    watch: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let mut targets = vec![0.0; rewards.len()];
    q.begin();
    for iteration in 0..options.n_iterations {
        watch()?;
        let outputs = q.outputs(rows.next());
        let next = outputs.chunks_exact(rows.actions());
        for (i, (target, next)) in targets.iter_mut().zip(next).enumerate() {
            let can_follow = next.iter().enumerate().filter(|(action, _)| rows.can_follow(i, *action));
            let best = can_follow.map(|(_, value)| *value).fold(f32::NEG_INFINITY, f32::max);
            *target = rewards[i] + if rows.is_end(i) { 0.0 } else { gamma as f32 * best };
        }
        q.fit(rows, &targets, iteration, options, rng)?;
    }
    Ok(())
}

/// Fitted Q evaluation: ψ(s, a) ← z + γ Σ π(a′|s′) ψ(s′, a′), for several measurements at once.
#[allow(clippy::too_many_arguments)]
pub(crate) fn evaluate(
    psi: &mut Regression,
    rows: &LoggedRows,
    z: &[f32],
    probabilities: &[f32],
    gamma: f64,
    options: &FittedOptions,
    rng: &mut Generator,
    watch: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let (heads, actions) = (psi.heads(), rows.actions());
    let mut targets = vec![0.0; z.len()];
    psi.begin();
    for iteration in 0..options.n_iterations {
        watch()?;
        let outputs = psi.outputs(rows.next());
        targets.copy_from_slice(z);
        for (i, target) in targets.chunks_exact_mut(heads).enumerate().filter(|(i, _)| !rows.is_end(*i)) {
            for action in 0..actions {
                let part = gamma as f32 * probabilities[i * actions + action];
                let psi = &outputs[(i * actions + action) * heads..][..heads];
                target.iter_mut().zip(psi).for_each(|(target, psi)| *target += part * psi);
            }
        }
        psi.fit(rows, &targets, iteration, options, rng)?;
    }
    Ok(())
}

/// What a policy measures from the start, by ψ.
pub(crate) fn at_start(psi: &mut Regression, rows: &LoggedRows, policy: &AnyPolicy) -> Vec<f64> {
    let (heads, actions) = (psi.heads(), rows.actions());
    let (starts, weights) = rows.starts();
    let outputs = psi.outputs(starts);
    let probabilities = probabilities(policy, rows.plain_starts(), rows.entries(), actions);
    let mut z = vec![0.0; heads];
    for (row, weight) in weights.iter().enumerate() {
        for action in row * actions..(row + 1) * actions {
            let part = weight * f64::from(probabilities[action]);
            let psi = &outputs[action * heads..][..heads];
            z.iter_mut().zip(psi).for_each(|(z, psi)| *z += part * f64::from(*psi));
        }
    }
    z
}

/// The probabilities of all actions in observations, row by row.
pub(crate) fn probabilities(
    policy: &AnyPolicy,
    observations: &[f64],
    entries: usize,
    actions: usize,
) -> Vec<f32> {
    let mut found = Vec::with_capacity(observations.len() / entries * actions);
    if let AnyPolicy::Network(network) = policy {
        const ROWS: usize = 256;
        let mut scratch = network.network().scratch(ROWS);
        for rows in observations.chunks(ROWS * entries) {
            let rows: Vec<f32> = rows.iter().map(|value| *value as f32).collect();
            network.network().forward(
                &network.parameters()[..network.network().parameters()],
                &rows,
                &mut scratch,
            );
            for logits in scratch.policy.output.chunks_exact_mut(actions) {
                softmax(logits);
                found.extend_from_slice(logits);
            }
        }
        return found;
    }
    let table = policy.table();
    for observation in observations.chunks_exact(entries) {
        let state = observation[0] as usize;
        let probability =
            |action| table.as_ref().map_or(0.0, |table| table.probability(0, state, action) as f32);
        found.extend((0..actions).map(probability));
    }
    found
}

/// The policy that takes the action of the largest value. Where observations are counted it is a table, and takes only actions
/// that were logged there; where none was, any.
pub(crate) fn greedy(q: &mut Regression, rows: &LoggedRows) -> Result<AnyPolicy> {
    let actions = rows.actions();
    let Some(logged) = rows.logged() else { return network(q, rows).map(Into::into) };
    let states = logged.len() / actions;
    let inputs: Vec<f32> = (0..states).map(|state| state as f32).collect();
    let mut table = Vec::with_capacity(logged.len());
    for (values, logged) in q.outputs(&inputs).chunks_exact(actions).zip(logged.chunks_exact(actions)) {
        let known = (0..actions).filter(|action| logged[*action]);
        let best = known.max_by(|a, b| values[*a].total_cmp(&values[*b]));
        table.extend((0..actions).map(|action| match best {
            Some(best) => f64::from(best == action),
            None => 1.0 / actions as f64,
        }));
    }
    TabularPolicy::stochastic(states, actions, table).map(Into::into)
}

/// The network that takes the action of the largest value, by plain observations.
fn network(q: &Regression, rows: &LoggedRows) -> Result<NetworkPolicy> {
    let network: &Arc<Mlp> = q.network();
    let mut parameters = q.parameters().to_vec();
    let (weights, biases) = network.policy_head().of_mut(&mut parameters);
    weights.iter_mut().chain(biases).for_each(|value| *value /= TEMPERATURE);
    if let Some(first) = network.layers().first() {
        let (weights, biases) = first.of_mut(&mut parameters);
        rows.encoder().fold(weights, first.outputs, 0..first.outputs, biases);
    }
    NetworkPolicy::new(Arc::clone(network), Actions::Categorical, parameters)
}
