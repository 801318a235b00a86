//! Actor-critic learning: a policy and its value in one network, improved batch by batch.

mod a2c;
mod augmented;
mod average;
mod batch;
mod fisher;
mod led;
mod loss;
mod options;
mod play;
mod ppo;
mod recall;
mod region;
mod trust_region;

pub use a2c::A2cOptions;
pub(super) use a2c::ENTRY as A2C_ENTRY;
pub use batch::Collect;
pub use options::{ActorCriticOptions, Critic, OptimizerKind, Schedule, Update};
pub(super) use ppo::ENTRY as PPO_ENTRY;
pub use ppo::PpoOptions;
pub use trust_region::{Aim, TrustRegion, TrustRegionOptions};

use std::sync::Arc;

use super::frame::{Frame, ReturnScale};
use super::visits::Visits;
use super::workers::Streams;
use super::{Episode, EpisodeWindow, Learner, LearnerContext, LearnerStreams, not_its_own};
use crate::env::{Environment, Space};
use crate::error::{Result, dimension, in_range};
use crate::nn::{Gains, Inputs, Mlp, Optimizer, Scratch, Shape};
use crate::policy::{Actions, AnyPolicy, NetworkPolicy};
use crate::random::Generator;
use crate::state::{Checkpoint, Loader, Saver, misfit};
use augmented::Augmented;
use average::Average;
use batch::Batch;
use led::Led;
use recall::Recall;
use region::Region;

/// The most of any count that an option of a learner may be.
pub(super) const MOST: u64 = 10_000_000;

/// An actor-critic learner with the parallel environments that it plays in.
#[derive(Debug)]
pub struct ActorCritic {
    options: ActorCriticOptions,
    gamma: f32,
    /// Whether nothing is measured any more when an episode is cut off.
    is_finite_horizon: bool,
    /// The steps after which that happens, as far as they are known.
    horizon: Option<usize>,
    /// The steps that all learning may take, where a schedule goes by them.
    budget: Option<u64>,
    taken: u64,
    actor: Arc<Mlp>,
    critic: Mlp,
    actions: Actions,
    frame: Frame,
    /// The bounds of actions in its units.
    bounds: Vec<(f32, f32)>,
    returns: ReturnScale,
    /// `None` where nothing is made of it.
    novelty: Option<Visits>,
    /// `None` where nothing is learnt from again.
    recall: Option<Recall>,
    recalled: Batch,
    /// `None` where the policy follows the gradient of a reward.
    region: Option<Region>,
    /// The actor's parameters, those of `actions`, and the critic's.
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    optimizer: Optimizer,
    /// Of the policy's parameters.
    average: Average,
    acting: Scratch,
    valuing: Scratch,
    episodes: Vec<Episode>,
    /// Where workers play: the streams that these episodes show, and the units in which their batch is played.
    streams: Option<(Streams, Frame)>,
    /// Rows that are played between updates.
    rows: usize,
    batch: Batch,
    /// Rows of the batch in the order in which they are learnt from.
    order: Vec<u32>,
    /// Inputs of rows on their way through the networks.
    inputs: Vec<f32>,
    action: Vec<f64>,
    /// What each head of the critic counts for in the reward; novelty has the last one.
    weights: Vec<f32>,
    rng: Generator,
}

/// What environments are like.
struct Sizes {
    observations: Space,
    actions: Space,
    dim: usize,
    num_envs: usize,
}

impl Sizes {
    /// Of environments that are alike.
    fn of(envs: &[Box<dyn Environment>]) -> Self {
        let (observations, actions) = (envs[0].observations(), envs[0].actions());
        Self { observations, actions, dim: envs[0].measures().dim(), num_envs: envs.len() }
    }
}

/// Rows that pass through the networks at once.
const ROWS: usize = 256;

/// What logits are multiplied by so that a policy explores again.
const CALMER: f32 = 0.2;

impl ActorCritic {
    /// A learner that plays in these environments, which are alike. Episodes are cut off after `limit` steps.
    pub fn new(
        envs: Vec<Box<dyn Environment>>,
        gamma: f64,
        limit: usize,
        options: ActorCriticOptions,
        rng: Generator,
    ) -> Result<Self> {
        in_range("environments", envs.len() as f64, !envs.is_empty(), "1 or more")?;
        let mut learner = Self::without_envs(&Sizes::of(&envs), gamma, limit, options, rng)?;
        learner.episodes = envs.into_iter().map(|env| Episode::new(env, gamma, limit)).collect();
        Ok(learner)
    }

