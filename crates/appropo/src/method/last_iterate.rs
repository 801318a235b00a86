use std::sync::Arc;

use super::lagrangian::{inside, run_deploying};
use super::objective::{about_constraints, conclude_objective, one_measure, plannable};
use super::{Budget, Method, MethodEntry, Task};
use crate::error::Result;
use crate::evaluate::{Judge, judged};
use crate::options::{Key, Kind, Options, Range, Table, options};
use crate::oracle::{ExactOptions, Learned, MakeOracle, PolicyAscent};
use crate::outcome::{Historian, Outcome};
use crate::problem::Problem;
use crate::random;
use crate::registry::with_options;
use crate::rl::actor_critic::PpoOptions;
use crate::solver::{Deployed, LagrangianTarget, LastIterateSteps, Pace, StopRule, last_iterate};

options! {
    /// The options of [`LastIterate`]. The first three are for a known model, the others for learning.
    pub struct LastIterateOptions {
        /// η of the policy's natural gradients, in units of how far policies can be apart.
        eta: f64 = Kind::Number(Range::POSITIVE), defaulted "30";
        /// η of the multipliers, in the same units.
        multiplier_lr: f64 = Kind::Number(Range::POSITIVE), defaulted "1";
        /// Whether steps also go by what changed since the time before; without, the last iterate turns in circles.
        optimistic: bool = Kind::Flag, defaulted "true";
        /// How much is added to a multiplier while its constraint is violated: it damps what turns in circles.
        kp: f64 = Kind::Number(Range::FROM_ZERO), defaulted "1";
        /// How far a multiplier moves over all samples while its constraint is violated.
        ki: f64 = Kind::Number(Range::FROM_ZERO), defaulted "10";
    }
}

static KEYS: [Key; 2] = [
    Key::optional(
        "oracle",
        Kind::Name,
        "\"ppo\"",
        "exact, or the learner inside; by default exact where the model is known, else ppo.",
    ),
    Key::optional(
        LastIterate::NAME,
        Kind::Table(LastIterateOptions::KEYS),
        "{ multiplier_lr = 1 }",
        "How the policy and its multipliers move.",
    ),
];

pub(super) static ENTRY: MethodEntry = MethodEntry {
    name: LastIterate::NAME,
    about: "one policy and no mixture: optimistic gradients whose last iterate converges, for any set",
    keys: &KEYS,
    read: |given, registry| {
        let options =
            with_options(given.get(LastIterate::NAME), LastIterateOptions::KEYS, LastIterateOptions::read)?;
        let by_default = LastIterate::default();
        let is_exact = match given.get("oracle") {
            Some(entry) if entry.text()? == EXACT => Some(true),
            Some(_) => Some(false),
            None => None,
        };
        let learner = match is_exact {
            Some(true) => by_default.learner,
            _ => inside(given, registry, &by_default.learner)?,
        };
        Ok(Arc::new(LastIterate { is_exact, learner, options }))
    },
};

const EXACT: &str = "exact";

/// One policy whose last iterate converges, for users who can't deploy a mixture.
///
/// Where the model is known: optimistic natural policy gradients and multipliers at the same time (after Ding, Wei, Zhang
/// and Ribeiro 2023), every policy evaluated exactly. It ends with one table, the proof that it holds the constraints, and
/// the bound that its multipliers give; or with the proof that nothing holds them.
///
/// Elsewhere a learner, PPO by default, with multipliers that PID damps; the answer is the best single network of which
/// fresh episodes confirm that it holds the constraints.
///
/// ```
/// use appropo::{constraint::Constraint, env::mars_rover, method::{Budget, LastIterate}, problem::Problem};
///
/// # fn main() -> appropo::error::Result<()> {
/// let problem = Problem::builder(mars_rover::world("4x4", 0.05)?)
///     .discount(0.99)
///     .constraint(Constraint::at_most("failure", 0.1)?)
///     .maximize("reward")
///     .build()?;
/// let found = problem.solve(&LastIterate::default(), &Budget::default(), 0, &mut ())?;
/// assert_eq!(found.mixture.parts().len(), 1);
/// println!("{}", found.sentence());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct LastIterate {
    /// `None`: where the model is known.
    is_exact: Option<bool>,
    learner: Arc<dyn MakeOracle>,
    options: LastIterateOptions,
}

