use super::{GreedyPolicy, Memory, NetworkPolicy, Policy, TabularPolicy};
use crate::random::Generator;

/// A policy of any kind, for programs that learn which kind it is only when they run.
#[derive(Debug, Clone)]
pub enum AnyPolicy {
    /// From a planner.
    Table(TabularPolicy),
    /// From a learner of action values.
    Greedy(GreedyPolicy),
    /// From a learner of networks.
    Network(NetworkPolicy),
}

impl From<TabularPolicy> for AnyPolicy {
    fn from(policy: TabularPolicy) -> Self {
        Self::Table(policy)
    }
}

impl From<GreedyPolicy> for AnyPolicy {
    fn from(policy: GreedyPolicy) -> Self {
        Self::Greedy(policy)
    }
}

impl From<NetworkPolicy> for AnyPolicy {
    fn from(policy: NetworkPolicy) -> Self {
        Self::Network(policy)
    }
}

impl Policy for AnyPolicy {
    fn act(
        &self,
        observation: &[f64],
        step: usize,
        rng: &mut Generator,
        memory: &mut Memory,
        action: &mut [f64],
    ) {
        match self {
            Self::Table(policy) => policy.act(observation, step, rng, memory, action),
            Self::Greedy(policy) => policy.act(observation, step, rng, memory, action),
            Self::Network(policy) => policy.act(observation, step, rng, memory, action),
        }
    }

    fn table(&self) -> Option<TabularPolicy> {
        match self {
            Self::Table(policy) => policy.table(),
            Self::Greedy(policy) => policy.table(),
            Self::Network(policy) => policy.table(),
        }
    }
}