    /// The same, with no environments to play in yet.
    fn without_envs(
        sizes: &Sizes,
        gamma: f64,
        limit: usize,
        options: ActorCriticOptions,
        rng: Generator,
    ) -> Result<Self> {
        let within_unit =
            |what: &str, value: f64| in_range(what, value, (0.0..=1.0).contains(&value), "between 0 and 1");
        within_unit("gae_lambda", options.gae_lambda)?;
        within_unit("discount", gamma)?;
        within_unit("gamma", options.gamma)?;
        within_unit("weight_averaging", options.weight_averaging)?;
        if let Update::Ppo { clip_range, batch_size, .. } = options.update {
            in_range("clip_range", clip_range.into(), clip_range > 0.0, "more than 0")?;
            in_range("batch_size", batch_size as f64, batch_size > 0, "1 or more")?;
        }
        let Sizes { observations, actions: space, dim, num_envs } = sizes;
        if let Space::Continuous(bounds) = space
            && let Some((low, high)) = bounds.iter().find(|(low, high)| !(low <= high))
        {
            in_range("the lower bound of an action", *low, false, &format!("at most {high}"))?;
        }
        let inputs = match observations {
            Space::Discrete(count) => Inputs::OneHot(*count),
            Space::Continuous(bounds) => Inputs::Vector(bounds.len()),
        };
        let rewards = match options.critic {
            Critic::Reward => 1,
            Critic::Measurements => *dim,
        };
        let novelty = (options.novelty_coef > 0.0).then(|| Visits::new(observations));
        let heads = rewards + usize::from(novelty.is_some());
        let recalls = options.imitation_coef > 0.0 && options.critic == Critic::Reward;
        let shape = |policy: usize, value: usize| Shape {
            inputs,
            hidden: options.net_arch.clone(),
            activation: options.activation,
            policy,
            value,
        };
        let actor = Arc::new(Mlp::new(shape(space.count().unwrap_or(space.entries()), 0))?);
        let critic = Mlp::new(shape(0, heads))?;
        let actions = Actions::of(space);
        let count = actor.parameters() + actions.parameters() + critic.parameters();
        let (rows, num_envs) = match options.n_steps {
            Collect::Steps(steps) => (steps.saturating_mul(*num_envs), *num_envs),
            Collect::Episodes(episodes) => (episodes.saturating_mul(limit), 1),
        };
        in_range(
            "rows of a batch",
            rows as f64,
            (1..=10_000_000).contains(&rows),
            "between 1 and 10,000,000",
        )?;
        let reused = match options.update {
            Update::Ppo { .. } => (options.reuse_rows / rows).max(1) * rows,
            Update::A2c => rows,
        };
        let chunk = reused.min(ROWS).max(num_envs).max(recall::LEARNT);
        let entries = observations.entries();
        let is_normalized = options.norm_obs && matches!(inputs, Inputs::Vector(_));
        let frame = Frame::new(is_normalized.then_some(entries), &actions);
        let mut learner = Self {
            gamma: gamma.min(options.gamma) as f32,
            is_finite_horizon: false,
            horizon: None,
            budget: None,
            taken: 0,
            bounds: frame.bounds(&actions),
            frame,
            returns: ReturnScale::new(rewards, num_envs),
            novelty,
            recall: recalls.then(|| Recall::new(entries, space.entries(), *dim, num_envs)),
            region: None,
            recalled: Batch::new(recall::DRAWN, 1, entries, space.entries(), heads),
            parameters: vec![0.0; count],
            gradient: vec![0.0; count],
            optimizer: Optimizer::new(options.optimizer, options.learning_rate, count)?,
            average: Average::new(options.weight_averaging, actor.parameters() + actions.parameters()),
            acting: actor.scratch(chunk),
            valuing: critic.scratch(chunk),
            batch: Batch::new(reused, num_envs, entries, space.entries(), heads),
            rows,
            order: Vec::with_capacity(reused),
            inputs: Vec::with_capacity(chunk * entries),
            action: vec![0.0; space.entries()],
            weights: vec![0.0; heads],
            episodes: Vec::new(),
            streams: None,
            rng,
            actor,
            critic,
            actions,
            options,
        };
        learner.start_afresh();
        Ok(learner)
    }

    /// A learner as the options of problems make it, with a leader beside it where there is something to aim at, or with λ
    /// in what it sees.
    fn for_context(context: LearnerContext, options: ActorCriticOptions) -> Result<Box<dyn Learner>> {
        match (context.aim.clone(), context.augmented) {
            (_, Some(share)) => Ok(Box::new(Augmented::new(context, options, share)?)),
            (Some(aim), None) => Ok(Box::new(Led::new(context, options, aim)?)),
            (None, None) => Ok(Box::new(Self::in_context(context, options)?)),
        }
    }

