use std::mem::swap;
use std::sync::Arc;

use super::region::Region;
use super::{ActorCritic, ActorCriticOptions, Aim, Sizes, TrustRegionOptions};
use crate::error::Result;
use crate::policy::AnyPolicy;
use crate::random;
use crate::rl::{EpisodeWindow, Learner, LearnerContext};
use crate::state::{Checkpoint, Loader, Saver};

/// A learner of rewards, and one with the same network that goes where an aim says; one of them plays at a time.
#[derive(Debug)]
pub(super) struct Led {
    learner: ActorCritic,
    leader: ActorCritic,
    is_leading: bool,
}

impl Led {
    pub fn new(mut context: LearnerContext, options: ActorCriticOptions, aim: Arc<dyn Aim>) -> Result<Self> {
        let LearnerContext { gamma, limit, finite_horizon, samples, .. } = context;
        let leading = TrustRegionOptions {
            net_arch: Some(options.net_arch.clone()),
            activation_fn: options.activation,
            gamma: options.gamma,
            norm_obs: options.norm_obs,
            ..TrustRegionOptions::default()
        };
        let (sizes, rng) = (Sizes::of(&context.envs), random::split(&mut context.rng));
        let actor_critic = leading.actor_critic(context.env, limit, 0);
        let leader = ActorCritic::without_envs(&sizes, gamma, limit, actor_critic, rng)?;
        let mut leader = leader.within_budget(samples, finite_horizon);
        leader.region = Some(Region::new(leading, aim, gamma));
        Ok(Self { learner: ActorCritic::in_context(context, options)?, leader, is_leading: false })
    }

    fn playing(&self) -> &ActorCritic {
        if self.is_leading { &self.leader } else { &self.learner }
    }

    fn playing_mut(&mut self) -> &mut ActorCritic {
        if self.is_leading { &mut self.leader } else { &mut self.learner }
    }
}

impl Learner for Led {
    fn learn(&mut self, weights: &[f64], window: &mut EpisodeWindow) -> Result<usize> {
        self.playing_mut().learn(weights, window)
    }

    fn policy(&self) -> AnyPolicy {
        self.playing().policy()
    }

    fn settled_policy(&self) -> AnyPolicy {
        self.playing().settled_policy()
    }

    fn start_from(&mut self, policy: &AnyPolicy) -> Result<()> {
        self.playing_mut().start_from(policy)
    }

    fn start_afresh(&mut self) {
        self.playing_mut().start_afresh();
    }

    fn explore_again(&mut self) {
        self.playing_mut().explore_again();
    }

    fn lead(&mut self, is_leading: bool) -> bool {
        if is_leading != self.is_leading {
            self.playing_mut().leave_episodes();
            swap(&mut self.learner.episodes, &mut self.leader.episodes);
            swap(&mut self.learner.streams, &mut self.leader.streams);
            self.is_leading = is_leading;
        }
        true
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        self.learner.fits(policy)
    }
}

impl Checkpoint for Led {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put(&self.is_leading);
        self.learner.save(to)?;
        self.leader.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.lead(from.get()?);
        self.learner.load(from)?;
        self.leader.load(from)
    }
}
