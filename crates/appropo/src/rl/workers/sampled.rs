use std::collections::VecDeque;
use std::sync::Arc;

use rand::Rng;

use super::message::{Asked, mixed, read_episode};
use super::{Task, Workers};
use crate::error::Result;
use crate::measurement::Selection;
use crate::policy::{AnyPolicy, Mixed};
use crate::random::Generator;
use crate::state::misfit;

/// Whole episodes of mixed policies, which workers play ahead of whoever asks for them one by one. Every episode has a
/// seed of its own.
#[derive(Debug)]
pub(crate) struct SampledEpisodes {
    workers: Arc<dyn Workers>,
    /// Entries of the whole measurement, and what is looked at of it.
    dim: usize,
    selection: Option<Selection>,
    /// Who plays those that are ahead, and the same as bytes.
    mixture: Option<(Mixed, Vec<u8>)>,
    /// Seeds, sums and steps.
    ahead: VecDeque<(u64, Vec<f64>, usize)>,
}

impl SampledEpisodes {
    /// Episodes with measurements of so many entries.
    pub fn new(workers: Arc<dyn Workers>, dim: usize, selection: Option<Selection>) -> Self {
        Self { workers, dim, selection, mixture: None, ahead: VecDeque::new() }
    }

    /// Whether workers can play a mixture: policies of the calling program stay where they are.
    pub fn can_play(mixture: &Mixed) -> bool {
        mixture.parts().iter().all(|(_, policy)| !matches!(policy.as_ref(), AnyPolicy::External(_)))
    }

    /// The next episode of a mixture, of which `wanted` are asked for in a row at least: Σ γⁱ zᵢ and its steps. Its seed is
    /// the next number of `rng`.
    pub fn next(&mut self, mixture: &Mixed, wanted: usize, rng: &mut Generator) -> Result<(Vec<f64>, usize)> {
        let seed = rng.next_u64();
        let (_, policy) = match self.mixture.take() {
            Some(known) if is_same(&known.0, mixture) => self.mixture.insert(known),
            _ => {
                self.ahead.clear();
                self.mixture.insert((mixture.clone(), mixed(mixture)))
            }
        };
        if self.ahead.front().is_none_or(|(ahead, ..)| *ahead != seed) {
            // Seeds of what is ahead come from a copy: the generator is where it would be without workers.
            let mut copy = rng.clone();
            let rest = (1..wanted.max(self.workers.count())).map(|_| copy.next_u64());
            let seeds: Vec<u64> = std::iter::once(seed).chain(rest).collect();
            let task = |seed: &u64| Task { stream: None, bytes: Asked::Episode(*seed).write() };
            let tasks: Vec<Task> = seeds.iter().map(task).collect();
            let answers = self.workers.play(policy, &tasks)?;
            if answers.len() != tasks.len() {
                return Err(misfit("workers answered more or less than they were asked"));
            }
            self.ahead.clear();
            for (seed, answer) in seeds.into_iter().zip(answers) {
                let (sum, steps) = read_episode(&answer, self.dim)?;
                self.ahead.push_back((seed, sum, steps));
            }
        }
        let (_, sum, steps) = self.ahead.pop_front().ok_or_else(|| misfit("a worker played nothing"))?;
        Ok((self.selection.as_ref().map_or_else(|| sum.clone(), |selection| selection.apply(&sum)), steps))
    }
}

/// Whether two mixtures are of the very same policies.
fn is_same(one: &Mixed, other: &Mixed) -> bool {
    let mut pairs = one.parts().iter().zip(other.parts());
    one.parts().len() == other.parts().len() && pairs.all(|(a, b)| a.0 == b.0 && Arc::ptr_eq(&a.1, &b.1))
}
