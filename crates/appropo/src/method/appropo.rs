use std::ops::ControlFlow;
use std::sync::Arc;

use super::objective::{about_constraints, conclude_objective, one_measure, plannable};
use super::{Budget, Method, MethodEntry, Task};
use crate::certificate::{Ceiling, Certificate, Verdict};
use crate::error::{Error, Result};
use crate::evaluate::Judge;
use crate::measurement::Selection;
use crate::options::{Entry, Given, Key, Kind, Options, Result as OptionResult, Step, Table, options, words};
use crate::oracle::{
    AnyOracle, Cache, Exact, ExactOptions, Learned, MakeOracle, ModelOptions, OracleContext, Planner,
    WithinSet,
};
use crate::outcome::{Historian, Outcome};
use crate::player::{FullyCorrective, FullyCorrectiveOptions, MakePlayer, Player, PlayerContext};
use crate::problem::{Objective, Problem};
use crate::random;
use crate::registry::Registry;
use crate::rl::actor_critic::{Aim, PpoOptions};
use crate::rl::soft_actor_critic::SacOptions;
use crate::set::SharedSet;
use crate::solver::{
    Doubts, Goal, Maximum, Observer, Round, Solution, Stop, StopRule, appropo, appropo_model_based,
    binary_search, maximize, maximize_model_based, resume, resume_maximize, resume_maximize_model_based,
    resume_model_based,
};

words! {
    /// Where an objective goes.
    pub enum ObjectiveSearch {
        /// into the corrective player's master problem
        Master = "master",
        /// around it: the paper's binary search with a shared cache
        Binary = "binary",
    }
}

options! {
    /// The options of ApproPO besides its player and oracle.
    pub struct AppropoOptions {
        /// When an infeasible problem is done.
        goal: Goal = Kind::Word(Goal::WORDS), defaulted "\"distance\"";
        /// Where an objective goes, if there is one.
        search: ObjectiveSearch = Kind::Word(ObjectiveSearch::WORDS), defaulted "\"master\"";
    }
}

/// Pairs of a state and an action that a model is learnt of by default at most: it is planned in after every step.
const COUNTED: usize = 50_000;

/// The key that names an oracle.
pub(super) const ORACLE: Key = Key::optional(
    "oracle",
    Kind::Name,
    "\"exact\"",
    "Who answers λ; by default exact; where there is no model, model if states can be counted, sac if actions are numbers within bounds, else ppo.",
);

/// The keys that name an oracle and a player, and the options besides.
static KEYS: [Key; 4] = [
    ORACLE,
    Key::defaulted("player", Kind::Name, "\"fully-corrective\"", "Who chooses λ."),
    AppropoOptions::KEYS[0],
    AppropoOptions::KEYS[1],
];

pub(super) static ENTRY: MethodEntry = MethodEntry {
    name: "appropo",
    about: "the default",
    keys: &KEYS,
    read: |given, registry| Ok(Arc::new(Appropo::read(given, registry)?)),
};

/// ApproPO with a player and an oracle.
#[derive(Debug, Clone)]
pub struct Appropo {
    player: Arc<dyn MakePlayer>,
    /// `None`: by what is known of the world.
    oracle: Option<Arc<dyn MakeOracle>>,
    /// The oracle where the model is known and none is named.
    planning: Arc<dyn MakeOracle>,
    /// The oracle where it is not, but states can be counted.
    counting: Arc<dyn MakeOracle>,
    /// The oracle where they can't, and actions are numbers that it fits.
    controlling: Arc<dyn MakeOracle>,
    /// The oracle anywhere else.
    learning: Arc<dyn MakeOracle>,
    options: AppropoOptions,
}

impl Default for Appropo {
    /// The corrective player, and planning where the model is known; else a learnt model where states can be counted, soft
    /// actor-critic where actions are numbers within bounds, and PPO anywhere else.
    fn default() -> Self {
        Self {
            player: Arc::new(FullyCorrectiveOptions::default()),
            oracle: None,
            planning: Arc::new(ExactOptions::default()),
            counting: Arc::new(ModelOptions::default()),
            controlling: Arc::new(Learned::by(SacOptions::default())),
            learning: Arc::new(Learned::by(PpoOptions::default())),
            options: AppropoOptions::default(),
        }
    }
}