    fn in_context(context: LearnerContext, options: ActorCriticOptions) -> Result<Self> {
        let LearnerContext { envs, gamma, limit, finite_horizon, samples, streams, rng, .. } = context;
        let mut learner = Self::new(envs, gamma, limit, options, rng)?;
        learner.streams = streams.map(|LearnerStreams(streams)| (streams, learner.frame.clone()));
        Ok(learner.within_budget(samples, finite_horizon))
    }

    fn within_budget(mut self, samples: u64, finite_horizon: Option<Option<usize>>) -> Self {
        self.budget = Some(samples);
        match finite_horizon {
            Some(horizon) => self.finite_horizon(horizon),
            None => self,
        }
    }

    /// The same learner where nothing is measured any more when an episode is cut off, after `horizon` steps or as the
    /// environment says. What the critic predicts is multiplied by the part of the longest episode that is left: a policy
    /// need not see the time for its value to end with it.
    pub fn finite_horizon(self, horizon: Option<usize>) -> Self {
        Self { is_finite_horizon: true, horizon, ..self }
    }

    /// The parameters of the policy, and of the critic.
    fn split(&self) -> (&[f32], &[f32]) {
        self.parameters.split_at(self.actor.parameters() + self.actions.parameters())
    }

    /// The policy of these parameters in the environment's own units.
    fn policy_of(&self, parameters: &[f32]) -> NetworkPolicy {
        let mut policy = NetworkPolicy::of(&self.actor, &self.actions, parameters);
        self.frame.fold(&self.actor, policy.parameters_mut());
        policy
    }

    fn leave_episodes(&mut self) {
        self.batch.clear();
        self.episodes.iter_mut().for_each(Episode::leave);
        self.streams.iter().for_each(|(streams, _)| streams.leave());
        self.recall.iter_mut().for_each(Recall::leave);
        self.region.iter_mut().for_each(|region| region.clear());
    }

    /// The part of what can still be gained after so many steps of an episode.
    fn left(&self, steps: usize) -> f32 {
        self.horizon.map_or(1.0, |horizon| part_left(horizon, steps, self.gamma))
    }
}

/// The part of what can still be measured after so many steps of an episode, at most 1.
pub(super) fn part_left(horizon: usize, steps: usize, gamma: f32) -> f32 {
    let (horizon, left) = (horizon as f32, horizon.saturating_sub(steps) as f32);
    if gamma < 1.0 { (1.0 - gamma.powf(left)) / (1.0 - gamma.powf(horizon)) } else { left / horizon }
}

impl Learner for ActorCritic {
    fn learn(&mut self, weights: &[f64], window: &mut EpisodeWindow) -> Result<usize> {
        dimension("reward weights", weights.len(), self.episodes[0].z().len())?;
        let over = window.episodes();
        self.play(weights, window)?;
        self.scale_gains(weights);
        self.weigh_earlier();
        self.batch.estimate_advantages(self.gamma, self.options.gae_lambda as f32, &self.weights);
        self.order.clear();
        self.order.extend(0..self.batch.rows as u32);
        if let (Schedule::Linear, Some(budget)) = (self.options.learning_rate_schedule, self.budget) {
            let left = 1.0 - self.taken as f64 / budget.max(1) as f64;
            self.optimizer.rate = self.options.learning_rate * left.clamp(0.0, 1.0);
        }
        match (self.region.take(), self.options.update) {
            (Some(mut region), _) => {
                let updated = self.trust_region_update(&mut region, window.episodes() - over, window);
                self.region = Some(region);
                updated?;
            }
            (None, Update::A2c) => self.a2c_update()?,
            (None, Update::Ppo { clip_range, n_epochs, batch_size, target_kl }) => {
                self.ppo_update(clip_range, n_epochs, batch_size, target_kl)?
            }
        }
        self.imitate(weights)?;
        let own = self.split().0.len();
        self.average.add(&self.parameters[..own]);
        let played = self.batch.fresh();
        self.taken += played as u64;
        Ok(played)
    }

    fn policy(&self) -> AnyPolicy {
        self.policy_of(self.split().0).into()
    }

    fn settled_policy(&self) -> AnyPolicy {
        self.policy_of(self.average.mean().unwrap_or(self.split().0)).without_noise().into()
    }

