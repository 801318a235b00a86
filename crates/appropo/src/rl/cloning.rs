use std::sync::Arc;

use super::cut_normal::CutNormal;
use super::frame::Frame;
use crate::env::Space;
use crate::error::{Result, finite, in_range};
use crate::nn::{Activation, Gains, Inputs, Mlp, Optimizer, Rule, Scratch, Shape, clip};
use crate::policy::{Actions, NetworkPolicy, softmax};
use crate::random::{self, Generator};

/// Steps that count for less are left out.
const LEAST_WEIGHT: f64 = 1e-6;
/// One episode in so many is held out.
const HELD_OUT: usize = 10;
/// Passes in a row that gain nothing before learning ends.
const PATIENCE: usize = 5;
/// Rows that pass through the network at once.
const ROWS: usize = 256;
/// The largest norm of a gradient.
const MAX_GRAD_NORM: f32 = 1.0;
/// The logarithms of deviations that are learnt, in units of half the width of the bounds.
const LOG_DEVIATIONS: (f32, f32) = (-5.0, 10.0);
/// The logarithm of the first deviations.
const FIRST_LOG_DEVIATION: f32 = -0.5;

/// Steps of episodes: what was seen, what was done, and how much each counts.
#[derive(Debug)]
pub(crate) struct Demonstrations {
    observations: Space,
    actions: Space,
    seen: Vec<f64>,
    done: Vec<f64>,
    weights: Vec<f64>,
    /// Where each episode ends.
    ends: Vec<usize>,
}

