//! A set, a player, a learner and an environment of one's own, each registered under a name with options of its own, and
//! problems that name them.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::{EnvEntry, EnvSpec, Status, TabularMdp};
use appropo::error::Result;
use appropo::measurement::{Measures, Spread};
use appropo::method::{Budget, Method, Resume};
use appropo::options::{
    Entry, Given, Key, Kind, OptionError, Options, Range, Result as OptionResult, Step, Table, Value,
};
use appropo::outcome::{History, Outcome};
use appropo::player::{Blackwell, Decision, MakePlayer, Player, PlayerContext, PlayerEntry, Weights};
use appropo::policy::{AnyPolicy, TabularPolicy};
use appropo::problem::Problem;
use appropo::random::Generator;
use appropo::registry::Registry;
use appropo::rl::{Episode, EpisodeWindow, Learner, LearnerContext, LearnerEntry, MakeLearner};
use appropo::set::{FromProjection, SetEntry, SetSpace, SharedSet};
use appropo::solver::Round;
use appropo::state::{Checkpoint, Loader, Saver};

// A set: all entries within a distance of their mean.

static WITHIN: [Key; 1] = [Key::defaulted(
    "within",
    Kind::Number(Range::FROM_ZERO),
    "0",
    "How far the entries may be from their mean.",
)];

static EVEN: SetEntry = SetEntry {
    key: Key::optional("even", Kind::Table(&WITHIN), "{ within = 0.1 }", "All entries are nearly alike."),
    make: |entry, space| {
        let within = entry.table(&WITHIN)?.number("within")?;
        let project = move |x: &[f64], out: &mut [f64]| {
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            let distance = x.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>().sqrt();
            let shrink = if distance <= within { 1.0 } else { within / distance };
            out.iter_mut().zip(x).for_each(|(out, v)| *out = mean + shrink * (v - mean));
        };
        Ok(Arc::new(FromProjection::new(space.dim, project).described("all alike")))
    },
};

// A player: Blackwell's, with λ of another length.

#[derive(Debug, Clone, PartialEq)]
struct ScaledOptions {
    gain: f64,
}

impl Options for ScaledOptions {
    const KEYS: &'static [Key] =
        &[Key::defaulted("gain", Kind::Number(Range::POSITIVE), "1", "How long λ is.")];

    fn read(given: &Given) -> OptionResult<Self> {
        Ok(Self { gain: given.number("gain")? })
    }

    fn table(&self) -> Table {
        Table::new([("gain", self.gain)])
    }
}

struct Scaled {
    player: Blackwell,
    gain: f64,
    decision: Decision,
}

impl Scaled {
    fn decide(&mut self) {
        let Decision { lam, offset } = self.player.decision();
        self.decision =
            Decision { lam: lam.iter().map(|l| l * self.gain).collect(), offset: offset * self.gain };
    }
}

impl Player for Scaled {
    fn decision(&self) -> &Decision {
        &self.decision
    }

    fn observe(&mut self, z_hat: &[f64], spread: Option<&Spread>) -> Result<()> {
        self.player.observe(z_hat, spread)?;
        self.decide();
        Ok(())
    }

    fn weights(&self) -> Weights {
        self.player.weights()
    }
}

impl Checkpoint for Scaled {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.player.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.player.load(from)?;
        self.decide();
        Ok(())
    }
}

impl MakePlayer for ScaledOptions {
    fn name(&self) -> &str {
        SCALED.name
    }

    fn make(&self, set: &SharedSet, _: &PlayerContext) -> Result<Box<dyn Player>> {
        let player = Blackwell::new(Arc::clone(set));
        let decision = player.decision().clone();
        Ok(Box::new(Scaled { player, gain: self.gain, decision }))
    }

    fn table(&self, _: &SharedSet, _: &PlayerContext) -> Result<Table> {
        Ok(Options::table(self))
    }
}

static SCALED: PlayerEntry = PlayerEntry {
    name: "scaled",
    about: "Blackwell's player with a longer λ",
    keys: ScaledOptions::KEYS,
    read: |given| Ok(Arc::new(ScaledOptions::read(given)?)),
};

// A learner: it has learnt all that it will.

#[derive(Debug, Clone, PartialEq)]
struct FixedOptions {
    action: u64,
}

impl Options for FixedOptions {
    const KEYS: &'static [Key] = &[Key::required("action", Kind::Count(0, 1), "1", "What it always does.")];

    fn read(given: &Given) -> OptionResult<Self> {
        Ok(Self { action: given.count("action")? })
    }

    fn table(&self) -> Table {
        Table::new([("action", self.action)])
    }
}

