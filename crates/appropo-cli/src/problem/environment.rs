//! The `[environment]` table.

use appropo::env::{bandit, cliff_walking, deep_sea_treasure, frozen_lake, garnet, mars_rover};
use appropo::random;

use super::document::{Entry, Result, Table};
use super::scene::Scene;

/// The environments by name, with what can be set and its default.
pub const ENVIRONMENTS: [(&str, &str); 8] = [
    (
        "mars-rover",
        "map = \"8x8\" (4x4, 8x8, sparse-30x30, text, or { rows, columns, rocks, seed }), slip = 0.05",
    ),
    ("deep-sea-treasure", "map = \"concave\" (concave, convex)"),
    ("frozen-lake", "map = \"4x4\" (4x4, 8x8 or text), slippery = true"),
    ("cliff-walking", "slippery = false"),
    ("bandit", "arms = 2"),
    ("cart-pole", "no settings; a pole on a cart, to be learnt by playing"),
    ("point-mass", "no settings; a point pushed by a force of its choice, to be learnt by playing"),
    ("garnet", "states = 20, actions = 4, branching = 3, measures = 2, seed = 0"),
];

/// The world and the horizon.
pub fn read(table: &Table, discount: &Entry, gamma: f64) -> Result<(Scene, Option<usize>)> {
    let name = table.require("name", "\"mars-rover\"")?;
    let names: Vec<(&str, &str)> = ENVIRONMENTS.iter().map(|(name, _)| (*name, *name)).collect();
    let count = |key, default: usize, least| {
        table.get(key).map_or(Ok(default), |e| e.count(least).map(|n| n as usize))
    };
    let flag = |key, default| table.get(key).map_or(Ok(default), |e: Entry| e.flag());
    let world = match name.word(&names)? {
        "mars-rover" => {
            let slip = table.get("slip");
            let probability =
                |e: &Entry| e.number_where(|p| (0.0..=1.0).contains(&p), "a number between 0 and 1");
            let slip = slip.as_ref().map_or(Ok(0.05), probability)?;
            match table.get("map") {
                None => name.at(mars_rover::world("8x8", slip))?,
                Some(entry) if entry.is_table() => entry.at(mars_rover::world(&random_map(&entry)?, slip))?,
                Some(entry) => entry.at(mars_rover::world(map_text(&entry, &mars_rover::MAPS)?, slip))?,
            }
        }
        "deep-sea-treasure" => {
            let convex =
                table.get("map").map_or(Ok(false), |e| e.word(&[("concave", false), ("convex", true)]))?;
            name.at(deep_sea_treasure::world(convex))?
        }
        "frozen-lake" => {
            let slippery = flag("slippery", true)?;
            match table.get("map") {
                None => name.at(frozen_lake::world("4x4", slippery))?,
                Some(entry) => {
                    entry.at(frozen_lake::world(map_text(&entry, &frozen_lake::MAPS)?, slippery))?
                }
            }
        }
        "cliff-walking" => name.at(cliff_walking::world(flag("slippery", false)?))?,
        "cart-pole" => return played(table, Scene::CartPole),
        "point-mass" => return played(table, Scene::PointMass),
        "bandit" => discount.at(bandit::world(count("arms", 2, 1)?, gamma))?,
        _ => {
            let size = garnet::Size {
                states: count("states", 20, 1)?,
                actions: count("actions", 4, 1)?,
                branching: count("branching", 3, 1)?,
                measures: count("measures", 2, 0)?,
            };
            let seed = table.get("seed").map_or(Ok(0), |e| e.count(0))?;
            name.at(garnet::world(size, &mut random::generator(seed)))?
        }
    };
    played(table, Scene::Tabular(world))
}

/// The scene with the horizon, which every environment may have.
fn played(table: &Table, scene: Scene) -> Result<(Scene, Option<usize>)> {
    let horizon = table.get("horizon").map(|e| e.count(1)).transpose()?;
    table.finish()?;
    Ok((scene, horizon.map(|h| h as usize)))
}

/// A named map or the text of one; a single word that is neither is a misspelt name.
fn map_text<'a>(entry: &Entry<'a, '_>, maps: &[(&str, &str)]) -> Result<&'a str> {
    let text = entry.text()?;
    let is_name = !text.contains('\n') && text.chars().any(|c| !"SFHGC".contains(c));
    if is_name {
        let names: Vec<(&str, ())> = maps.iter().map(|(name, _)| (*name, ())).collect();
        entry.word(&names)?;
    }
    Ok(text)
}

fn random_map(entry: &Entry) -> Result<String> {
    let table = entry.table()?;
    let side = |key| table.require(key, "100")?.count(1).map(|n| n as usize);
    let (rows, columns) = (side("rows")?, side("columns")?);
    let rocks = table
        .require("rocks", "0.05")?
        .number_where(|p| (0.0..1.0).contains(&p), "at least 0 and below 1")?;
    let seed = table.get("seed").map_or(Ok(0), |e| e.count(0))?;
    table.finish()?;
    entry.at(mars_rover::random_map(rows, columns, rocks, &mut random::generator(seed)))
}