impl Appropo {
    /// The same with another player.
    pub fn player(self, player: impl MakePlayer + 'static) -> Self {
        Self { player: Arc::new(player), ..self }
    }

    /// The same with another oracle.
    pub fn oracle(self, oracle: impl MakeOracle + 'static) -> Self {
        Self { oracle: Some(Arc::new(oracle)), ..self }
    }

    /// The same with other options.
    pub fn options(self, options: AppropoOptions) -> Self {
        Self { options, ..self }
    }

    fn read(given: &Given, registry: &Registry) -> OptionResult<Self> {
        Ok(Self {
            player: registry.player(given, |name| given.get(name))?,
            options: AppropoOptions::read(given)?,
            ..Self::read_oracle(given, registry)?
        })
    }

    /// With the oracle that is named and the options of all that may be in force, and with the default player.
    pub(super) fn read_oracle(given: &Given, registry: &Registry) -> OptionResult<Self> {
        let table = |name: &str| given.get(name);
        let by_default = Self::default();
        // Options count also for an oracle that no one names.
        let named =
            |oracle: &dyn MakeOracle| registry.oracle(&Entry::alone("oracle", &oracle.name().into()), table);
        Ok(Self {
            oracle: given.get("oracle").map(|entry| registry.oracle(&entry, table)).transpose()?,
            planning: named(by_default.planning.as_ref())?,
            counting: named(by_default.counting.as_ref())?,
            controlling: named(by_default.controlling.as_ref())?,
            learning: named(by_default.learning.as_ref())?,
            ..by_default
        })
    }

    /// The oracle in force.
    pub(super) fn oracle_for(&self, problem: &Problem) -> Arc<dyn MakeOracle> {
        let env = problem.env();
        let pairs = env.observations().count().zip(env.actions().count()).map(|(s, a)| s.saturating_mul(a));
        Arc::clone(match (&self.oracle, problem.model(), pairs) {
            (Some(oracle), _, _) => oracle,
            (None, Some(_), _) => &self.planning,
            (None, None, Some(..=COUNTED)) => &self.counting,
            (None, None, _) if env.actions().count().is_none() && self.controlling.check(env).is_ok() => {
                &self.controlling
            }
            (None, None, _) => &self.learning,
        })
    }

    pub(super) fn rule(&self, budget: &Budget) -> StopRule {
        StopRule {
            rounds: budget.rounds.unwrap_or(self.player.rounds()),
            tolerance: budget.tolerance,
            goal: self.options.goal,
            epsilon: budget.tolerance,
            samples: budget.samples,
        }
    }

    /// A bound on the measurements of all policies, where planning finds one.
    pub(super) fn radius(&self, problem: &Problem) -> Result<Option<f64>> {
        let is_learning = self.is_learning(problem);
        let Some(model) = problem.model().filter(|_| !is_learning) else { return Ok(None) };
        let selected = model.select(problem.target().selection());
        let exact = Exact::new(selected, *problem.discounting(), Planner::PolicyIteration)?;
        exact.measurement_radius().map(Some)
    }

