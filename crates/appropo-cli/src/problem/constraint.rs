//! The `[[constraint]]` tables.

use std::collections::HashMap;
use std::sync::Arc;

use appropo::constraint::{Constraint, Target};
use appropo::set::{SharedSet, Similarity};

use super::document::{Entry, Table};
use super::explain;
use super::format::{CONSTRAINT, SETS};
use super::keys::with_sets;
use super::scene::Scene;
use super::set;
use super::source::{Result, suggestion};

/// A constraint as people read it.
pub struct Shown {
    /// "at most 0.2".
    pub requirement: String,
    /// How much room a point has, where that is a plain number.
    pub slack: Option<Box<dyn Fn(&[f64]) -> f64 + Send + Sync>>,
}

/// Where the points of a constraint's set lie.
pub struct Space<'w> {
    pub world: &'w Scene,
    pub dim: usize,
    /// Sets that no file can hold, by the names that stand for them.
    pub sets: &'w HashMap<String, SharedSet>,
}

/// Reads one constraint, and writes it with every default to `text`.
pub fn read(
    item: &Entry,
    world: &Scene,
    sets: &HashMap<String, SharedSet>,
    text: &mut String,
) -> Result<(Constraint, Shown)> {
    let table = item.table(with_sets(&CONSTRAINT))?;
    let measures = measures(&table.require("measure")?, world)?;
    let by_default = measures.join(", ");
    let name = table.get("name").map_or(Ok(by_default.as_str()), |entry| entry.name())?.to_owned();
    let known = world.measures();
    let mut dim = 0;
    for measure in &measures {
        dim += item.at(known.range(measure))?.len();
    }
    if dim == 0 {
        return Err(table.require("measure")?.mistake(format!("{by_default} has no entries here")));
    }
    let share = table.flag("share")?;
    if share && known.range("steps").is_err() {
        return Err(table.require("share")?.mistake("this world counts no steps; write false"));
    }
    let (mut set, mut shown) = one_set(&table, &Space { world, dim, sets })?;
    if let Some(entry) = table.get("shift") {
        set = Arc::new(entry.at(Similarity::translate(set, set::entries(&entry, dim)?))?);
        shown = Shown { requirement: format!("{}, shifted", shown.requirement), slack: None };
    }
    text.push_str("\n[[constraint]]\n");
    explain::line(text, "name", &explain::text(&name), Some(&explain::text(&by_default)));
    for key in table.keys().iter().filter(|key| key.name != "name") {
        explain::key(text, &table, key, "", "constraint")?;
    }
    let constraint = Constraint { name, measures, set, share, scale: table.number("scale")? };
    item.at(Target::new(&known, vec![constraint.clone()]))?;
    Ok((constraint, shown))
}

fn measures(entry: &Entry, world: &Scene) -> Result<Vec<String>> {
    let all = world.measures();
    let known: Vec<&str> = all.iter().map(|(name, _)| name).collect();
    let named = |item: &Entry| {
        let name = item.text()?;
        if known.contains(&name) {
            return Ok(name.to_owned());
        }
        let help = suggestion(name, known.iter().copied());
        Err(item.mistake(format!("\"{name}\" is not one of {}; {help}", known.join(", "))))
    };
    entry.one_or_more()?.iter().map(named).collect()
}

/// The one set that a table states.
pub fn one_set(table: &Table, space: &Space) -> Result<(SharedSet, Shown)> {
    let found: Vec<Entry> =
        table.entries().into_iter().filter(|entry| SETS.iter().any(|key| key.name == entry.key)).collect();
    match found.as_slice() {
        [] => {
            let keys: Vec<&str> = SETS.iter().map(|key| key.name).collect();
            Err(table.mistake(format!("the set is missing; write one of {}", keys.join(", "))))
        }
        [entry] => set::read(entry, space),
        [_, second, ..] => {
            Err(second.mistake("a constraint has one set; write another [[constraint]] for this one"))
        }
    }
}