struct Fixed {
    policy: TabularPolicy,
    action: f64,
    episode: Episode,
    rng: Generator,
}

impl Learner for Fixed {
    fn learn(&mut self, _: &[f64], window: &mut EpisodeWindow) -> Result<usize> {
        self.episode.start(&mut self.rng)?;
        while self.episode.status() == Status::Running {
            self.episode.step(&[self.action], &mut self.rng)?;
        }
        window.add(self.episode.sum());
        Ok(self.episode.steps())
    }

    fn policy(&self) -> AnyPolicy {
        self.policy.clone().into()
    }

    fn start_from(&mut self, _: &AnyPolicy) -> Result<()> {
        Ok(())
    }

    fn start_afresh(&mut self) {}
}

impl Checkpoint for Fixed {}

impl MakeLearner for FixedOptions {
    fn name(&self) -> &str {
        FIXED.name
    }

    fn make(&self, context: LearnerContext) -> Result<Box<dyn Learner>> {
        let LearnerContext { env, mut envs, gamma, limit, rng, .. } = context;
        let states = env.observations().count().unwrap();
        let actions = env.actions().count().unwrap();
        let policy = TabularPolicy::deterministic(states, actions, vec![self.action as u32; states])?;
        let episode = Episode::new(envs.remove(0), gamma, limit);
        Ok(Box::new(Fixed { policy, action: self.action as f64, episode, rng }))
    }

    fn table(&self, _: &EnvSpec) -> Table {
        Options::table(self)
    }
}

static FIXED: LearnerEntry = LearnerEntry {
    name: "fixed",
    about: "always does the same",
    keys: FixedOptions::KEYS,
    read: |given| Ok(Arc::new(FixedOptions::read(given)?)),
};

// An environment: a coin that is thrown once, or laid down with its tail up.

static COIN: EnvEntry = EnvEntry {
    name: "coin",
    about: "throw a coin or lay it down",
    keys: &[Key::defaulted("bias", Kind::Number(Range::UNIT), "1", "The probability of heads.")],
    read: |given, _| {
        let bias = given.number("bias")?;
        let mut model = TabularMdp::builder(2, 2, Measures::new([("heads", 1), ("tails", 1), ("steps", 1)]));
        model.start(0, 1.0).terminal(1);
        model.transition((0, 0), bias, 1, &[(0, 1.0), (2, 1.0)]);
        model.transition((0, 0), 1.0 - bias, 1, &[(1, 1.0), (2, 1.0)]);
        model.transition((0, 1), 1.0, 1, &[(1, 1.0), (2, 1.0)]);
        let model = model.build().map_err(|error| given.error(error.to_string()))?;
        Ok(Arc::new(model).into())
    },
};

fn registry() -> Registry {
    let registry = Registry::standard().with_set(&EVEN).unwrap().with_player(&SCALED).unwrap();
    registry.with_learner(&FIXED).unwrap().with_environment(&COIN).unwrap()
}

/// Who came second was never found, and nothing said so.
#[test]
fn a_name_is_registered_once() {
    static EXACT: PlayerEntry = PlayerEntry { name: "exact", ..SCALED };
    let refused = |registry: Result<Registry>| registry.unwrap_err().to_string();
    let message = "the player \"scaled\" can't be registered: the name is taken; choose another";
    assert_eq!(refused(registry().with_player(&SCALED)), message);
    // Tables of options by the names of players and oracles stand side by side.
    assert!(refused(registry().with_player(&EXACT)).contains("\"exact\""));
    assert!(refused(registry().with_set(&EVEN)).contains("\"even\""));
}

/// The environment that a table names and describes.
fn environment(registry: &Registry, table: &Table) -> OptionResult<EnvSpec> {
    let mut options = table.clone();
    let name = options.remove("name").unwrap();
    let entry = registry.environment(&Entry::alone("name", &name))?;
    let made = (entry.read)(&Given::read(&options, entry.keys)?, 1.0)?;
    Ok(made.stated_as(entry.name, options.clone()))
}

fn constraint(registry: &Registry, table: Table) -> OptionResult<Constraint> {
    let (vectors, externals) = (|_: &str| None, HashMap::new());
    let space = SetSpace::new(2, &vectors, &externals);
    let (set, stated) = registry.one_set(&Given::open(&table, Vec::new()), &space)?;
    Ok(Constraint { stated: Some(stated), ..Constraint::new(["heads", "tails"], set) })
}

fn coin(bias: f64, set: Table) -> Problem {
    let mut world = Table::new([("name", "coin")]);
    world.set("bias", bias);
    let registry = registry();
    Problem::builder(environment(&registry, &world).unwrap())
        .constraint(constraint(&registry, set).unwrap())
        .build()
        .unwrap()
}

