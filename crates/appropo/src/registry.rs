//! Every set, environment, player, oracle, learner and method by name. Lists, readers, schemas and suggestions go by it.

use std::fmt;
use std::sync::Arc;

use crate::constraint::Stated;
use crate::env::dataset::Dataset;
use crate::env::{self, EnvEntry};
use crate::error::{Error, Result as LibraryResult};
use crate::method::{self, Method, MethodEntry};
use crate::options::{Entry, Given, Key, Kind, Options, Registered, Result, Table, suggestion};
use crate::oracle::{self, Learned, LearnedOptions, MakeOracle, OracleEntry};
use crate::player::{self, MakePlayer, PlayerEntry};
use crate::rl::{self, LearnerEntry};
use crate::set::{self, SetEntry, SetSpace, SharedSet};

/// A name, its description and its options.
pub type Listed = (&'static str, &'static str, &'static [Key]);

/// What problems can name. [`Registry::standard`] has all that comes with the library; more can be added.
#[derive(Debug, Clone)]
pub struct Registry {
    sets: Vec<&'static SetEntry>,
    environments: Vec<&'static EnvEntry>,
    players: Vec<&'static PlayerEntry>,
    oracles: Vec<&'static OracleEntry>,
    learners: Vec<&'static LearnerEntry>,
    methods: Vec<&'static MethodEntry>,
    external_oracle: Option<Arc<dyn MakeOracle>>,
    datasets: Datasets,
}

/// Reads the data set of a path, or says what is wrong with it.
pub type ReadDataset = Arc<dyn Fn(&str) -> std::result::Result<Arc<Dataset>, String> + Send + Sync>;

#[derive(Clone, Default)]
struct Datasets(Option<ReadDataset>);

impl fmt::Debug for Datasets {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Datasets").field(&self.0.is_some()).finish()
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::standard()
    }
}

impl Registry {
    /// All that comes with the library.
    pub fn standard() -> Self {
        Self {
            sets: set::ENTRIES.iter().copied().flatten().collect(),
            environments: env::ENTRIES.to_vec(),
            players: player::ENTRIES.to_vec(),
            oracles: oracle::ENTRIES.to_vec(),
            learners: rl::LEARNERS.to_vec(),
            methods: method::ENTRIES.to_vec(),
            external_oracle: None,
            datasets: Datasets::default(),
        }
    }

    /// A set of one's own besides. A name that is taken is an error here and below.
    pub fn with_set(mut self, entry: &'static SetEntry) -> LibraryResult<Self> {
        free("set", entry.key.name, self.sets.iter().map(|set| set.key.name))?;
        self.sets.push(entry);
        Ok(self)
    }

    /// An environment of one's own besides.
    pub fn with_environment(mut self, entry: &'static EnvEntry) -> LibraryResult<Self> {
        free("environment", entry.name, names(&self.environments))?;
        self.environments.push(entry);
        Ok(self)
    }

    /// A player of one's own besides.
    pub fn with_player(mut self, entry: &'static PlayerEntry) -> LibraryResult<Self> {
        free("player", entry.name, self.tables())?;
        self.players.push(entry);
        Ok(self)
    }

    /// An oracle of one's own besides.
    pub fn with_oracle(mut self, entry: &'static OracleEntry) -> LibraryResult<Self> {
        free("oracle", entry.name, self.tables())?;
        self.oracles.push(entry);
        Ok(self)
    }

    /// A learner of one's own besides, which is an oracle, too.
    pub fn with_learner(mut self, entry: &'static LearnerEntry) -> LibraryResult<Self> {
        free("learner", entry.name, self.tables())?;
        self.learners.push(entry);
        Ok(self)
    }

    /// A method of one's own besides.
    pub fn with_method(mut self, entry: &'static MethodEntry) -> LibraryResult<Self> {
        free("method", entry.name, names(&self.methods))?;
        self.methods.push(entry);
        Ok(self)
    }

    /// The same where problems whose oracle is the calling program's get this one.
    pub fn with_external_oracle(mut self, oracle: Option<Arc<dyn MakeOracle>>) -> Self {
        self.external_oracle = oracle;
        self
    }

    /// The same where problems that name the files of data sets have them read by this.
    pub fn with_datasets(mut self, read: ReadDataset) -> Self {
        self.datasets = Datasets(Some(read));
        self
    }

    /// The data set of a path, if its checksum is as stated; `None` where no one reads data sets.
    pub fn dataset(&self, path: &Entry, checksum: Option<&Entry>) -> Result<Option<Arc<Dataset>>> {
        let Some(read) = &self.datasets.0 else { return Ok(None) };
        let dataset = read(path.text()?).map_err(|problem| path.error(problem))?;
        match checksum.map(|entry| Ok((entry, entry.text()?))).transpose()? {
            Some((entry, stated)) if stated != dataset.checksum() => Err(entry.error(format!(
                "the data have the checksum {}; expected {stated}: they are not those that this was written for",
                dataset.checksum()
            ))),
            _ => Ok(Some(dataset)),
        }
    }

