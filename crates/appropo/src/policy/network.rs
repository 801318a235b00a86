use std::sync::Arc;

use serde::Serialize;

use super::{Memory, Policy, TabularPolicy, best};
use crate::env::Space;
use crate::error::{Result, dimension};
use crate::nn::{Inputs, Mlp};
use crate::random::{self, Generator};
use crate::state::{Loader, Saved, Saver};

/// How a network's outputs become actions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Actions {
    /// One output an action: the logits of a distribution over them.
    Categorical,
    /// One output an entry: the mean of a normal distribution, cut to these bounds. Its logarithmic standard
    /// deviations stand behind the network's parameters.
    Gaussian(Vec<(f64, f64)>),
}

impl Actions {
    /// The kind that fits a space.
    pub fn of(space: &Space) -> Self {
        match space {
            Space::Discrete(_) => Actions::Categorical,
            Space::Continuous(bounds) => Actions::Gaussian(bounds.clone()),
        }
    }

    /// Parameters beyond the network's own.
    pub fn parameters(&self) -> usize {
        match self {
            Actions::Categorical => 0,
            Actions::Gaussian(bounds) => bounds.len(),
        }
    }

    /// Draws an action and returns the logarithm of its probability or density. A normal draw is written as it
    /// is, not yet cut to the bounds: its density is that of the draw.
    pub(crate) fn draw(
        &self,
        outputs: &mut [f32],
        deviations: &[f32],
        rng: &mut Generator,
        action: &mut [f32],
    ) -> f32 {
        match self {
            Actions::Categorical => {
                softmax(outputs);
                let chosen = random::choose(outputs.iter().map(|p| f64::from(*p)), 1.0, rng);
                action[0] = chosen as f32;
                outputs[chosen].ln()
            }
            Actions::Gaussian(_) => {
                for i in 0..action.len() {
                    action[i] = outputs[i] + deviations[i].exp() * random::normal(rng) as f32;
                }
                gaussian_log_density(outputs, deviations, action)
            }
        }
    }

    /// The action as the world takes it.
    pub(crate) fn cut(&self, drawn: &[f32], action: &mut [f64]) {
        match self {
            Actions::Categorical => action[0] = f64::from(drawn[0]),
            Actions::Gaussian(bounds) => {
                for ((action, drawn), (low, high)) in action.iter_mut().zip(drawn).zip(bounds) {
                    *action = f64::from(*drawn).clamp(*low, *high);
                }
            }
        }
    }
}

/// Turns logits into probabilities, in place.
pub(crate) fn softmax(logits: &mut [f32]) {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut total = 0.0;
    for logit in logits.iter_mut() {
        *logit = (*logit - most).exp();
        total += *logit;
    }
    for probability in logits.iter_mut() {
        *probability /= total;
    }
}

/// The log-density of a normal distribution with independent entries.
pub(crate) fn gaussian_log_density(means: &[f32], deviations: &[f32], action: &[f32]) -> f32 {
    let half_log_tau = 0.918_938_5; // ½ ln 2π
    let entry = |i: usize| {
        let away = (action[i] - means[i]) / deviations[i].exp();
        -0.5 * away * away - deviations[i] - half_log_tau
    };
    (0..action.len()).map(entry).sum()
}

/// A policy given by a network; the parameters are its own copy.
#[derive(Debug, Clone)]
pub struct NetworkPolicy {
    network: Arc<Mlp>,
    actions: Actions,
    parameters: Vec<f32>,
}

impl NetworkPolicy {
    /// The policy of these parameters: the network's, followed by those of `actions`.
    pub fn new(network: Arc<Mlp>, actions: Actions, parameters: Vec<f32>) -> Result<Self> {
        dimension("policy parameters", parameters.len(), network.parameters() + actions.parameters())?;
        Ok(Self { network, actions, parameters })
    }