impl Demonstrations {
    /// None yet.
    pub fn new(observations: &Space, actions: &Space) -> Self {
        Self {
            observations: observations.clone(),
            actions: actions.clone(),
            seen: Vec::new(),
            done: Vec::new(),
            weights: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds a step.
    pub fn add(&mut self, observation: &[f64], action: &[f64], weight: f64) {
        if weight >= LEAST_WEIGHT {
            self.seen.extend_from_slice(observation);
            self.done.extend_from_slice(action);
            self.weights.push(weight);
        }
    }

    /// Ends an episode.
    pub fn end_episode(&mut self) {
        self.ends.push(self.weights.len());
    }

    /// The rows to learn from, and those that say when to stop: every tenth episode, or all rows where there are too few.
    fn split(&self) -> (Vec<u32>, Vec<u32>) {
        let (mut learnt, mut held_out) = (Vec::new(), Vec::new());
        let mut start = 0;
        for (episode, end) in self.ends.iter().enumerate() {
            let to = if episode % HELD_OUT == HELD_OUT - 1 { &mut held_out } else { &mut learnt };
            to.extend(start as u32..*end as u32);
            start = *end;
        }
        if held_out.is_empty() {
            held_out.clone_from(&learnt);
        }
        (learnt, held_out)
    }
}

/// Behavioural cloning: a network that gives the actions of demonstrations the largest likelihood.
#[derive(Debug)]
pub(crate) struct Cloning {
    /// Units of each hidden layer.
    pub net_arch: Vec<usize>,
    /// The step size of Adam, halved after every pass that gains nothing.
    pub learning_rate: f64,
    /// Rows of a step.
    pub batch_size: usize,
    /// Passes at most.
    pub n_epochs: usize,
}

impl Cloning {
    /// Learns a policy, in the environment's units. `watch` is called before every step of the optimiser, and may end it.
    pub fn learn(
        &self,
        demonstrations: Demonstrations,
        rng: &mut Generator,
        watch: &mut dyn FnMut() -> Result<()>,
    ) -> Result<NetworkPolicy> {
        let (mut order, held_out) = demonstrations.split();
        in_range("steps to learn from", order.len() as f64, !order.is_empty(), "1 or more")?;
        let mut likelihood = Likelihood::new(&self.net_arch, demonstrations, rng)?;
        let count = likelihood.parameters.len();
        let mut optimizer = Optimizer::new(Rule::ADAM, self.learning_rate, count)?;
        let mut best = (likelihood.loss(&held_out), likelihood.parameters.clone());
        let mut since = 0;
        for _ in 0..self.n_epochs {
            random::shuffle(&mut order, rng);
            for rows in order.chunks(self.batch_size) {
                watch()?;
                likelihood.step(rows, &mut optimizer)?;
            }
            let loss = likelihood.loss(&held_out);
            if loss < best.0 {
                best.0 = loss;
                best.1.clone_from(&likelihood.parameters);
                since = 0;
            } else {
                since += 1;
                optimizer.rate *= 0.5;
            }
            if since == PATIENCE {
                break;
            }
        }
        likelihood.policy(best.1)
    }
}

/// The mean of −ln π(a|s) over weighted rows.
struct Likelihood {
    network: Arc<Mlp>,
    actions: Actions,
    frame: Frame,
    /// The bounds of actions in the frame's units.
    bounds: Vec<(f32, f32)>,
    /// Rows as the network sees them, actions in the frame's units, and weights of mean 1.
    inputs: Vec<f32>,
    done: Vec<f32>,
    weights: Vec<f32>,
    /// The network's, and the logarithms of deviations.
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    scratch: Scratch,
    /// Inputs of rows on their way through the network.
    batch: Vec<f32>,
}

impl Likelihood {
    fn new(net_arch: &[usize], demonstrations: Demonstrations, rng: &mut Generator) -> Result<Self> {
        let Demonstrations { observations, actions: space, seen, done, weights, .. } = demonstrations;
        let actions = Actions::of(&space);
        let (entries, width) = (observations.entries(), space.entries());
        let (inputs, activation) = match &observations {
            Space::Discrete(count) => (Inputs::OneHot(*count), Activation::Relu),
            Space::Continuous(bounds) => (Inputs::Vector(bounds.len()), Activation::Tanh),
        };
        let shape = Shape {
            inputs,
            hidden: net_arch.to_vec(),
            activation,
            policy: space.count().unwrap_or(width),
            value: 0,
        };
        let network = Arc::new(Mlp::new(shape)?);
        let mut frame = Frame::new(matches!(inputs, Inputs::Vector(_)).then_some(entries), &actions);
        seen.chunks_exact(entries).for_each(|observation| frame.observe(observation));
        let mut narrow = (vec![0.0; seen.len()], vec![0.0; done.len()]);
        for (to, from) in narrow.0.chunks_exact_mut(entries).zip(seen.chunks_exact(entries)) {
            frame.input(from, to);
        }
        for (to, from) in narrow.1.chunks_exact_mut(width).zip(done.chunks_exact(width)) {
            frame.units(from, to);
        }
        let bounds = frame.bounds(&actions);
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut parameters = vec![FIRST_LOG_DEVIATION; network.parameters() + actions.parameters()];
        network.initialize(&Gains::default(), &mut parameters[..network.parameters()], rng);
        Ok(Self {
            gradient: vec![0.0; parameters.len()],
            scratch: network.scratch(ROWS),
            batch: Vec::with_capacity(ROWS * entries),
            weights: weights.iter().map(|weight| (weight / mean) as f32).collect(),
            inputs: narrow.0,
            done: narrow.1,
            parameters,
            network,
            actions,
            frame,
            bounds,
        })
    }

    /// One step of the optimiser on these rows.
    fn step(&mut self, rows: &[u32], optimizer: &mut Optimizer) -> Result<()> {
        self.gradient.fill(0.0);
        let share = 1.0 / rows.len() as f32;
        for rows in rows.chunks(ROWS) {
            self.forward(rows, share);
            let own = self.network.parameters();
            let (parameters, gradient) = (&self.parameters[..own], &mut self.gradient[..own]);
            self.network.backward(parameters, &self.batch, &mut self.scratch, gradient);
        }
        let norm = clip(&mut self.gradient, MAX_GRAD_NORM);
        finite("the gradient of a distilled policy", &[norm.into()])?;
        optimizer.step(&mut self.parameters, &self.gradient);
        for deviation in &mut self.parameters[self.network.parameters()..] {
            *deviation = deviation.clamp(LOG_DEVIATIONS.0, LOG_DEVIATIONS.1);
        }
        Ok(())
    }

    /// The mean loss over these rows.
    fn loss(&mut self, rows: &[u32]) -> f64 {
        let total: f64 = rows.chunks(ROWS).map(|rows| self.forward(rows, 0.0)).sum();
        total / rows.len() as f64
    }

    /// The summed loss of at most [`ROWS`] rows, with `share` of its gradient by the network's outputs in `scratch` and by the
    /// deviations in `gradient`.
    fn forward(&mut self, rows: &[u32], share: f32) -> f64 {
        let own = self.network.parameters();
        let (outputs, width) = (self.network.shape().policy, self.bounds.len());
        let entries = self.network.shape().inputs.row();
        self.batch.clear();
        for row in rows.iter().map(|row| *row as usize) {
            self.batch.extend_from_slice(&self.inputs[row * entries..(row + 1) * entries]);
        }
        let (parameters, deviations) = self.parameters.split_at(own);
        self.network.forward(parameters, &self.batch, &mut self.scratch);
        let head = &mut self.scratch.policy;
        let means = head.output.chunks_exact_mut(outputs).zip(head.gradient.chunks_exact_mut(outputs));
        let mut total = 0.0;
        for (row, (output, pulled)) in rows.iter().map(|row| *row as usize).zip(means) {
            let (action, weight) = (&self.done[row * width..(row + 1) * width], self.weights[row]);
            let share = share * weight;
            let loss = match self.actions {
                Actions::Categorical => categorical(output, pulled, action[0] as usize, share),
                Actions::Gaussian(_) | Actions::Squashed(_) => (0..width)
                    .map(|entry| {
                        let normal = CutNormal { mean: output[entry], log_deviation: deviations[entry] };
                        let loss = normal.loss(action[entry], self.bounds[entry]);
                        pulled[entry] = share * loss.by_mean;
                        self.gradient[own + entry] += share * loss.by_log_deviation;
                        loss.value
                    })
                    .sum(),
            };
            total += f64::from(weight * loss);
        }
        total
    }

    /// The policy of these parameters in the environment's units.
    fn policy(self, mut parameters: Vec<f32>) -> Result<NetworkPolicy> {
        self.frame.fold(&self.network, &mut parameters);
        NetworkPolicy::new(self.network, self.actions, parameters)
    }
}

/// −ln of the probability of an action, and its gradient by the logits, which become probabilities.
fn categorical(logits: &mut [f32], pulled: &mut [f32], action: usize, share: f32) -> f32 {
    softmax(logits);
    for (i, (pulled, probability)) in pulled.iter_mut().zip(&*logits).enumerate() {
        *pulled = share * (probability - if i == action { 1.0 } else { 0.0 });
    }
    -logits[action].max(f32::MIN_POSITIVE).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::policy::{Memory, Policy};

    fn cloning() -> Cloning {
        Cloning { net_arch: vec![32], learning_rate: 1e-2, batch_size: 64, n_epochs: 60 }
    }

    /// In state s of 3, action 0 is taken with probability (s + 1)/4; steps of weight 0 say otherwise.
    #[test]
    fn frequencies_are_learnt_as_they_are_weighted() {
        let mut rng = random::generator(1);
        let mut shown = Demonstrations::new(&Space::Discrete(3), &Space::Discrete(2));
        for _ in 0..300 {
            for state in 0..3 {
                for _ in 0..5 {
                    let action = f64::from(random::unit(&mut rng) >= (state as f64 + 1.0) / 4.0);
                    shown.add(&[state as f64], &[action], 1.0);
                    shown.add(&[state as f64], &[1.0], 1e-5);
                }
            }
            shown.end_episode();
        }
        let policy = cloning().learn(shown, &mut rng, &mut || Ok(())).unwrap();
        let table = policy.table().unwrap();
        for state in 0..3 {
            let (found, expected) = (table.probability(0, state, 0), (state as f64 + 1.0) / 4.0);
            assert!((found - expected).abs() < 0.05, "{state}: {found} {expected}");
        }
    }

    /// Draws far beyond the bounds, cut to them, are played again as often: the mean lies outside.
    #[test]
    fn what_is_cut_to_bounds_is_learnt_as_such() {
        let mut rng = random::generator(1);
        let space = Space::Continuous(vec![(-2.0, 2.0)]);
        let mut shown = Demonstrations::new(&Space::Continuous(vec![(-1.0, 1.0)]), &space);
        for _ in 0..200 {
            for _ in 0..20 {
                let seen = random::unit(&mut rng) * 2.0 - 1.0;
                let drawn: f64 = 3.0 * seen + random::normal(&mut rng);
                shown.add(&[seen], &[drawn.clamp(-2.0, 2.0)], 1.0);
            }
            shown.end_episode();
        }
        let policy = cloning().learn(shown, &mut rng, &mut || Ok(())).unwrap();
        let (mut memory, mut action) = (Memory::default(), [0.0]);
        for (seen, expected) in [(1.0, 0.841), (0.5, 0.309), (-0.5, 0.0002)] {
            let mut cut = 0;
            for _ in 0..4000 {
                policy.act(&[seen], 0, &mut rng, &mut memory, &mut action);
                cut += usize::from(action[0] == 2.0);
            }
            let found = cut as f64 / 4000.0;
            assert!((found - expected).abs() < 0.06, "{seen}: {found} {expected}");
        }
    }

    #[test]
    fn nothing_to_learn_from_is_an_error_and_learning_can_be_stopped() {
        let rng = &mut random::generator(1);
        let shown = || Demonstrations::new(&Space::Discrete(3), &Space::Discrete(2));
        let error = cloning().learn(shown(), rng, &mut || Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "steps to learn from is 0; expected 1 or more");
        let mut one = shown();
        one.add(&[0.0], &[1.0], 1.0);
        one.end_episode();
        assert!(matches!(
            cloning().learn(one, rng, &mut || Err(Error::Interrupted)),
            Err(Error::Interrupted)
        ));
    }
}
