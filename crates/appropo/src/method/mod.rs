//! Methods: ways to solve a problem. Each takes a [`Problem`] to an [`Outcome`].

mod apprenticeship;
mod appropo;
mod batch;
mod cpo;
mod distil;
mod lagrangian;
mod last_iterate;
mod maxent;
mod objective;
mod occupancy;
mod rcpo;
mod state_augmented;

pub use apprenticeship::{Apprenticeship, ApprenticeshipAlgorithm, ApprenticeshipOptions};
pub use appropo::{Appropo, AppropoOptions, ObjectiveSearch};
pub use batch::{Batch, BatchOptions, FunctionClass};
pub use cpo::Cpo;
pub use distil::{Distil, DistilOptions, DistilledPolicy};
pub use lagrangian::{Lagrangian, LagrangianOptions};
pub use last_iterate::{LastIterate, LastIterateOptions};
pub use maxent::Maxent;
pub use occupancy::Occupancy;
pub use rcpo::{Rcpo, RcpoOptions};
pub use state_augmented::{StateAugmented, StateAugmentedOptions};

use std::fmt;
use std::num::NonZero;
use std::sync::Arc;

use crate::env::StopSignal;
use crate::error::{Result, in_range};
use crate::off_policy::OffPolicyEstimate;
use crate::options::{Given, Registered, Result as OptionResult, Table};
use crate::outcome::{History, Outcome};
use crate::policy::Mixed;
use crate::problem::Problem;
use crate::registry::Registry;
use crate::rl::workers::Workers;
use crate::solver::Observer;

/// A way to solve problems.
pub trait Method: fmt::Debug + Send + Sync {
    /// Its registered name.
    fn name(&self) -> &str;

    /// Whether it can solve the problem; the error says what to use instead.
    fn check(&self, problem: &Problem) -> Result<()>;

    /// Solves the problem.
    fn run(&self, problem: &Problem, task: Task) -> Result<Outcome>;

    /// Every option as it is in force for the problem, and tables of options by the names of players, oracles and
    /// learners: what a problem file says of how to solve.
    fn table(&self, problem: &Problem, budget: &Budget) -> Result<Table>;

    /// The most rounds it plays unless the budget says otherwise; `None` where it plays none.
    fn rounds(&self) -> Option<usize>;

    /// Whether policies come from playing rather than from planning.
    fn is_learning(&self, problem: &Problem) -> bool;

    /// Whether it plans for measures that are long-run averages.
    fn takes_averages(&self, _: &Problem) -> bool {
        false
    }

    /// Whether it needs a world, to play or to plan in, and logs alone are not enough.
    fn is_playing(&self) -> bool {
        true
    }

    /// What logs say of a mixture that it found with this seed, computed again; `None` where it learns from none.
    fn off_policy(&self, _: &Problem, _: &Mixed, _seed: u64) -> Result<Option<OffPolicyEstimate>> {
        Ok(None)
    }
}

/// How much a solve may take, and what counts as solved.
#[derive(Clone)]
#[non_exhaustive]
pub struct Budget {
    /// Steps in the environment after which learning stops; estimating the last answer takes some more.
    pub samples: u64,
    /// Steps in the environment after which fresh episodes of the result decide no more, though there are 200 in any case;
    /// `None` for a quarter of `samples`, whether or not learning took all of them.
    pub evaluation_samples: Option<u64>,
    /// The most rounds to play; `None` for what the method plays by default.
    pub rounds: Option<usize>,
    /// Distances up to this count as 0.
    pub tolerance: f64,
    /// Says whether to stop at once.
    pub stop: Option<StopSignal>,
    /// Streams of episodes that learners of batches play in; `None` for the environments of the problem, step by step.
    pub num_envs: Option<usize>,
    /// Who plays those streams and fresh episodes; `None` for this process. They change nothing of the result.
    pub workers: Option<Arc<dyn Workers>>,
    /// Threads that fresh episodes are played on, 1 or more. They change nothing else.
    pub threads: usize,
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { samples, evaluation_samples, rounds, tolerance, threads, .. } = self;
        f.debug_struct("Budget")
            .field("samples", samples)
            .field("evaluation_samples", evaluation_samples)
            .field("rounds", rounds)
            .field("tolerance", tolerance)
            .field("threads", threads)
            .finish_non_exhaustive()
    }
}

