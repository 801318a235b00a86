use std::sync::Arc;

use super::lagrangian::{LEARNER, inside, run, table};
use super::objective::one_measure;
use super::{Budget, Method, MethodEntry, Task};
use crate::error::{Error, Result};
use crate::options::{Key, Kind, Options, Range, Table, options};
use crate::oracle::{Learned, MakeOracle};
use crate::outcome::Outcome;
use crate::problem::Problem;
use crate::registry::with_options;
use crate::rl::actor_critic::A2cOptions;
use crate::set::{Cone, SharedSet};
use crate::solver::Pace;

options! {
    /// The options of [`Rcpo`].
    pub struct RcpoOptions {
        /// What every multiplier begins with.
        multiplier_init: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0.6";
        /// How far a multiplier moves for each unit of violation, every time.
        multiplier_lr: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0.01";
        /// The largest multiplier.
        multiplier_max: f64 = Kind::Number(Range::POSITIVE), defaulted "100";
    }
}

static KEYS: [Key; 2] = [
    LEARNER,
    Key::optional(
        Rcpo::NAME,
        Kind::Table(RcpoOptions::KEYS),
        "{ multiplier_lr = 0.01 }",
        "How multipliers follow violations.",
    ),
];

pub(super) static ENTRY: MethodEntry = MethodEntry {
    name: Rcpo::NAME,
    about: "reward-constrained policy optimisation: multipliers by gradient, for half-spaces",
    keys: &KEYS,
    read: |given, registry| {
        Ok(Arc::new(Rcpo {
            learner: inside(given, registry, &Rcpo::default().learner)?,
            options: with_options(given.get(Rcpo::NAME), RcpoOptions::KEYS, RcpoOptions::read)?,
        }))
    },
};

/// Reward-constrained policy optimisation (Tessler, Mankowitz and Mannor 2019): A2C learns for the reward objective − Σ yᵢcᵢ
/// while every multiplier moves, more slowly, by yᵢ ← min(max(yᵢ + η(Ĵᵢ − boundᵢ), 0), most).
///
/// The first multiplier and η are in the units of the problem, and have to be found for it.
#[derive(Debug, Clone)]
pub struct Rcpo {
    learner: Arc<dyn MakeOracle>,
    options: RcpoOptions,
}

impl Default for Rcpo {
    fn default() -> Self {
        Self { learner: Arc::new(Learned::by(A2cOptions::default())), options: RcpoOptions::default() }
    }
}

impl Rcpo {
    const NAME: &str = "rcpo";

    /// The same with another learner.
    pub fn learner(self, learner: Learned) -> Self {
        Self { learner: Arc::new(learner), ..self }
    }

    /// The same with other options.
    pub fn options(self, options: RcpoOptions) -> Self {
        Self { options, ..self }
    }
}

/// The sum of the normals of a set of half-spaces; `None` where it is none.
fn normals(set: &SharedSet) -> Option<Vec<f64>> {
    let conic = set.conic()?;
    let is_polyhedron = conic.cones.iter().all(|cone| matches!(cone, Cone::Nonnegative(_) | Cone::Zero(_)));
    if !is_polyhedron || conic.variables > conic.dim {
        return None;
    }
    let mut sum = vec![0.0; conic.dim];
    for (row, _) in &conic.rows {
        let length = row.iter().map(|(_, c)| c * c).sum::<f64>().sqrt();
        row.iter().for_each(|(i, c)| sum[*i] += c / length);
    }
    Some(sum)
}

impl Method for Rcpo {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn check(&self, problem: &Problem) -> Result<()> {
        let is_round = |set: &&SharedSet| normals(set).is_none();
        let target = problem.target();
        let blocks = target.set().blocks().unwrap_or(&[]);
        if let Some((constraint, _)) =
            target.constraints().iter().zip(blocks).find(|(_, block)| is_round(block))
        {
            return Err(Error::NoHalfSpaces { method: ENTRY.name, constraint: constraint.name.clone() });
        }
        one_measure(problem, ENTRY.name)?;
        self.learner.check(problem.env())
    }

    fn run(&self, problem: &Problem, task: Task) -> Result<Outcome> {
        let RcpoOptions { multiplier_init, multiplier_lr, multiplier_max } = self.options;
        let initial = normals(problem.target().set()).unwrap_or_default();
        let initial = initial.iter().map(|normal| multiplier_init * normal).collect();
        let pace = Pace::Gradient { rate: multiplier_lr, most: multiplier_max, initial };
        run(problem, task, self.learner.as_ref(), pace)
    }

    fn table(&self, problem: &Problem, _: &Budget) -> Result<Table> {
        Ok(table(ENTRY.name, problem, self.learner.as_ref(), Options::table(&self.options)))
    }

    fn rounds(&self) -> Option<usize> {
        None
    }

    fn is_learning(&self, _: &Problem) -> bool {
        true
    }
}
