use std::borrow::Cow;

use super::{ExternalPolicy, GreedyPolicy, Memory, NetworkPolicy, Policy, TabularPolicy};
use crate::error::Result;
use crate::random::{self, Generator};
use crate::state::{Loader, Saved, Saver};

/// A policy of any kind, for programs that learn which kind it is only when they run.
#[derive(Debug, Clone)]
pub enum AnyPolicy {
    /// From a planner.
    Table(TabularPolicy),
    /// From a learner of action values.
    Greedy(GreedyPolicy),
    /// From a learner of networks.
    Network(NetworkPolicy),
    /// From another program.
    External(ExternalPolicy),
}

macro_rules! kinds {
    ($($policy:ty => $variant:ident),*) => {$(
        impl From<$policy> for AnyPolicy {
            fn from(policy: $policy) -> Self {
                Self::$variant(policy)
            }
        }
    )*};
}

kinds!(TabularPolicy => Table, GreedyPolicy => Greedy, NetworkPolicy => Network, ExternalPolicy => External);

impl AnyPolicy {
    fn policy(&self) -> &dyn Policy {
        match self {
            Self::Table(policy) => policy,
            Self::Greedy(policy) => policy,
            Self::Network(policy) => policy,
            Self::External(policy) => policy,
        }
    }

    /// The policy as a table where it is one already, else made one, where states and actions can be counted.
    pub fn as_table(&self) -> Option<Cow<'_, TabularPolicy>> {
        match self {
            Self::Table(policy) => Some(Cow::Borrowed(policy)),
            _ => self.table().map(Cow::Owned),
        }
    }

    /// Writes the most likely action, or the mean of a continuous one. Constraints that the policy satisfies may not
    /// hold for what it would do most often.
    /// A policy of another program acts as ever.
    pub fn most_likely(&self, observation: &[f64], step: usize, memory: &mut Memory, action: &mut [f64]) {
        match self {
            Self::Table(policy) => action[0] = policy.most_likely(step, observation[0] as usize) as f64,
            Self::Greedy(policy) => action[0] = policy.greedy(observation[0] as usize) as f64,
            Self::Network(policy) => policy.most_likely(observation, memory, action),
            Self::External(policy) => {
                policy.act(observation, step, &mut random::generator(0), memory, action)
            }
        }
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
        self.policy().act(observation, step, rng, memory, action);
    }

    fn table(&self) -> Option<TabularPolicy> {
        self.policy().table()
    }
}

impl Saved for AnyPolicy {
    fn save(&self, to: &mut Saver) {
        match self {
            Self::Table(policy) => (to.put(&0u8), to.put(policy)),
            Self::Greedy(policy) => (to.put(&1u8), to.put(policy)),
            Self::Network(policy) => (to.put(&2u8), to.put(policy)),
            Self::External(policy) => (to.put(&3u8), to.put(policy)),
        };
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        Ok(match from.get_where("a kind of policy", |kind: &u8| *kind < 4)? {
            0 => Self::Table(from.get()?),
            1 => Self::Greedy(from.get()?),
            2 => Self::Network(from.get()?),
            _ => Self::External(from.get()?),
        })
    }
}
