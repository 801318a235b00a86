//! Playing elsewhere: in other processes, on other machines, or in several copies of a world here.
//!
//! A learner plays in a fixed number of streams of episodes, each with generators of its own, under a policy that does not
//! change within a batch. Who plays a stream changes nothing of what is played, so any number of workers gives the same
//! batch; a worker that is lost is replaced by one that does the episode under way again.

mod host;
mod message;
mod sampled;
mod streams;

use std::fmt;
use std::sync::Arc;

pub use host::{Here, Host, MakeWorld};
pub(in crate::rl) use message::Acting;
pub(crate) use sampled::SampledEpisodes;
pub(crate) use streams::Streams;

use crate::env::{Environment, StopSignal};
use crate::error::{Error, Result, in_range};
use crate::measurement::Selection;

/// Who failed, as [`Error::External`] says it: another cluster may do what one that is gone has not.
pub const WORKER: &str = "a worker";

/// What a worker is to do.
#[derive(Debug, Clone)]
pub struct Task {
    /// The stream that is gone on with: whoever played it last is there already.
    pub stream: Option<usize>,
    /// What [`Host::play`] reads.
    pub bytes: Vec<u8>,
}

/// Those who play. Each of them is, or has, a [`Host`].
pub trait Workers: Send + Sync {
    /// How many there are. It says how much to ask for at once, and changes no result.
    fn count(&self) -> usize;

    /// Shows `policy` to [`Host::load`] and every task to [`Host::play`] of some worker that has loaded it. Answers come in
    /// the order of the tasks. A task that fails may be given to another worker: it gives the same answer.
    fn play(&self, policy: &[u8], tasks: &[Task]) -> Result<Vec<Vec<u8>>>;
}

impl fmt::Debug for dyn Workers {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Workers").field("count", &self.count()).finish_non_exhaustive()
    }
}

/// Workers who are asked for nothing more once there is a signal to stop.
pub(crate) struct Stoppable {
    pub workers: Arc<dyn Workers>,
    pub stop: StopSignal,
}

impl Workers for Stoppable {
    fn count(&self) -> usize {
        self.workers.count()
    }

    fn play(&self, policy: &[u8], tasks: &[Task]) -> Result<Vec<Vec<u8>>> {
        if (self.stop)() { Err(Error::Interrupted) } else { self.workers.play(policy, tasks) }
    }
}

/// The streams that learners play in, and who plays them.
#[derive(Debug, Clone)]
pub struct Sampling {
    /// The number of streams.
    pub num_envs: usize,
    /// Who plays them.
    pub workers: Arc<dyn Workers>,
}

/// The most streams that a learner plays in.
pub const MOST_ENVS: usize = 100_000;

impl Sampling {
    /// So many streams, which these workers play.
    pub fn new(num_envs: usize, workers: Arc<dyn Workers>) -> Result<Self> {
        let expected = "between 1 and 100,000";
        in_range("num_envs", num_envs as f64, (1..=MOST_ENVS).contains(&num_envs), expected)?;
        Ok(Self { num_envs, workers })
    }

    /// The streams of a learner, and the environments in which it sees what was played there.
    pub(crate) fn streams(&self, like: &dyn Environment) -> (Streams, Vec<Box<dyn Environment>>) {
        Streams::new(self, like)
    }

    /// Whole episodes with measurements of `dim` entries, of which a selection is looked at.
    pub(crate) fn episodes(&self, dim: usize, selection: Selection) -> SampledEpisodes {
        SampledEpisodes::new(Arc::clone(&self.workers), dim, Some(selection))
    }
}
