mod convex;
mod fitted;
mod gradient;
mod search;

use std::sync::Arc;

use super::{Budget, Method, MethodEntry, Task};
use crate::env::StopSignal;
use crate::env::dataset::{Dataset, Empirical};
use crate::error::{Error, Result};
use crate::evaluate::Judge;
use crate::off_policy::{OffPolicyEstimate, estimate};
use crate::options::{Given, Key, Kind, Options, Range, Result as OptionResult, Table, options, words};
use crate::outcome::{Historian, History, Optimum, Outcome};
use crate::player::{FullyCorrectiveOptions, MakePlayer, PlayerContext};
use crate::policy::Mixed;
use crate::problem::Problem;
use crate::random::{self, Generator};
use crate::registry::{Registry, with_options};
use crate::rl::fitted::FittedOptions;
use crate::set::ConvexSet;
use crate::solver::{Observer, Solution, Stop};

use convex::played;
use fitted::{Fitted, Function, iterations, objective_unit, selected, with_units};
use search::{Game, Search, half_spaces};

/// Rounds unless the budget says otherwise.
const ROUNDS: usize = 500;
/// The weight of what lies beyond a horizon that networks may leave out of account.
const NEGLIGIBLE: f64 = 0.05;

words! {
    /// What is fitted to logs.
    pub enum FunctionClass {
        /// one value an observation and action, where both are counted
        Table = "table",
        /// networks, where actions are counted
        Network = "network",
    }
}

options! {
    /// The options of [`Batch`].
    pub struct BatchOptions {
        /// The file of the logs; by default they are the environment's.
        dataset: Option<String> = Kind::Name, optional "\"log.csv\"";
        /// The checksum of the data, so that others in their place are refused; a run writes it down.
        checksum: Option<String> = Kind::Name, optional "\"9f86d0…\"";
        /// What is fitted; by default a table where observations and actions are counted and no net_arch is given.
        fitted: Option<FunctionClass> = Kind::Word(FunctionClass::WORDS), optional "\"network\"";
        /// B, the most that all multipliers add up to, in units of what logged episodes vary by.
        bound: f64 = Kind::Number(Range::POSITIVE), defaulted "10";
        /// η, how fast multipliers follow violations; it is divided by the root of the sum of their squares.
        eta: f64 = Kind::Number(Range::POSITIVE), defaulted "2";
        /// ω, the primal-dual gap at which the search ends, in the same units.
        gap: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0.01";
        /// How often episodes are resampled for intervals; by default 200 times for tables and 10 times for networks.
        resamples: Option<usize> = Kind::Count(2, 100_000), optional "200";
        /// Of networks: units of each hidden layer; by default one layer of 64, or two where observations are numbers.
        net_arch: Option<Vec<usize>> = Kind::Counts(1, 100_000), optional "[64, 64]";
        /// Of networks: the first step size of Adam, which falls to a tenth within a fit; by default 0.01, or 0.001 where observations are numbers.
        learning_rate: Option<f64> = Kind::Number(Range::POSITIVE), optional "0.003";
        /// Of networks: regressions of a fit; by default as many as it takes for a discounted step to count for 0.005.
        n_iterations: Option<usize> = Kind::Count(1, 1_000_000), optional "50";
        /// Of networks: steps of Adam of each regression.
        gradient_steps: usize = Kind::Count(1, 1_000_000), defaulted "50";
        /// Of networks: logged steps that a step of Adam takes; all of them where no more than 1024 differ.
        batch_size: usize = Kind::Count(1, 1_000_000), defaulted "256";
    }
}

static KEYS: [Key; 2] = [
    Key::optional("player", Kind::Name, "\"fully-corrective\"", "Who chooses λ."),
    Key::optional(
        Batch::NAME,
        Kind::Table(BatchOptions::KEYS),
        "{ dataset = \"log.csv\" }",
        "Learning from logs.",
    ),
];

pub(super) static ENTRY: MethodEntry = MethodEntry {
    name: Batch::NAME,
    about: "learning from logged episodes alone: fitted Q iteration against multipliers",
    keys: &KEYS,
    read: |given, registry| Ok(Arc::new(Batch::read(given, registry)?)),
};

