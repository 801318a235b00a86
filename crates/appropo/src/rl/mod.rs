//! Scalar-reward reinforcement learning: planning in known worlds, and learning by playing.

pub mod actor_critic;
mod aggregation;
mod averages;
mod backward_induction;
mod band;
mod chain;
mod cloning;
mod controls;
mod cut_normal;
mod discounted_visits;
mod encoder;
mod end_components;
mod ending;
mod endless_classes;
pub(crate) mod fitted;
mod flow;
mod frame;
mod graph;
mod lanes;
mod learner;
mod moves;
mod natural_gradient;
mod occupancy;
mod policy_iteration;
mod preconditioner;
mod q_learning;
mod quotient;
mod replay;
mod rollout;
mod rollouts;
mod shortest_path;
pub mod soft_actor_critic;
mod sweeps;
mod tracked;
pub mod universal;
mod value_iteration;
mod visits;
mod walk;
pub mod workers;

pub use actor_critic::ActorCritic;
pub(crate) use averages::Staying;
pub use backward_induction::backward_induction;
pub(crate) use cloning::{Cloning, Demonstrations};
pub use controls::Controls;
pub use encoder::Encoder;
use end_components::EndComponents;
pub(crate) use learner::not_its_own;
pub use learner::{EpisodeWindow, Learner, LearnerContext, LearnerEntry, LearnerStreams, MakeLearner};
pub use natural_gradient::NaturalGradient;
pub use occupancy::Occupancy;
pub use policy_iteration::policy_iteration;
pub(crate) use policy_iteration::policy_iteration_from;
pub use q_learning::{Backup, QLearner, QLearningOptions};
pub(crate) use quotient::Quotient;
pub use replay::{Replay, Transition};
pub use rollout::{Episode, play_episode};
pub use rollouts::Rollouts;
pub(crate) use shortest_path::shortest_path;
pub use soft_actor_critic::SoftActorCritic;
pub use tracked::Tracked;
pub use value_iteration::value_iteration;

use crate::env::TabularMdp;
use crate::error::{Error, Result};
use crate::measurement::Discounting;

/// The learners that problems can name, in the order in which they are listed.
pub(crate) static LEARNERS: [&LearnerEntry; 4] =
    [&actor_critic::A2C_ENTRY, &actor_critic::PPO_ENTRY, &soft_actor_critic::ENTRY, &q_learning::ENTRY];

/// An optimal deterministic policy with its value function.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The action, as `[stage * states + state]`; one stage if the policy is stationary.
    pub actions: Vec<u32>,
    /// The value, in the same places.
    pub values: Vec<f64>,
}

/// The states in which an action may have to be chosen: reachable and not terminal.
pub fn decision_states(model: &TabularMdp) -> Vec<bool> {
    model.decision_states().to_vec()
}

/// Refuses a model without discount and horizon in which some policy never ends.
pub(crate) fn every_policy_ends(
    model: &TabularMdp,
    discounting: &Discounting,
    decisions: &[bool],
) -> Result<()> {
    if discounting.gamma() < 1.0 || discounting.horizon().is_some() {
        return Ok(());
    }
    let components = EndComponents::new(model, decisions, |_| true);
    for state in 0..model.states() {
        let choices = model.choices_of(state);
        if let Some(choice) = choices.clone().find(|&choice| components.stays(choice)) {
            return Err(Error::NeverEnds { state, action: choice - choices.start });
        }
    }
    Ok(())
}

/// r(s, a) + γ Σ P(s′|s, a) V(s′), where states that need no decision have value 0.
fn backup(
    model: &TabularMdp,
    gamma: f64,
    rewards: &[f64],
    values: &[f64],
    state: usize,
    action: usize,
) -> f64 {
    let future: f64 = model.row(state, action).iter().map(|t| t.probability * values[t.next as usize]).sum();
    rewards[model.choice(state, action)] + gamma * future
}

/// The best action and its backup.
fn best_action(model: &TabularMdp, gamma: f64, rewards: &[f64], values: &[f64], state: usize) -> (u32, f64) {
    let mut best = (0, f64::NEG_INFINITY);
    for action in 0..model.actions_of(state) {
        let value = backup(model, gamma, rewards, values, state, action);
        if value > best.1 {
            best = (action as u32, value);
        }
    }
    best
}

/// The place of the least value; the first where there are several.
fn least(values: impl Iterator<Item = f32>) -> usize {
    values.enumerate().fold((0, f32::INFINITY), |best, (i, v)| if v < best.1 { (i, v) } else { best }).0
}
