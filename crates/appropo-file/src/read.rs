use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use appropo::constraint::{Constraint, Target};
use appropo::env::{EnvEntry, EnvSpec, explicit, external, logged};
use appropo::error::Error;
use appropo::evaluate::best_measurement;
use appropo::measurement::Measures;
use appropo::method::{Budget, Method};
use appropo::options::{
    Entry, Given, Key, Kind, Measurements, OptionError, Result, Step, Table, Value, shown_key, suggestion,
};
use appropo::problem::{Direction, Problem};
use appropo::registry::{METHOD, Registry};
use appropo::rl::workers::MOST_ENVS;
use appropo::set::{FromProjection, SetSpace, SharedSet, Similarity};
use appropo::utility::Utility;

use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::keys::{BUDGET, CONSTRAINT, NAME, OBJECTIVE, ROOT};
use crate::logs::Logs;
use crate::model;
use crate::problem_file::{ProblemFile, Reader};

/// Reads a whole problem file. Data sets lie beside it.
pub fn read(
    reader: &Reader,
    name: &str,
    folder: &Path,
    document: Document,
) -> std::result::Result<ProblemFile, Diagnostic> {
    let logs = Logs::beside(folder);
    let (problem, settings) =
        problem(reader, name, &logs, &document.table).map_err(|error| document.diagnostic(error))?;
    let problem = match reader.objective.clone() {
        Some((utility, direction)) => problem
            .with_objective(utility, direction)
            .map_err(|error| Diagnostic::nowhere("", error.to_string()))?,
        None => problem,
    };
    let solve = settings_with(reader, &logs, &problem, &settings);
    let (method, budget, seed) = solve.map_err(|mut error| {
        // What stands in the file in its place is not to blame.
        if is_set(&reader.settings, &error.path) {
            return nowhere(&error);
        }
        error.path.insert(0, Step::Key("solve".into()));
        document.diagnostic(error)
    })?;
    Ok(ProblemFile { problem, method, budget, seed, settings })
}

/// A problem that states nothing but its environment.
pub fn environment(reader: &Reader, environment: &Table, discount: f64) -> Result<Problem> {
    let mut table = Table::new([("discount", discount)]);
    table.set("environment", environment.clone());
    problem(reader, "environment", &Logs::beside(Path::new("")), &table).map(|(problem, _)| problem)
}

/// Whether a value is among settings rather than in the file that they are put over.
fn is_set(settings: &Table, path: &[Step]) -> bool {
    let mut table = settings;
    for step in path {
        match step {
            Step::Key(key) => match table.get(key) {
                Some(Value::Table(inner)) => table = inner,
                value => return value.is_some(),
            },
            Step::Item(_) => return false,
        }
    }
    !path.is_empty()
}

/// What is wrong with a setting that stands in no file, with the tables that it is in.
pub fn nowhere(error: &OptionError) -> Diagnostic {
    let key = |step: &Step| match step {
        Step::Key(key) => Some(shown_key(key)),
        Step::Item(_) => None,
    };
    let mut tables: Vec<String> = error.path.iter().filter_map(key).collect();
    let (last, message) = (tables.pop().unwrap_or_default(), &error.message);
    Diagnostic::nowhere(
        "",
        match tables.join(".") {
            tables if tables.is_empty() => message.clone(),
            tables if message.starts_with(&format!("{last}: ")) => format!("{tables}.{message}"),
            tables => format!("{tables}: {message}"),
        },
    )
}