    /// The policy of a learner's parameters, copied.
    pub(crate) fn of(network: &Arc<Mlp>, actions: &Actions, parameters: &[f32]) -> Self {
        Self { network: Arc::clone(network), actions: actions.clone(), parameters: parameters.to_vec() }
    }

    /// The network.
    pub fn network(&self) -> &Arc<Mlp> {
        &self.network
    }

    /// How its outputs become actions.
    pub fn actions(&self) -> &Actions {
        &self.actions
    }

    /// The parameters.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    pub(crate) fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    /// Writes the most likely action, or the mean of a continuous one.
    pub fn most_likely(&self, observation: &[f64], memory: &mut Memory, action: &mut [f64]) {
        let (outputs, drawn) = self.outputs(observation, memory);
        drawn.clear();
        match self.actions {
            Actions::Categorical => drawn.push(best(outputs) as f32),
            Actions::Gaussian(_) => drawn.extend_from_slice(outputs),
        }
        self.actions.cut(drawn, action);
    }

    /// The network's outputs for an observation, and room for an action.
    fn outputs<'m>(&self, observation: &[f64], memory: &'m mut Memory) -> (&'m mut [f32], &'m mut Vec<f32>) {
        let Memory { scratch, input, drawn } = memory;
        if scratch.as_ref().is_some_and(|(network, _)| !Arc::ptr_eq(network, &self.network)) {
            *scratch = None;
        }
        let (_, scratch) =
            scratch.get_or_insert_with(|| (Arc::clone(&self.network), self.network.scratch(1)));
        input.clear();
        input.extend(observation.iter().map(|v| *v as f32));
        self.network.forward(&self.parameters[..self.network.parameters()], input, scratch);
        (&mut scratch.policy.output, drawn)
    }
}

impl Policy for NetworkPolicy {
    fn act(
        &self,
        observation: &[f64],
        _: usize,
        rng: &mut Generator,
        memory: &mut Memory,
        action: &mut [f64],
    ) {
        let deviations = &self.parameters[self.network.parameters()..];
        let (outputs, drawn) = self.outputs(observation, memory);
        drawn.resize(action.len(), 0.0);
        self.actions.draw(outputs, deviations, rng, drawn);
        self.actions.cut(drawn, action);
    }

    fn table(&self) -> Option<TabularPolicy> {
        let Inputs::OneHot(states) = self.network.shape().inputs else { return None };
        if self.actions != Actions::Categorical {
            return None;
        }
        // One state at a time: all at once, layers wider than the first would take far more memory than the network.
        let mut scratch = self.network.scratch(1);
        let actions = self.network.shape().policy;
        let mut table = Vec::new();
        for state in 0..states {
            self.network.forward(&self.parameters, &[state as f32], &mut scratch);
            let logits = &mut scratch.policy.output;
            softmax(logits);
            // Single precision sums to 1 within 1e-7 only.
            let total: f64 = logits.iter().map(|p| f64::from(*p)).sum();
            table.extend(logits.iter().map(|p| f64::from(*p) / total));
        }
        TabularPolicy::stochastic(states, actions, table).ok()
    }
}

impl Saved for Actions {
    fn save(&self, to: &mut Saver) {
        to.put(&match self {
            Actions::Categorical => None,
            Actions::Gaussian(bounds) => Some(bounds.clone()),
        });
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let fits = |bounds: &Vec<(f64, f64)>| bounds.iter().all(|(low, high)| low <= high);
        let bounds = from.get_where("bounds of an action", |b: &Option<_>| b.as_ref().is_none_or(fits))?;
        Ok(bounds.map_or(Actions::Categorical, Actions::Gaussian))
    }
}

impl Saved for NetworkPolicy {
    fn save(&self, to: &mut Saver) {
        to.put_shared(&self.network);
        to.put(&self.actions);
        to.put(&self.parameters);
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let (network, actions) = (from.get_shared()?, from.get()?);
        let is_finite = |all: &Vec<f32>| all.iter().all(|v| v.is_finite());
        Self::new(network, actions, from.get_where("a parameter", is_finite)?)
    }
}
