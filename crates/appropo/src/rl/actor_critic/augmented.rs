use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{ActorCritic, ActorCriticOptions};
use crate::env::{Environment, Space, Status};
use crate::error::{Result, dimension};
use crate::measurement::Measures;
use crate::nn::{Inputs, Mlp, Shape};
use crate::policy::{Actions, AnyPolicy, NetworkPolicy};
use crate::random::{self, Generator};
use crate::rl::{EpisodeWindow, Learner, LearnerContext, not_its_own};
use crate::state::{Checkpoint, Loader, Saver, misfit};

/// A learner whose policy sees the weights of its reward besides the observation: one network for every λ (state-augmented
/// learning, Calvo-Fullana et al. 2021). Most of its episodes are for the present weights, the others for weights drawn
/// from a range around those of late. After its share of the samples it only plays.
///
/// With weights that are fixed, what they add to the first layer is a bias: each of its policies is a plain network.
#[derive(Debug)]
pub(super) struct Augmented {
    learner: ActorCritic,
    /// The network without the weights as inputs.
    plain: Arc<Mlp>,
    dial: Arc<Mutex<Dial>>,
    /// The samples that it learns from.
    until: u64,
}

/// The weights of rewards, as shares of what each measurement can amount to: |s₁| + |s₂| + … = 1.
#[derive(Debug, Clone)]
struct Dial {
    /// The most that each measurement of an episode was so far.
    units: Vec<f64>,
    shares: Vec<f64>,
    least: Vec<f64>,
    most: Vec<f64>,
    is_learning: bool,
}

impl Dial {
    fn new(dim: usize) -> Self {
        let zero = vec![0.0; dim];
        Self { units: zero.clone(), shares: zero.clone(), least: zero.clone(), most: zero, is_learning: true }
    }

    /// What a share of measurement i is worth.
    fn unit(&self, i: usize) -> f64 {
        if self.units[i] > 0.0 { self.units[i] } else { 1.0 }
    }

    /// Turns to other weights; whether they are others.
    fn turn(&mut self, weights: &[f64]) -> bool {
        let mut shares: Vec<f64> = weights.iter().enumerate().map(|(i, w)| w * self.unit(i)).collect();
        normalize(&mut shares);
        let is_new = shares != self.shares;
        let is_first = self.shares.iter().all(|share| *share == 0.0);
        for (i, share) in shares.iter().enumerate() {
            self.least[i] = if is_first { *share } else { self.least[i].min(*share) };
            self.most[i] = if is_first { *share } else { self.most[i].max(*share) };
        }
        if is_new {
            for (i, share) in shares.iter().enumerate() {
                self.least[i] += FORGOTTEN * (share - self.least[i]);
                self.most[i] += FORGOTTEN * (share - self.most[i]);
            }
        }
        self.shares = shares;
        is_new
    }

    /// Shares within a range somewhat wider than that of those so far, on the same side of 0.
    fn draw(&self, rng: &mut Generator) -> Vec<f64> {
        let entry = |(least, most): (&f64, &f64)| {
            let room = WIDER * (most - least);
            let low = if *least >= 0.0 { (least - room).max(0.0) } else { least - room };
            let high = if *most <= 0.0 { (most + room).min(0.0) } else { most + room };
            low + random::unit(rng) * (high - low)
        };
        let mut shares: Vec<f64> = self.least.iter().zip(&self.most).map(entry).collect();
        normalize(&mut shares);
        shares
    }
}

/// How much wider the range of weights is that are drawn, to each side, and the part of it that is forgotten every time.
const WIDER: f64 = 0.5;
const FORGOTTEN: f64 = 0.3;

/// The share of the episodes that are for the present weights while it learns.
const PRESENT: f64 = 0.75;

/// Brings shares to a sum of 1; 0 stays 0.
fn normalize(shares: &mut [f64]) {
    let total: f64 = shares.iter().map(|share| share.abs()).sum();
    if total > 0.0 {
        shares.iter_mut().for_each(|share| *share /= total);
    }
}

