use std::sync::Arc;

use super::objective::{about_constraints, conclude_objective, one_measure};
use super::{Budget, Method, MethodEntry, Task};
use crate::error::{Error, Result};
use crate::evaluate::{Judge, judged};
use crate::options::{Entry, Given, Key, Kind, Options, Range, Result as OptionResult, Table, options};
use crate::oracle::{AnyOracle, Learned, MakeOracle, OracleContext};
use crate::outcome::{Historian, Outcome};
use crate::problem::Problem;
use crate::random;
use crate::registry::{Registry, with_options};
use crate::rl::actor_critic::PpoOptions;
use crate::solver::{Deployed, LagrangianTarget, Pace, StopRule, lagrangian};

options! {
    /// The options of [`Lagrangian`].
    pub struct LagrangianOptions {
        /// How much is added to a multiplier while its constraint is violated.
        kp: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0";
        /// How far a multiplier moves over all samples while its constraint is violated; by default 10, or 5 for every 100,000 samples where that is more.
        ki: Option<f64> = Kind::Number(Range::FROM_ZERO), optional "10";
        /// How much is added while the violation grows.
        kd: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0";
    }
}

impl LagrangianOptions {
    /// Multipliers that would move over all of a long run come too late: a learner has long settled on what pays.
    fn integral_gain(&self, budget: &Budget) -> f64 {
        self.ki.unwrap_or((budget.samples as f64 / 20_000.0).max(10.0))
    }
}

/// The learner inside.
pub(super) const LEARNER: Key = Key::optional(
    "oracle",
    Kind::Name,
    "\"ppo\"",
    "The learner inside: by default ppo for lagrangian and a2c for rcpo.",
);

static KEYS: [Key; 2] = [
    LEARNER,
    Key::optional(
        Lagrangian::NAME,
        Kind::Table(LagrangianOptions::KEYS),
        "{ ki = 10 }",
        "How multipliers follow violations.",
    ),
];

pub(super) static ENTRY: MethodEntry = MethodEntry {
    name: Lagrangian::NAME,
    about: "one learner whose reward has multipliers that follow violations by PID: PPO-Lagrangian, for any set",
    keys: &KEYS,
    read: |given, registry| {
        Ok(Arc::new(Lagrangian {
            learner: inside(given, registry, &Lagrangian::default().learner)?,
            options: with_options(
                given.get(Lagrangian::NAME),
                LagrangianOptions::KEYS,
                LagrangianOptions::read,
            )?,
        }))
    },
};

/// Lagrangian learning (PPO-Lagrangian, with the PID of Stooke, Achiam and Abbeel 2020): one learner, PPO by default, for
/// the reward objective − y·z, whose multipliers y rise while a constraint is violated and fall while it is not.
///
/// Gains have no units, and any convex set has multipliers: they are the normals that lead out of it. Nothing is proved on
/// the way; fresh episodes of the policy that it ends with decide.
///
/// ```
/// use appropo::{constraint::Constraint, env::EnvSpec, env::cart_pole::CartPole};
/// use appropo::{method::{Budget, Lagrangian}, problem::Problem};
///
/// # fn main() -> appropo::error::Result<()> {
/// let problem = Problem::builder(EnvSpec::playable(CartPole::new))
///     .discount(1.0)
///     .horizon(100)
///     .constraint(Constraint::at_least("steps", 25.0)?)
///     .build()?;
/// let found = problem.solve(&Lagrangian::default(), &Budget::samples(50_000), 0, &mut ())?;
/// println!("{}", found.sentence());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Lagrangian {
    learner: Arc<dyn MakeOracle>,
    options: LagrangianOptions,
}

impl Default for Lagrangian {
    fn default() -> Self {
        Self { learner: Arc::new(Learned::by(PpoOptions::default())), options: LagrangianOptions::default() }
    }
}

impl Lagrangian {
    const NAME: &str = "lagrangian";

    /// The same with another learner.
    pub fn learner(self, learner: Learned) -> Self {
        Self { learner: Arc::new(learner), ..self }
    }

    /// The same with other options.
    pub fn options(self, options: LagrangianOptions) -> Self {
        Self { options, ..self }
    }
}

