//! A model as the environment of a problem.

use std::path::Path;
use std::sync::Arc;

use appropo::env::EnvSpec;
use appropo::env::explicit::{Asked, ExplicitModel, NAME};
use appropo::error::Error;
use appropo::options::{Entry, Given, Result, Table};

/// The environment that a table asks for, in the model at a path in full.
pub fn environment(given: &Given, path: &str) -> Result<EnvSpec> {
    let file = given.require(NAME)?;
    let model = super::read(Path::new(path)).map_err(|error| file.error(error))?;
    let checksum = model.checksum();
    if let Some(entry) = given.get("checksum")
        && entry.text()? != checksum
    {
        let stated = entry.text()?;
        return Err(entry.error(format!(
            "the model has the checksum {checksum}; expected {stated}: it is not the one that this was written for"
        )));
    }
    let names = |key: &str| given.get(key).map(|entry| named(&entry, key, &model)).transpose();
    let asked = Asked {
        rewards: names("rewards")?,
        reach: names("reach")?.unwrap_or_default(),
        time: names("time")?.unwrap_or_default(),
        average: names("average")?.unwrap_or_default(),
        share: names("share")?.unwrap_or_default(),
        end: names("end")?.unwrap_or_default(),
    };
    let world = model.world(&asked).map_err(|error| file.error(error))?;
    let mut options = Table::default();
    options.set(NAME, path);
    options.set("checksum", checksum);
    for key in ["rewards", "reach", "time", "average", "share", "end"] {
        given.get(key).into_iter().for_each(|entry| options.set(key, entry.value.clone()));
    }
    Ok(EnvSpec::from(Arc::new(world)).stated_as(NAME, options))
}

/// The names that stand at a key, each of which the model must have.
fn named(entry: &Entry, key: &str, model: &ExplicitModel) -> Result<Vec<String>> {
    if entry.is_empty_list() {
        return Ok(Vec::new());
    }
    entry
        .items()?
        .iter()
        .map(|item| {
            let name = item.text()?;
            let known = match key {
                "rewards" | "average" => model.reward(name).map(drop),
                _ => model.label(name).map(drop),
            };
            known.map_err(|error: Error| item.error(error))?;
            Ok(name.to_owned())
        })
        .collect()
}