/// Batch policy learning under constraints (Le, Voloshin and Yue 2019): no episode is played. Fitted Q iteration answers
/// multipliers, fitted Q evaluation says what the answer measures, and an exponentiated-gradient player moves the multipliers,
/// until the primal-dual gap is small. All answers are mixed.
///
/// Its player takes half-spaces. Other convex sets have the corrective player, unless another is named.
///
/// ```
/// use std::sync::Arc;
/// use appropo::{constraint::Constraint, env::{EnvSpec, frozen_lake}, problem::Problem};
/// use appropo::{method::{Batch, Budget}, record::{Recording, record}};
///
/// # fn main() -> appropo::error::Result<()> {
/// let lake = Problem::builder(frozen_lake::world("4x4", false)?).discount(0.9).build()?;
/// let log = Arc::new(record(&lake, None, &Recording::default(), 0)?);
/// let problem = Problem::builder(log)
///     .discount(0.9)
///     .constraint(Constraint::at_most("failure", 0.1)?)
///     .maximize("reward")
///     .build()?;
/// let found = problem.solve(&Batch::default(), &Budget::default(), 0, &mut ())?;
/// println!("{}", found.evidence());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Batch {
    options: BatchOptions,
    dataset: Option<Arc<Dataset>>,
    /// `None` for exponentiated gradients, or where they do not fit the corrective player.
    player: Option<Arc<dyn MakePlayer>>,
}

impl Batch {
    const NAME: &str = "batch";

    /// Learns from a data set, in a problem whose world is known or can be played in to judge what was learnt.
    pub fn of(dataset: Arc<Dataset>) -> Self {
        Self { dataset: Some(dataset), ..Self::default() }
    }

    /// The same with other options.
    pub fn options(self, options: BatchOptions) -> Self {
        Self { options, ..self }
    }

    /// The same with a player instead of exponentiated gradients.
    pub fn player(self, player: impl MakePlayer + 'static) -> Self {
        Self { player: Some(Arc::new(player)), ..self }
    }

    fn read(given: &Given, registry: &Registry) -> OptionResult<Self> {
        if let Some(entry) = given.get("oracle") {
            return Err(
                entry.error("the batch method learns from logs and asks no oracle; leave this key out")
            );
        }
        let player =
            given.get("player").map(|_| registry.player(given, |name| given.get(name))).transpose()?;
        let mut options = with_options(given.get(Self::NAME), BatchOptions::KEYS, BatchOptions::read)?;
        let mut dataset = None;
        if let Some(table) = given.get(Self::NAME).map(|entry| entry.open_table()).transpose()? {
            if let Some(file) = table.get("dataset") {
                dataset = registry.dataset(&file, table.get("checksum").as_ref())?;
            } else if let Some(entry) = table.get("checksum") {
                return Err(entry.error("there is no dataset beside it; write both, or neither"));
            }
        }
        if let Some(dataset) = &dataset {
            options.checksum = Some(dataset.checksum().into());
        }
        Ok(Self { options, dataset, player })
    }

    /// The logs, as those of the problem's world.
    fn logs(&self, problem: &Problem) -> Result<Arc<Dataset>> {
        let env = problem.env();
        let Some(logs) = self.dataset.as_ref().or(env.logged()) else {
            return Err(Error::Objective(
                "there are no logs to learn from; name them as batch.dataset = \"log.csv\", or as the environment".into(),
            ));
        };
        logs.fitted_to(env.measures(), env.observations(), env.actions())
    }

    fn function_class(&self, problem: &Problem) -> FunctionClass {
        match self.options.fitted {
            Some(fitted) => fitted,
            None if problem.env().is_countable() && self.options.net_arch.is_none() => FunctionClass::Table,
            None => FunctionClass::Network,
        }
    }

    /// The player in force; `None` for exponentiated gradients.
    fn player_for(&self, problem: &Problem) -> Option<Arc<dyn MakePlayer>> {
        let is_linear = problem.objective().is_none_or(|objective| objective.criterion.is_last());
        match &self.player {
            Some(player) => Some(Arc::clone(player)),
            None if is_linear && half_spaces(problem.target().set()).is_some() => None,
            None => Some(Arc::new(FullyCorrectiveOptions::default())),
        }
    }

    fn in_force(&self, problem: &Problem) -> BatchOptions {
        let fitted = self.function_class(problem);
        let resamples = self.options.resamples.unwrap_or(match fitted {
            FunctionClass::Table => 200,
            FunctionClass::Network => 10,
        });
        let mut options = self.options.clone().fitted(fitted).resamples(resamples);
        if fitted == FunctionClass::Network {
            let is_counted = problem.env().observations().count().is_some();
            options.net_arch.get_or_insert_with(|| if is_counted { vec![64] } else { vec![64, 64] });
            options.learning_rate.get_or_insert(if is_counted { 0.01 } else { 0.001 });
            options.n_iterations.get_or_insert_with(|| iterations(problem.discounting()));
        }
        options
    }