impl Default for Budget {
    /// 100,000 samples and a quarter of them for evaluation, any rounds, 1e-6, a thread for each processor.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self {
            samples: 100_000,
            evaluation_samples: None,
            rounds: None,
            tolerance: 1e-6,
            stop: None,
            num_envs: None,
            workers: None,
            threads,
        }
    }
}

impl Budget {
    /// So many steps in the environment.
    pub fn samples(samples: u64) -> Self {
        Self { samples, ..Self::default() }
    }

    /// The same with so many steps for fresh episodes of the result.
    pub fn evaluated_by(self, samples: impl Into<Option<u64>>) -> Self {
        Self { evaluation_samples: samples.into(), ..self }
    }

    /// Steps after which fresh episodes of the result decide no more.
    pub fn evaluation_samples(&self) -> u64 {
        self.evaluation_samples.unwrap_or(self.samples.div_ceil(4))
    }

    /// The same with fresh episodes on so many threads.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// The same with learners that play in so many streams.
    pub fn num_envs(self, num_envs: impl Into<Option<usize>>) -> Self {
        Self { num_envs: num_envs.into(), ..self }
    }

    /// The same with these workers.
    pub fn on(self, workers: Arc<dyn Workers>) -> Self {
        Self { workers: Some(workers), ..self }
    }

    /// The same with a most of rounds.
    pub fn rounds(self, rounds: impl Into<Option<usize>>) -> Self {
        Self { rounds: rounds.into(), ..self }
    }

    /// The same with another tolerance.
    pub fn tolerance(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// The same, ending as soon as `stop` says so.
    pub fn until(self, stop: StopSignal) -> Self {
        Self { stop: Some(stop), ..self }
    }

    pub(crate) fn check(&self) -> Result<()> {
        in_range("samples", self.samples as f64, self.samples > 0, "1 or more")?;
        let evaluation = self.evaluation_samples();
        in_range("evaluation_samples", evaluation as f64, evaluation > 0, "1 or more")?;
        in_range("threads", self.threads as f64, self.threads > 0, "1 or more")?;
        let rounds = self.rounds.unwrap_or(1);
        in_range("rounds", rounds as f64, rounds > 0, "1 or more")?;
        in_range("tolerance", self.tolerance, self.tolerance > 0.0, "more than 0")
    }
}

/// One solve.
#[derive(Debug)]
pub struct Task<'a> {
    /// What it may take.
    pub budget: &'a Budget,
    /// Where every random draw comes from.
    pub seed: u64,
    /// Where it goes on from, unless it begins.
    pub from: Option<Resume>,
    /// Watches it.
    pub observer: &'a mut dyn Observer,
}

/// Where a solve goes on from.
#[derive(Debug, Clone, Default)]
pub struct Resume {
    /// What [`Round::state`](crate::solver::Round::state) gave.
    pub state: Vec<u8>,
    /// The rounds up to then.
    pub history: History,
}

/// A kind of method that problems can name.
/// It reads the tables of whatever its options name, too.
pub type MethodEntry = Registered<fn(&Given, &Registry) -> OptionResult<Arc<dyn Method>>>;

/// The methods that problems can name, in the order in which they are listed.
pub(crate) static ENTRIES: [&MethodEntry; 11] = [
    &appropo::ENTRY,
    &occupancy::ENTRY,
    &apprenticeship::ENTRY,
    &lagrangian::ENTRY,
    &rcpo::ENTRY,
    &cpo::ENTRY,
    &last_iterate::ENTRY,
    &state_augmented::ENTRY,
    &maxent::ENTRY,
    &batch::ENTRY,
    &distil::ENTRY,
];