    /// The sets.
    pub fn sets(&self) -> &[&'static SetEntry] {
        &self.sets
    }

    /// The environments.
    pub fn environments(&self) -> &[&'static EnvEntry] {
        &self.environments
    }

    /// The players.
    pub fn players(&self) -> &[&'static PlayerEntry] {
        &self.players
    }

    /// The methods.
    pub fn methods(&self) -> &[&'static MethodEntry] {
        &self.methods
    }

    /// The learners.
    pub fn learners(&self) -> &[&'static LearnerEntry] {
        &self.learners
    }

    /// All oracles, learners among them: name, description and options.
    pub fn oracles(&self) -> Vec<Listed> {
        // The oracle of another program is last.
        let mut all: Vec<_> = listed(&self.oracles).chain(listed(&self.learners)).collect();
        all.sort_by_key(|(name, ..)| *name == oracle::EXTERNAL);
        all
    }

    /// The tables of options that a problem may have of how to solve: those of players, oracles, all learners, and methods.
    pub fn option_tables(&self) -> Vec<Listed> {
        let learned = (Learned::NAME, "How any learner answers λ.", LearnedOptions::KEYS);
        let all = listed(&self.players).chain(self.oracles()).chain([learned]).chain(self.method_tables());
        all.filter(|(_, _, keys)| !keys.is_empty()).collect()
    }

    /// The tables of options of methods.
    fn method_tables(&self) -> impl Iterator<Item = Listed> {
        self.methods.iter().flat_map(|method| method.keys).filter_map(|key| match key.kind {
            Kind::Table(keys) => Some((key.name, key.about, keys)),
            _ => None,
        })
    }

    /// The names of all that may have a table of options: they stand side by side in a problem.
    fn tables(&self) -> impl Iterator<Item = &'static str> {
        let methods = self.method_tables().map(|(name, ..)| name);
        let players = names(&self.players).chain([Learned::NAME]);
        players.chain(names(&self.oracles)).chain(names(&self.learners)).chain(methods)
    }

    /// The environment that options describe.
    pub fn environment(&self, name: &Entry) -> Result<&'static EnvEntry> {
        let text = name.text()?;
        find(&self.environments, text).ok_or_else(|| unknown(name, text, names(&self.environments)))
    }

    /// The set that stands at an entry named after one.
    pub fn set(&self, entry: &Entry, space: &SetSpace) -> Result<SharedSet> {
        let Some(set) = self.sets.iter().find(|set| set.key.name == entry.key) else {
            return Err(entry.error("there is no such set"));
        };
        entry.check(&set.key.kind)?;
        let part = |table: &Given| self.part(table, space);
        let SetSpace { dim, vectors, externals, .. } = *space;
        (set.make)(entry, &SetSpace { dim, vectors, externals, part: &part })
    }

    /// The one set that a table states, and nothing else.
    fn part(&self, table: &Given, space: &SetSpace) -> Result<SharedSet> {
        let known = || self.sets.iter().map(|set| set.key.name);
        match table.entries().iter().find(|entry| known().all(|name| name != entry.key)) {
            Some(other) => Err(table.unknown(&other.key, known())),
            None => Ok(self.one_set(table, space)?.0),
        }
    }

    /// The one set that a table states, among other keys, and what states it.
    pub fn one_set(&self, table: &Given, space: &SetSpace) -> Result<(SharedSet, Stated)> {
        let is_set = |entry: &Entry| self.sets.iter().any(|set| set.key.name == entry.key);
        let found: Vec<Entry> = table.entries().into_iter().filter(is_set).collect();
        match found.as_slice() {
            [] => {
                let keys: Vec<&str> = self.sets.iter().map(|set| set.key.name).collect();
                Err(table.error(format!("the set is missing; write one of {}", keys.join(", "))))
            }
            [entry] => {
                let stated = Stated { key: entry.key.clone(), value: entry.value.clone(), shift: None };
                Ok((self.set(entry, space)?, stated))
            }
            [_, second, ..] => {
                Err(second.error("a constraint has one set; write another [[constraint]] for this one"))
            }
        }
    }

    /// The player that `given` names, with the options of its table.
    pub(crate) fn player<'a>(
        &self,
        given: &Given,
        table: impl Fn(&str) -> Option<Entry<'a>>,
    ) -> Result<Arc<dyn MakePlayer>> {
        let name = given.word("player")?;
        let Some(entry) = find(&self.players, &name) else {
            return Err(unknown(&given.require("player")?, &name, names(&self.players)));
        };
        with_options(table(entry.name), entry.keys, entry.read)
    }

    /// The oracle of a name, with the options of its table.
    pub(crate) fn oracle<'a>(
        &self,
        at: &Entry,
        table: impl Fn(&str) -> Option<Entry<'a>>,
    ) -> Result<Arc<dyn MakeOracle>> {
        let name = at.text()?;
        if let Some(oracle) = self.external_oracle.as_ref().filter(|_| name == oracle::EXTERNAL) {
            return Ok(Arc::clone(oracle));
        }
        if let Some(entry) = find(&self.oracles, name) {
            return with_options(table(name), entry.keys, entry.read);
        }
        let Some(entry) = find(&self.learners, name) else {
            return Err(unknown(at, name, self.oracles().into_iter().map(|(name, ..)| name)));
        };
        let learner = with_options(table(name), entry.keys, entry.read)?;
        let options = with_options(table(Learned::NAME), LearnedOptions::KEYS, LearnedOptions::read)?;
        Ok(Arc::new(Learned { learner, options }))
    }

    /// The method that a table names, with its options, whose keys have been looked at.
    pub fn method(&self, given: &Given) -> Result<Arc<dyn Method>> {
        (self.method_entry(given)?.read)(given, self)
    }

    /// The method that a table names, with its options, and with tables of options by the names of players, oracles and
    /// learners: what [`Method::table`] says of it.
    pub fn read_method(&self, table: &Table) -> Result<Arc<dyn Method>> {
        let entry = self.method_entry(&Given::open(table, Vec::new()))?;
        let tables: Vec<_> = self.option_tables().into_iter().map(|(name, _, keys)| (name, keys)).collect();
        let keys = entry.keys.iter().filter(|key| !matches!(key.kind, Kind::Table(_))).chain([&METHOD]);
        let given = Given::read_with(table, Vec::new(), keys, &tables)?;
        (entry.read)(&given, self)
    }

    fn method_entry(&self, given: &Given) -> Result<&'static MethodEntry> {
        let at = given.get("method");
        let name = at.as_ref().map_or(Ok(DEFAULT_METHOD), |entry| entry.text())?;
        match (find(&self.methods, name), &at) {
            (Some(entry), _) => Ok(entry),
            (None, Some(at)) => Err(unknown(at, name, names(&self.methods))),
            (None, None) => Err(given.error(format!("there is no method \"{name}\""))),
        }
    }
}