fn look(dial: &Arc<Mutex<Dial>>) -> MutexGuard<'_, Dial> {
    dial.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Augmented {
    /// A learner that learns from this share of the samples.
    pub fn new(context: LearnerContext, options: ActorCriticOptions, share: f64) -> Result<Self> {
        let dim = context.envs.first().map_or(0, |env| env.measures().dim());
        let observations = context.env.observations().clone();
        let until = (share * context.samples as f64) as u64;
        let dial = Arc::new(Mutex::new(Dial::new(dim)));
        let augment = |env| Box::new(AugmentedEnv::new(env, &dial)) as Box<dyn Environment>;
        let envs = context.envs.into_iter().map(augment).collect();
        // Entries of an index that is written out are 0 or 1 already, and rare ones would be blown up.
        let norm_obs = options.norm_obs && observations.count().is_none();
        let options = ActorCriticOptions { norm_obs, ..options };
        let mut learner = ActorCritic::in_context(LearnerContext { envs, ..context }, options)?;
        // Weights are shares already; by their own deviation a first change would be blown up.
        learner.frame.plain_from(observations.entries());
        let inputs = match observations {
            Space::Discrete(count) => Inputs::OneHot(count),
            Space::Continuous(bounds) => Inputs::Vector(bounds.len()),
        };
        let plain = Arc::new(Mlp::new(Shape { inputs, ..learner.actor.shape().clone() })?);
        Ok(Self { learner, plain, dial, until })
    }

    /// What a policy that sees the present weights does.
    fn at_present(&self, whole: AnyPolicy) -> AnyPolicy {
        let AnyPolicy::Network(whole) = whole else { return whole };
        let shares = look(&self.dial).shares.clone();
        let width = self.plain.shape().inputs.width();
        let (layers, numbers) = (whole.network().layers(), whole.parameters());
        let first = &layers[0];
        let (weights, biases) = (&numbers[first.weights.clone()], &numbers[first.biases.clone()]);
        let (seen, told) = weights.split_at(width * first.outputs);
        let mut biases: Vec<f64> = biases.iter().map(|bias| f64::from(*bias)).collect();
        for (share, weights) in shares.iter().zip(told.chunks_exact(first.outputs)) {
            biases.iter_mut().zip(weights).for_each(|(bias, weight)| *bias += share * f64::from(*weight));
        }
        let biases = biases.into_iter().map(|bias| bias as f32);
        let rest = &numbers[first.weights.end.max(first.biases.end)..];
        let parameters: Vec<f32> = seen.iter().copied().chain(biases).chain(rest.iter().copied()).collect();
        NetworkPolicy::of(&self.plain, whole.actions(), &parameters).into()
    }
}

impl Learner for Augmented {
    fn learn(&mut self, weights: &[f64], window: &mut EpisodeWindow) -> Result<usize> {
        let mut dial = look(&self.dial);
        let dim = dial.units.len();
        dimension("reward weights", weights.len(), dim)?;
        let was_learning = std::mem::replace(&mut dial.is_learning, self.learner.taken < self.until);
        let (is_new, is_learning) = (dial.turn(weights), dial.is_learning);
        drop(dial);
        // The reward of an episode's own weights comes first.
        let reward: Vec<f64> = std::iter::once(1.0).chain(vec![0.0; dim]).collect();
        let mut played = EpisodeWindow::new(self.learner.rows, dim + 1);
        let steps = if is_learning {
            self.learner.learn(&reward, &mut played)?
        } else {
            // Episodes for other weights would count for these.
            if is_new || was_learning {
                self.learner.leave_episodes();
            }
            self.learner.play(&reward, &mut played)?;
            self.learner.batch.fresh()
        };
        let mut dial = look(&self.dial);
        for z in played.sums().map(|sum| &sum[1..]) {
            // While it learns, episodes for weights near the present ones tell as much, and sooner.
            window.add(z);
            if is_learning {
                dial.units.iter_mut().zip(z).for_each(|(unit, z)| *unit = unit.max(z.abs()));
            }
        }
        Ok(steps)
    }