    /// What is fitted, with the data that it is fitted to.
    fn fit(&self, problem: &Problem, stop: Option<StopSignal>) -> Result<Fitted> {
        let dataset = self.logs(problem)?;
        let options = self.in_force(problem);
        if self.function_class(problem) == FunctionClass::Table {
            let empirical = Arc::new(Empirical::new(&dataset)?);
            return Ok(Fitted { dataset, function: Function::Table(empirical) });
        }
        let options = FittedOptions {
            net_arch: options.net_arch.unwrap_or_default(),
            learning_rate: options.learning_rate.unwrap_or_default(),
            n_iterations: options.n_iterations.unwrap_or(1),
            gradient_steps: options.gradient_steps,
            batch_size: options.batch_size,
        };
        Ok(Fitted { dataset, function: Function::Network(options, stop) })
    }

    /// Fits, searches, and says what logs say of what was found.
    fn search(
        &self,
        problem: &Problem,
        fitted: &Fitted,
        (budget, seed): (&Budget, u64),
        state: Option<&[u8]>,
        observer: &mut dyn Observer,
    ) -> Result<Solution> {
        let selection = selected(problem);
        let mut oracle = fitted.oracle(problem, &mut random::generator(seed))?;
        match self.player_for(problem) {
            None => {
                let half_spaces = half_spaces(problem.target().set()).unwrap_or_default();
                let game = Game {
                    set: problem.target().set(),
                    half_spaces: with_units(half_spaces, &fitted.dataset, &selection, problem),
                    objective: problem
                        .objective()
                        .map(|_| objective_unit(&fitted.dataset, &selection, problem)),
                    oracle: &mut *oracle,
                    rounds: budget.rounds.unwrap_or(ROUNDS),
                    gap: self.options.gap,
                    tolerance: budget.tolerance,
                    stop: budget.stop.clone(),
                };
                let mut search = Search::new(game, self.options.bound, self.options.eta);
                state.map_or(Ok(()), |state| search.load(state))?;
                search.run(observer)
            }
            Some(player) => played(problem, player.as_ref(), &mut *oracle, budget, state, observer),
        }
    }

    /// What logs say of a mixture.
    fn estimate(
        &self,
        problem: &Problem,
        fitted: &Fitted,
        mixture: &Mixed,
        seed: u64,
        watch: &mut dyn FnMut() -> Result<()>,
    ) -> Result<OffPolicyEstimate> {
        let resamples = self.in_force(problem).resamples.unwrap_or(2);
        let mut evaluation = fitted.evaluation(problem)?;
        let rng = &mut estimating(seed);
        estimate(&fitted.dataset, &mut *evaluation, mixture, resamples, rng, watch)
    }
}

/// Draws for estimates, which others than the search can draw again.
fn estimating(seed: u64) -> Generator {
    let mut rng = random::generator(seed);
    random::split(&mut rng);
    random::split(&mut rng)
}

/// What came out where there is nothing but logs.
fn unplayed(problem: &Problem, solution: Solution, off_policy: Option<OffPolicyEstimate>) -> Outcome {
    let (target, mut certificate) = (problem.target(), solution.certificate);
    let measurements = match &off_policy {
        Some(estimate) => {
            certificate.z_bar = target.selection().apply(&estimate.value);
            certificate.distance = target.set().distance(&certificate.z_bar);
            estimate.value.clone()
        }
        None => {
            let mut z = vec![f64::NAN; problem.measures().dim()];
            for ((entry, factor), value) in target.selection().entries.iter().zip(&certificate.z_bar) {
                z[*entry] = value / factor;
            }
            z
        }
    };
    Outcome {
        certificate,
        measurements,
        evaluation: None,
        off_policy,
        mixture: solution.mixture,
        rounds: solution.rounds,
        samples: 0,
        stop: solution.stop,
        objective: None,
        history: History::default(),
        seed: 0,
    }
}