fn problem(reader: &Reader, name: &str, logs: &Logs, table: &Table) -> Result<(Problem, Table)> {
    let root = Given::read(table, &ROOT)?;
    let (discount, environment) = (root.require("discount")?, root.require("environment")?);
    let gamma = discount.number()?;
    let (env, horizon) = env(reader, logs, &environment, &discount, gamma)?;
    let stated = Problem::builder(env.clone()).name(name).discount(gamma).horizon(horizon).build();
    let stated = stated.map_err(|error| match &error {
        Error::OutOfRange { what, .. } if what == "horizon" => {
            let at = environment.open_table().and_then(|table| table.require("horizon"));
            at.map_or_else(|error| error, |entry| entry.error(horizon_message(&error)))
        }
        _ => discount.error(error),
    })?;
    let mut builder = Problem::builder(env.clone()).name(name).discount(gamma).horizon(horizon);
    let table = &logs.with_means(table, env.measures(), gamma, horizon)?;
    let root = Given::read(table, &ROOT)?;
    for item in root.get("constraint").map_or(Ok(Vec::new()), |entry| entry.items())? {
        builder = builder.constraint(constraint(reader, &item, &stated)?);
    }
    let objective = objective(&root)?;
    if let Some(entry) = &objective {
        let utility = Utility::read(entry, env.measures(), &|name| env.vector(name))?;
        let is_maximum = entry.key == Direction::Maximize.word();
        builder = if is_maximum { builder.maximize(utility) } else { builder.minimize(utility) };
    }
    let problem = builder.build().map_err(|error| match (&error, &objective) {
        (Error::Endless { .. } | Error::Infinite { .. }, _) => discount.error(error),
        (_, Some(entry)) => entry.error(error),
        (_, None) => root.error(error.to_string()),
    })?;
    let mut settings = match root.get("solve").map(|entry| entry.value) {
        Some(Value::Table(table)) => table.clone(),
        _ => Table::default(),
    };
    logs.place(&mut settings);
    // What is set in place of the file's lies where the program runs, not beside the file.
    let mut over = reader.settings.clone();
    Logs::beside(Path::new("")).place(&mut over);
    overlay(&mut settings, &over);
    Ok((problem, settings))
}

/// The key that states the objective, in its table or outside it.
fn objective<'a>(root: &Given<'a>) -> Result<Option<Entry<'a>>> {
    let mut stated: Vec<Entry> = Vec::new();
    if let Some(entry) = root.get("objective") {
        stated.extend(entry.table(&OBJECTIVE)?.entries());
        if stated.is_empty() {
            return Err(entry.error("it says nothing; write maximize or minimize with a measure"));
        }
    }
    stated.extend(OBJECTIVE.iter().filter_map(|key| root.get(key.name)));
    if let Some(second) = stated.get(1) {
        let message = format!("a problem has one objective; leave this key or {} out", stated[0].key);
        return Err(second.error(message));
    }
    Ok(stated.pop())
}

fn horizon_message(error: &Error) -> String {
    error.to_string().replacen("horizon is ", "found ", 1).replacen("; expected", "; write", 1)
}

/// Puts settings in the place of others, table by table.
pub fn overlay(settings: &mut Table, over: &Table) {
    for (key, value) in over.iter() {
        match (value, settings.get(key)) {
            (Value::Table(new), Some(Value::Table(old))) => {
                let mut merged = old.clone();
                overlay(&mut merged, new);
                settings.set(key, merged);
            }
            _ => settings.set(key, value.clone()),
        }
    }
}