    fn policy(&self) -> AnyPolicy {
        self.at_present(self.learner.policy())
    }

    fn settled_policy(&self) -> AnyPolicy {
        self.at_present(self.learner.settled_policy())
    }

    /// A policy of one λ says nothing of the others.
    fn start_from(&mut self, _: &AnyPolicy) -> Result<()> {
        Err(not_its_own("a state-augmented learner"))
    }

    fn start_afresh(&mut self) {
        self.learner.start_afresh();
    }

    fn explore_again(&mut self) {
        self.learner.explore_again();
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        let actions: &Actions = &self.learner.actions;
        matches!(policy, AnyPolicy::Network(policy)
            if policy.network().shape() == self.plain.shape() && policy.actions() == actions)
    }
}

impl Checkpoint for Augmented {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put_shared(&self.plain);
        let Dial { units, shares, least, most, is_learning } = &*look(&self.dial);
        [units, shares, least, most].into_iter().for_each(|numbers| to.put_all(numbers));
        to.put(is_learning);
        self.learner.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        let plain = from.get_shared::<Mlp>()?;
        if plain.shape() != self.plain.shape() {
            return Err(misfit("a network has another shape"));
        }
        self.plain = plain;
        let mut dial = look(&self.dial).clone();
        for numbers in [&mut dial.units, &mut dial.shares, &mut dial.least, &mut dial.most] {
            from.get_finite("a weight", numbers)?;
        }
        dial.is_learning = from.get()?;
        *look(&self.dial) = dial;
        self.learner.load(from)
    }
}

/// An environment whose observations end with the weights of the episode's reward. It measures that reward, then what it
/// measured before.
#[derive(Debug)]
struct AugmentedEnv {
    env: Box<dyn Environment>,
    dial: Arc<Mutex<Dial>>,
    measures: Measures,
    /// How many observations there are, where they can be counted.
    count: Option<usize>,
    entries: usize,
    shares: Vec<f64>,
    /// What a unit of each measurement is worth in the episode under way.
    worth: Vec<f64>,
    observation: Vec<f64>,
}

impl AugmentedEnv {
    fn new(env: Box<dyn Environment>, dial: &Arc<Mutex<Dial>>) -> Self {
        let (dim, observations) = (env.measures().dim(), env.observations());
        let measures = Measures::new([("reward", 1), ("measured", dim)]);
        Self {
            measures,
            count: observations.count(),
            entries: observations.count().unwrap_or(observations.entries()),
            observation: vec![0.0; observations.entries()],
            shares: vec![0.0; dim],
            worth: vec![0.0; dim],
            dial: Arc::clone(dial),
            env,
        }
    }

    fn show(&self, observation: &mut [f64]) {
        let (seen, told) = observation.split_at_mut(self.entries);
        match self.count {
            Some(_) => {
                seen.fill(0.0);
                // What is out of range is found by who plays in the environment itself.
                if let Some(place) = seen.get_mut(self.observation[0] as usize) {
                    *place = 1.0;
                }
            }
            None => seen.copy_from_slice(&self.observation),
        }
        told.copy_from_slice(&self.shares);
    }
}

impl Environment for AugmentedEnv {
    fn measures(&self) -> &Measures {
        &self.measures
    }

    fn observations(&self) -> Space {
        let seen = match self.env.observations() {
            Space::Discrete(count) => vec![(0.0, 1.0); count],
            Space::Continuous(bounds) => bounds,
        };
        Space::Continuous(seen.into_iter().chain(vec![(-1.0, 1.0); self.shares.len()]).collect())
    }

    fn actions(&self) -> Space {
        self.env.actions()
    }

