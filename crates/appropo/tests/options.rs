//! The options of everything that is registered: what is declared of them holds, what they say reads back the same, and
//! what they can't be is refused with what was found, what was expected and where it stands.

use std::collections::HashMap;
use std::fmt::Debug;
use std::ops::Bound;
use std::sync::Arc;

use appropo::constraint::Constraint;
use appropo::env::mars_rover;
use appropo::error::Error;
use appropo::measurement::Selection;
use appropo::method::{
    Appropo, AppropoOptions, Budget, DistilOptions, DistilledPolicy, LagrangianOptions, Method,
    ObjectiveSearch, RcpoOptions,
};
use appropo::nn::Activation;
use appropo::options::{
    Entry, Given, Key, Kind, Measurements, Options, Part, Presence, Result, Step, Table, Value,
};
use appropo::oracle::{ExactOptions, LearnedOptions, ModelOptions, Planner};
use appropo::player::{BlackwellOptions, FullyCorrectiveOptions, OgdOptions, PlayerContext, StepRule};
use appropo::problem::Problem;
use appropo::registry::Registry;
use appropo::rl::actor_critic::{A2cOptions, Critic, OptimizerKind, PpoOptions};
use appropo::rl::soft_actor_critic::SacOptions;
use appropo::rl::{Backup, QLearningOptions};
use appropo::set::{Ball, Bounds, SetSpace, SharedSet};
use appropo::solver::Goal;

/// A value as one writes it in a problem file.
fn parse(text: &str) -> Value {
    let (value, rest) = value(text.trim());
    assert!(rest.trim().is_empty(), "{rest} is left of {text}");
    value
}

fn value(text: &str) -> (Value, &str) {
    let text = text.trim_start();
    if let Some(text) = text.strip_prefix('"') {
        let (inside, rest) = text.split_once('"').unwrap();
        return (Value::Text(inside.into()), rest);
    }
    if let Some(mut rest) = text.strip_prefix('[') {
        let mut items = Vec::new();
        loop {
            rest = rest.trim_start().trim_start_matches(',').trim_start();
            if let Some(rest) = rest.strip_prefix(']') {
                return (Value::List(items), rest);
            }
            let (item, after) = value(rest);
            items.push(item);
            rest = after;
        }
    }
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut table = Table::default();
        loop {
            rest = rest.trim_start().trim_start_matches(',').trim_start();
            if let Some(rest) = rest.strip_prefix('}') {
                return (Value::Table(table), rest);
            }
            let (key, after) = rest.split_once('=').unwrap();
            let (item, after) = value(after);
            table.set(key.trim(), item);
            rest = after;
        }
    }
    let end = text.find([',', ']', '}']).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let word = word.trim();
    let number = || Value::Number(word.parse().unwrap_or_else(|_| panic!("{word} is no value")));
    let value = match word {
        "true" => Value::Flag(true),
        "false" => Value::Flag(false),
        _ => word.parse().map_or_else(|_| number(), Value::Integer),
    };
    (value, rest)
}

fn alone(key: &str, value: Value) -> Table {
    Table::new([(key, value)])
}

/// Every table of options that is registered, but for sets, which are a key each.
fn tables() -> Vec<(String, &'static [Key])> {
    let registry = Registry::standard();
    let environments = registry.environments().iter().map(|entry| (entry.name, entry.keys));
    let methods = registry.methods().iter().map(|entry| (entry.name, entry.keys));
    let players = registry.players().iter().map(|entry| (entry.name, entry.keys));
    let learners = registry.learners().iter().map(|entry| (entry.name, entry.keys));
    let oracles = registry.oracles().into_iter().map(|(name, _, keys)| (name, keys));
    let others = registry.option_tables().into_iter().map(|(name, _, keys)| (name, keys));
    let all = environments.chain(methods).chain(players).chain(learners).chain(oracles).chain(others);
    all.map(|(name, keys)| (name.to_owned(), keys)).collect()
}

