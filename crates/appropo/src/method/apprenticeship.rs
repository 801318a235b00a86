use std::sync::Arc;

use super::appropo::{Appropo, ORACLE};
use super::{Budget, Method, MethodEntry, Task};
use crate::baseline::widest_margin_occupancy;
use crate::error::{Error, Result};
use crate::evaluate::Judge;
use crate::options::{Given, Key, Kind, Options, Result as OptionResult, Table, options, words};
use crate::oracle::{AnyOracle, MakeOracle};
use crate::outcome::{Historian, Outcome};
use crate::player::{HedgeOptions, ProjectionOptions};
use crate::policy::Mixed;
use crate::problem::Problem;
use crate::random;
use crate::registry::{Registry, with_options};
use crate::set::{ConvexSet, Faces};
use crate::solver::{Doubts, Solution, Stop, widest_margin};

words! {
    /// How an expert is learnt from.
    pub enum ApprenticeshipAlgorithm {
        /// towards the expert's measurements: Abbeel and Ng 2004
        Projection = "projection",
        /// at least as good in every entry, by multiplicative weights: Syed and Schapire 2007
        Mwal = "mwal",
        /// the same by one linear programme in a known model: Syed, Bowling and Schapire 2008
        Lpal = "lpal",
    }
}

options! {
    /// The options of [`Apprenticeship`].
    pub struct ApprenticeshipOptions {
        /// How to learn; by default projection for a point, a ball or any bounded set; else lpal where the model is known and no oracle is named, and mwal where not.
        algorithm: Option<ApprenticeshipAlgorithm> = Kind::Word(ApprenticeshipAlgorithm::WORDS), optional "\"mwal\"";
    }
}

static KEYS: [Key; 2] = [
    ORACLE,
    Key::optional(
        Apprenticeship::NAME,
        Kind::Table(ApprenticeshipOptions::KEYS),
        "{ algorithm = \"mwal\" }",
        "How to learn from an expert.",
    ),
];

pub(super) static ENTRY: MethodEntry = MethodEntry {
    name: Apprenticeship::NAME,
    about: "learning from an expert's measurements: as close to them as can be, or at least as good in every one",
    keys: &KEYS,
    read: |given, registry| Ok(Arc::new(Apprenticeship::read(given, registry)?)),
};

/// Rounds of a game unless the budget says otherwise.
const ROUNDS: usize = 1000;

/// Apprenticeship learning: the constraints hold what an expert's behaviour measures, and a mixed policy is found that does as
/// well, whatever the expert's reward was.
///
/// A ball round the expert's measurements is approached by projection. Lower bounds are met with the widest margin
/// min (zᵢ − eᵢ) that any policy has, which may be more than 0: then the policy is better than the expert by that much in
/// every entry.
///
/// ```
/// use appropo::{constraint::Constraint, env::mars_rover, method::{Apprenticeship, Budget}, problem::Problem};
///
/// # fn main() -> appropo::error::Result<()> {
/// let problem = Problem::builder(mars_rover::world("8x8", 0.05)?)
///     .discount(0.99)
///     .constraint(Constraint::at_most("failure", 0.2)?)
///     .constraint(Constraint::at_least("reward", -0.17)?)
///     .build()?;
/// let outcome = problem.solve(&Apprenticeship::default(), &Budget::default(), 0, &mut ())?;
/// println!("{}", outcome.table(&problem));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Apprenticeship {
    options: ApprenticeshipOptions,
    hedge: HedgeOptions,
    /// Who answers.
    game: Appropo,
    is_oracle_named: bool,
}

impl Apprenticeship {
    const NAME: &str = "apprenticeship";

    /// The same by another algorithm.
    pub fn algorithm(self, algorithm: ApprenticeshipAlgorithm) -> Self {
        Self { options: self.options.algorithm(algorithm), ..self }
    }

    /// The same with another oracle.
    pub fn oracle(self, oracle: impl MakeOracle + 'static) -> Self {
        Self { game: self.game.oracle(oracle), is_oracle_named: true, ..self }
    }

    /// The same with other multiplicative weights.
    pub fn hedge(self, hedge: HedgeOptions) -> Self {
        Self { hedge, ..self }
    }

    fn read(given: &Given, registry: &Registry) -> OptionResult<Self> {
        if let Some(entry) = given.get("player") {
            return Err(entry.error("the algorithm says who chooses λ; leave this key out"));
        }
        let options =
            with_options(given.get(Self::NAME), ApprenticeshipOptions::KEYS, ApprenticeshipOptions::read)?;
        let oracle = given.get("oracle");
        if let (Some(ApprenticeshipAlgorithm::Lpal), Some(entry)) = (options.algorithm, &oracle) {
            return Err(entry.error("lpal is one linear programme and asks no oracle; leave this key out"));
        }
        Ok(Self {
            options,
            hedge: with_options(given.get("hedge"), HedgeOptions::KEYS, HedgeOptions::read)?,
            game: Appropo::read_oracle(given, registry)?,
            is_oracle_named: oracle.is_some(),
        })
    }

    /// The algorithm in force.
    fn algorithm_for(&self, problem: &Problem) -> ApprenticeshipAlgorithm {
        let set = problem.target().set();
        self.options.algorithm.unwrap_or_else(|| {
            // What is bounded is to be matched, and not to be surpassed.
            let mut constraints = problem.target().constraints().iter();
            if constraints.all(|constraint| constraint.set.radius().is_some()) || Faces::of(set).is_none() {
                ApprenticeshipAlgorithm::Projection
            } else if problem.model().is_some() && !self.is_oracle_named {
                ApprenticeshipAlgorithm::Lpal
            } else {
                ApprenticeshipAlgorithm::Mwal
            }
        })
    }