    pub(super) fn context<'a>(
        &self,
        problem: &'a Problem,
        budget: &Budget,
        radius: &'a dyn Fn() -> Result<Option<f64>>,
    ) -> PlayerContext<'a> {
        PlayerContext {
            measures: problem.measures(),
            selection: problem.target().selection(),
            radius,
            rounds: self.rule(budget).rounds,
            is_learning: self.is_learning(problem),
            criterion: None,
        }
    }

    fn make_player(&self, set: &SharedSet, context: &PlayerContext) -> Result<Box<dyn Player>> {
        self.player.make(set, context).map_err(|error| beneath(self.player.name(), error))
    }

    pub(super) fn make_oracle(
        &self,
        problem: &Problem,
        selection: &Selection,
        budget: &Budget,
        aim: Option<Arc<dyn Aim>>,
        rng: &mut random::Generator,
    ) -> Result<AnyOracle> {
        self.oracle_for(problem).make(OracleContext {
            env: problem.env(),
            selection,
            set: problem.target().set(),
            discounting: *problem.discounting(),
            samples: budget.samples,
            aim,
            augmented: None,
            stop: budget.stop.clone(),
            sampling: problem.sampling(budget)?,
            rng,
        })
    }

    fn search(
        &self,
        problem: &Problem,
        budget: &Budget,
        state: Option<&[u8]>,
        rng: &mut random::Generator,
        observer: &mut dyn Observer,
    ) -> Result<Solution> {
        let (set, rule) = (problem.target().set(), self.rule(budget));
        let radius = || self.radius(problem);
        let context = self.context(problem, budget, &radius);
        match self.make_oracle(problem, problem.target().selection(), budget, None, rng)? {
            AnyOracle::Responding(mut oracle) => {
                let (player, oracle) = (&mut *self.make_player(set, &context)?, &mut *oracle);
                match state {
                    None => appropo(set, player, oracle, &rule, observer),
                    Some(state) => resume(set, player, oracle, &rule, observer, state),
                }
            }
            AnyOracle::ModelBased(mut model) => {
                let player = |set: &SharedSet| {
                    // Games in a model are not learnt by playing: their answers are exact there.
                    self.make_player(set, &PlayerContext { is_learning: false, ..context })
                };
                let model = &mut *model;
                match state {
                    None => appropo_model_based(set, &player, model, &rule, observer),
                    Some(state) => resume_model_based(set, &player, model, &rule, observer, state),
                }
            }
        }
    }

    /// A search for the best value of the objective subject to the constraints, with the proof that it is the best.
    fn optimize(
        &self,
        problem: &Problem,
        objective: &Objective,
        budget: &Budget,
        state: Option<&[u8]>,
        rng: &mut random::Generator,
        observer: &mut dyn Observer,
    ) -> Result<(Solution, Option<Ceiling>, f64)> {
        let maximum = match self.options.search {
            ObjectiveSearch::Binary => self.bisect(problem, objective, budget, 0, observer)?,
            ObjectiveSearch::Master => {
                let found = self.maximize(problem, objective, budget, state, rng, observer)?;
                // Where episodes can last for millions of steps, the master problem may find no feasible point. The
                // slower search still does.
                let is_done = found.value.is_some()
                    || found.certificate.verdict == Verdict::Infeasible
                    || matches!(found.stop, Stop::Observer | Stop::Failed(_));
                if is_done || self.is_learning(problem) || !objective.criterion.is_last() {
                    found
                } else {
                    self.bisect(problem, objective, budget, found.rounds, observer)?
                }
            }
        };
        let maximum = self.nearest(problem, budget, maximum, observer)?;
        let Maximum { mixture, certificate, rounds, samples, stop, ceiling, unit, .. } = maximum;
        let solution = Solution { mixture, certificate, rounds, samples, doubts: Doubts::default(), stop };
        Ok((about_constraints(solution, problem.target().set().dim()), ceiling, unit))
    }

    /// Where nothing is feasible, the closest that any policy comes is what there is to know.
    fn nearest(
        &self,
        problem: &Problem,
        budget: &Budget,
        found: Maximum,
        observer: &mut dyn Observer,
    ) -> Result<Maximum> {
        let is_open = found.certificate.distance - found.certificate.lower_bound > budget.tolerance;
        let is_wanted = found.certificate.verdict == Verdict::Infeasible
            && is_open
            && self.options.goal == Goal::Distance
            && !matches!(found.stop, Stop::Observer | Stop::Failed(_))
            && !self.is_learning(problem);
        if !is_wanted {
            return Ok(found);
        }
        let target = problem.target();
        let model = plannable(problem)?.select(target.selection());
        let mut oracle = Exact::new(model, *problem.discounting(), Planner::PolicyIteration)?;
        let mut player = FullyCorrective::new(Arc::clone(target.set()));
        let mut later = Later { observer, played: found.rounds };
        let nearest = appropo(target.set(), &mut player, &mut oracle, &self.rule(budget), &mut later)?;
        let rounds = found.rounds + nearest.rounds;
        let Solution { mixture, certificate, stop, .. } = nearest;
        Ok(Maximum { mixture, certificate, stop, rounds, ..found })
    }

    fn maximize(
        &self,
        problem: &Problem,
        objective: &Objective,
        budget: &Budget,
        state: Option<&[u8]>,
        rng: &mut random::Generator,
        observer: &mut dyn Observer,
    ) -> Result<Maximum> {
        let (set, rule) = (problem.target().set(), self.rule(budget));
        let radius = || self.radius(problem);
        let (criterion, selection) =
            (&objective.criterion, &problem.target().selection_with(&objective.entries));
        let context =
            PlayerContext { selection, criterion: Some(criterion), ..self.context(problem, budget, &radius) };
        // Where the set has no conic form, a learner follows multipliers only.
        let aim = WithinSet::new(Arc::clone(set), true).ok().filter(|_| criterion.is_last());
        let aim = aim.map(|aim| Arc::new(aim) as _);
        match self.make_oracle(problem, selection, budget, aim, rng)? {
            AnyOracle::Responding(mut oracle) => {
                let player = &mut *self.make_player(&criterion.free(set), &context)?;
                let oracle = &mut *oracle;
                match state {
                    None => maximize(set, criterion, player, oracle, &rule, observer),
                    Some(state) => resume_maximize(set, criterion, player, oracle, &rule, observer, state),
                }
            }
            AnyOracle::ModelBased(mut model) => {
                let player =
                    |set: &SharedSet| self.make_player(set, &PlayerContext { is_learning: false, ..context });
                let model = &mut *model;
                match state {
                    None => maximize_model_based(set, criterion, &player, model, &rule, observer),
                    Some(state) => {
                        resume_maximize_model_based(set, criterion, &player, model, &rule, observer, state)
                    }
                }
            }
        }
    }

    /// The binary search, after so many rounds of another one.
    fn bisect(
        &self,
        problem: &Problem,
        objective: &Objective,
        budget: &Budget,
        played: usize,
        observer: &mut dyn Observer,
    ) -> Result<Maximum> {
        let model = plannable(problem)?.select(&problem.target().selection_with(&objective.entries));
        let exact = Exact::new(model, *problem.discounting(), Planner::PolicyIteration)?;
        let mut cache = Cache::new(exact.guarded(problem.target().set())?);
        let mut later = Later { observer, played };
        let found = binary_search(problem.target().set(), &mut cache, &self.rule(budget), &mut later)?;
        // Its games are sharper than what is asked for.
        let certificate = Certificate { tolerance: budget.tolerance, ..found.certificate };
        Ok(Maximum { rounds: played + found.rounds, certificate, ..found })
    }
}