fn even(within: f64) -> Table {
    Table::new([("even", Table::new([("within", within)]))])
}

fn method(names: &[(&str, &str)], options: &[(&str, Table)]) -> OptionResult<Arc<dyn Method>> {
    let mut table = Table::new(names.iter().copied());
    options.iter().for_each(|(name, options)| table.set(*name, options.clone()));
    registry().read_method(&table)
}

fn solve(problem: &Problem, method: &dyn Method) -> Outcome {
    problem.solve(method, &Budget::samples(5_000).tolerance(1e-2), 0, &mut ()).unwrap()
}

#[test]
fn all_of_ones_own_together() {
    let problem = coin(1.0, even(0.0));
    assert_eq!(problem.env().stated().unwrap().0, "coin");
    let statements: Vec<String> = problem.statements().collect();
    assert_eq!(statements, ["heads, tails: heads, tails all alike"]);
    let stated = problem.target().constraints()[0].stated.as_ref().unwrap();
    assert_eq!((stated.key.as_str(), &stated.value), ("even", even(0.0).get("even").unwrap()));

    let scaled = method(&[("player", "scaled")], &[("scaled", Table::new([("gain", 3.0)]))]).unwrap();
    let outcome = solve(&problem, scaled.as_ref());
    assert_eq!(outcome.verdict(), Verdict::Feasible, "{}", outcome.sentence());
    assert!((outcome.measurements[0] - 0.5).abs() <= 1e-2, "{:?}", outcome.measurements);
    // The standard player and method know the set and the environment, too.
    let standard = method(&[], &[]).unwrap();
    let outcome = solve(&problem, standard.as_ref());
    assert_eq!((outcome.verdict(), outcome.mixture.parts().len()), (Verdict::Feasible, 2));
    // A coin that never shows heads is as uneven as it is.
    let outcome = solve(&coin(0.0, even(0.1)), scaled.as_ref());
    assert_eq!(outcome.verdict(), Verdict::Infeasible);
    assert!((outcome.certificate.distance - (0.5_f64.sqrt() - 0.1)).abs() <= 1e-2);
}

#[test]
fn a_learner_of_ones_own() {
    let learner =
        |action: u64| method(&[("oracle", "fixed")], &[("fixed", Table::new([("action", action)]))]).unwrap();
    let mostly_heads = || coin(0.9, Table::new([("at_least", vec![0.8, 0.0])]));
    let outcome = solve(&mostly_heads(), learner(0).as_ref());
    assert_eq!(outcome.verdict(), Verdict::Feasible, "{}", outcome.sentence());
    assert!((outcome.measurements[0] - 0.9).abs() < 1e-9 && outcome.evaluation.is_some());
    let outcome = solve(&mostly_heads(), learner(1).as_ref());
    assert_ne!(outcome.verdict(), Verdict::Feasible);
    assert_eq!(outcome.measurements[0], 0.0);
    // What it can't save is not saved, and it says so.
    let mut saved = Ok((0, Vec::new()));
    let mut watch = |round: &Round| {
        saved = (round.state)();
        ControlFlow::Continue(())
    };
    mostly_heads().solve(learner(0).as_ref(), &Budget::samples(5_000), 0, &mut watch).unwrap();
    assert!(saved.unwrap_err().to_string().contains("Fixed can't be saved"));
}

/// A player that saves itself is taken up again as those of the library are.
#[test]
fn a_player_of_ones_own_is_taken_up_again() {
    let problem = coin(0.7, even(0.0));
    let method = method(&[("player", "scaled")], &[]).unwrap();
    let budget = Budget::default().rounds(9).tolerance(1e-9);
    let mut states = Vec::new();
    let mut watch = |round: &Round| {
        states.push((round.state)().unwrap().1);
        ControlFlow::Continue(())
    };
    let whole = problem.solve(method.as_ref(), &budget, 0, &mut watch).unwrap();
    let lines = whole.history.lines[..4].to_vec();
    let from = Resume { state: states[3].clone(), history: History { lines, ..History::default() } };
    let resumed = problem.resume(method.as_ref(), &budget, 0, from, &mut ()).unwrap();
    assert_eq!(resumed.certificate, whole.certificate);
    assert_eq!(resumed.history, whole.history);
}