    /// The game of the algorithm, where it plays one.
    fn game_for(&self, algorithm: ApprenticeshipAlgorithm) -> Option<Appropo> {
        match algorithm {
            ApprenticeshipAlgorithm::Projection => {
                Some(self.game.clone().player(ProjectionOptions::default()))
            }
            ApprenticeshipAlgorithm::Mwal => Some(self.game.clone().player(self.hedge.clone())),
            ApprenticeshipAlgorithm::Lpal => None,
        }
    }

    /// One linear programme.
    fn programme(problem: &Problem, budget: &Budget) -> Result<Solution> {
        let model = problem.model().ok_or_else(no_model)?.select(problem.target().selection());
        let set = problem.target().set();
        let found = widest_margin_occupancy(set, &model, problem.discounting(), budget.tolerance)?;
        Ok(Solution {
            mixture: Mixed::one(found.programme.policy.as_ref().clone()),
            certificate: found.programme.certificate,
            rounds: 0,
            samples: 0,
            doubts: Doubts::default(),
            stop: if found.ceiling - found.margin <= budget.tolerance { Stop::Reached } else { Stop::Rounds },
        })
    }
}

fn no_model() -> Error {
    Error::Unsuitable {
        learner: "algorithm = \"lpal\"",
        needs: "a known model to plan in",
        instead: "\"mwal\" or \"projection\"",
    }
}

/// The budget with the rounds that are played by default.
fn with_rounds(budget: &Budget) -> Budget {
    budget.clone().rounds(budget.rounds.unwrap_or(ROUNDS))
}

impl Method for Apprenticeship {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn check(&self, problem: &Problem) -> Result<()> {
        if let Some(objective) = problem.objective() {
            let (goal, measure) = (objective.direction.word(), objective.statement());
            return Err(Error::Objective(format!(
                "learning from an expert goes for the widest margin, and for no objective besides; leave {goal} out, or \
                 use the method \"appropo\" for the best {measure} of policies that do as well as the expert"
            )));
        }
        let (algorithm, target) = (self.algorithm_for(problem), problem.target());
        if algorithm != ApprenticeshipAlgorithm::Projection {
            let blocks = target.set().blocks().unwrap_or(&[]);
            let mut constraints = target.constraints().iter().zip(blocks);
            if let Some((constraint, _)) = constraints.find(|(_, block)| Faces::of(*block).is_none()) {
                let constraint = constraint.name.clone();
                return Err(Error::NoFaces { algorithm: algorithm.word(), constraint });
            }
        }
        match self.game_for(algorithm) {
            Some(game) => game.check(problem),
            None => problem.model().map(drop).ok_or_else(no_model),
        }
    }

    fn run(&self, problem: &Problem, task: Task) -> Result<Outcome> {
        let algorithm = self.algorithm_for(problem);
        let Task { budget, seed, from, observer } = task;
        let budget = &with_rounds(budget);
        let Some(game) = self.game_for(algorithm) else {
            let solution = Self::programme(problem, budget)?;
            let rng = &mut random::generator(seed);
            let outcome = Judge::new(problem, budget, rng, observer).conclude(solution, true)?;
            return Ok(Outcome { seed, ..outcome });
        };
        // A learner ends as soon as fresh episodes confirm what it found: a wider margin would take more samples.
        if algorithm == ApprenticeshipAlgorithm::Projection || self.is_learning(problem) {
            return game.run(problem, Task { budget, seed, from, observer });
        }
        let (state, history) =
            from.map_or((None, Default::default()), |from| (Some(from.state), from.history));
        let mut rng = random::generator(seed);
        let mut historian = Historian::new(problem, history, observer);
        let mut judge = Judge::new(problem, budget, &mut rng, &mut historian);
        let (set, rule) = (problem.target().set(), game.rule(budget));
        let radius = || game.radius(problem);
        let mut player = self.hedge.player(set, &game.context(problem, budget, &radius))?;
        let made = game.make_oracle(problem, problem.target().selection(), budget, None, &mut rng)?;
        let AnyOracle::Responding(mut oracle) = made else {
            return Err(Error::Unsuitable {
                learner: "mwal",
                needs: "answers to every λ",
                instead: "\"exact\" as the oracle",
            });
        };
        let found = widest_margin(set, &mut player, &mut *oracle, &rule, &mut judge, state.as_deref())?;
        let mut outcome = judge.conclude(found.solution, true)?;
        (outcome.history, outcome.seed) = (historian.finish(), seed);
        Ok(outcome)
    }

    fn table(&self, problem: &Problem, budget: &Budget) -> Result<Table> {
        let algorithm = self.algorithm_for(problem);
        let mut table = Table::new([("method", ENTRY.name)]);
        if let Some(game) = self.game_for(algorithm) {
            for (key, value) in game.table(problem, &with_rounds(budget))?.iter() {
                if !["method", "player", "goal", "search"].contains(&key) {
                    table.set(key, value.clone());
                }
            }
        }
        table.set(Self::NAME, Options::table(&ApprenticeshipOptions::default().algorithm(algorithm)));
        Ok(table)
    }

    fn rounds(&self) -> Option<usize> {
        (self.options.algorithm != Some(ApprenticeshipAlgorithm::Lpal)).then_some(ROUNDS)
    }

    fn is_learning(&self, problem: &Problem) -> bool {
        let game = self.game_for(self.algorithm_for(problem));
        game.is_some_and(|game| game.is_learning(problem))
    }
}
