use std::sync::Arc;

use super::appropo::{Appropo, ORACLE};
use super::{Budget, Method, MethodEntry, Task};
use crate::error::{Error, Result};
use crate::options::{Key, Options, Table};
use crate::oracle::MakeOracle;
use crate::outcome::Outcome;
use crate::player::{FrankWolfeOptions, MakePlayer};
use crate::problem::Problem;
use crate::registry::with_options;

static KEYS: [Key; 1] = [ORACLE];

pub(super) static ENTRY: MethodEntry = MethodEntry {
    name: "maxent",
    about: "maximum-entropy exploration: an entropy, or any concave objective, without constraints",
    keys: &KEYS,
    read: |given, registry| {
        if let Some(entry) = given.get("player") {
            return Err(entry.error("maxent's player is \"frank-wolfe\"; leave this key out"));
        }
        let player = FrankWolfeOptions::default();
        let player =
            with_options(given.get(player.name()), FrankWolfeOptions::KEYS, FrankWolfeOptions::read)?;
        Ok(Arc::new(Maxent { game: Appropo::read_oracle(given, registry)?.player(player) }))
    },
};

/// Maximum-entropy exploration (Hazan et al. 2019), for any concave objective: the conditional-gradient method, whose steps
/// are answers of an oracle to the objective's gradient. It takes no constraints; [`Appropo`] does, and needs fewer answers.
///
/// ```
/// use appropo::{env::mars_rover, method::{Budget, Maxent}, problem::Problem, utility::Utility};
///
/// # fn main() -> appropo::error::Result<()> {
/// let problem = Problem::builder(mars_rover::world("4x4", 0.05)?)
///     .discount(0.99)
///     .maximize(Utility::entropy("visits").per_step())
///     .build()?;
/// let found = problem.solve(&Maxent::default(), &Budget::default().rounds(200), 0, &mut ())?;
/// println!("{}", found.objective.expect("it has an objective").sentence());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Maxent {
    game: Appropo,
}

impl Default for Maxent {
    fn default() -> Self {
        Self { game: Appropo::default().player(FrankWolfeOptions::default()) }
    }
}

impl Maxent {
    /// The same with another oracle.
    pub fn oracle(self, oracle: impl MakeOracle + 'static) -> Self {
        Self { game: self.game.oracle(oracle) }
    }

    /// The same with other steps.
    pub fn options(self, options: FrankWolfeOptions) -> Self {
        Self { game: self.game.player(options) }
    }
}

impl Method for Maxent {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn check(&self, problem: &Problem) -> Result<()> {
        if problem.objective().is_none() {
            return Err(Error::Objective(
                "maxent maximises an objective, and the problem has none; write maximize = { entropy = \"visits\", share = true }"
                    .into(),
            ));
        }
        if let Some(constraint) = problem.target().constraints().first() {
            return Err(Error::Objective(format!(
                "maxent takes no constraints; found \"{}\"; the methods \"appropo\" and \"occupancy\" take both",
                constraint.name
            )));
        }
        self.game.check(problem)
    }

    fn run(&self, problem: &Problem, task: Task) -> Result<Outcome> {
        self.game.run(problem, task)
    }

    fn table(&self, problem: &Problem, budget: &Budget) -> Result<Table> {
        let mut table = self.game.table(problem, budget)?;
        ["player", "goal", "search"].iter().for_each(|key| drop(table.remove(key)));
        table.set("method", ENTRY.name);
        Ok(table)
    }

    fn rounds(&self) -> Option<usize> {
        self.game.rounds()
    }

    fn is_learning(&self, problem: &Problem) -> bool {
        self.game.is_learning(problem)
    }
}
