//! A problem and how to solve it, as a file that states both in full.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use appropo::constraint::Constraint;
use appropo::env::{Grid, external};
use appropo::error::Result;
use appropo::method::{Budget, Method};
use appropo::options::{Given, Key, Kind, Table, Value};
use appropo::problem::Problem;
use appropo::registry::Registry;
use appropo::set::SharedSet;

use crate::keys::{BUDGET, CONSTRAINT};

/// A problem as a file with every default written out that matters. Read back, it is the same problem.
pub fn written(problem: &Problem, registry: &Registry) -> String {
    let mut out = String::new();
    line(&mut out, "discount", &Value::Number(problem.discounting().gamma()), None);
    environment(&mut out, problem, registry);
    if let Some(objective) = problem.objective() {
        out.push_str("\n[objective]\n");
        line(&mut out, objective.direction.word(), &objective.utility.value(), None);
    }
    for (i, constraint) in problem.target().constraints().iter().enumerate() {
        stated(&mut out, i, constraint, registry);
    }
    out
}

/// The table `[solve]` with every option that is in force.
pub fn written_solve(
    problem: &Problem,
    method: &dyn Method,
    budget: &Budget,
    seed: u64,
    registry: &Registry,
) -> Result<String> {
    let in_force = method.table(problem, budget)?;
    let stated = |table: &Table| -> Option<Table> {
        let given = Given::open(table, Vec::new()).assume_keys(crate::read::solve_keys(registry));
        registry.method(&given).ok()?.table(problem, budget).ok()
    };
    let chosen = |names: &[&str]| {
        Table::new(names.iter().filter_map(|name| Some((*name, in_force.get(name)?.clone()))))
    };
    // What is left out means this: for the choices themselves, and for the options of what was chosen.
    let choices = stated(&chosen(&[])).unwrap_or_default();
    let options = stated(&chosen(&["method", "oracle", "player"])).unwrap_or_default();
    // Some defaults depend on the options beside them.
    let beside_the_others = |name: &str, key: &str, table: &Table| -> Option<Value> {
        let mut others = table.clone();
        others.remove(key);
        let mut rest = in_force.clone();
        rest.set(name, others);
        match stated(&rest)?.get(name) {
            Some(Value::Table(table)) => table.get(key).cloned(),
            _ => None,
        }
    };
    let mut out = String::from("\n[solve]\n");
    for (key, value) in in_force.iter().filter(|(_, value)| !matches!(value, Value::Table(_))) {
        let known = choices.get(key).map(Value::to_string);
        line(&mut out, key, value, known.as_deref());
    }
    let mut write = |key: &str, value: Value, default: Option<String>, applies: bool| {
        let known = BUDGET.iter().find(|k| k.name == key).and_then(|k| k.default()).map(str::to_owned);
        let default = default.or(known);
        if applies || default.as_ref() != Some(&value.to_string()) {
            line(&mut out, key, &value, default.as_deref());
        }
    };
    write("samples", budget.samples.into(), None, method.is_learning(problem));
    let quarter = budget.clone().evaluated_by(None).evaluation_samples().to_string();
    write(
        "evaluation_samples",
        budget.evaluation_samples().into(),
        Some(quarter),
        method.is_learning(problem),
    );
    if let Some(rounds) = method.rounds() {
        write("rounds", budget.rounds.unwrap_or(rounds).into(), Some(rounds.to_string()), true);
    }
    if let Some(num_envs) = budget.num_envs {
        write("num_envs", num_envs.into(), None, true);
    }
    write("tolerance", budget.tolerance.into(), None, true);
    write("seed", seed.into(), None, true);
    for (name, value) in in_force.iter() {
        let Value::Table(table) = value else { continue };
        if table.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n[solve.{name}]");
        for (key, value) in table.iter() {
            let usual = match options.get(name) {
                Some(Value::Table(usual)) => usual.get(key).cloned(),
                _ => None,
            };
            let usual = usual.filter(|usual| usual == value).or_else(|| beside_the_others(name, key, table));
            line(&mut out, key, value, usual.map(|usual| usual.to_string()).as_deref());
        }
    }
    Ok(out)
}

/// `key = value`, marked where that is the default.
fn line(out: &mut String, key: &str, value: &Value, default: Option<&str>) {
    text(out, key, &value.to_string(), default);
}

fn text(out: &mut String, key: &str, value: &str, default: Option<&str>) {
    let mark = if default == Some(value) { "  # default" } else { "" };
    let _ = writeln!(out, "{key} = {value}{mark}");
}

