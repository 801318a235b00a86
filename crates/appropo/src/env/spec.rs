use std::fmt;
use std::sync::Arc;

use super::dataset::Dataset;
use super::{Environment, Grid, Selected, Simulator, Space, TabularMdp, World};
use crate::error::{Error, Result};
use crate::measurement::{Measures, Selection};
use crate::options::{Given, Key, Kind, Registered, Result as OptionResult, Table};

/// Makes an environment: one of several that are played in at once, by its number, or one alone; episodes are cut off
/// after the given number of steps.
pub type MakeEnvironment =
    Arc<dyn Fn(Option<usize>, Option<usize>) -> Result<Box<dyn Environment>> + Send + Sync>;

/// An environment as a problem has it: what it measures, shows and lets do, how to make one to play in, and its model
/// where that is known.
#[derive(Clone)]
pub struct EnvSpec {
    measures: Measures,
    observations: Space,
    actions: Space,
    model: Option<Arc<TabularMdp>>,
    grid: Option<Grid>,
    make: MakeEnvironment,
    num_envs: usize,
    is_external: bool,
    logged: Option<Arc<Dataset>>,
    stated: Option<(String, Table)>,
}

impl fmt::Debug for EnvSpec {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("EnvSpec")
            .field("measures", &self.measures)
            .field("observations", &self.observations)
            .field("actions", &self.actions)
            .field("stated", &self.stated)
            .finish_non_exhaustive()
    }
}

/// A known model is played in by drawing from it.
impl From<World> for EnvSpec {
    fn from(World { model, grid }: World) -> Self {
        let drawn = Arc::clone(&model);
        let spaces = (Space::Discrete(model.states()), Space::Discrete(model.actions()));
        let make = move |_, horizon| Ok(Box::new(Simulator::new(Arc::clone(&drawn), horizon)) as _);
        let spec = Self::new(model.measures().clone(), spaces, Arc::new(make));
        Self { model: Some(model), grid, ..spec }
    }
}

impl From<Arc<TabularMdp>> for EnvSpec {
    fn from(model: Arc<TabularMdp>) -> Self {
        World { model, grid: None }.into()
    }
}

impl EnvSpec {
    /// An environment that can only be played in. `make` is given the steps after which episodes are cut off.
    pub fn playable<E: Environment + 'static>(
        make: impl Fn(Option<usize>) -> E + Send + Sync + 'static,
    ) -> Self {
        let first = make(None);
        let spaces = (first.observations(), first.actions());
        let make = move |_, horizon| Ok(Box::new(make(horizon)) as _);
        Self::new(first.measures().clone(), spaces, Arc::new(make))
    }

    /// An environment of the calling program, of which `num_envs` copies are played in at once.
    pub fn external(
        measures: Measures,
        spaces: (Space, Space),
        num_envs: usize,
        make: impl Fn(Option<usize>) -> Result<Box<dyn Environment>> + Send + Sync + 'static,
    ) -> Self {
        let spec = Self::new(measures, spaces, Arc::new(move |copy, _| make(copy)));
        Self { num_envs: num_envs.max(1), is_external: true, ..spec }
    }

    fn new(measures: Measures, (observations, actions): (Space, Space), make: MakeEnvironment) -> Self {
        Self {
            measures,
            observations,
            actions,
            model: None,
            grid: None,
            make,
            num_envs: 1,
            is_external: false,
            logged: None,
            stated: None,
        }
    }

    /// An environment of which there are only logs.
    pub(super) fn of_logs(
        measures: Measures,
        spaces: (Space, Space),
        make: MakeEnvironment,
        logged: Arc<Dataset>,
    ) -> Self {
        Self { logged: Some(logged), ..Self::new(measures, spaces, make) }
    }

    /// The same environment, as one that the calling program gives: files can describe it, but not make it.
    pub fn given_by_caller(self) -> Self {
        Self { is_external: true, ..self }
    }

    /// The same environment, which these options of a registered name make again.
    pub fn stated_as(self, name: &str, options: Table) -> Self {
        Self { stated: Some((name.into(), options)), ..self }
    }

    /// The registered name and the options that make it, where it was made of them.
    pub fn stated(&self) -> Option<(&str, &Table)> {
        self.stated.as_ref().map(|(name, options)| (name.as_str(), options))
    }

    /// What is measured.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// What is seen.
    pub fn observations(&self) -> &Space {
        &self.observations
    }

    /// What can be done.
    pub fn actions(&self) -> &Space {
        &self.actions
    }

    /// The model, where it is known.
    pub fn model(&self) -> Option<&Arc<TabularMdp>> {
        self.model.as_ref()
    }

    /// The vector of one number an entry that this name stands for here, where it does.
    pub fn vector(&self, name: &str) -> Option<Vec<f64>> {
        match name {
            "uniform-upper-triangle" => self.grid().map(|grid| grid.uniform_upper_triangle()),
            _ => None,
        }
    }

    /// The map, where the states are cells of one.
    pub fn grid(&self) -> Option<&Grid> {
        self.grid.as_ref()
    }

    /// The logs, where there is nothing else and nobody can play.
    pub fn logged(&self) -> Option<&Arc<Dataset>> {
        self.logged.as_ref()
    }

    /// How many environments learners play in at once.
    pub fn num_envs(&self) -> usize {
        self.num_envs
    }

    /// Whether the calling program gives it.
    pub fn is_external(&self) -> bool {
        self.is_external
    }

    /// Whether observations and actions can be counted.
    pub fn is_countable(&self) -> bool {
        self.observations.count().is_some() && self.actions.count().is_some()
    }

    /// An environment to play in, cut off after `horizon` steps.
    pub fn make(&self, horizon: Option<usize>) -> Result<Box<dyn Environment>> {
        (self.make)(None, horizon)
    }

    /// An environment to play in, measured by some entries only; `copy` is its number among those played in at once.
    pub fn make_selected(
        &self,
        copy: Option<usize>,
        selection: &Selection,
        horizon: Option<usize>,
    ) -> Result<Box<dyn Environment>> {
        Ok(match &self.model {
            Some(model) => Box::new(Simulator::new(Arc::new(model.select(selection)), horizon)),
            None => {
                let copy = copy.filter(|_| self.num_envs > 1);
                Box::new(Selected::new((self.make)(copy, horizon)?, selection.clone()))
            }
        })
    }
}