impl Method for Batch {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn check(&self, problem: &Problem) -> Result<()> {
        let (env, discounting) = (problem.env(), problem.discounting());
        if discounting.gamma() == 1.0 && discounting.horizon().is_none() {
            return Err(Error::Objective(
                "learning from logs needs a discount below 1, or a horizon: logs can't show that every policy ends".into(),
            ));
        }
        if env.actions().count().is_none() {
            return Err(Error::Unsuitable {
                learner: "batch",
                needs: "actions that can be counted",
                instead: "\"appropo\", \"lagrangian\" or \"cpo\", which play,",
            });
        }
        if self.function_class(problem) == FunctionClass::Table && !env.is_countable() {
            return Err(Error::Unsuitable {
                learner: "batch.fitted = \"table\"",
                needs: "observations that can be counted",
                instead: "\"network\"",
            });
        }
        if self.function_class(problem) == FunctionClass::Network && discounting.gamma() == 1.0 {
            return Err(Error::Objective(
                "networks that learn from logs need a discount below 1; a table does with a horizon".into(),
            ));
        }
        let beyond = discounting.horizon().map_or(0.0, |horizon| discounting.gamma().powf(horizon as f64));
        if self.function_class(problem) == FunctionClass::Network && beyond > NEGLIGIBLE {
            return Err(Error::Objective(format!(
                "networks that learn from logs know no horizon, and what lies beyond this one still counts for {beyond:.2}; \
                 lower the discount, leave the horizon out, or write batch.fitted = \"table\""
            )));
        }
        let player = self.player_for(problem);
        if let (Some(player), true) = (player, problem.objective().is_some())
            && !player.takes_objective()
        {
            return Err(Error::Objective(format!(
                "the player \"{}\" goes for no objective; use \"fully-corrective\", or leave \"player\" out",
                player.name()
            )));
        }
        self.logs(problem).map(drop)
    }

    fn run(&self, problem: &Problem, task: Task) -> Result<Outcome> {
        let Task { budget, seed, from, observer } = task;
        let (state, history) =
            from.map_or((None, Default::default()), |from| (Some(from.state), from.history));
        let fitted = self.fit(problem, budget.stop.clone())?;
        let mut historian = Historian::new(problem, history, observer);
        let solution = self.search(problem, &fitted, (budget, seed), state.as_deref(), &mut historian)?;
        let mut watch = || match budget.stop.as_ref().is_some_and(|stop| stop()) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        };
        let (mut stop, mut off_policy) = (solution.stop.clone(), None);
        if !matches!(stop, Stop::Failed(_)) {
            match self.estimate(problem, &fitted, &solution.mixture, seed, &mut watch) {
                Ok(estimate) => off_policy = Some(estimate),
                Err(error @ Error::Interrupted) => stop = Stop::Failed(error),
                Err(error) => return Err(error),
            }
        }
        let solution = Solution { stop, ..solution };
        let mut outcome = if problem.env().logged().is_some() {
            unplayed(problem, solution, off_policy)
        } else {
            let judge = Judge::new(problem, budget, &mut random::generator(seed), &mut historian);
            Outcome { off_policy, ..judge.conclude(solution, false)? }
        };
        (outcome.history, outcome.seed) = (historian.finish(), seed);
        outcome.objective = Optimum::of(problem, &outcome, None)?;
        Ok(outcome)
    }

    fn table(&self, problem: &Problem, budget: &Budget) -> Result<Table> {
        let mut table = Table::new([("method", ENTRY.name)]);
        if let Some(player) = self.player_for(problem) {
            let (selection, radius) = (selected(problem), || Ok(None));
            let context = PlayerContext {
                measures: problem.measures(),
                selection: &selection,
                radius: &radius,
                rounds: budget.rounds.unwrap_or(ROUNDS),
                is_learning: false,
                criterion: problem.objective().map(|objective| &objective.criterion),
            };
            table.set("player", player.name());
            let options = player.table(problem.target().set(), &context)?;
            if !options.is_empty() {
                table.set(player.name(), options);
            }
        }
        table.set(ENTRY.name, Options::table(&self.in_force(problem)));
        Ok(table)
    }

    fn rounds(&self) -> Option<usize> {
        Some(ROUNDS)
    }

    fn is_learning(&self, problem: &Problem) -> bool {
        problem.env().logged().is_none()
    }

    fn is_playing(&self) -> bool {
        false
    }

    fn off_policy(&self, problem: &Problem, mixture: &Mixed, seed: u64) -> Result<Option<OffPolicyEstimate>> {
        let fitted = self.fit(problem, None)?;
        self.estimate(problem, &fitted, mixture, seed, &mut || Ok(())).map(Some)
    }
}