fn environment(out: &mut String, problem: &Problem, registry: &Registry) {
    let env = problem.env();
    let unstated;
    let (name, options) = match env.stated() {
        Some((name, options)) => (name, options),
        None => {
            unstated = external::description(env, problem.name());
            (external::NAME, &unstated)
        }
    };
    let _ = writeln!(out, "\n[environment]");
    line(out, "name", &name.into(), None);
    let horizon = problem.discounting().horizon();
    let entry = registry.environments().iter().find(|entry| entry.name == name);
    for key in entry.map_or(&[][..], |entry| entry.keys) {
        match (&key.kind, env.grid()) {
            _ if key.name == "horizon" => {
                if let Some(horizon) = horizon {
                    line(out, key.name, &horizon.into(), key.default());
                }
            }
            (Kind::Map(maps, _), Some(grid)) => {
                let default = maps.iter().find(|(name, _)| key.default() == Some(&format!("\"{name}\"")));
                let default = default.and_then(|(_, text)| Grid::parse(text, "SFHG").ok());
                let drawn = |grid: &Grid| format!("\"\"\"\n{}\"\"\"", rows(grid));
                text(out, key.name, &drawn(grid), default.as_ref().map(drawn).as_deref());
            }
            _ => option(out, key, options, "", "environment", registry),
        }
    }
}

fn rows(grid: &Grid) -> String {
    grid.cells.chunks(grid.columns).map(|row| row.iter().collect::<String>() + "\n").collect()
}

fn stated(out: &mut String, number: usize, constraint: &Constraint, registry: &Registry) {
    let _ = writeln!(out, "\n[[constraint]]");
    let by_default = Value::from(constraint.measures.join(", ")).to_string();
    line(out, "name", &constraint.name.as_str().into(), Some(&by_default));
    let measure: Value = match constraint.measures.as_slice() {
        [measure] => measure.as_str().into(),
        several => several.into(),
    };
    let mut table = Table::new([("measure", measure)]);
    table.set("share", constraint.share);
    table.set("scale", constraint.scale);
    match &constraint.stated {
        Some(stated) => {
            if let Some(shift) = &stated.shift {
                table.set("shift", shift.as_slice());
            }
            table.set(stated.key.as_str(), stated.value.clone());
        }
        // A set of the calling program, by a name that tells it from others.
        None => table.set("custom", custom_name(number, constraint)),
    }
    let sets = registry.sets().iter().map(|set| &set.key);
    for key in CONSTRAINT.iter().filter(|key| key.name != "name").chain(sets) {
        option(out, key, &table, "", "constraint", registry);
    }
}

/// The name of a set that no file can state.
fn custom_name(number: usize, constraint: &Constraint) -> String {
    format!("set {}: {}", number + 1, constraint.requirement())
}

/// The sets of a problem that no file can state, by the names that stand for them in what is written of it.
pub fn custom_sets(problem: &Problem) -> HashMap<String, SharedSet> {
    let constraints = problem.target().constraints().iter().enumerate();
    let unstated = constraints.filter(|(_, constraint)| constraint.stated.is_none());
    unstated.map(|(i, constraint)| (custom_name(i, constraint), Arc::clone(&constraint.set))).collect()
}

/// What stands at a key, as given or by default, in the table `path` with `prefix` before its keys.
fn option(out: &mut String, key: &Key, table: &Table, prefix: &str, path: &str, registry: &Registry) {
    let name = format!("{prefix}{}", key.name);
    match (&key.kind, table.get(key.name)) {
        // An inline table has no room for comments; dotted keys have.
        (Kind::Table(keys), Some(Value::Table(inner))) => {
            for key in *keys {
                option(out, key, inner, &format!("{name}."), path, registry);
            }
        }
        (Kind::Parts, Some(Value::List(parts))) => {
            for part in parts {
                let path = format!("{path}.{name}");
                let _ = writeln!(out, "\n[[{path}]]");
                if let Value::Table(part) = part {
                    for (set, value) in part.iter() {
                        part_of(out, set, value, &path, registry);
                    }
                }
            }
        }
        (_, Some(value)) => line(out, &name, &plain(value), key.default()),
        (_, None) => {
            if let Some(default) = key.default() {
                text(out, &name, default, Some(default));
            }
        }
    }
}

/// A set inside of another.
fn part_of(out: &mut String, name: &str, value: &Value, path: &str, registry: &Registry) {
    match registry.sets().iter().find(|set| set.key.name == name) {
        Some(set) => option(out, &set.key, &Table::new([(name, value.clone())]), "", path, registry),
        None => line(out, name, value, None),
    }
}

/// Whole numbers and others are written alike.
fn plain(value: &Value) -> Value {
    match value {
        Value::Integer(integer) if integer.unsigned_abs() < 1 << 53 => Value::Number(*integer as f64),
        Value::List(items) => Value::List(items.iter().map(plain).collect()),
        other => other.clone(),
    }
}
