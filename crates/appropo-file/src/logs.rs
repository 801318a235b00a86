//! The data sets that a problem names: where they lie, and what stands for them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use appropo::dataset::Dataset;
use appropo::env::logged;
use appropo::measurement::{Discounting, Measures};
use appropo::options::{Entry, Given, Key, Kind, OptionError, Part, Result, Step, Table, Value};
use appropo::registry::ReadDataset;

use crate::dataset::{self, DatasetError};

/// The key that names a data set, wherever one may stand.
const DATASET: Key = Key::required("dataset", Kind::Name, "\"log.csv\"", "The file of the data set.");

/// The keys of a data set whose mean stands for numbers.
pub static MEAN: [Key; 2] = [DATASET, logged::CHECKSUM];

/// Data sets beside a problem file, each read once.
pub struct Logs {
    folder: PathBuf,
    read: ReadDataset,
}

impl Logs {
    /// Those whose paths are relative to a folder.
    pub fn beside(folder: &Path) -> Self {
        let known: Mutex<HashMap<String, Arc<Dataset>>> = Mutex::default();
        let read = move |path: &str| {
            let mut known =
                known.lock().map_err(|_| "another thread failed to read data sets".to_string())?;
            if let Some(dataset) = known.get(path) {
                return Ok(Arc::clone(dataset));
            }
            let found = dataset::read(Path::new(path)).map_err(|error| error.to_string())?;
            let found = Arc::new(found.named(path));
            known.insert(path.into(), Arc::clone(&found));
            Ok(found)
        };
        Self { folder: folder.to_owned(), read: Arc::new(read) }
    }

    /// Who reads the data set of a path.
    pub fn reader(&self) -> ReadDataset {
        Arc::clone(&self.read)
    }

    /// A path in full, so that a run can find its data again from anywhere.
    pub fn full(&self, path: &str) -> String {
        let path = self.folder.join(path);
        std::path::absolute(&path).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Writes the paths in full that tables of settings name.
    pub fn place(&self, settings: &mut Table) {
        let named: Vec<(String, String)> = settings
            .iter()
            .filter_map(|(name, value)| match value {
                Value::Table(table) => match table.get(DATASET.name) {
                    Some(Value::Text(path)) => Some((name.to_owned(), self.full(path))),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        named.into_iter().for_each(|(name, path)| settings.set_deep(&[&name, DATASET.name], path));
    }

    fn dataset(&self, file: &Entry, checksum: Option<&Entry>) -> Result<Arc<Dataset>> {
        let found = (self.read)(&self.full(file.text()?)).map_err(|problem| file.error(problem))?;
        match checksum.map(|entry| Ok((entry, entry.text()?))).transpose()? {
            Some((entry, stated)) if stated != found.checksum() => Err(entry.error(format!(
                "the data have the checksum {}; expected {stated}: they are not those that this was written for",
                found.checksum()
            ))),
            _ => Ok(found),
        }
    }

    /// The data set that is the environment of a problem, and its path.
    pub fn environment(&self, given: &Given) -> Result<(Arc<Dataset>, String)> {
        let file = given.require(DATASET.name)?;
        let found = self.dataset(&file, given.get(logged::CHECKSUM.name).as_ref())?;
        let (observations, actions) = logged::spaces(given, &found)?;
        let path = self.full(file.text()?);
        let fitted = found.fitted_to(found.measures(), &observations, &actions);
        Ok((fitted.map_err(|error| file.error(DatasetError::of(&path, error)))?, path))
    }

    /// The table of a problem, with the mean discounted measurement of a data set's episodes in the place of every
    /// `{ dataset = "demos.csv" }` of a constraint.
    pub fn with_means(
        &self,
        root: &Table,
        measures: &Measures,
        gamma: f64,
        horizon: Option<usize>,
    ) -> Result<Table> {
        let mut root = root.clone();
        let Some(Value::List(constraints)) = root.get("constraint").cloned() else { return Ok(root) };
        let mut written = Vec::new();
        for (i, constraint) in constraints.into_iter().enumerate() {
            let Value::Table(table) = &constraint else {
                written.push(constraint);
                continue;
            };
            let of = Means { logs: self, measures, gamma, horizon, constraint: table };
            let path = vec![Step::Key("constraint".into()), Step::Item(i)];
            written.push(of.replaced(&constraint, &path)?);
        }
        root.set("constraint", Value::List(written));
        Ok(root)
    }
}

/// What data sets stand for in a constraint.
struct Means<'a> {
    logs: &'a Logs,
    measures: &'a Measures,
    gamma: f64,
    horizon: Option<usize>,
    constraint: &'a Table,
}

impl Means<'_> {
    fn replaced(&self, value: &Value, path: &[Step]) -> Result<Value> {
        let inner = |step: Step| path.iter().cloned().chain([step]).collect::<Vec<_>>();
        Ok(match value {
            Value::Table(table) if table.get(DATASET.name).is_some() => self.mean(table, path)?,
            Value::Table(table) => {
                let mut written = Table::default();
                for (key, value) in table.iter() {
                    written.set(key, self.replaced(value, &inner(Step::Key(key.into())))?);
                }
                written.into()
            }
            Value::List(items) => {
                let one = |(i, item)| self.replaced(item, &inner(Step::Item(i)));
                Value::List(items.iter().enumerate().map(one).collect::<Result<_>>()?)
            }
            value => value.clone(),
        })
    }

    /// The mean of what the constraint is about, per step where that is.
    fn mean(&self, table: &Table, path: &[Step]) -> Result<Value> {
        let given = Given::read_at(table, path.to_vec(), &MEAN)?;
        let file = given.require(DATASET.name)?;
        let dataset = self.logs.dataset(&file, given.get(logged::CHECKSUM.name).as_ref())?;
        let bad = |message: String| OptionError { path: path.to_vec(), part: Part::Value, message };
        let discounting =
            Discounting::new(self.gamma, self.horizon).map_err(|error| bad(error.to_string()))?;
        let mean = dataset.mean(&discounting);
        let logged = |name: &str| {
            let range = dataset.measures().range(name).map_err(|error| file.error(error))?;
            let expected = self.measures.range(name).map_or(range.len(), |range| range.len());
            if range.len() == expected {
                return Ok(mean[range].to_vec());
            }
            Err(file.error(format!("\"{name}\" has {} entries there; expected {expected}", range.len())))
        };
        let names: Vec<&str> = match self.constraint.get("measure") {
            Some(Value::Text(name)) => vec![name],
            Some(Value::List(names)) => names
                .iter()
                .filter_map(|name| if let Value::Text(name) = name { Some(name.as_str()) } else { None })
                .collect(),
            _ => Vec::new(),
        };
        let mut numbers = Vec::new();
        for name in names {
            numbers.extend(logged(name)?);
        }
        if self.constraint.get("share") == Some(&Value::Flag(true)) {
            let steps = logged("steps")?[0];
            numbers.iter_mut().for_each(|number| *number /= steps);
        }
        Ok(numbers.into())
    }
}