/// The environment and the horizon.
fn env(
    reader: &Reader,
    logs: &Logs,
    environment: &Entry,
    discount: &Entry,
    gamma: f64,
) -> Result<(EnvSpec, Option<usize>)> {
    let registry = &reader.registry;
    let open = environment.open_table()?;
    // The key of a file says what it is.
    let by_key = [logged::NAME, explicit::NAME].into_iter().find(|key| open.get(key).is_some());
    let by_key = by_key.map(Value::from);
    let name = match (open.get(NAME.name), &by_key) {
        (Some(name), _) => name,
        (None, Some(name)) => Entry::alone(NAME.name, name),
        (None, None) => return Err(nameless(&open, registry.environments())),
    };
    let entry = registry.environment(&name)?;
    let keys = open.get(NAME.name).map(|_| &NAME).into_iter().chain(entry.keys);
    let given = environment.table(keys)?;
    let mut options = Table::default();
    if entry.name == logged::NAME {
        let (dataset, path) = logs.environment(&given)?;
        for stated in given.entries().into_iter().filter(|stated| stated.key != NAME.name) {
            options.set(stated.key.as_str(), stated.value.clone());
        }
        let horizon = options.remove("horizon").map(|_| given.count("horizon")).transpose()?;
        options.set(logged::NAME, path);
        options.set(logged::CHECKSUM.name, dataset.checksum());
        let spec = EnvSpec::from(dataset).stated_as(entry.name, options);
        return Ok((spec, horizon.map(|steps| steps as usize)));
    }
    if entry.name == explicit::NAME {
        let path = logs.full(given.require(explicit::NAME)?.text()?);
        let spec = model::environment(&given, &path)?;
        let horizon = given.get("horizon").map(|_| given.count("horizon")).transpose()?;
        return Ok((spec, horizon.map(|steps| steps as usize)));
    }
    let made = (entry.read)(&given, gamma);
    let spec = made.map_err(|error| at_discount(error, &given, discount))?;
    for stated in given.entries().into_iter().filter(|stated| stated.key != NAME.name) {
        options.set(stated.key.as_str(), stated.value.clone());
    }
    let horizon = given.get("horizon").map(|entry| entry.count(1, u64::MAX)).transpose()?.map(|n| n as usize);
    options.remove("horizon");
    let spec = match &reader.externals.env {
        Some(env) if entry.name == external::NAME => {
            same_measures(spec.measures(), env.measures(), &given)?;
            env.clone()
        }
        _ => spec,
    };
    Ok((spec.stated_as(entry.name, options), horizon))
}

/// A table as a whole is at fault only where the discount is.
fn at_discount(error: OptionError, given: &Given, discount: &Entry) -> OptionError {
    let whole = given.error("").path;
    if error.path == whole && error.message.contains("discount") {
        discount.error(error.message)
    } else {
        error
    }
}

/// A table without a name: it is misspelt, or missing.
fn nameless(open: &Given, environments: &[&'static EnvEntry]) -> OptionError {
    let known = |entry: &Entry| environments.iter().any(|e| e.keys.iter().any(|key| key.name == entry.key));
    match open.entries().iter().find(|entry| !known(entry)) {
        Some(entry) => open.unknown(&entry.key, [NAME.name]),
        None => open.missing(&NAME),
    }
}

/// Refuses an environment in whose place another is given.
fn same_measures(stated: &Measures, given: &Measures, table: &Given) -> Result<()> {
    let names = |measures: &Measures| {
        let all = measures.iter().map(|(name, range)| format!("{name} ({})", range.len()));
        all.collect::<Vec<_>>().join(", ")
    };
    if stated == given {
        return Ok(());
    }
    let (found, expected) = (names(given), names(stated));
    let message = format!("the environment given here measures {found}; expected {expected}");
    Err(table.require("measures")?.error(message))
}

/// Reads one constraint.
fn constraint(reader: &Reader, item: &Entry, stated: &Problem) -> Result<Constraint> {
    let env = stated.env();
    let sets = reader.registry.sets().iter().map(|set| &set.key);
    let table = item.table(CONSTRAINT.iter().chain(sets))?;
    let measures = measures(&table.require("measure")?, env.measures())?;
    let by_default = measures.join(", ");
    let name = table.get("name").map_or(Ok(by_default.as_str()), |entry| entry.name())?.to_owned();
    let mut dim = 0;
    for measure in &measures {
        dim += item.at(env.measures().range(measure))?.len();
    }
    if dim == 0 {
        return Err(table.require("measure")?.error(format!("{by_default} has no entries here")));
    }
    let share = table.flag("share")?;
    if share && env.measures().range("steps").is_err() {
        return Err(table.require("share")?.error("this world counts no steps; write false"));
    }
    let reader = &with_placeholder(reader, &table, dim);
    let named = |name: &str| match name {
        "expert" => expert(stated, &measures, share),
        _ => env.vector(name),
    };
    let (mut set, mut stated) = one_set(reader, &table, &named, dim)?;
    if let Some(entry) = table.get("shift") {
        let shift = entry.entries(dim)?;
        set = Arc::new(entry.at(Similarity::translate(set, shift.clone()))?);
        stated.shift = Some(shift);
    }
    let scale = table.number("scale")?;
    let constraint = Constraint { name, measures, set, share, scale, stated: Some(stated) };
    item.at(Target::new(env.measures(), vec![constraint.clone()]))?;
    Ok(constraint)
}

/// The reader with a placeholder for the set that a constraint names, where such may be.
fn with_placeholder<'r>(reader: &'r Reader, constraint: &Given, dim: usize) -> Cow<'r, Reader> {
    let named = constraint.get("custom").and_then(|entry| entry.text().ok());
    match named.filter(|name| reader.externals.is_partial && !reader.externals.sets.contains_key(*name)) {
        None => Cow::Borrowed(reader),
        Some(name) => {
            let mut reader = reader.clone();
            let placeholder = FromProjection::new(dim, |_, out| out.fill(f64::NAN)).described(name);
            reader.externals.sets.insert(name.into(), Arc::new(placeholder));
            Cow::Owned(reader)
        }
    }
}