/// The learner that a problem names, or else this one with the options that the problem has for it.
pub(super) fn inside(
    given: &Given,
    registry: &Registry,
    by_default: &Arc<dyn MakeOracle>,
) -> OptionResult<Arc<dyn MakeOracle>> {
    if let Some(entry) = given.get("player") {
        return Err(entry.error("a Lagrangian method has multipliers and no player; leave this key out"));
    }
    let table = |name: &str| given.get(name);
    let named = by_default.name().into();
    let entry = given.get("oracle").unwrap_or_else(|| Entry::alone("oracle", &named));
    let oracle = registry.oracle(&entry, table)?;
    if oracle.is_following() {
        return Ok(oracle);
    }
    let learners: Vec<&str> = registry.learners().iter().map(|learner| learner.name).collect();
    Err(entry.error(format!(
        "\"{}\" is no learner that goes on while its reward changes; use one of {}",
        oracle.name(),
        learners.join(", ")
    )))
}

/// Solves a problem by a learner and multipliers.
pub(super) fn run(problem: &Problem, task: Task, learner: &dyn MakeOracle, pace: Pace) -> Result<Outcome> {
    run_deploying(problem, task, learner, pace, Deployed::Players)
}

/// The same for what is to be deployed.
pub(super) fn run_deploying(
    problem: &Problem,
    task: Task,
    learner: &dyn MakeOracle,
    pace: Pace,
    deployed: Deployed,
) -> Result<Outcome> {
    let Task { budget, seed, from, observer } = task;
    let (state, history) = from.map_or((None, Default::default()), |from| (Some(from.state), from.history));
    let mut rng = random::generator(seed);
    let mut historian = Historian::new(problem, history, observer);
    let mut judge = Judge::new(problem, budget, &mut rng, &mut historian).asked();
    let augmented = match deployed {
        Deployed::OneOrAll(share) => Some(share),
        Deployed::Players | Deployed::One => None,
    };
    let constraints = Arc::clone(problem.target().set());
    let (set, selection) = judged(problem)?;
    let made = learner.make(OracleContext {
        env: problem.env(),
        selection: &selection,
        set: &set,
        discounting: *problem.discounting(),
        samples: budget.samples,
        aim: None,
        augmented,
        stop: budget.stop.clone(),
        sampling: problem.sampling(budget)?,
        rng: &mut rng,
    })?;
    let AnyOracle::Responding(mut oracle) = made else {
        return Err(Error::Unsuitable {
            learner: "lagrangian",
            needs: "a learner that goes on while its reward changes",
            instead: "\"ppo\" as the oracle",
        });
    };
    let rule = StopRule {
        rounds: budget.rounds.unwrap_or(usize::MAX),
        tolerance: budget.tolerance,
        samples: budget.samples,
        ..StopRule::default()
    };
    let target = LagrangianTarget { set, constraints, deployed };
    let solution = lagrangian(&target, pace, &mut *oracle, &rule, &mut judge, state.as_deref())?;
    let solution = about_constraints(solution, target.constraints.dim());
    let mut outcome = judge.conclude(solution, false)?;
    (outcome.history, outcome.seed) = (historian.finish(), seed);
    conclude_objective(problem, &mut outcome, None, 1.0)?;
    Ok(outcome)
}

/// What a problem file says of a method with a learner inside.
pub(super) fn table(
    name: &'static str,
    problem: &Problem,
    learner: &dyn MakeOracle,
    options: Table,
) -> Table {
    let mut table = Table::new([("method", name), ("oracle", learner.name())]);
    for (name, options) in learner.tables(problem.env()).into_iter().chain([(name.into(), options)]) {
        table.set(name, options);
    }
    table
}

impl Method for Lagrangian {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn check(&self, problem: &Problem) -> Result<()> {
        one_measure(problem, ENTRY.name)?;
        self.learner.check(problem.env())
    }

    fn run(&self, problem: &Problem, task: Task) -> Result<Outcome> {
        let LagrangianOptions { kp, kd, .. } = self.options;
        let ki = self.options.integral_gain(task.budget);
        run(problem, task, self.learner.as_ref(), Pace::Pid { kp, ki, kd })
    }

    fn table(&self, problem: &Problem, budget: &Budget) -> Result<Table> {
        let options =
            LagrangianOptions { ki: Some(self.options.integral_gain(budget)), ..self.options.clone() };
        Ok(table(ENTRY.name, problem, self.learner.as_ref(), Options::table(&options)))
    }

    fn rounds(&self) -> Option<usize> {
        None
    }

    fn is_learning(&self, _: &Problem) -> bool {
        true
    }
}