/// Shows the rounds of a search that follows another one.
struct Later<'a> {
    observer: &'a mut dyn Observer,
    played: usize,
}

impl Observer for Later<'_> {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        // What follows a search is not saved: a run that is taken up again begins it anew.
        let state = || Err(Error::Unsaved { what: "a search that follows another" });
        self.observer.round(&Round { round: self.played + round.round, state: &state, ..*round })
    }
}

impl Method for Appropo {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn check(&self, problem: &Problem) -> Result<()> {
        let oracle = self.oracle_for(problem);
        if problem.objective().is_some() && self.options.search == ObjectiveSearch::Binary {
            plannable(problem)?;
            one_measure(problem, "search = binary")?;
            if oracle.is_learning() {
                return Err(Error::Objective(format!(
                    "a binary search plans, and takes no oracle but \"exact\"; found \"{}\"; leave \"search\" out to learn",
                    oracle.name()
                )));
            }
        }
        if problem.objective().is_some() && !self.player.takes_objective() {
            return Err(Error::Objective(format!(
                "an objective goes into the master problem of the player \"fully-corrective\"; found \"{}\"; leave \
                 \"player\" out",
                self.player.name()
            )));
        }
        oracle.check(problem.env())
    }

    fn run(&self, problem: &Problem, task: Task) -> Result<Outcome> {
        let Task { budget, seed, from, observer } = task;
        // A binary search can't be saved: it begins anew, and so does its history.
        let is_anew = problem.objective().is_some() && self.options.search == ObjectiveSearch::Binary;
        let from = from.filter(|_| !is_anew);
        let (state, history) =
            from.map_or((None, Default::default()), |from| (Some(from.state), from.history));
        let mut rng = random::generator(seed);
        let mut historian = Historian::new(problem, history, observer);
        let mut judge = Judge::new(problem, budget, &mut rng, &mut historian).asked();
        let state = state.as_deref();
        let (solution, ceiling, unit) = match problem.objective() {
            Some(objective) => self.optimize(problem, objective, budget, state, &mut rng, &mut judge)?,
            None => (self.search(problem, budget, state, &mut rng, &mut judge)?, None, 1.0),
        };
        let mut outcome = judge.conclude(solution, !self.is_learning(problem))?;
        (outcome.history, outcome.seed) = (historian.finish(), seed);
        conclude_objective(problem, &mut outcome, ceiling, unit)?;
        Ok(outcome)
    }

