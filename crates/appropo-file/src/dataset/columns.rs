//! A data set as columns of numbers, which every kind of file has.

use std::collections::HashSet;
use std::ops::Range;

use appropo::dataset::{Dataset, Step};
use appropo::env::Space;
use appropo::measurement::Measures;

use super::{DatasetError, Result};

/// The largest whole number that a column may have.
const LARGEST_COUNT: f64 = 9_007_199_254_740_992.0;
/// The most of anything that a table has one row for.
const MOST: f64 = 100_000_000.0;

/// What the numbers of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Whole,
    Number,
    Flag,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    /// Flags are 0 or 1.
    pub values: Vec<f64>,
}

/// The columns of a file, all of one length.
#[derive(Debug, Default)]
pub struct Columns {
    pub columns: Vec<Column>,
    /// The line of every row, where the file is a text.
    pub lines: Vec<u64>,
}

/// The names that are no measures'.
const RESERVED: [&str; 7] =
    ["episode", "step", "observation", "action", "next_observation", "terminated", "truncated"];

fn error(problem: impl Into<String>) -> DatasetError {
    DatasetError::new("", problem)
}

impl Columns {
    /// The data set that columns are.
    pub fn dataset(&self) -> Result<Dataset> {
        let mut names = HashSet::new();
        if let Some(twice) = self.columns.iter().find(|column| !names.insert(column.name.as_str())) {
            return Err(error(format!("there are two columns \"{}\"; leave one of them out", twice.name)));
        }
        let [episode, step, terminated, truncated] =
            ["episode", "step", "terminated", "truncated"].map(|name| self.one(name));
        let (episode, step, terminated, truncated) = (episode?, step?, terminated?, truncated?);
        let (seen, is_counted) = self.vector("observation")?;
        let (next, is_next_counted) = self.vector("next_observation")?;
        let (done, are_actions_counted) = self.vector("action")?;
        if (seen.len(), is_counted) != (next.len(), is_next_counted) {
            return Err(error(format!(
                "there are {} columns of the observation and {} of the next one; expected as many, of the same names",
                seen.len(),
                next.len()
            )));
        }
        let (measures, measured) = self.measures()?;
        let observations = match is_counted {
            true => Space::Discrete(self.count("observation", &[seen[0], next[0]])?),
            false => Space::Continuous(vec![(f64::NEG_INFINITY, f64::INFINITY); seen.len()]),
        };
        let actions = match are_actions_counted {
            true => Space::Discrete(self.count("action", &[done[0]])?),
            false => Space::Continuous(vec![(f64::NEG_INFINITY, f64::INFINITY); done.len()]),
        };
        let mut builder = Dataset::builder(measures, observations, actions);
        let rows = episode.values.len();
        let mut numbers = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        for row in 0..rows {
            let sources: [&[&Column]; 4] = [&seen, &done, &measured, &next];
            for (to, from) in numbers.iter_mut().zip(sources) {
                to.clear();
                to.extend(from.iter().map(|column| column.values[row]));
            }
            let [observation, action, z, next_observation] = &numbers;
            let step = Step {
                episode: whole(episode, row)?,
                step: whole(step, row)?,
                observation,
                action,
                z,
                next_observation,
                terminated: flag(terminated, row)?,
                truncated: flag(truncated, row)?,
            };
            builder.push(&step).map_err(|error| DatasetError::of("", error))?;
        }
        builder.build().map_err(|error| match rows {
            0 => DatasetError::new("", "there are no rows; expected one episode or more"),
            _ => DatasetError::of("", error),
        })
    }

    fn find(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    fn one(&self, name: &str) -> Result<&Column> {
        self.find(name).ok_or_else(|| self.missing(&format!("\"{name}\"")))
    }

    fn missing(&self, what: &str) -> DatasetError {
        let found: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).take(12).collect();
        let more = if self.columns.len() > found.len() { " and more" } else { "" };
        error(format!("the column {what} is missing; found {}{more}", found.join(", ")))
    }

    /// The columns of something that is counted, in one column of its name, or else made of numbers.
    fn vector(&self, name: &str) -> Result<(Vec<&Column>, bool)> {
        let numbered = self.numbered(name)?;
        if let Some(column) = self.find(name) {
            return match numbered.first() {
                None => Ok((vec![column], true)),
                Some(other) => Err(twice(name, &other.name)),
            };
        }
        match numbered {
            columns if columns.is_empty() => Err(self.missing(&format!("\"{name}\", or \"{name}_0\","))),
            columns => Ok((columns, false)),
        }
    }

    /// The columns `name_0`, `name_1` and on.
    fn numbered(&self, name: &str) -> Result<Vec<&Column>> {
        let numbers = self.columns.iter().filter_map(|column| Some((numbered(&column.name)?, column)));
        let of_it: Vec<_> = numbers.filter(|((of, _), _)| *of == name).collect();
        (0..of_it.len())
            .map(|number| {
                let found = of_it.iter().find(|((_, found), _)| *found == number);
                found
                    .map(|(_, column)| *column)
                    .ok_or_else(|| self.missing(&format!("\"{name}_{number}\", one of {},", of_it.len())))
            })
            .collect()
    }

