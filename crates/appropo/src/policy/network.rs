use std::sync::Arc;

use serde::Serialize;

use super::{Memory, Policy, TabularPolicy, best};
use crate::env::Space;
use crate::error::{Result, dimension};
use crate::nn::{Inputs, Mlp, tanh};
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
    /// Two outputs an entry, all means before all logarithmic standard deviations: the hyperbolic tangent of a normal
    /// distribution, stretched to these bounds.
    Squashed(Vec<(f64, f64)>),
}

impl Actions {
    /// What logarithmic deviations of squashed actions are cut to.
    pub const LOG_DEVIATIONS: (f32, f32) = (-5.0, 2.0);

    /// The kind that fits a space.
    pub fn of(space: &Space) -> Self {
        match space {
            Space::Discrete(_) => Actions::Categorical,
            Space::Continuous(bounds) => Actions::Gaussian(bounds.clone()),
        }
    }

    /// The network's outputs for actions of so many entries or kinds.
    pub fn outputs(&self, width: usize) -> usize {
        match self {
            Actions::Categorical | Actions::Gaussian(_) => width,
            Actions::Squashed(_) => 2 * width,
        }
    }

    /// Parameters beyond the network's own.
    pub fn parameters(&self) -> usize {
        match self {
            Actions::Categorical | Actions::Squashed(_) => 0,
            Actions::Gaussian(bounds) => bounds.len(),
        }
    }

    /// Draws an action; logits become probabilities. A normal draw is written as it is, not yet cut to the bounds. A squashed
    /// one is between −1 and 1.
    pub(crate) fn draw(
        &self,
        outputs: &mut [f32],
        deviations: &[f32],
        rng: &mut Generator,
        action: &mut [f32],
    ) {
        match self {
            Actions::Categorical => {
                softmax(outputs);
                let chosen = random::choose(outputs.iter().map(|p| f64::from(*p)), 1.0, rng);
                action[0] = chosen as f32;
            }
            Actions::Gaussian(_) => {
                for i in 0..action.len() {
                    action[i] = outputs[i] + deviations[i].exp() * random::normal(rng) as f32;
                }
            }
            Actions::Squashed(_) => {
                let (means, deviations) = outputs.split_at(action.len());
                for i in 0..action.len() {
                    action[i] = squash(means[i], deviations[i], random::normal(rng) as f32).0;
                }
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
            Actions::Squashed(bounds) => {
                for ((action, drawn), (low, high)) in action.iter_mut().zip(drawn).zip(bounds) {
                    let (middle, half) = middle_and_half(*low, *high);
                    *action = (middle + half * f64::from(*drawn)).clamp(*low, *high);
                }
            }
        }
    }
}

/// The logarithmic deviation of actions without noise, in units of half the width of their range.
const NO_NOISE: f32 = Actions::LOG_DEVIATIONS.0;

/// The middle and half the width of a range; 0 and 1 where there is none.
pub(crate) fn middle_and_half(low: f64, high: f64) -> (f64, f64) {
    let half = 0.5 * (high - low);
    if half.is_finite() && half > 0.0 { (low + half, half) } else { (0.0, 1.0) }
}

/// The hyperbolic tangent of a normal draw that lies `off` deviations from its mean, and the logarithm of its density.
pub(crate) fn squash(mean: f32, log_deviation: f32, off: f32) -> (f32, f32) {
    let log_deviation = log_deviation.clamp(Actions::LOG_DEVIATIONS.0, Actions::LOG_DEVIATIONS.1);
    let drawn = mean + log_deviation.exp() * off;
    (tanh(drawn), -0.5 * off * off - log_deviation - HALF_LOG_TAU - log_slope_of_tanh(drawn))
}

/// ln(1 − tanh²x), which a difference would round to ln 0 where x is large.
fn log_slope_of_tanh(x: f32) -> f32 {
    let x = x.abs();
    2.0 * (std::f32::consts::LN_2 - x - (-2.0 * x).exp().ln_1p())
}

const HALF_LOG_TAU: f32 = 0.918_938_5; // ½ ln 2π

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

    /// The same policy where actions that are numbers have next to no noise; what is counted is drawn as before.
    pub(crate) fn without_noise(mut self) -> Self {
        match &self.actions {
            Actions::Categorical => (),
            Actions::Gaussian(bounds) => {
                let deviations = &mut self.parameters[self.network.parameters()..];
                for (deviation, (low, high)) in deviations.iter_mut().zip(bounds) {
                    *deviation = NO_NOISE + middle_and_half(*low, *high).1.ln() as f32;
                }
            }
            Actions::Squashed(bounds) => {
                let head = self.network.policy_head();
                let (weights, biases) = head.of_mut(&mut self.parameters);
                weights[bounds.len() * head.inputs..].fill(0.0);
                biases[bounds.len()..].fill(NO_NOISE);
            }
        }
        self
    }