/// Every key anywhere, with what it belongs to.
fn keys() -> Vec<(String, &'static Key)> {
    fn add(name: &str, keys: &'static [Key], all: &mut Vec<(String, &'static Key)>) {
        for key in keys {
            all.push((format!("{name}.{}", key.name), key));
            match &key.kind {
                Kind::Table(inner) | Kind::Map(_, Some(inner)) => {
                    add(&format!("{name}.{}", key.name), inner, all);
                }
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    tables().into_iter().for_each(|(name, keys)| add(&name, keys, &mut all));
    for entry in Registry::standard().sets() {
        add("set", std::slice::from_ref(&entry.key), &mut all);
    }
    all
}

/// Options that must be given, as their examples say.
fn required(keys: &'static [Key]) -> Table {
    let required = keys.iter().filter(|key| matches!(key.presence, Presence::Required));
    Table::new(required.map(|key| (key.name, parse(key.example))))
}

#[test]
fn every_default_and_example_may_stand_at_its_key() {
    let all = keys();
    assert!(all.len() > 100, "only {} keys", all.len());
    for (place, key) in all {
        for text in key.default().into_iter().chain([key.example]) {
            let table = alone(key.name, parse(text));
            assert!(Given::read(&table, [key]).is_ok(), "{place} = {text}: {:?}", Given::read(&table, [key]));
        }
        assert!(!key.about.trim().is_empty() && key.about == key.about.trim(), "{place}: {:?}", key.about);
        assert!(key.about.ends_with('.'), "{place}: {}", key.about);
    }
    // All at once, and none that need not be there.
    for (name, keys) in tables() {
        let examples = Table::new(keys.iter().map(|key| (key.name, parse(key.example))));
        Given::read(&examples, keys).unwrap_or_else(|error| panic!("{name}: {error}"));
        Given::read(&required(keys), keys).unwrap_or_else(|error| panic!("{name}: {error}"));
        for key in keys.iter().filter(|key| matches!(key.presence, Presence::Required)) {
            let mut lacking = examples.clone();
            lacking.remove(key.name);
            let error = Given::read(&lacking, keys).unwrap_err();
            let expected = format!("\"{0}\" is missing; write {0} = {1}", key.name, key.example);
            assert_eq!((error.message, error.path), (expected, vec![]), "{name}");
        }
    }
}

#[test]
fn names_are_there_once() {
    let all = tables();
    for (name, keys) in &all {
        for (i, key) in keys.iter().enumerate() {
            assert!(
                keys[..i].iter().all(|other| other.name != key.name),
                "{name}.{} is there twice",
                key.name
            );
        }
    }
    let registry = Registry::standard();
    let option_tables: Vec<&str> = registry.option_tables().iter().map(|(name, ..)| *name).collect();
    let sets: Vec<&str> = registry.sets().iter().map(|entry| entry.key.name).collect();
    let environments: Vec<&str> = registry.environments().iter().map(|entry| entry.name).collect();
    let oracles: Vec<&str> = registry.oracles().iter().map(|(name, ..)| *name).collect();
    for mut names in [option_tables, sets, environments, oracles] {
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}

fn read<O: Options>(table: &Table) -> Result<O> {
    O::read(&Given::read(table, O::KEYS)?)
}

/// Options are what their defaults say, and read back as what they say of themselves.
fn reads_back<O: Options + Default + PartialEq + Debug>(changed: O) {
    let usual = O::default();
    assert_eq!(read::<O>(&Table::default()).unwrap(), usual);
    let defaults = O::KEYS.iter().filter_map(|key| Some((key.name, parse(key.default()?))));
    assert_eq!(read::<O>(&Table::new(defaults)).unwrap(), usual);
    assert_ne!(changed, usual);
    for options in [usual, changed] {
        let table = options.table();
        assert!(table.iter().all(|(key, _)| O::KEYS.iter().any(|known| known.name == key)));
        assert_eq!(read::<O>(&table).unwrap(), options);
        // Also once it was written out.
        let Value::Table(written) = parse(&Value::from(table).to_string()) else { panic!("no table") };
        assert_eq!(read::<O>(&written).unwrap(), options);
    }
}

#[test]
fn options_read_back_as_they_are() {
    let anchor = Measurements(vec![("failure".into(), vec![0.8]), ("visits".into(), vec![1.0, 0.25])]);
    reads_back(FullyCorrectiveOptions::default().margin(2.5).anchor(anchor));
    reads_back(OgdOptions::default().kappa(3.0).eta(1e-7).steps(StepRule::Decreasing).momentum(0.5));
    reads_back(ExactOptions::default().planner(Planner::ValueIteration));
    reads_back(ModelOptions::default().trials(3_usize).posterior_checks(7_usize));
    let learned = LearnedOptions::default().episodes(20_usize).epsilon(0.1).fresh(10_usize).iterates(false);
    reads_back(learned.patience(0.25));
    let q_learning = QLearningOptions::default().backup(Backup::Sarsa).learning_rate(0.3);
    reads_back(q_learning.exploration_rate(0.2).initial_value(-1.5));
    let a2c = A2cOptions::default().learning_rate(0.03).critic(Critic::Measurements).gamma(0.9);
    reads_back(a2c.optimizer(OptimizerKind::RmsProp));
    let ppo = PpoOptions::default().learning_rate(1e-4).n_steps(32).batch_size(16).n_epochs(3);
    let ppo = ppo.gae_lambda(0.8).clip_range(0.1).ent_coef(0.0).vf_coef(0.25).max_grad_norm(1.5);
    let ppo = ppo.normalize_advantage(false).net_arch(vec![8, 4]).activation_fn(Activation::Relu);
    reads_back(SacOptions::default().learning_rate(1e-4).train_freq(32_usize).ent_coef(0.2));
    reads_back(ppo.optimizer(OptimizerKind::RmsProp).critic(Critic::Measurements));
    let distil = DistilOptions::default().policy(DistilledPolicy::Network).net_arch(vec![8, 4]);
    reads_back(distil.learning_rate(0.25).batch_size(3_usize).n_epochs(7_usize));
    reads_back(LagrangianOptions::default().kp(0.5).ki(3.0).kd(0.25));
    reads_back(RcpoOptions::default().multiplier_init(0.1).multiplier_lr(0.5).multiplier_max(7.0));
    reads_back(AppropoOptions::default().goal(Goal::Feasibility).search(ObjectiveSearch::Binary));
    assert_eq!(read::<BlackwellOptions>(&Table::default()).unwrap(), BlackwellOptions::default());
    assert!(BlackwellOptions::default().table().is_empty());
}

fn rover() -> Problem {
    Problem::builder(mars_rover::world("4x4", 0.05).unwrap())
        .discount(0.99)
        .constraint(Constraint::at_most("failure", 0.3).unwrap())
        .constraint(Constraint::at_least("reward", -0.17).unwrap())
        .build()
        .unwrap()
}

/// What is in force of the options of every player, oracle and learner reads back to the same.
#[test]
fn what_is_in_force_reads_back() {
    let (registry, problem) = (Registry::standard(), rover());
    let radius = || Ok(Some(3.0));
    let set: &SharedSet = problem.target().set();
    let selection: &Selection = problem.target().selection();
    for is_learning in [true, false] {
        let context = PlayerContext {
            measures: problem.measures(),
            selection,
            radius: &radius,
            rounds: 50,
            is_learning,
            criterion: None,
        };
        for entry in registry.players() {
            let player = (entry.read)(&Given::read(&required(entry.keys), entry.keys).unwrap()).unwrap();
            assert_eq!(player.name(), entry.name);
            let table = player.table(set, &context).unwrap();
            let again = (entry.read)(&Given::read(&table, entry.keys).unwrap()).unwrap();
            assert_eq!(again.name(), entry.name);
            assert_eq!(again.table(set, &context).unwrap(), table, "{}", entry.name);
            let needs_objective = entry.name == "frank-wolfe";
            assert_eq!(player.make(set, &context).is_err(), needs_objective, "{}", entry.name);
        }
    }
    for entry in registry.learners() {
        let learner = (entry.read)(&Given::read(&required(entry.keys), entry.keys).unwrap()).unwrap();
        assert_eq!(learner.name(), entry.name);
        let table = learner.table(problem.env());
        // Nothing is left open.
        let named: Vec<&str> = table.iter().map(|(key, _)| key).collect();
        assert_eq!(named, entry.keys.iter().map(|key| key.name).collect::<Vec<_>>(), "{}", entry.name);
        let again = (entry.read)(&Given::read(&table, entry.keys).unwrap()).unwrap();
        assert_eq!(again.table(problem.env()), table, "{}", entry.name);
    }
    for (oracle, ..) in registry.oracles() {
        for (player, _) in registry.players().iter().map(|entry| (entry.name, ())) {
            let method = registry.read_method(&Table::new([("oracle", oracle), ("player", player)])).unwrap();
            let table = method.table(&problem, &Budget::default()).unwrap();
            let again = registry.read_method(&table).unwrap();
            assert_eq!(again.table(&problem, &Budget::default()).unwrap(), table, "{oracle}, {player}");
        }
    }
}

#[test]
fn every_environment_is_made_of_its_defaults() {
    // The files of data sets and models are read by whoever reads the problem.
    let of_files = ["dataset", "model"];
    for entry in Registry::standard().environments().iter().filter(|entry| !of_files.contains(&entry.name)) {
        let mut table = required(entry.keys);
        if entry.name == appropo::env::external::NAME {
            table.set("states", 3_usize);
            table.set("choices", 2_usize);
        }
        let given = Given::read(&table, entry.keys).unwrap();
        let env = (entry.read)(&given, 0.9).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        assert!(env.measures().dim() > 0, "{}", entry.name);
        // What another program gives is not here.
        assert_eq!(env.make(Some(5)).is_ok(), !env.is_external(), "{}", entry.name);
    }
}

/// What is needed to make sets of so many entries.
fn in_space<T>(dim: usize, act: impl Fn(&SetSpace) -> T) -> T {
    let mine: SharedSet = Arc::new(Bounds::nonpositive(dim));
    let (vectors, externals) = (|_: &str| None, HashMap::from([("mine".to_owned(), mine)]));
    act(&SetSpace::new(dim, &vectors, &externals))
}

fn set(key: &str, value: &Value, dim: usize) -> Result<SharedSet> {
    in_space(dim, |space| Registry::standard().set(&Entry::alone(key, value), space))
}

#[test]
fn every_set_is_made_of_its_example() {
    for entry in Registry::standard().sets() {
        let (name, example) = (entry.key.name, parse(entry.key.example));
        let made = (1..=16).find_map(|dim| Some((dim, set(name, &example, dim).ok()?)));
        let (dim, made) = made
            .unwrap_or_else(|| panic!("{name} = {}: {:?}", entry.key.example, set(name, &example, 2).err()));
        let mut nearest = vec![0.0; dim];
        made.project(&vec![0.3; dim], &mut nearest);
        assert!(made.dim() == dim && made.distance(&nearest) <= 1e-5, "{name}");
        // And as the one set of a table.
        let table = alone(name, example.clone());
        let (_, stated) =
            in_space(dim, |space| Registry::standard().one_set(&Given::open(&table, vec![]), space)).unwrap();
        assert_eq!((stated.key.as_str(), stated.value, stated.shift), (name, example, None));
    }
    let two = Table::new([("at_most", 0.2), ("at_least", 0.1)]);
    let refused = |table: &Table| {
        in_space(1, |space| Registry::standard().one_set(&Given::open(table, vec![]), space).err().unwrap())
    };
    let error = refused(&two);
    assert!(error.message.contains("a constraint has one set"), "{error}");
    assert_eq!(error.path, [Step::Key("at_least".into())]);
    assert!(refused(&Table::default()).message.starts_with("the set is missing; write one of at_most, "));
}

/// Values that may not stand at a key, with where in it they go wrong and what the message says of them.
fn wrong(kind: &'static Kind) -> Vec<(Value, Vec<Step>, String)> {
    let item = |i| vec![Step::Item(i)];
    let number = |number: f64| format!("found {}", Value::Number(number));
    let text = |text: &str| (Value::from(text), vec![], format!("\"{text}\""));
    let list = |values: &[f64]| Value::from(values);
    match kind {
        Kind::Number(range) => {
            let mut beyond = Vec::new();
            match range.least {
                Bound::Included(least) => beyond.push(least - 0.5),
                Bound::Excluded(least) => beyond.extend([least, least - 1.0]),
                Bound::Unbounded => {}
            }
            match range.most {
                Bound::Included(most) => beyond.push(1.5 * most),
                Bound::Excluded(most) => beyond.extend([most, most + 1.0]),
                Bound::Unbounded => {}
            }
            let beyond = beyond.into_iter().map(|n| (Value::Number(n), vec![], number(n)));
            let infinite =
                [f64::NAN, f64::INFINITY].map(|n| (Value::Number(n), vec![], format!("found {n}")));
            beyond.chain(infinite).chain([text("a lot"), text("0.5")]).collect()
        }
        Kind::Count(least, most) | Kind::Counts(least, most) => {
            let found = |n: i128| (Value::Integer(n), vec![], format!("found the number {n}"));
            let outside = [i128::from(*least) - 1, i128::from(*most) + 1, -1].map(found);
            let half = (Value::Number(1.5), vec![], "found the number 1.5".into());
            let wrong = outside.into_iter().chain([half, text("a lot")]);
            match kind {
                Kind::Count(..) => wrong.collect(),
                // As the second of several.
                _ => {
                    let fine = Value::Integer(i128::from(*least));
                    wrong.map(|(v, _, found)| (Value::List(vec![fine.clone(), v]), item(1), found)).collect()
                }
            }
        }
        Kind::Open | Kind::Tables | Kind::Measures | Kind::Utility(_) => {
            vec![(Value::Integer(3), vec![], "found the number 3".into())]
        }
        Kind::Flag => vec![(Value::Integer(1), vec![], "found the number 1".into()), text("true")],
        Kind::True => vec![(Value::Flag(false), vec![], "found false".into()), text("true")],
        Kind::Name => vec![
            (Value::Integer(3), vec![], "found the number 3".into()),
            (" ".into(), vec![], "empty".into()),
        ],
        Kind::Word(_) => vec![text("no-such-word"), (Value::Flag(true), vec![], "found true".into())],
        Kind::Names | Kind::NamesOrNone => {
            let names = |value: Value| Value::List(vec!["a".into(), value]);
            vec![(names(Value::Integer(3)), item(1), "found the number 3".into()), text("a")]
        }
        Kind::Map(..) => vec![(Value::Integer(3), vec![], "found the number 3".into())],
        Kind::Vector => vec![
            text("unform"),
            (Value::Integer(3), vec![], "found the number 3".into()),
            (Value::List(vec![Value::Integer(1), "x".into()]), item(1), "found the text \"x\"".into()),
        ],
        Kind::Numbers | Kind::PerEntry => vec![
            text("x"),
            (Value::List(vec![]), vec![], "the array is empty".into()),
            (Value::List(vec![Value::Integer(1), "x".into()]), item(1), "found the text \"x\"".into()),
        ],
        Kind::Pair => vec![
            (list(&[1.0]), vec![], "found 1 numbers".into()),
            (list(&[1.0, 2.0, 3.0]), vec![], "found 3 numbers".into()),
            (list(&[2.0, 1.0]), vec![], "2 is above 1".into()),
        ],
        Kind::Rows => vec![(list(&[1.0, 2.0]), item(0), "found the number 1".into()), text("x")],
        Kind::Table(keys) => {
            let mut unknown = required(keys);
            unknown.set("no_such_key", 1.0);
            let mut all = vec![(
                Value::Table(unknown),
                vec![Step::Key("no_such_key".into())],
                "\"no_such_key\"".into(),
            )];
            for key in *keys {
                for (value, path, found) in wrong(&key.kind) {
                    let mut table = required(keys);
                    table.set(key.name, value);
                    let path = [vec![Step::Key(key.name.into())], path].concat();
                    all.push((Value::Table(table), path, found));
                }
            }
            all.push((Value::Integer(3), vec![], "found the number 3".into()));
            all
        }
        Kind::Parts => vec![
            text("x"),
            (
                Value::List(vec![Table::new([("at_most", 0.1)]).into(), Value::Integer(3)]),
                item(1),
                "found the number 3".into(),
            ),
        ],
        Kind::Measurements => vec![(Value::Integer(3), vec![], "found the number 3".into())],
    }
}

/// What a message must say besides what was found.
fn says_what_to_do(message: &str) -> bool {
    ["expected ", "write ", "did you mean "].iter().any(|words| message.contains(words))
}

#[test]
fn what_an_option_can_not_be_is_refused_at_its_place() {
    let mut count = 0;
    for (place, key) in keys() {
        for (value, path, found) in wrong(&key.kind) {
            count += 1;
            let path = [vec![Step::Key(key.name.into())], path].concat();
            let table = alone(key.name, value.clone());
            let Err(error) = Given::read(&table, [key]) else { panic!("{place} may be {value}") };
            assert_eq!(error.path, path, "{place} = {value}: {error}");
            assert!(error.message.contains(&found), "{place} = {value}: {error}, not {found}");
            assert!(says_what_to_do(&error.message), "{place} = {value}: {error}");
            // The same somewhere in a larger table.
            let whole = alone("outer", table.into());
            let outer = Entry::alone("outer", whole.get("outer").unwrap());
            let deeper = outer.table([key]).unwrap_err();
            assert_eq!(deeper.path, [vec![Step::Key("outer".into())], path].concat());
            assert_eq!((deeper.message, deeper.part), (error.message, error.part));
        }
    }
    assert!(count > 400, "only {count} values");
}

#[test]
fn unknown_keys_are_refused_with_what_may_have_been_meant() {
    for (name, keys) in tables() {
        let mut table = required(keys);
        table.set("no_such_key", true);
        let error = Given::read(&table, keys).unwrap_err();
        assert_eq!((error.path, error.part), (vec![Step::Key("no_such_key".into())], Part::Name), "{name}");
        assert!(error.message.starts_with("unknown key \"no_such_key\"; "), "{name}: {}", error.message);
        for key in keys.iter().filter(|key| key.name.len() > 3) {
            let misspelt = format!("{}x", key.name);
            let mut table = required(keys);
            table.set(misspelt.clone(), parse(key.example));
            let error = Given::read(&table, keys).unwrap_err();
            let expected = format!("unknown key \"{misspelt}\"; did you mean \"{}\"?", key.name);
            assert_eq!((error.message, error.path), (expected, vec![Step::Key(misspelt)]), "{name}");
        }
    }
}

/// Whoever makes a set need not have looked at its options before, also where it is a part of another.
#[test]
fn what_a_set_can_not_be_is_refused_wherever_it_stands() {
    for entry in Registry::standard().sets() {
        let name = entry.key.name;
        for (value, path, found) in wrong(&entry.key.kind) {
            let path = [vec![Step::Key(name.into())], path].concat();
            let Err(error) = set(name, &value, 2) else { panic!("{name} may be {value}") };
            assert_eq!(error.path, path, "{name} = {value}: {error}");
            assert!(error.message.contains(&found), "{name} = {value}: {error}");
            let parts =
                Value::List(vec![Table::new([("at_most", 0.1)]).into(), alone(name, value.clone()).into()]);
            let Err(error) = set("intersection", &parts, 2) else {
                panic!("{name} may be {value} in a part")
            };
            let above = vec![Step::Key("intersection".into()), Step::Item(1)];
            assert_eq!(error.path, [above, path].concat(), "{name} = {value}: {error}");
        }
    }
    let misspelt = Table::new([("at_most", 0.1), ("at_leest", 0.1)]);
    let parts = Value::List(vec![misspelt.into()]);
    let error = set("intersection", &parts, 2).err().unwrap();
    assert_eq!(error.message, "unknown key \"at_leest\"; did you mean \"at_least\"?");
    let path = [Step::Key("intersection".into()), Step::Item(0), Step::Key("at_leest".into())];
    assert_eq!(error.path, path);
    // Intersections of intersections.
    let inner = |value: Value| Table::new([("intersection", Value::List(vec![value]))]);
    let bound = Value::Table(Table::new([("at_most", 0.1)]));
    let deep = Value::List(vec![inner(inner(bound).into()).into()]);
    assert!(set("intersection", &deep, 2).unwrap().contains(&[0.1, 0.0], 1e-9));
}

/// What only the problem can tell of an option is an error with a path, too, beneath the table it stands in.
#[test]
fn options_that_do_not_fit_the_problem_say_where_they_stand() {
    let problem = rover();
    let step = |key: &str| Step::Key(key.into());
    for (name, numbers, message) in [
        ("failrue", vec![0.8], "failrue: no such measure; did you mean \"failure\"?"),
        ("failure", vec![0.8, 0.1], "failure: found 2 numbers, expected 1"),
    ] {
        let anchor = Measurements(vec![(name.into(), numbers)]);
        let method = Appropo::default().player(FullyCorrectiveOptions::default().anchor(anchor));
        match problem.solve(&method, &Budget::default(), 0, &mut ()) {
            Err(Error::Option(error)) => {
                assert_eq!(error.message, message);
                assert_eq!(error.path, ["fully-corrective", "anchor", name].map(step));
            }
            other => panic!("{other:?}"),
        }
        assert!(method.rounds().is_some());
    }
    // A vector of another length.
    let ball = parse("{ center = [1, 2, 3], radius = 0.1 }");
    let error = set("ball", &ball, 2).err().unwrap();
    assert_eq!(error.message, "center: found 3 numbers; expected 2, one for each entry of the measures");
    assert_eq!(error.path, ["ball", "center"].map(step));
    assert!(Ball::new(vec![1.0, 2.0], 0.1).is_ok());
}