/// States beyond which reading a file would take too long.
const MOST_PLANNED: usize = 1_000_000;

/// What the policy with the largest reward measures, in all or per step.
fn expert(problem: &Problem, measures: &[String], is_per_step: bool) -> Option<Vec<f64>> {
    problem.env().model().filter(|model| model.states() <= MOST_PLANNED)?;
    let mut z = best_measurement(problem, "reward").ok()?;
    if is_per_step {
        let steps = z[problem.measures().range("steps").ok()?.start];
        z.iter_mut().for_each(|z| *z /= steps);
    }
    let ranges = measures.iter().map(|measure| problem.measures().range(measure).ok());
    Some(ranges.collect::<Option<Vec<_>>>()?.into_iter().flat_map(|range| z[range].to_vec()).collect())
}

/// The one set that a table states among other keys.
fn one_set(
    reader: &Reader,
    table: &Given,
    vectors: &dyn Fn(&str) -> Option<Vec<f64>>,
    dim: usize,
) -> Result<(SharedSet, appropo::constraint::Stated)> {
    let part = |given: &Given| {
        let keys: Vec<&'static Key> = reader.registry.sets().iter().map(|set| &set.key).collect();
        let given = given.with_keys(keys)?;
        Ok(one_set(reader, &given, vectors, dim)?.0)
    };
    let space = SetSpace { dim, vectors, externals: &reader.externals.sets, part: &part };
    reader.registry.one_set(table, &space)
}

fn measures(entry: &Entry, measures: &Measures) -> Result<Vec<String>> {
    let known: Vec<&str> = measures.iter().map(|(name, _)| name).collect();
    let named = |item: &Entry| {
        let name = item.text()?;
        if measures.range(name).is_ok() {
            return Ok(name.to_owned());
        }
        let help = match name.split_once('[').map(|(whole, _)| (whole, measures.range(whole))) {
            Some((whole, Ok(range))) => {
                format!("{whole} has {} entries, counted from 0, as in {whole}[0]", range.len())
            }
            _ => suggestion(name, known.iter().copied()),
        };
        Err(item.error(format!("\"{name}\" is not one of {}; {help}", known.join(", "))))
    };
    entry.one_or_more()?.iter().map(named).collect()
}

/// How to solve, by the table `[solve]`.
pub fn solve_settings(
    reader: &Reader,
    problem: &Problem,
    settings: &Table,
) -> Result<(Arc<dyn Method>, Budget, u64)> {
    let logs = Logs::beside(Path::new(""));
    let mut settings = settings.clone();
    logs.place(&mut settings);
    settings_with(reader, &logs, problem, &settings)
}

