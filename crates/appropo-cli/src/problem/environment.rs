//! The `[environment]` table.

use std::sync::Arc;

use appropo::env::{
    Grid, Space, World, bandit, cliff_walking, deep_sea_treasure, frozen_lake, garnet, mars_rover,
};
use appropo::measurement::Measures;
use appropo::random;

use super::document::{Entry, Table};
use super::explain;
use super::format::{ENVIRONMENTS, NAME, OUTSIDE};
use super::keys::{Key, Kind};
use super::outside::{Described, OutsideWorld, Surroundings};
use super::scene::Scene;
use super::set;
use super::source::{Mistake, Result};

/// Horizon times states times actions for which a plan still fits into memory.
const MOST_STAGES: usize = 200_000_000;

/// The world, the horizon, and the table with every default written out.
pub fn read(
    environment: &Entry,
    discount: &Entry,
    gamma: f64,
    surroundings: &Surroundings,
) -> Result<(Scene, Option<usize>, String)> {
    let open = environment.open_table()?;
    let name = open.get(NAME.name).ok_or_else(|| nameless(&open))?;
    let names: Vec<(&str, &str)> = ENVIRONMENTS.iter().map(|e| (e.name, e.name)).collect();
    name.word(&names)?;
    let text = name.text()?;
    let own = ENVIRONMENTS.iter().filter(|e| e.name == text).flat_map(|e| e.keys);
    let table = environment.table([&NAME].into_iter().chain(own).collect())?;
    let scene = match (text, &surroundings.world) {
        (OUTSIDE, Some(OutsideWorld::Model(model))) => {
            same_measures(&outside(&table, &name, None)?.measures, model.measures(), &table)?;
            Scene::Tabular(World { model: Arc::clone(model), grid: None })
        }
        (OUTSIDE, world) => Scene::Outside(outside(&table, &name, world.as_ref())?),
        _ => world(&table, &name, discount, gamma)?,
    };
    let horizon = horizon(&table, &scene)?;
    let text = explained(&table, &scene)?;
    Ok((scene, horizon, text))
}

/// A table without a name: it is misspelt, or missing.
fn nameless(open: &Table) -> Mistake {
    let known = |entry: &Entry| ENVIRONMENTS.iter().any(|e| e.keys.iter().any(|key| key.name == entry.key));
    match open.entries().iter().find(|entry| !known(entry)) {
        Some(entry) => open.unknown(&entry.key, [NAME.name]),
        None => open.missing(&NAME),
    }
}

fn world(table: &Table, name: &Entry, discount: &Entry, gamma: f64) -> Result<Scene> {
    let count = |key| table.count(key).map(|n| n as usize);
    let map = table.get("map");
    let at_map = map.as_ref().unwrap_or(name);
    Ok(Scene::Tabular(match name.text()? {
        "mars-rover" => at_map.at(mars_rover::world(&map_text(table)?, table.number("slip")?))?,
        "deep-sea-treasure" => {
            let convex = table.word("map", &[("concave", false), ("convex", true)])?;
            name.at(deep_sea_treasure::world(convex))?
        }
        "frozen-lake" => at_map.at(frozen_lake::world(&map_text(table)?, table.flag("slippery")?))?,
        "cliff-walking" => name.at(cliff_walking::world(table.flag("slippery")?))?,
        "cart-pole" => return Ok(Scene::CartPole),
        "point-mass" => return Ok(Scene::PointMass),
        "bandit" => discount.at(bandit::world(count("arms")?, gamma))?,
        _ => {
            let size = garnet::Size {
                states: count("states")?,
                actions: count("actions")?,
                branching: count("branching")?,
                measures: count("measures")?,
            };
            let world = garnet::world(size, &mut random::generator(table.count("seed")?));
            largest(table, &["states", "actions", "branching", "measures"])
                .as_ref()
                .unwrap_or(name)
                .at(world)?
        }
    }))
}