    fn start_from(&mut self, policy: &AnyPolicy) -> Result<()> {
        let AnyPolicy::Network(policy) = policy else { return Err(not_its_own("an actor-critic")) };
        let own = self.split().0.len();
        dimension("policy parameters", policy.parameters().len(), own)?;
        let noise = self.parameters[self.actor.parameters()..own].to_vec();
        self.parameters[..own].copy_from_slice(policy.parameters());
        self.frame.unfold(&self.actor, &mut self.parameters[..own]);
        if !policy.has_noise() {
            // It does not say how to explore.
            self.parameters[self.actor.parameters()..own].copy_from_slice(&noise);
        }
        self.optimizer.reset();
        self.average.clear();
        self.leave_episodes();
        Ok(())
    }

    fn start_afresh(&mut self) {
        let (policy, critic) =
            self.parameters.split_at_mut(self.actor.parameters() + self.actions.parameters());
        let (network, deviations) = policy.split_at_mut(self.actor.parameters());
        self.actor.initialize(&Gains::default(), network, &mut self.rng);
        deviations.fill(0.0);
        self.critic.initialize(&Gains::default(), critic, &mut self.rng);
        self.optimizer.reset();
        self.average.clear();
        self.leave_episodes();
    }

    fn explore_again(&mut self) {
        let (network, deviations) = self.parameters.split_at_mut(self.actor.parameters());
        if self.actions == Actions::Categorical {
            let (weights, biases) = self.actor.policy_head().of_mut(network);
            weights.iter_mut().chain(biases).for_each(|weight| *weight *= CALMER);
        }
        deviations[..self.actions.parameters()].fill(0.0);
        self.optimizer.reset();
        self.average.clear();
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        matches!(policy, AnyPolicy::Network(policy)
            if policy.network().shape() == self.actor.shape() && *policy.actions() == self.actions)
    }
}