/// A kind of environment that problems can name.
/// Its keys are those besides its name; it is made given the discount.
pub type EnvEntry = Registered<fn(&Given, f64) -> OptionResult<EnvSpec>>;

/// Most environments may have one.
pub const HORIZON: Key = Key::optional(
    "horizon",
    Kind::Count(1, 1_000_000_000),
    "300",
    "Steps after which an episode is cut off. Without it episodes run until they end.",
);

/// For environments whose episodes never end by themselves, or that have no model to plan in.
pub const REQUIRED_HORIZON: Key = Key::required(
    "horizon",
    Kind::Count(1, 1_000_000_000),
    "500",
    "Steps after which an episode is cut off.",
);

pub(super) const SEED: Key =
    Key::defaulted("seed", Kind::Count(0, u64::MAX), "0", "Where random draws begin.");

/// The name of a map or the text of one; a single word that is neither is a misspelt name.
pub(super) fn map_text(given: &Given, draw: impl Fn(&Given) -> Result<String>) -> OptionResult<String> {
    let key = given.keys().iter().find(|key| key.name == "map");
    let Some((Kind::Map(maps, random), default)) = key.map(|key| (&key.kind, key.default())) else {
        return Err(given.error("there is no map here"));
    };
    match (given.get("map"), random) {
        (None, _) => Ok(default.unwrap_or_default().trim_matches('"').to_owned()),
        (Some(entry), Some(keys)) if entry.is_table() => {
            let table = entry.table(*keys)?;
            entry.at(draw(&table))
        }
        (Some(entry), _) => {
            let text = entry.text()?;
            let is_name = !text.contains('\n') && text.chars().any(|c| !"SFHG".contains(c));
            if is_name {
                entry.word(maps.iter().map(|(name, _)| *name))?;
            }
            Ok(text.to_owned())
        }
    }
}

/// Turns an error of the library into one at the option `key`, or at the whole table.
pub(super) fn at<T>(given: &Given, key: &str, result: Result<T>) -> OptionResult<T> {
    match given.get(key) {
        Some(entry) => entry.at(result),
        None => result.map_err(|error| match error {
            Error::Option(error) => *error,
            error => given.error(error.to_string()),
        }),
    }
}