    /// Whether there is more noise in its actions than that, or they are counted.
    pub(crate) fn has_noise(&self) -> bool {
        let is_noise = |deviation: f32| deviation > NO_NOISE + 1e-3;
        match &self.actions {
            Actions::Categorical => true,
            Actions::Gaussian(bounds) => {
                let deviations = &self.parameters[self.network.parameters()..];
                let units = bounds.iter().map(|(low, high)| middle_and_half(*low, *high).1.ln() as f32);
                deviations.iter().zip(units).any(|(deviation, unit)| is_noise(deviation - unit))
            }
            Actions::Squashed(bounds) => {
                let head = self.network.policy_head();
                let (weights, biases) = head.of(&self.parameters);
                weights[bounds.len() * head.inputs..].iter().any(|weight| *weight != 0.0)
                    || biases[bounds.len()..].iter().any(|deviation| is_noise(*deviation))
            }
        }
    }

    /// Writes the most likely action, or the mean of a continuous one.
    pub fn most_likely(&self, observation: &[f64], memory: &mut Memory, action: &mut [f64]) {
        let (outputs, drawn) = self.outputs(observation, memory);
        drawn.clear();
        match &self.actions {
            Actions::Categorical => drawn.push(best(outputs) as f32),
            Actions::Gaussian(_) => drawn.extend_from_slice(outputs),
            Actions::Squashed(bounds) => drawn.extend(outputs[..bounds.len()].iter().map(|mean| tanh(*mean))),
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
            Actions::Gaussian(bounds) => Some((false, bounds.clone())),
            Actions::Squashed(bounds) => Some((true, bounds.clone())),
        });
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        type Kept = Option<(bool, Vec<(f64, f64)>)>;
        let fits = |(_, bounds): &(bool, Vec<(f64, f64)>)| bounds.iter().all(|(low, high)| low <= high);
        let kept = from.get_where("bounds of an action", |kept: &Kept| kept.as_ref().is_none_or(fits))?;
        Ok(match kept {
            None => Actions::Categorical,
            Some((false, bounds)) => Actions::Gaussian(bounds),
            Some((true, bounds)) => Actions::Squashed(bounds),
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Activation, Gains, Shape};

    /// Densities of squashed actions add up to 1 between −1 and 1, as those of the tangents of normal draws do.
    #[test]
    fn densities_of_squashed_actions_add_up_to_one() {
        for (mean, log_deviation) in [(0.0, 0.0), (0.7, -1.0), (-1.5, 0.5)] {
            let (step, mut total, mut before) = (1e-3, 0.0, None);
            for i in -6000..=6000 {
                let (action, log_density) = squash(mean, log_deviation, i as f32 * step);
                if let Some((last, density)) = before {
                    total += f64::from(action - last) * 0.5 * f64::from(density + log_density.exp());
                }
                before = Some((action, log_density.exp()));
            }
            assert!((total - 1.0).abs() < 1e-3, "{mean} {log_deviation}: {total}");
        }
    }

    /// Without noise a policy does what is likeliest; with it, it does not.
    #[test]
    fn noise_can_be_left_out() {
        let (mut rng, bounds) = (random::generator(3), vec![(-2.0, 2.0), (0.1, 0.3)]);
        for actions in [Actions::Gaussian(bounds.clone()), Actions::Squashed(bounds.clone())] {
            let shape = Shape {
                inputs: Inputs::Vector(3),
                hidden: vec![8],
                activation: Activation::Tanh,
                policy: actions.outputs(2),
                value: 0,
            };
            let network = Mlp::new(shape).unwrap();
            let mut parameters = vec![-1.0; network.parameters() + actions.parameters()];
            let own = network.parameters();
            network.initialize(&Gains { policy: 1.0, ..Gains::default() }, &mut parameters[..own], &mut rng);
            let noisy = NetworkPolicy::of(&Arc::new(network), &actions, &parameters);
            let quiet = noisy.clone().without_noise();
            assert!(noisy.has_noise() && !quiet.has_noise());
            let mut farthest = |policy: &NetworkPolicy| {
                let (mut memory, mut drawn, mut likeliest) = (Memory::default(), [0.0; 2], [0.0; 2]);
                let mut farthest = 0.0_f64;
                for _ in 0..200 {
                    let observation = [0; 3].map(|_| random::normal(&mut rng));
                    policy.act(&observation, 0, &mut rng, &mut memory, &mut drawn);
                    noisy.most_likely(&observation, &mut memory, &mut likeliest);
                    for ((drawn, likeliest), (low, high)) in drawn.iter().zip(likeliest).zip(&bounds) {
                        farthest = farthest.max((drawn - likeliest).abs() / (high - low));
                    }
                }
                farthest
            };
            assert!(farthest(&quiet) < 0.02, "{actions:?}");
            assert!(farthest(&noisy) > 0.1, "{actions:?}");
        }
    }

    #[test]
    fn squashed_actions_reach_their_bounds_and_no_farther() {
        let bounds = vec![(-2.0, 2.0), (0.1, 0.3)];
        let actions = Actions::Squashed(bounds.clone());
        for drawn in [-1.0, 0.0, 1.0_f32] {
            let mut action = [0.0; 2];
            actions.cut(&[drawn; 2], &mut action);
            for (action, (low, high)) in action.into_iter().zip(&bounds) {
                let expected = 0.5 * (low + high) + 0.5 * f64::from(drawn) * (high - low);
                assert!((action - expected).abs() < 1e-12 && (*low..=*high).contains(&action), "{action}");
            }
        }
    }
}