    fn table(&self, problem: &Problem, budget: &Budget) -> Result<Table> {
        let oracle = self.oracle_for(problem);
        let mut table =
            Table::new([("method", ENTRY.name), ("oracle", oracle.name()), ("player", self.player.name())]);
        for (key, value) in Options::table(&self.options).iter() {
            table.set(key, value.clone());
        }
        let radius = || self.radius(problem);
        let player = self.player.table(problem.target().set(), &self.context(problem, budget, &radius));
        let player = player.map_err(|error| beneath(self.player.name(), error))?;
        let tables = oracle.tables(problem.env()).into_iter().chain([(self.player.name().into(), player)]);
        // Who has no options has no table that could be read.
        for (name, options) in tables.filter(|(_, options)| !options.is_empty()) {
            table.set(name, options);
        }
        Ok(table)
    }

    fn rounds(&self) -> Option<usize> {
        Some(self.player.rounds())
    }

    fn takes_averages(&self, problem: &Problem) -> bool {
        !self.is_learning(problem)
    }

    fn is_learning(&self, problem: &Problem) -> bool {
        self.oracle_for(problem).is_learning()
    }
}

/// An error of an option that stands in the table `name`.
fn beneath(name: &str, error: Error) -> Error {
    match error {
        Error::Option(mut error) => {
            error.path.insert(0, Step::Key(name.into()));
            Error::Option(error)
        }
        error => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::Constraint;
    use crate::env::cart_pole::CartPole;
    use crate::env::point_mass::PointMass;
    use crate::env::{EnvSpec, Simulator, mars_rover};
    use crate::options::Measurements;
    use crate::player::BlackwellOptions;

    /// Solving said less of where an option stands than listing all of them.
    #[test]
    fn an_option_that_does_not_fit_is_found_in_the_table_of_its_player() {
        let world = mars_rover::world("4x4", 0.05).unwrap();
        let safety = Constraint::at_most("failure", 0.3).unwrap();
        let problem = Problem::builder(world).discount(0.99).constraint(safety).build().unwrap();
        let anchor = Measurements(vec![("failrue".into(), vec![0.8])]);
        let method = Appropo::default().player(FullyCorrectiveOptions::default().anchor(anchor));
        let error = problem.solve(&method, &Budget::default(), 0, &mut ()).unwrap_err();
        let Error::Option(error) = error else { unreachable!("{error:?}") };
        let path = ["fully-corrective", "anchor", "failrue"].map(|key| Step::Key(key.into()));
        assert_eq!(error.path, path);
    }

    /// Planning where there is a model, a model where there could be one, and else a network.
    #[test]
    fn the_oracle_follows_from_the_world() {
        let rover = mars_rover::world("4x4", 0.05).unwrap();
        let model = Arc::clone(&rover.model);
        let played = EnvSpec::playable(move |horizon| Simulator::new(Arc::clone(&model), horizon));
        let cart = EnvSpec::playable(CartPole::new);
        let point = EnvSpec::playable(|horizon| PointMass::new(horizon.unwrap_or(9)));
        for (env, measure, expected) in [
            (rover.into(), "failure", "exact"),
            (played, "failure", "model"),
            (cart, "steps", "ppo"),
            (point, "energy", "sac"),
        ] {
            let safety = Constraint::at_most(measure, 0.3).unwrap();
            let problem = Problem::builder(env).discount(0.99).constraint(safety).build().unwrap();
            let table = Method::table(&Appropo::default(), &problem, &Budget::default()).unwrap();
            assert_eq!(table.get("oracle"), Some(&expected.into()));
        }
    }

    /// A table of no options was written, and not known when it was read.
    #[test]
    fn who_has_no_options_has_no_table() {
        let world = mars_rover::world("4x4", 0.05).unwrap();
        let safety = Constraint::at_most("failure", 0.3).unwrap();
        let problem = Problem::builder(world).discount(0.99).constraint(safety).build().unwrap();
        let method = Appropo::default().player(BlackwellOptions::default());
        let table = Method::table(&method, &problem, &Budget::default()).unwrap();
        assert_eq!(table.get("player"), Some(&"blackwell".into()));
        assert_eq!(table.get("blackwell"), None);
        let again = Registry::standard().read_method(&table).unwrap();
        assert_eq!(again.table(&problem, &Budget::default()).unwrap(), table);
    }
}