/// What a method says of itself makes it again.
#[test]
fn methods_are_made_again_from_what_they_say() {
    let problem = coin(0.7, even(0.1));
    let fixed = [("fixed", Table::new([("action", 1_u64)])), ("scaled", Table::new([("gain", 2.0)]))];
    for (names, options) in [
        (vec![], vec![]),
        (vec![("method", "occupancy")], vec![]),
        (vec![("oracle", "fixed"), ("player", "scaled"), ("goal", "feasibility")], fixed.to_vec()),
        (vec![("oracle", "ppo"), ("player", "ogd")], vec![("learned", Table::new([("episodes", 9_usize)]))]),
        (vec![("oracle", "model"), ("player", "momentum")], vec![]),
    ] {
        let made = method(&names, &options).unwrap();
        let table = made.table(&problem, &Budget::default()).unwrap();
        for (name, options) in &options {
            let found =
                table.get(name).unwrap_or_else(|| panic!("{name} is not in {}", Value::from(table.clone())));
            let Value::Table(found) = found else { panic!("{found}") };
            assert!(options.iter().all(|(key, value)| found.get(key) == Some(value)), "{name}");
        }
        let again = registry().read_method(&table).unwrap();
        assert_eq!(again.table(&problem, &Budget::default()).unwrap(), table);
        assert_eq!(again.is_learning(&problem), made.is_learning(&problem));
    }
}

#[test]
fn what_is_registered_is_listed_and_suggested() {
    let registry = registry();
    assert!(registry.sets().iter().any(|entry| entry.key.name == "even"));
    assert!(registry.players().iter().any(|entry| entry.name == "scaled"));
    assert!(registry.environments().iter().any(|entry| entry.name == "coin"));
    assert!(registry.learners().iter().any(|entry| entry.name == "fixed"));
    assert!(registry.oracles().iter().any(|(name, ..)| *name == "fixed"));
    let tables: Vec<&str> = registry.option_tables().iter().map(|(name, ..)| *name).collect();
    assert!(tables.contains(&"scaled") && tables.contains(&"fixed"), "{tables:?}");
    // The standard one does not know them.
    assert!(!Registry::standard().players().iter().any(|entry| entry.name == "scaled"));

    let step = |key: &str| Step::Key(key.into());
    let refused = |names: &[(&str, &str)], options: &[(&str, Table)]| -> OptionError {
        method(names, options).unwrap_err()
    };
    for (names, message) in [
        (("player", "scalde"), "player: \"scalde\" is not known here; did you mean \"scaled\"?"),
        (("oracle", "fixd"), "oracle: \"fixd\" is not known here; did you mean \"fixed\"?"),
        (("method", "ocupancy"), "method: \"ocupancy\" is not known here; did you mean \"occupancy\"?"),
    ] {
        let error = refused(&[names], &[]);
        assert_eq!((error.message.as_str(), error.path), (message, vec![step(names.0)]));
    }
    let error = refused(&[("oracle", "fixed")], &[]);
    assert_eq!(error.message, "\"action\" is missing; write action = 1");
    // Also options of what is not named are looked at.
    for names in [&[("player", "scaled")][..], &[], &[("method", "occupancy")]] {
        let error = refused(names, &[("scaled", Table::new([("gain", 0.0)]))]);
        assert_eq!(error.message, "gain: found 0; expected a number above 0");
        assert_eq!(error.path, [step("scaled"), step("gain")]);
        let error = refused(names, &[("scaled", Table::new([("gian", 1.0)]))]);
        assert_eq!(error.message, "unknown key \"gian\"; did you mean \"gain\"?");
        assert_eq!(error.path, [step("scaled"), step("gian")]);
    }
    let error = refused(&[], &[("scalde", Table::default())]);
    assert_eq!(error.message, "unknown key \"scalde\"; did you mean \"scaled\"?");

    let unnamed = environment(&registry, &Table::new([("name", "coyn")])).unwrap_err();
    assert_eq!(unnamed.message, "name: \"coyn\" is not known here; did you mean \"coin\"?");
    let error = constraint(&registry, even(-0.1)).unwrap_err();
    assert_eq!(error.message, "within: found -0.1; expected a number, 0 or more");
    assert_eq!(error.path, [step("even"), step("within")]);
}

/// Sets are parts of others, those of one's own as well.
#[test]
fn a_set_of_ones_own_in_an_intersection() {
    let bounds = Table::new([("at_most", 0.4)]);
    let parts = |parts: Vec<Table>| Table::new([("intersection", parts)]);
    let problem = coin(1.0, parts(vec![even(0.2), bounds]));
    let outcome = solve(&problem, method(&[], &[]).unwrap().as_ref());
    // (0.6, 0.4) is the closest that sums to 1: 0.1 beyond each bound.
    assert_eq!(outcome.verdict(), Verdict::Infeasible);
    assert!((outcome.certificate.distance - 0.02_f64.sqrt()).abs() <= 1e-2, "{:?}", outcome.certificate);
}