    /// All that is left, in the order of the columns.
    fn measures(&self) -> Result<(Measures, Vec<&Column>)> {
        let mut blocks: Vec<(&str, usize)> = Vec::new();
        let mut columns = Vec::new();
        for column in &self.columns {
            let name = numbered(&column.name).map_or(column.name.as_str(), |(name, _)| name);
            let is_new = blocks.iter().all(|(known, _)| *known != name);
            if RESERVED.contains(&name) {
                continue;
            }
            if name == column.name {
                blocks.push((name, 1));
                columns.push(column);
            } else if self.find(name).is_some() {
                return Err(twice(name, &column.name));
            } else if is_new {
                let entries = self.numbered(name)?;
                blocks.push((name, entries.len()));
                columns.extend(entries);
            }
        }
        match blocks.is_empty() {
            true => Err(self.missing("of a measure, such as \"cost\",")),
            false => Ok((Measures::new(blocks), columns)),
        }
    }

    /// How many there are of what is counted in these columns.
    fn count(&self, what: &str, columns: &[&Column]) -> Result<usize> {
        let mut most = 0.0f64;
        for column in columns {
            let is_wrong = |value: &f64| !((0.0..MOST).contains(value) && value.fract() == 0.0);
            if let Some(row) = column.values.iter().position(is_wrong) {
                let problem = format!(
                    "the column \"{}\" has {}; expected a whole number, 0 or more; numbers that are not counted stand in \"{what}_0\"",
                    column.name, column.values[row]
                );
                return Err(DatasetError { row: Some(row + 1), ..error(problem) });
            }
            most = column.values.iter().copied().fold(most, f64::max);
        }
        Ok(most as usize + 1)
    }

    /// The columns of a data set.
    pub fn of(dataset: &Dataset) -> Result<Self> {
        let mut columns = vec![column("episode", Kind::Whole), column("step", Kind::Whole)];
        let add = |columns: &mut Vec<Column>, name: &str, space: &Space| -> Range<usize> {
            let first = columns.len();
            match space {
                Space::Discrete(_) => columns.push(column(name, Kind::Whole)),
                Space::Continuous(bounds) => {
                    columns.extend((0..bounds.len()).map(|i| column(&format!("{name}_{i}"), Kind::Number)))
                }
            }
            first..columns.len()
        };
        let seen = add(&mut columns, "observation", dataset.observations());
        let done = add(&mut columns, "action", dataset.actions());
        let first = columns.len();
        for (name, range) in dataset.measures().iter() {
            if RESERVED.contains(&name) || numbered(name).is_some() {
                return Err(error(format!(
                    "a measure called \"{name}\" can't be written: columns of that name are something else; rename it"
                )));
            }
            match range.len() {
                1 => columns.push(column(name, Kind::Number)),
                entries => columns.extend((0..entries).map(|i| column(&format!("{name}_{i}"), Kind::Number))),
            }
        }
        let measured = first..columns.len();
        let next = add(&mut columns, "next_observation", dataset.observations());
        let ends = columns.len();
        columns.extend(["terminated", "truncated"].map(|name| column(name, Kind::Flag)));
        for (number, episode) in dataset.episodes().enumerate() {
            for step in 0..episode.steps {
                let row = |numbers: &[f64], width: usize, row: usize| {
                    numbers[row * width..(row + 1) * width].to_vec()
                };
                let is_last = step + 1 == episode.steps;
                let parts = [
                    (0..2, vec![number as f64, step as f64]),
                    (seen.clone(), row(episode.observations, seen.len(), step)),
                    (done.clone(), row(episode.actions, done.len(), step)),
                    (measured.clone(), row(episode.z, measured.len(), step)),
                    (next.clone(), row(episode.observations, seen.len(), step + 1)),
                    (
                        ends..ends + 2,
                        [is_last && episode.is_terminated, is_last && !episode.is_terminated]
                            .map(f64::from)
                            .to_vec(),
                    ),
                ];
                for (places, numbers) in parts {
                    let to = columns[places].iter_mut();
                    to.zip(numbers).for_each(|(column, number)| column.values.push(number));
                }
            }
        }
        Ok(Self { columns, lines: Vec::new() })
    }
}

fn column(name: &str, kind: Kind) -> Column {
    Column { name: name.into(), kind, values: Vec::new() }
}

/// `visits_3` as "visits" and 3.
fn numbered(name: &str) -> Option<(&str, usize)> {
    let (of, number) = name.rsplit_once('_')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = is_number && (number == "0" || !number.starts_with('0'));
    (is_plain && !of.is_empty()).then(|| Some((of, number.parse().ok()?))).flatten()
}

fn at(column: &Column, row: usize, expected: &str) -> DatasetError {
    let problem = format!("the column \"{}\" has {}; expected {expected}", column.name, column.values[row]);
    DatasetError { row: Some(row + 1), ..error(problem) }
}

fn whole(column: &Column, row: usize) -> Result<u64> {
    let value = column.values[row];
    let is_whole = (0.0..LARGEST_COUNT).contains(&value) && value.fract() == 0.0;
    if is_whole { Ok(value as u64) } else { Err(at(column, row, "a whole number, 0 or more")) }
}

fn flag(column: &Column, row: usize) -> Result<bool> {
    match column.values[row] {
        0.0 => Ok(false),
        1.0 => Ok(true),
        _ => Err(at(column, row, "true or false")),
    }
}

fn twice(name: &str, other: &str) -> DatasetError {
    error(format!("there are columns \"{name}\" and \"{other}\"; rename one of them"))
}