/// A world of another program, as far as the file tells.
fn outside(table: &Table, name: &Entry, world: Option<&OutsideWorld>) -> Result<Described> {
    let measures = table.require("measures")?.items()?;
    let entries = match table.get("entries") {
        Some(entry) => set::entries(&entry, measures.len())?,
        None => vec![1.0; measures.len()],
    };
    let blocks: Vec<(&str, usize)> = measures
        .iter()
        .zip(entries)
        .map(|(item, count)| Ok((item.text()?, count as usize)))
        .collect::<Result<_>>()?;
    let stated = Measures::new(blocks);
    let given = |key| table.get(key).map(|_| table.count(key)).transpose();
    let observations = match (given("states")?, given("observation")?) {
        (Some(count), None) => Space::Discrete(count as usize),
        (None, Some(count)) => Space::Continuous(vec![(f64::NEG_INFINITY, f64::INFINITY); count as usize]),
        _ => return Err(name.mistake("write either states or observation, to say what is seen")),
    };
    let actions = match (given("choices")?, table.get("lower"), table.get("upper")) {
        (Some(count), None, None) => Space::Discrete(count as usize),
        (None, Some(lower), Some(upper)) => {
            let lower = lower.numbers()?;
            let upper = set::entries(&upper, lower.len())?;
            Space::Continuous(lower.into_iter().zip(upper).collect())
        }
        _ => return Err(name.mistake("write either choices, or lower and upper, to say what can be done")),
    };
    let (make, lanes) = match world {
        Some(OutsideWorld::Played { measures, make, lanes }) => {
            same_measures(&stated, measures, table)?;
            (Some(Arc::clone(make)), *lanes)
        }
        _ => (None, 1),
    };
    Ok(Described { measures: stated, observations, actions, make, lanes })
}

/// Refuses a world in whose place another is given.
fn same_measures(stated: &Measures, given: &Measures, table: &Table) -> Result<()> {
    let names = |measures: &Measures| {
        let all = measures.iter().map(|(name, range)| format!("{name} ({})", range.len()));
        all.collect::<Vec<_>>().join(", ")
    };
    if stated == given {
        return Ok(());
    }
    let (found, expected) = (names(given), names(stated));
    Err(table
        .require("measures")?
        .mistake(format!("the world given here measures {found}; expected {expected}")))
}

/// The largest of the counts that are given: what to blame for a world that is too large.
fn largest<'a, 'i>(table: &Table<'a, 'i>, keys: &[&'static str]) -> Option<Entry<'a, 'i>> {
    let given = keys.iter().filter_map(|key| table.get(key));
    given.max_by_key(|entry| entry.count(0, u64::MAX).unwrap_or(0))
}

fn horizon(table: &Table, scene: &Scene) -> Result<Option<usize>> {
    let Some(entry) = table.get("horizon") else {
        return Ok(None);
    };
    let horizon = table.count("horizon")? as usize;
    if let Some(model) = scene.model() {
        let most = MOST_STAGES / (model.states() * model.actions());
        if horizon > most {
            return Err(entry.mistake(format!(
                "found {horizon}; for a plan of {} states and {} actions to fit into memory, write at most {most}",
                model.states(),
                model.actions()
            )));
        }
    }
    Ok(Some(horizon))
}

/// The name of a map or the text of one; a single word that is neither is a misspelt name.
fn map_text(table: &Table) -> Result<String> {
    let key = table.keys().iter().find(|key| key.name == "map");
    let Some((Kind::Map(maps, random), default)) = key.map(|key| (&key.kind, key.default())) else {
        return Err(table.mistake("there is no map here"));
    };
    match (table.get("map"), random) {
        (None, _) => Ok(default.unwrap_or_default().trim_matches('"').to_owned()),
        (Some(entry), Some(keys)) if entry.is_table() => random_map(&entry, keys),
        (Some(entry), _) => {
            let text = entry.text()?;
            let is_name = !text.contains('\n') && text.chars().any(|c| !"SFHG".contains(c));
            if is_name {
                entry.word(maps)?;
            }
            Ok(text.to_owned())
        }
    }
}

fn random_map(entry: &Entry, keys: &'static [Key]) -> Result<String> {
    let table = entry.table(keys.iter().collect())?;
    let (rows, columns) = (table.count("rows")? as usize, table.count("columns")? as usize);
    let rng = &mut random::generator(table.count("seed")?);
    entry.at(mars_rover::random_map(rows, columns, table.number("rocks")?, rng))
}

fn explained(table: &Table, scene: &Scene) -> Result<String> {
    let mut text = String::from("[environment]\n");
    for key in table.keys() {
        match (&key.kind, scene.grid()) {
            (Kind::Map(maps, _), Some(grid)) => {
                let default = maps.iter().find(|(name, _)| key.default() == Some(&format!("\"{name}\"")));
                let default = default.and_then(|(_, text)| Grid::parse(text, "SFHG").ok());
                let drawn = |grid: &Grid| format!("\"\"\"\n{}\"\"\"", rows(grid));
                explain::line(&mut text, key.name, &drawn(grid), default.as_ref().map(drawn).as_deref());
            }
            _ => explain::key(&mut text, table, key, "", "environment")?,
        }
    }
    Ok(text)
}

fn rows(grid: &Grid) -> String {
    grid.cells.chunks(grid.columns).map(|row| row.iter().collect::<String>() + "\n").collect()
}
