//! An environment of the calling program, as far as a problem file can describe it.

use super::spec::{EnvEntry, HORIZON};
use super::{EnvSpec, Space};
use crate::error::Error;
use crate::measurement::Measures;
use crate::options::{Given, Key, Kind, Result, Table};

/// Its name in problem files.
pub const NAME: &str = "external";

/// The most of anything that a table has one row for.
const MOST: u64 = 100_000_000;

pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: NAME,
    about: "an environment of the calling program, such as one of Gymnasium in Python",
    keys: &[
        Key::optional("about", Kind::Name, "\"CartPole-v1\"", "What it is."),
        Key::required("measures", Kind::Names, "[\"cost\"]", "What is measured in it."),
        Key::optional(
            "entries",
            Kind::Numbers,
            "[1]",
            "How many entries each measure has; 1 where not given.",
        ),
        Key::optional(
            "states",
            Kind::Count(1, MOST),
            "16",
            "How many observations there are, if they can be counted.",
        ),
        Key::optional(
            "observation",
            Kind::Count(1, 1_000_000),
            "4",
            "Or how many numbers an observation has.",
        ),
        Key::optional(
            "choices",
            Kind::Count(1, MOST),
            "2",
            "How many actions there are, if they can be counted.",
        ),
        Key::optional("lower", Kind::Numbers, "[-1]", "Or the least of each number of an action."),
        Key::optional("upper", Kind::Numbers, "[1]", "And the most."),
        HORIZON,
    ],
    read: |given, _| described(given),
};

/// The environment as described; it can't be played in until the calling program gives it.
fn described(given: &Given) -> Result<EnvSpec> {
    let names = given.require("measures")?.items()?;
    let entries = match given.get("entries") {
        Some(entry) => entry.entries(names.len())?,
        None => vec![1.0; names.len()],
    };
    let blocks: Vec<(&str, usize)> = names
        .iter()
        .zip(entries)
        .map(|(item, count)| Ok((item.text()?, count as usize)))
        .collect::<Result<_>>()?;
    let stated = |key| given.get(key).map(|entry| entry.count(1, u64::MAX)).transpose();
    let observations = match (stated("states")?, stated("observation")?) {
        (Some(count), None) => Space::Discrete(count as usize),
        (None, Some(count)) => Space::Continuous(vec![(f64::NEG_INFINITY, f64::INFINITY); count as usize]),
        _ => return Err(given.error("write either states or observation, to say what is seen")),
    };
    let actions = match (stated("choices")?, given.get("lower"), given.get("upper")) {
        (Some(count), None, None) => Space::Discrete(count as usize),
        (None, Some(lower), Some(upper)) => {
            let lower = lower.numbers()?;
            let upper = upper.entries(lower.len())?;
            Space::Continuous(lower.into_iter().zip(upper).collect())
        }
        _ => return Err(given.error("write either choices, or lower and upper, to say what can be done")),
    };
    let missing = |_| Err(Error::Missing { what: "the environment of this problem".into() });
    Ok(EnvSpec::external(Measures::new(blocks), (observations, actions), 1, missing))
}

/// What a problem file says of an environment that the calling program gives.
pub fn description(spec: &EnvSpec, about: &str) -> Table {
    let mut table = Table::new([("about", about)]);
    let names: Vec<&str> = spec.measures().iter().map(|(name, _)| name).collect();
    let entries: Vec<usize> = spec.measures().iter().map(|(_, range)| range.len()).collect();
    table.set("measures", names.as_slice());
    table.set("entries", entries);
    match spec.observations() {
        Space::Discrete(count) => table.set("states", *count),
        Space::Continuous(bounds) => table.set("observation", bounds.len()),
    }
    match spec.actions() {
        Space::Discrete(count) => table.set("choices", *count),
        Space::Continuous(bounds) => {
            table.set("lower", bounds.iter().map(|(lower, _)| *lower).collect::<Vec<_>>());
            table.set("upper", bounds.iter().map(|(_, upper)| *upper).collect::<Vec<_>>());
        }
    }
    table
}
