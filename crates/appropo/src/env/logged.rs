//! A world of which there are only logs: nobody can play in it.

use std::sync::Arc;

use super::dataset::Dataset;
use super::spec::{EnvEntry, HORIZON};
use super::{EnvSpec, Space};
use crate::error::Error;
use crate::options::{Given, Key, Kind, Result};

/// Its name in problem files, which may be left out where the key of the same name is there.
pub const NAME: &str = "dataset";

/// The most of anything that a table has one row for.
const MOST: u64 = 100_000_000;

/// The key of a file's checksum, wherever a data set is named.
pub const CHECKSUM: Key = Key::optional(
    "checksum",
    Kind::Name,
    "\"9f86d0…\"",
    "The checksum of the data, so that others in their place are refused; a run writes it down.",
);

pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: NAME,
    about: "logged episodes, as a CSV or Parquet file; nobody can play in them",
    keys: &[
        Key::required(
            "dataset",
            Kind::Name,
            "\"log.csv\"",
            "The file, beside the problem file unless its path says otherwise.",
        ),
        CHECKSUM,
        Key::optional(
            "states",
            Kind::Count(1, MOST),
            "64",
            "How many observations there are, if they are counted; by default as many as were logged.",
        ),
        Key::optional(
            "choices",
            Kind::Count(1, MOST),
            "4",
            "How many actions there are, if they are counted; by default as many as were logged.",
        ),
        Key::optional("lower", Kind::Numbers, "[-1]", "The least of each number of an action."),
        Key::optional("upper", Kind::Numbers, "[1]", "And the most."),
        HORIZON,
    ],
    // A file is read by who reads the problem, and passed to `spaces` and `EnvSpec::logged`.
    read: |given, _| Err(given.require("dataset")?.error("this reader of problems reads no data sets")),
};

/// The spaces that options state for a data set, where they state any: of observations and of actions.
pub fn spaces(given: &Given, dataset: &Dataset) -> Result<(Space, Space)> {
    let count = |key: &str, of: &Space| match given.get(key) {
        None => Ok(of.clone()),
        Some(entry) if of.count().is_none() => {
            Err(entry.error("the data set has numbers here, which can't be counted; leave this key out"))
        }
        Some(entry) => Ok(Space::Discrete(entry.count(1, MOST)? as usize)),
    };
    let observations = count("states", dataset.observations())?;
    let mut actions = count("choices", dataset.actions())?;
    match (given.get("lower"), given.get("upper")) {
        (None, None) => {}
        (Some(entry), _) | (_, Some(entry)) if actions.count().is_some() => {
            return Err(entry.error("the actions of the data set are counted; leave this key out"));
        }
        (Some(lower), Some(upper)) => {
            let lower = lower.entries(actions.entries())?;
            let upper = upper.entries(lower.len())?;
            actions = Space::Continuous(lower.into_iter().zip(upper).collect());
        }
        (Some(entry), None) | (None, Some(entry)) => {
            return Err(entry.error("write both lower and upper, or neither"));
        }
    }
    Ok((observations, actions))
}

impl From<Arc<Dataset>> for EnvSpec {
    fn from(dataset: Arc<Dataset>) -> Self {
        let spaces = (dataset.observations().clone(), dataset.actions().clone());
        let make = |_: Option<usize>, _: Option<usize>| Err(Error::OnlyLogged);
        EnvSpec::of_logs(dataset.measures().clone(), spaces, Arc::new(make), dataset)
    }
}