/// The method of problems that name none.
pub const DEFAULT_METHOD: &str = "appropo";

/// The key that names a method.
pub static METHOD: Key = Key::defaulted("method", Kind::Name, "\"appropo\"", "How to solve.");

/// Reads options that may have a table of their own.
pub(crate) fn with_options<T>(
    table: Option<Entry>,
    keys: &'static [Key],
    read: fn(&Given) -> Result<T>,
) -> Result<T> {
    match table {
        Some(entry) => read(&entry.table(keys)?),
        None => read(&Given::read(&Table::default(), keys)?),
    }
}

fn find<R>(entries: &[&'static Registered<R>], name: &str) -> Option<&'static Registered<R>> {
    entries.iter().copied().find(|entry| entry.name == name)
}

fn names<R>(entries: &[&'static Registered<R>]) -> impl Iterator<Item = &'static str> {
    entries.iter().map(|entry| entry.name)
}

fn listed<R>(entries: &[&'static Registered<R>]) -> impl Iterator<Item = Listed> {
    entries.iter().map(|entry| (entry.name, entry.about, entry.keys))
}

/// Refuses a name that is taken: the entry would never be found.
fn free(
    kind: &'static str,
    name: &'static str,
    mut taken: impl Iterator<Item = &'static str>,
) -> LibraryResult<()> {
    if taken.any(|known| known == name) { Err(Error::NameTaken { kind, name }) } else { Ok(()) }
}

fn unknown<'k>(
    entry: &Entry,
    name: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> crate::options::OptionError {
    entry.error(format!("\"{name}\" is not known here; {}", suggestion(name, known)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::options::{Step, Value};

    /// What was not looked at before came through, and one number where two are needed was a panic.
    #[test]
    fn a_set_that_nobody_looked_at_is_looked_at() {
        let (vectors, externals) = (|_: &str| None, HashMap::new());
        let space = SetSpace::new(2, &vectors, &externals);
        let refused = |key: &str, value: Value| {
            let error = Registry::standard().set(&Entry::alone(key, &value), &space).err().unwrap();
            (error.message, error.path)
        };
        let key = |name: &str| Step::Key(name.into());
        let one = || Value::from(vec![0.1]);
        let message = "between: found 1 numbers; expected two, as in [0.1, 0.2]";
        assert_eq!(refused("between", one()), (message.into(), vec![key("between")]));
        let part = Value::from(vec![Table::new([("between", one())])]);
        let path = vec![key("intersection"), Step::Item(0), key("between")];
        assert_eq!(refused("intersection", part), (message.into(), path));
        let part = Value::from(vec![Table::new([("at_most", 0.1), ("at_leest", 0.1)])]);
        let message = "unknown key \"at_leest\"; did you mean \"at_least\"?";
        let path = vec![key("intersection"), Step::Item(0), key("at_leest")];
        assert_eq!(refused("intersection", part), (message.into(), path));
    }
}