/// The same with paths of data sets in full.
fn settings_with(
    reader: &Reader,
    logs: &Logs,
    problem: &Problem,
    settings: &Table,
) -> Result<(Arc<dyn Method>, Budget, u64)> {
    let registry = reader.registry.clone().with_external_oracle(reader.externals.oracle.clone());
    let registry = registry.with_datasets(logs.reader());
    let open = Given::open(settings, Vec::new());
    let tables = registry.option_tables();
    let known = solve_keys(&registry);
    for entry in open.entries() {
        if let Some((_, _, keys)) = tables.iter().find(|(name, ..)| *name == entry.key) {
            if entry.is_list() {
                return Err(entry.error("found an array; write one table, with single brackets or in braces"));
            }
            let table = entry.table(*keys)?;
            for key in keys.iter().filter(|key| matches!(key.kind, Kind::Measurements)) {
                table.get(key.name).map_or(Ok(()), |entry| are_measured(&entry, problem.measures()))?;
            }
        } else if !known.iter().any(|key| key.name == entry.key) {
            return Err(unknown_setting(&open, &entry.key, &known, &tables));
        }
    }
    let mut flat = settings.clone();
    tables.iter().for_each(|(name, ..)| drop(flat.remove(name)));
    Given::read(&flat, known.iter().copied())?;
    let given = Given::open(settings, Vec::new()).assume_keys(known);
    let method = registry.method(&given)?;
    let mut budget = Budget::samples(given.count("samples")?).tolerance(given.number("tolerance")?);
    if let Some(entry) = given.get("evaluation_samples") {
        budget = budget.evaluated_by(entry.count(1, u64::MAX)?);
    }
    if let Some(entry) = given.get("rounds") {
        budget = budget.rounds(entry.count(1, u64::MAX)? as usize);
    }
    if let Some(entry) = given.get("num_envs") {
        budget = budget.num_envs(entry.count(1, MOST_ENVS as u64)? as usize);
    }
    // Of an environment that is not here a file can't tell whether it has a model.
    let is_here = !problem.env().is_external() || reader.externals.env.is_some();
    if is_here {
        problem.check(method.as_ref()).map_err(|error| at_choice(&given, error))?;
        method.table(problem, &budget).map_err(|error| at_choice(&given, error))?;
    }
    Ok((method, budget, given.count("seed")?))
}

/// Refuses measurements by the names of measures that there are not, and of other lengths than theirs.
fn are_measured(entry: &Entry, measures: &Measures) -> Result<()> {
    for named in entry.open_table()?.entries() {
        let numbers = named.one_or_more()?.iter().map(Entry::number).collect::<Result<_>>()?;
        let one = Measurements(vec![(named.key.clone(), numbers)]).vector(measures, &entry.key);
        one.map_err(|error| OptionError { path: named.error("").path, ..error })?;
    }
    Ok(())
}

/// A key that `[solve]` does not have; perhaps one of its tables has it.
fn unknown_setting(
    open: &Given,
    key: &str,
    known: &[&'static Key],
    tables: &[(&'static str, &'static str, &'static [Key])],
) -> OptionError {
    let names = known.iter().map(|key| key.name).chain(tables.iter().map(|(name, ..)| *name));
    let mut error = open.unknown(key, names);
    let has_it = tables.iter().filter(|(_, _, keys)| keys.iter().any(|option| option.name == key));
    let places: Vec<String> = has_it.map(|(name, ..)| format!("[solve.{name}]")).collect();
    if !places.is_empty() {
        error.message =
            format!("unknown key \"{key}\"; it is an option: write it in {}", places.join(" or "));
    }
    error
}

/// What a method or an oracle can't do is shown where it is named.
fn at_choice(given: &Given, error: Error) -> OptionError {
    if let Error::Option(error) = error {
        return *error;
    }
    match ["oracle", "method"].iter().find_map(|key| given.get(key)) {
        Some(entry) => entry.error(error),
        None => given.error(error.to_string()),
    }
}

/// The keys of the table `[solve]` that are no tables: the method's, whichever it is, and the budget's.
pub fn solve_keys(registry: &Registry) -> Vec<&'static Key> {
    let methods = registry.methods().iter().flat_map(|method| method.keys);
    let mut keys: Vec<&'static Key> = vec![&METHOD];
    for key in methods.chain(&BUDGET) {
        if !keys.iter().any(|known| known.name == key.name) && !matches!(key.kind, Kind::Open) {
            keys.push(key);
        }
    }
    keys
}