    fn reset(&mut self, rng: &mut Generator, observation: &mut [f64]) -> Result<()> {
        let dial = look(&self.dial).clone();
        let is_present = !dial.is_learning || random::unit(rng) < PRESENT;
        self.shares = if is_present { dial.shares.clone() } else { dial.draw(rng) };
        self.worth = (0..self.shares.len()).map(|i| self.shares[i] / dial.unit(i)).collect();
        self.env.reset(rng, &mut self.observation)?;
        self.show(observation);
        Ok(())
    }

    fn submit_action(&mut self, action: &[f64]) -> Result<()> {
        self.env.submit_action(action)
    }

    fn step(
        &mut self,
        action: &[f64],
        rng: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status> {
        let status = self.env.step(action, rng, &mut self.observation, &mut z[1..])?;
        z[0] = crate::vector::dot(&self.worth, &z[1..]);
        self.show(observation);
        Ok(status)
    }
}

impl Checkpoint for AugmentedEnv {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put_all(&self.shares);
        to.put_all(&self.worth);
        self.env.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        from.get_finite("a weight", &mut self.shares)?;
        from.get_finite("a weight", &mut self.worth)?;
        self.env.load(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::cart_pole::CartPole;
    use crate::env::{EnvSpec, mars_rover};
    use crate::nn::Scratch;

    /// A policy for some weights is the network that sees them, on observations alone.
    #[test]
    fn a_policy_of_fixed_weights_is_a_plain_network() {
        let rover: EnvSpec = mars_rover::world("4x4", 0.05).unwrap().into();
        let cart = EnvSpec::playable(CartPole::new);
        for (env, horizon) in [(rover, Some(30)), (cart, Some(30))] {
            let envs = vec![env.make(horizon).unwrap()];
            let dim = envs[0].measures().dim();
            let (gamma, limit, samples, rng) = (0.99, 30, 10_000, random::generator(3));
            let (finite_horizon, aim, augmented) = (None, None, None);
            let context = LearnerContext {
                env: &env,
                envs,
                gamma,
                limit,
                finite_horizon,
                samples,
                aim,
                augmented,
                streams: None,
                rng,
            };
            let mut learner = Augmented::new(context, ActorCriticOptions::ppo(), 0.5).unwrap();
            let mut window = EpisodeWindow::new(25, dim);
            let weights = |i: usize| -> Vec<f64> { (0..dim).map(|k| ((i + k) as f64).sin()).collect() };
            for i in 0..2 {
                learner.learn(&weights(i), &mut window).unwrap();
            }
            let AnyPolicy::Network(policy) = learner.policy() else { panic!("no network") };
            assert!(learner.fits(&AnyPolicy::Network(policy.clone())));
            let outputs = |network: &Mlp, parameters: &[f32], input: &[f32]| {
                let mut scratch: Scratch = network.scratch(1);
                network.forward(&parameters[..network.parameters()], input, &mut scratch);
                scratch.policy.output.clone()
            };
            let shares = look(&learner.dial).shares.clone();
            let AnyPolicy::Network(whole) = learner.learner.policy() else { panic!("no network") };
            for row in 0..5 {
                let (plain, mut seen): (Vec<f32>, Vec<f32>) = match env.observations() {
                    Space::Discrete(count) => {
                        (vec![row as f32], (0..*count).map(|s| f32::from(s == row)).collect())
                    }
                    Space::Continuous(bounds) => {
                        let entries = |k: usize| ((row + k) as f32).cos();
                        let all: Vec<f32> = (0..bounds.len()).map(entries).collect();
                        (all.clone(), all)
                    }
                };
                seen.extend(shares.iter().map(|share| *share as f32));
                let expected = outputs(whole.network(), whole.parameters(), &seen);
                let found = outputs(policy.network(), policy.parameters(), &plain);
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{found} {expected}");
                }
            }
        }
    }
}
