use std::sync::Arc;

use super::lagrangian::run;
use super::objective::one_measure;
use super::{Budget, Method, MethodEntry, Task};
use crate::error::Result;
use crate::options::{Key, Kind, Options, Table};
use crate::oracle::{Learned, LearnedOptions, WithinSet};
use crate::outcome::Outcome;
use crate::problem::Problem;
use crate::registry::with_options;
use crate::rl::actor_critic::{TrustRegion, TrustRegionOptions};
use crate::solver::Pace;

static KEYS: [Key; 1] = [Key::optional(
    Cpo::NAME,
    Kind::Table(TrustRegionOptions::KEYS),
    "{ target_kl = 0.01 }",
    "Steps within a trust region.",
)];

pub(super) static ENTRY: MethodEntry = MethodEntry {
    name: Cpo::NAME,
    about: "constrained policy optimisation: every step keeps the constraints as far as is expected, for any set",
    keys: &KEYS,
    read: |given, _| {
        let options = with_options(given.get(Cpo::NAME), TrustRegionOptions::KEYS, TrustRegionOptions::read)?;
        Ok(Arc::new(Cpo { options }))
    },
};

/// Constrained policy optimisation (Achiam et al. 2017): from a policy within the constraints, steps that are expected to
/// stay there and to measure more of the objective; from one outside, steps straight back. A step is as long as a trust
/// region allows.
///
/// What each step does to every measurement is predicted by advantages, so any convex set can be kept, not half-spaces only.
///
/// ```
/// use appropo::{constraint::Constraint, env::EnvSpec, env::cart_pole::CartPole};
/// use appropo::{method::{Budget, Cpo}, problem::Problem};
///
/// # fn main() -> appropo::error::Result<()> {
/// let problem = Problem::builder(EnvSpec::playable(CartPole::new))
///     .discount(1.0)
///     .horizon(100)
///     .constraint(Constraint::at_least("steps", 25.0)?)
///     .build()?;
/// let found = problem.solve(&Cpo::default(), &Budget::samples(50_000), 0, &mut ())?;
/// println!("{}", found.sentence());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Cpo {
    options: TrustRegionOptions,
}

impl Cpo {
    const NAME: &str = "cpo";

    /// The same with other options.
    pub fn options(self, options: TrustRegionOptions) -> Self {
        Self { options }
    }

    fn learner(&self, problem: &Problem) -> Result<Learned> {
        let is_leaning = problem.objective().is_some();
        let aim = Arc::new(WithinSet::new(Arc::clone(problem.target().set()), is_leaning)?);
        let learner = TrustRegion { options: self.options.clone(), aim, is_leaning };
        Ok(Learned { learner: Arc::new(learner), options: LearnedOptions::default() })
    }
}

impl Method for Cpo {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn check(&self, problem: &Problem) -> Result<()> {
        one_measure(problem, ENTRY.name)?;
        self.learner(problem).map(drop)
    }

    fn run(&self, problem: &Problem, task: Task) -> Result<Outcome> {
        run(problem, task, &self.learner(problem)?, Pace::Still)
    }

    fn table(&self, problem: &Problem, _: &Budget) -> Result<Table> {
        let mut table = Table::new([("method", ENTRY.name)]);
        let learner = self.learner(problem)?;
        table.set(ENTRY.name, learner.learner.table(problem.env()));
        Ok(table)
    }

    fn rounds(&self) -> Option<usize> {
        None
    }

    fn is_learning(&self, _: &Problem) -> bool {
        true
    }
}
