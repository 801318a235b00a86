//! Problem files: a world, what is measured in it, and the constraints.

mod constraint;
mod document;
mod environment;
mod explain;
mod format;
mod keys;
mod outside;
mod resolved;
mod scene;
mod schema;
mod set;
mod settings;
mod source;

use std::collections::HashMap;
use std::path::Path;

use appropo::constraint::Target;
use appropo::error::Error;
use appropo::measurement::Discounting;
use appropo::rl;
use appropo::set::SharedSet;
use appropo_run::Directory;
use toml::de::DeTable;

use crate::Failure;
use crate::record::{About, PROBLEM, RUN};

pub use constraint::Shown;
pub use format::{ENVIRONMENTS, Environment, METHODS, ORACLE_WORDS, OUTSIDE, PLAYER_WORDS, SETS};
pub use outside::{Answer, Make, Oracle, OutsideWorld, Revive, Stop, Surroundings};
pub use scene::{Scene, limit};
pub use schema::schema;
pub use settings::{Method, ORACLES, OracleKind, PLAYERS, PlayerKind, Settings};
pub use source::{Mistake, suggestion};

use document::Table;
use format::{ROOT, SOLVE};
use source::{Result, Source};

/// The problems that come with the program.
pub const BUILT_IN: [(&str, &str); 10] = [
    ("mars-rover", include_str!("../../../../problems/mars-rover.toml")),
    ("mars-rover-diverse", include_str!("../../../../problems/mars-rover-diverse.toml")),
    ("mars-rover-infeasible", include_str!("../../../../problems/mars-rover-infeasible.toml")),
    ("mars-rover-undiscounted", include_str!("../../../../problems/mars-rover-undiscounted.toml")),
    ("mars-rover-30x30", include_str!("../../../../problems/mars-rover-30x30.toml")),
    ("deep-sea-treasure", include_str!("../../../../problems/deep-sea-treasure.toml")),
    ("frozen-lake", include_str!("../../../../problems/frozen-lake.toml")),
    ("cliff-walking", include_str!("../../../../problems/cliff-walking.toml")),
    ("bandit", include_str!("../../../../problems/bandit.toml")),
    ("cart-pole", include_str!("../../../../problems/cart-pole.toml")),
];

/// A problem, read and checked.
pub struct Problem {
    pub name: String,
    pub world: Scene,
    pub discounting: Discounting,
    pub target: Target,
    /// How each constraint is shown to people.
    pub shown: Vec<Shown>,
    /// All but the settings as a problem file, with every default written out.
    stated: String,
    pub settings: Settings,
    /// What its names stand for beyond the file.
    pub surroundings: Surroundings,
}

impl Problem {
    /// Reads a problem file, or the built-in problem of this name.
    pub fn load(name_or_path: &str) -> std::result::Result<Self, Mistake> {
        let path = Path::new(name_or_path);
        let built_in = BUILT_IN.iter().find(|(name, _)| *name == name_or_path);
        if let Some((name, text)) = built_in.filter(|_| !path.is_file()) {
            return Self::read(name, Source { file: name, text }, &Surroundings::default());
        }
        let source = Source { file: name_or_path, text: "" };
        let text = std::fs::read_to_string(path).map_err(|error| {
            let known = BUILT_IN.iter().map(|(name, _)| *name);
            let hint = match name_or_path.contains(['/', '.']) {
                true => String::new(),
                false => format!(", nor is it a built-in problem; {}", suggestion(name_or_path, known)),
            };
            source.nowhere(format!("can't be read as a file ({error}){hint}"))
        })?;
        let name = path.file_stem().map_or(name_or_path.into(), |stem| stem.to_string_lossy());
        Self::read(&name, Source { file: name_or_path, text: &text }, &Surroundings::default())
    }

    /// The problem of a run, with the settings that it was begun with.
    pub fn load_run(
        directory: &Directory,
        surroundings: &Surroundings,
    ) -> std::result::Result<Self, Failure> {
        let about: About = directory.read_json(RUN)?;
        let text = directory.read_text(PROBLEM)?;
        let file = directory.file(PROBLEM).display().to_string();
        Ok(Self::read(&source::shown(&about.problem), Source { file: &file, text: &text }, surroundings)?)
    }

    /// Reads the text of a problem that is in no file.
    pub fn parse(name: &str, text: &str, surroundings: &Surroundings) -> std::result::Result<Self, Mistake> {
        Self::read(name, Source { file: "", text }, surroundings)
    }

    /// Each constraint in words, such as "safety: failure ≤ 0.2".
    pub fn constraints(&self) -> impl Iterator<Item = String> {
        self.target.constraints().iter().zip(&self.shown).map(|(constraint, shown)| {
            let per_step = if constraint.share { " per step" } else { "" };
            let measures = constraint.measures.join(", ");
            format!("{}: {measures}{per_step} {}", constraint.name, shown.requirement)
        })
    }

    fn read(name: &str, source: Source, surroundings: &Surroundings) -> Result<Self> {
        let document = source.parse()?;
        let root = Table::read(source, document.get_ref(), 0..0, ROOT.iter().collect())?;
        let discount = root.require("discount")?;
        let gamma = discount.number()?;
        let mut stated = String::new();
        explain::line(&mut stated, "discount", &explain::number(gamma), None);
        let environment = root.require("environment")?;
        let (world, horizon, text) = environment::read(&environment, &discount, gamma, surroundings)?;
        stated = format!("{stated}\n{text}");
        let discounting = discount.at(Discounting::new(gamma, horizon))?;
        if let Some(model) = world.model().filter(|_| gamma == 1.0 && horizon.is_none()) {
            let decisions = rl::decision_states(model);
            if let Some((state, action)) = rl::endless(model, &decisions) {
                return discount.at(Err(Error::NeverEnds { state, action }));
            }
        }
        let mut constraints = Vec::new();
        let mut shown = Vec::new();
        for item in root.get("constraint").map_or(Ok(Vec::new()), |entry| entry.items())? {
            let (constraint, show) = constraint::read(&item, &world, &surroundings.sets, &mut stated)?;
            constraints.push(constraint);
            shown.push(show);
        }
        let target =
            Target::new(&world.measures(), constraints).map_err(|e| source.nowhere(e.to_string()))?;
        let (keys, nothing) = (SOLVE.iter().collect(), DeTable::new());
        let solve = match root.get("solve") {
            Some(entry) => entry.table(keys)?,
            None => Table::read(source, &nothing, 0..0, keys)?,
        };
        let settings = Settings::read(&solve, &world)?;
        let (name, surroundings) = (name.into(), surroundings.clone());
        Ok(Self { name, world, discounting, target, shown, stated, settings, surroundings })
    }
}

/// The set that one line states.
pub fn set_of(line: &str, dim: usize, sets: &HashMap<String, SharedSet>) -> Result<(SharedSet, String)> {
    let source = Source { file: "", text: line };
    let document = source.parse()?;
    let table = Table::read(source, document.get_ref(), 0..0, keys::with_sets(&[]))?;
    // No measure, hence no map that a vector could be named after.
    let world = Scene::CartPole;
    let (set, shown) = constraint::one_set(&table, &constraint::Space { world: &world, dim, sets })?;
    Ok((set, shown.requirement))
}