impl Default for LastIterate {
    fn default() -> Self {
        let learner = Arc::new(Learned::by(PpoOptions::default()));
        Self { is_exact: None, learner, options: LastIterateOptions::default() }
    }
}

/// Iterations in a known model, unless the budget says otherwise.
const ITERATIONS: usize = 100_000;

impl LastIterate {
    const NAME: &str = "last-iterate";

    /// The same with a learner, also where the model is known.
    pub fn learner(self, learner: Learned) -> Self {
        Self { learner: Arc::new(learner), is_exact: Some(false), ..self }
    }

    /// The same with other options.
    pub fn options(self, options: LastIterateOptions) -> Self {
        Self { options, ..self }
    }

    fn is_exact(&self, problem: &Problem) -> bool {
        self.is_exact.unwrap_or(problem.model().is_some())
    }

    fn plan(&self, problem: &Problem, task: Task) -> Result<Outcome> {
        let Task { budget, seed, from, observer } = task;
        let (state, history) =
            from.map_or((None, Default::default()), |from| (Some(from.state), from.history));
        let (set, selection) = judged(problem)?;
        let constraints = Arc::clone(problem.target().set());
        let dim = constraints.dim();
        let mut ascent = PolicyAscent::new(plannable(problem)?.select(&selection), *problem.discounting())?;
        let LastIterateOptions { eta, multiplier_lr, optimistic, .. } = self.options;
        let steps = LastIterateSteps { policy: eta, multipliers: multiplier_lr, is_optimistic: optimistic };
        let rule = StopRule {
            rounds: budget.rounds.unwrap_or(ITERATIONS),
            tolerance: budget.tolerance,
            ..StopRule::default()
        };
        let target = LagrangianTarget { set, constraints, deployed: Deployed::One };
        let mut historian = Historian::new(problem, history, observer);
        let mut judge = Judge::new(problem, budget, &mut random::generator(seed), &mut historian);
        let (solution, ceiling) =
            last_iterate(&target, steps, &mut ascent, &rule, &mut judge, state.as_deref())?;
        let mut outcome = judge.conclude(about_constraints(solution, dim), true)?;
        (outcome.history, outcome.seed) = (historian.finish(), seed);
        conclude_objective(problem, &mut outcome, ceiling, 1.0)?;
        Ok(outcome)
    }
}

impl Method for LastIterate {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn check(&self, problem: &Problem) -> Result<()> {
        one_measure(problem, ENTRY.name)?;
        if self.is_exact(problem) {
            ExactOptions::default().check(problem.env())
        } else {
            self.learner.check(problem.env())
        }
    }

    fn run(&self, problem: &Problem, task: Task) -> Result<Outcome> {
        if self.is_exact(problem) {
            return self.plan(problem, task);
        }
        let LastIterateOptions { kp, ki, .. } = self.options;
        run_deploying(problem, task, self.learner.as_ref(), Pace::Pid { kp, ki, kd: 0.0 }, Deployed::One)
    }

    fn table(&self, problem: &Problem, _: &Budget) -> Result<Table> {
        let is_exact = self.is_exact(problem);
        let oracle = if is_exact { EXACT } else { self.learner.name() };
        let mut table = Table::new([("method", ENTRY.name), ("oracle", oracle)]);
        let inside = if is_exact { Vec::new() } else { self.learner.tables(problem.env()) };
        for (name, options) in inside.into_iter().chain([(ENTRY.name.into(), Options::table(&self.options))])
        {
            table.set(name, options);
        }
        Ok(table)
    }

    fn rounds(&self) -> Option<usize> {
        Some(ITERATIONS)
    }

    fn is_learning(&self, problem: &Problem) -> bool {
        !self.is_exact(problem)
    }
}