impl Checkpoint for ActorCritic {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put_shared(&self.actor);
        to.put_all(&self.parameters);
        self.optimizer.save(to);
        self.average.save(to);
        self.frame.save(to);
        self.returns.save(to);
        self.batch.save(self.rows, to);
        if let Some(novelty) = &self.novelty {
            novelty.save(to);
        }
        if let Some(recall) = &self.recall {
            recall.save(to);
        }
        if let Some(region) = &self.region {
            region.save(to);
        }
        to.put(&self.rng);
        to.put(&self.horizon);
        to.put(&self.taken);
        self.episodes.iter().try_for_each(|episode| episode.save(to))
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        // Policies found before share the network with those to come.
        let network = from.get_shared::<Mlp>()?;
        if network.shape() != self.actor.shape() {
            return Err(misfit("a network has another shape"));
        }
        self.actor = network;
        from.get_finite("a parameter", &mut self.parameters)?;
        self.optimizer.load(from)?;
        self.average.load(from)?;
        self.frame.load(from)?;
        self.returns.load(from)?;
        self.batch.load(self.rows, from)?;
        if let Some(novelty) = &mut self.novelty {
            novelty.load(from)?;
        }
        if let Some(recall) = &mut self.recall {
            recall.load(from)?;
        }
        if let Some(region) = &mut self.region {
            region.load(from)?;
        }
        self.rng = from.get()?;
        self.horizon = from.get_where("a horizon", |horizon| *horizon != Some(0))?;
        self.taken = from.get()?;
        self.episodes.iter_mut().try_for_each(|episode| episode.load(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{cart_pole::CartPole, point_mass::PointMass};
    use crate::random;

    fn parameters(policy: AnyPolicy) -> Vec<f32> {
        let AnyPolicy::Network(policy) = policy else { panic!("no network") };
        policy.parameters().to_vec()
    }

    #[test]
    fn what_is_settled_on_is_the_mean_of_the_policies_so_far() {
        let options = ActorCriticOptions::ppo().norm_obs(false).weight_averaging(1.0);
        let env = Box::new(CartPole::new(Some(50)));
        let mut learner = ActorCritic::new(vec![env], 0.99, 50, options, random::generator(1)).unwrap();
        assert_eq!(parameters(learner.settled_policy()), parameters(learner.policy()));
        let dim = learner.episodes[0].z().len();
        let mut window = EpisodeWindow::new(10, dim);
        let policies: Vec<Vec<f32>> = (0..3)
            .map(|_| {
                learner.learn(&vec![1.0; dim], &mut window).unwrap();
                parameters(learner.policy())
            })
            .collect();
        for (place, settled) in parameters(learner.settled_policy()).iter().enumerate() {
            let mean = policies.iter().map(|policy| policy[place]).sum::<f32>() / 3.0;
            assert!((settled - mean).abs() < 1e-5, "{settled} {mean}");
        }
        let settled = learner.settled_policy();
        learner.start_from(&settled).unwrap();
        assert_eq!(parameters(learner.settled_policy()), parameters(settled), "no updates since");
    }

    /// What was played before is learnt from again after a kill, too.
    #[test]
    fn earlier_rows_are_saved() {
        let learner = || {
            let options = ActorCriticOptions::ppo().reuse_rows(256);
            let envs = (0..2).map(|_| Box::new(CartPole::new(Some(50))) as Box<dyn Environment>).collect();
            ActorCritic::new(envs, 0.99, 50, options, random::generator(1)).unwrap()
        };
        for batches in 1..4 {
            let mut whole = learner();
            let dim = whole.episodes[0].z().len();
            let (weights, mut window) = (vec![1.0; dim], EpisodeWindow::new(10, dim));
            (0..batches).for_each(|_| _ = whole.learn(&weights, &mut window).unwrap());
            let mut saver = Saver::default();
            whole.save(&mut saver).unwrap();
            let mut again = learner();
            again.load(&mut Loader::new(&saver.into_bytes())).unwrap();
            for learner in [&mut whole, &mut again] {
                learner.learn(&weights, &mut window).unwrap();
            }
            assert_eq!(again.batch.inputs, whole.batch.inputs);
            assert_eq!(again.batch.after, whole.batch.after);
            assert_eq!(parameters(again.policy()), parameters(whole.policy()), "after {batches}");
        }
    }

    /// A policy that was handed out without noise would never explore again.
    #[test]
    fn noise_stays_where_a_policy_has_none() {
        let env = Box::new(PointMass::new(20));
        let options = ActorCriticOptions::ppo();
        let mut learner = ActorCritic::new(vec![env], 0.99, 20, options, random::generator(1)).unwrap();
        let dim = learner.episodes[0].z().len();
        learner.learn(&vec![1.0; dim], &mut EpisodeWindow::new(10, dim)).unwrap();
        let (noisy, settled) = (parameters(learner.policy()), learner.settled_policy());
        learner.start_from(&settled).unwrap();
        let now = parameters(learner.policy());
        let own = learner.actor.parameters();
        assert!(noisy[own..].iter().zip(&now[own..]).all(|(a, b)| (a - b).abs() < 1e-5), "{now:?}");
        for (now, settled) in now[..own].iter().zip(parameters(settled)) {
            assert!((now - settled).abs() < 1e-4 * (1.0 + settled.abs()), "{now} {settled}");
        }
    }

    /// The critic's units are its own: what is learnt from without `norm_reward` is in those of the reward.
    #[test]
    fn advantages_are_in_units_of_the_reward_unless_it_is_normalized() {
        let advantages = |norm_value: bool, factor: f64| {
            let options = ActorCriticOptions::ppo().norm_reward(false).norm_value(norm_value);
            let options = ActorCriticOptions { normalize_advantage: false, ..options };
            let env = Box::new(CartPole::new(Some(50)));
            let mut learner = ActorCritic::new(vec![env], 0.99, 50, options, random::generator(1)).unwrap();
            let own = learner.split().0.len();
            // A critic that predicts 0 has the same advantages in any units.
            learner.parameters[own..].fill(0.0);
            let weights = vec![factor; learner.episodes[0].z().len()];
            learner.play(&weights, &mut EpisodeWindow::new(10, weights.len())).unwrap();
            learner.scale_gains(&weights);
            learner.batch.estimate_advantages(0.99, 0.95, &learner.weights);
            learner.batch.advantages.clone()
        };
        let raw = advantages(false, 1.0);
        for (scaled, raw) in advantages(true, 100.0).iter().zip(&raw) {
            assert!((scaled - 100.0 * raw).abs() < 1e-2 * (1.0 + raw.abs()), "{scaled} {raw}");
        }
    }

    /// With the same gain in every step, values are in proportion to the discounted steps that are left.
    #[test]
    fn values_end_with_the_episode() {
        for gamma in [1.0, 0.9, 0.5_f32] {
            let value = |steps: usize| (steps..7).map(|i| gamma.powi((i - steps) as i32)).sum::<f32>();
            for steps in 0..=7 {
                let expected = value(steps) / value(0);
                assert!((part_left(7, steps, gamma) - expected).abs() < 1e-6, "{gamma}, {steps}");
            }
            assert_eq!((part_left(7, 0, gamma), part_left(7, 7, gamma)), (1.0, 0.0));
        }
    }
}
