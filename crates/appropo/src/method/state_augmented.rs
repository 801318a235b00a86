use std::sync::Arc;

use super::lagrangian::{inside, run_deploying, table};
use super::objective::one_measure;
use super::{Budget, Method, MethodEntry, Task};
use crate::error::{Error, Result};
use crate::options::{Key, Kind, Options, Range, Table, options};
use crate::oracle::{Learned, MakeOracle};
use crate::outcome::Outcome;
use crate::problem::Problem;
use crate::registry::with_options;
use crate::rl::actor_critic::PpoOptions;
use crate::solver::{Deployed, Pace};

options! {
    /// The options of [`StateAugmented`].
    pub struct StateAugmentedOptions {
        /// The share of the samples that the network learns from; during the others it stays, and only multipliers move.
        learning: f64 = Kind::Number(Range::BELOW_ONE), defaulted "0.85";
        /// How much is added to a multiplier while its constraint is violated.
        kp: f64 = Kind::Number(Range::FROM_ZERO), defaulted "2";
        /// How far a multiplier moves over all samples while its constraint is violated.
        ki: f64 = Kind::Number(Range::FROM_ZERO), defaulted "10";
    }
}

static KEYS: [Key; 2] = [
    Key::optional("oracle", Kind::Name, "\"ppo\"", "The learner inside: ppo or a2c."),
    Key::optional(
        StateAugmented::NAME,
        Kind::Table(StateAugmentedOptions::KEYS),
        "{ learning = 0.85 }",
        "How long the network learns, and how multipliers move.",
    ),
];

pub(super) static ENTRY: MethodEntry = MethodEntry {
    name: StateAugmented::NAME,
    about: "one network that sees its multipliers, which go on moving once it has learnt; for any set",
    keys: &KEYS,
    read: |given, registry| {
        let learner = inside(given, registry, &StateAugmented::default().learner)?;
        if let Some(entry) = given.get("oracle").filter(|_| !is_actor_critic(learner.as_ref())) {
            return Err(entry
                .error(format!("\"{}\" can't see its multipliers; use \"ppo\" or \"a2c\"", learner.name())));
        }
        let options = with_options(
            given.get(StateAugmented::NAME),
            StateAugmentedOptions::KEYS,
            StateAugmentedOptions::read,
        )?;
        Ok(Arc::new(StateAugmented { learner, options }))
    },
};

fn is_actor_critic(learner: &dyn MakeOracle) -> bool {
    ["ppo", "a2c"].contains(&learner.name())
}

/// State-augmented Lagrangian learning (Calvo-Fullana, Paternain, Chamon and Ribeiro 2021): one network π(a | s, λ) that sees
/// the multipliers λ and is learnt for many of them, those that the dual dynamics visits among them. Then the network
/// stays, and λ alone goes on moving by what is measured, so that what is measured holds the constraints on average.
///
/// With λ fixed, the network is a plain one. The answer is the network at the one λ that is best among those of which fresh
/// episodes confirm that it holds the constraints; where none does, at those that the dynamics visited, in turn.
///
/// ```
/// use appropo::{constraint::Constraint, env::EnvSpec, env::cart_pole::CartPole};
/// use appropo::{method::{Budget, StateAugmented}, problem::Problem};
///
/// # fn main() -> appropo::error::Result<()> {
/// let problem = Problem::builder(EnvSpec::playable(CartPole::new))
///     .discount(0.99)
///     .horizon(50)
///     .constraint(Constraint::at_most("drift", 2.0)?)
///     .maximize("steps")
///     .build()?;
/// let found = problem.solve(&StateAugmented::default(), &Budget::samples(20_000), 0, &mut ())?;
/// println!("{}", found.sentence());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct StateAugmented {
    learner: Arc<dyn MakeOracle>,
    options: StateAugmentedOptions,
}

impl Default for StateAugmented {
    fn default() -> Self {
        let learner = Arc::new(Learned::by(PpoOptions::default()));
        Self { learner, options: StateAugmentedOptions::default() }
    }
}

impl StateAugmented {
    const NAME: &str = "state-augmented";

    /// The same with another learner.
    pub fn learner(self, learner: Learned) -> Self {
        Self { learner: Arc::new(learner), ..self }
    }

    /// The same with other options.
    pub fn options(self, options: StateAugmentedOptions) -> Self {
        Self { options, ..self }
    }
}

impl Method for StateAugmented {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn check(&self, problem: &Problem) -> Result<()> {
        one_measure(problem, ENTRY.name)?;
        if !is_actor_critic(self.learner.as_ref()) {
            return Err(Error::Unsuitable {
                learner: StateAugmented::NAME,
                needs: "a learner whose network can see the multipliers",
                instead: "\"ppo\" or \"a2c\" as the oracle",
            });
        }
        self.learner.check(problem.env())
    }

    fn run(&self, problem: &Problem, task: Task) -> Result<Outcome> {
        let StateAugmentedOptions { learning, kp, ki } = self.options;
        let (pace, deployed) = (Pace::Pid { kp, ki, kd: 0.0 }, Deployed::OneOrAll(learning));
        run_deploying(problem, task, self.learner.as_ref(), pace, deployed)
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
