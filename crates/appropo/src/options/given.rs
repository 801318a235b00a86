use std::fmt;
use std::str::FromStr;

use super::{Key, Kind, OptionError, Part, Presence, Result, Step, Table, VECTORS, Value, suggestion};
use crate::error::{Error, Result as LibraryResult};

/// A table being read, with the keys that may stand in it.
#[derive(Debug, Clone)]
pub struct Given<'a> {
    table: &'a Table,
    path: Vec<Step>,
    keys: Vec<&'static Key>,
}

/// A value and the key it belongs to.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// The key.
    pub key: String,
    /// The value.
    pub value: &'a Value,
    path: Vec<Step>,
}

impl<'a> Given<'a> {
    /// Refuses unknown keys, values that may not stand at theirs, and tables that lack a key.
    pub fn read(table: &'a Table, keys: impl IntoIterator<Item = &'static Key>) -> Result<Self> {
        Self::read_at(table, Vec::new(), keys)
    }

    /// The same for a table that stands somewhere in a larger one.
    pub fn read_at(
        table: &'a Table,
        path: Vec<Step>,
        keys: impl IntoIterator<Item = &'static Key>,
    ) -> Result<Self> {
        Self::read_with(table, path, keys, &[])
    }

    /// The same for a table in which tables of these names may stand besides, each with keys of its own.
    pub fn read_with(
        table: &'a Table,
        path: Vec<Step>,
        keys: impl IntoIterator<Item = &'static Key>,
        tables: &[(&'static str, &'static [Key])],
    ) -> Result<Self> {
        let given = Self { table, path, keys: keys.into_iter().collect() };
        for entry in given.entries() {
            let key = given.keys.iter().find(|key| key.name == entry.key);
            match (key, tables.iter().find(|(name, _)| *name == entry.key)) {
                (Some(key), _) => entry.check(&key.kind)?,
                (None, Some((_, keys))) => entry.check(&Kind::Table(keys))?,
                (None, None) => {
                    let known = given.keys.iter().map(|key| key.name);
                    return Err(given.unknown(&entry.key, known.chain(tables.iter().map(|(name, _)| *name))));
                }
            }
        }
        let is_missing =
            |key: &&&Key| matches!(key.presence, Presence::Required) && given.get(key.name).is_none();
        match given.keys.iter().find(is_missing) {
            Some(key) => Err(given.missing(key)),
            None => Ok(given),
        }
    }

    /// A table whose keys are checked elsewhere.
    pub fn open(table: &'a Table, path: Vec<Step>) -> Self {
        Self { table, path, keys: Vec::new() }
    }

    /// The same table, checked against these keys.
    pub fn with_keys(&self, keys: impl IntoIterator<Item = &'static Key>) -> Result<Self> {
        Self::read_at(self.table, self.path.clone(), keys)
    }

    /// The same table with the defaults of these keys, against which it was checked elsewhere.
    pub fn assume_keys(self, keys: Vec<&'static Key>) -> Self {
        Self { keys, ..self }
    }

    /// The keys that may stand here.
    pub fn keys(&self) -> &[&'static Key] {
        &self.keys
    }

    /// The value of `key`, if it is there.
    pub fn get(&self, key: &str) -> Option<Entry<'a>> {
        let value = self.table.get(key)?;
        Some(Entry { key: key.into(), value, path: self.step(Step::Key(key.into())) })
    }

    /// The value of `key`, which must be there.
    pub fn require(&self, key: &str) -> Result<Entry<'a>> {
        self.get(key).ok_or_else(|| self.error(format!("\"{key}\" is missing")))
    }

    /// A number, as given or by default.
    pub fn number(&self, key: &str) -> Result<f64> {
        self.get(key).map_or_else(|| self.default(key), |entry| entry.number())
    }

    /// A whole number, as given or by default.
    pub fn count(&self, key: &str) -> Result<u64> {
        self.get(key).map_or_else(|| self.default(key), |entry| entry.count(0, u64::MAX))
    }

    /// True or false, as given or by default.
    pub fn flag(&self, key: &str) -> Result<bool> {
        self.get(key).map_or_else(|| self.default(key), |entry| entry.flag())
    }

    /// A word, as given or by default.
    pub fn word(&self, key: &str) -> Result<String> {
        self.get(key).map_or_else(|| self.default(key), |entry| entry.text().map(str::to_owned))
    }

    /// The default of a key as it is written.
    pub(crate) fn default<T: FromStr>(&self, name: &str) -> Result<T> {
        let key = self.keys.iter().find(|key| key.name == name);
        let text = key.and_then(|key| key.default()).map(|text| text.trim_matches('"'));
        text.and_then(|text| text.parse().ok()).ok_or_else(|| {
            key.map_or_else(|| self.error(format!("\"{name}\" is missing")), |key| self.missing(key))
        })
    }

    /// A key that must be there.
    pub fn missing(&self, key: &Key) -> OptionError {
        self.error(format!("\"{0}\" is missing; write {0} = {1}", key.name, key.example))
    }

    /// All entries, whatever their keys, in order.
    pub fn entries(&self) -> Vec<Entry<'a>> {
        let entry = |(key, value): (&str, &'a Value)| Entry {
            key: key.into(),
            value,
            path: self.step(Step::Key(key.into())),
        };
        self.table.iter().map(entry).collect()
    }

    /// A key that is not one of those known.
    pub fn unknown<'k>(&self, key: &str, known: impl IntoIterator<Item = &'k str>) -> OptionError {
        let message = format!("unknown key \"{key}\"; {}", suggestion(key, known));
        OptionError { path: self.step(Step::Key(key.into())), part: Part::Name, message }
    }

    /// What is wrong with the table as a whole.
    pub fn error(&self, message: impl Into<String>) -> OptionError {
        OptionError { path: self.path.clone(), part: Part::Value, message: message.into() }
    }

    fn step(&self, step: Step) -> Vec<Step> {
        self.path.iter().cloned().chain([step]).collect()
    }
}

impl<'a> Entry<'a> {
    /// A value that stands nowhere else.
    pub fn alone(key: &str, value: &'a Value) -> Self {
        Self { key: key.into(), value, path: vec![Step::Key(key.into())] }
    }

    /// What is wrong with the value.
    pub fn error(&self, message: impl fmt::Display) -> OptionError {
        let message = format!("{}: {message}", self.key);
        OptionError { path: self.path.clone(), part: Part::Value, message }
    }

    /// Turns a library error into one at this place.
    pub fn at<T>(&self, result: LibraryResult<T>) -> Result<T> {
        result.map_err(|error| match error {
            Error::Map { line, problem } => {
                let message = format!("map, row {line}: {problem}");
                OptionError { path: self.path.clone(), part: Part::Row(line), message }
            }
            Error::Option(error) => *error,
            error => self.error(error),
        })
    }

    fn expected(&self, what: &str) -> OptionError {
        self.error(format!("found {}; expected {what}", self.value.kind()))
    }

    /// Refuses what may not stand at a key of this kind.
    pub(crate) fn check(&self, kind: &Kind) -> Result<()> {
        match kind {
            Kind::Number(range) => match self.number()? {
                number if range.contains(number) => Ok(()),
                number => {
                    let found = Value::Number(number);
                    Err(self.error(format!("found {found}; expected {}", range.words)))
                }
            },
            Kind::Count(least, most) => self.count(*least, *most).map(drop),
            Kind::Counts(least, most) => {
                self.items()?.iter().try_for_each(|item| item.count(*least, *most).map(drop))
            }
            Kind::Flag => self.flag().map(drop),
            Kind::True if self.flag()? => Ok(()),
            Kind::True => Err(self.error("found false; write true, or leave the key out")),
            Kind::Name => self.name().map(drop),
            Kind::Word(words) => self.word(words.iter().map(|(word, _)| *word)),
            Kind::NamesOrNone if self.is_empty_list() => Ok(()),
            Kind::Names | Kind::NamesOrNone => {
                self.items()?.iter().try_for_each(|item| item.name().map(drop))
            }
            Kind::Map(_, None) => self.text().map(drop),
            Kind::Map(_, Some(keys)) if self.is_table() => self.table(*keys).map(drop),
            Kind::Map(_, Some(_)) if self.is_text() => Ok(()),
            Kind::Map(_, Some(_)) => {
                Err(self
                    .expected("the name of a map, its text, or { rows = 100, columns = 100, rocks = 0.05 }"))
            }
            // A number in quotation marks is no name.
            Kind::PerEntry if self.text().is_ok_and(|text| text.parse::<f64>().is_ok()) => {
                self.number().map(drop)
            }
            Kind::Vector | Kind::PerEntry if self.is_text() => {
                self.word(VECTORS.iter().map(|(word, _)| *word))
            }
            Kind::Vector | Kind::Numbers => self.numbers().map(drop),
            Kind::PerEntry if self.is_list() => self.numbers().map(drop),
            Kind::PerEntry => self.number().map(drop),
            Kind::Pair => match self.numbers()?.as_slice() {
                [lower, upper] if lower <= upper => Ok(()),
                [lower, upper] => Err(self.error(format!(
                    "{lower} is above {upper}; write the lower bound first: [{upper}, {lower}]"
                ))),
                other => {
                    Err(self.error(format!("found {} numbers; expected two, as in [0.1, 0.2]", other.len())))
                }
            },
            Kind::Rows => self.rows().map(drop),
            Kind::Measures => self.one_or_more()?.iter().try_for_each(|item| item.text().map(drop)),
            Kind::Tables if self.is_table() => Err(self
                .error(format!("found one table; write [[{}]], with two brackets on either side", self.key))),
            Kind::Tables => self.items().map(drop),
            Kind::Table(_) | Kind::Open if self.is_list() => {
                Err(self.error("found an array; write one table, with single brackets or in braces"))
            }
            Kind::Table(keys) => self.table(*keys).map(drop),
            // What sets there are only the registry knows.
            Kind::Parts => self.items()?.iter().try_for_each(|part| part.open_table().map(drop)),
            Kind::Measurements | Kind::Open => self.open_table().map(drop),
            Kind::Utility(_) if self.is_text() => self.name().map(drop),
            Kind::Utility(keys) if self.is_table() => self.table(*keys).map(drop),
            Kind::Utility(keys) if self.is_list() => {
                self.items()?.iter().try_for_each(|item| item.table(*keys).map(drop))
            }
            Kind::Utility(_) => {
                Err(self.expected("a measure, or a function of measures such as { entropy = \"visits\" }"))
            }
        }
    }

    /// A finite number.
    pub fn number(&self) -> Result<f64> {
        match self.value {
            Value::Number(number) if number.is_finite() => Ok(*number),
            Value::Number(number) => Err(self.error(format!("found {number}; expected a finite number"))),
            Value::Integer(number) => Ok(*number as f64),
            Value::Text(text) if text.parse::<f64>().is_ok() => {
                Err(self.expected("a number, which has no quotation marks"))
            }
            _ => Err(self.expected("a number")),
        }
    }

    /// A whole number from `least` to `most`.
    pub fn count(&self, least: u64, most: u64) -> Result<u64> {
        let parsed = match self.value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        let most_words = if most == u64::MAX { "more".into() } else { format!("more, at most {most}") };
        parsed
            .filter(|n| (least..=most).contains(n))
            .ok_or_else(|| self.expected(&format!("a whole number, {least} or {most_words}")))
    }

    /// True or false.
    pub fn flag(&self) -> Result<bool> {
        match self.value {
            Value::Flag(value) => Ok(*value),
            _ => Err(self.expected("true or false")),
        }
    }

    /// A text.
    pub fn text(&self) -> Result<&'a str> {
        match self.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.expected("a text in quotation marks")),
        }
    }

    /// A text to show to people.
    pub fn name(&self) -> Result<&'a str> {
        let text = self.text()?;
        if text.trim().is_empty() {
            return Err(self.error("the text is empty; write a name, or leave the key out"));
        }
        if text.chars().any(char::is_control) {
            return Err(self.error("found a control character; write a name of one line of plain text"));
        }
        Ok(text)
    }

    /// Refuses what is not one of `words`.
    pub fn word<'w>(&self, words: impl IntoIterator<Item = &'w str>) -> Result<()> {
        let (text, words) = (self.text()?, words.into_iter().collect::<Vec<_>>());
        if words.contains(&text) {
            return Ok(());
        }
        let help = suggestion(text, words);
        Err(self.error(format!("\"{text}\" is not known here; {help}")))
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.value, Value::Table(_))
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.value, Value::List(_))
    }

    /// Whether it is a text.
    pub fn is_text(&self) -> bool {
        matches!(self.value, Value::Text(_))
    }

    /// A table with these keys.
    pub fn table(&self, keys: impl IntoIterator<Item = &'static Key>) -> Result<Given<'a>> {
        let open = self.open_table()?;
        Given::read_at(open.table, open.path, keys)
    }

    /// A table whose keys are not known beforehand.
    pub fn open_table(&self) -> Result<Given<'a>> {
        match self.value {
            Value::Table(table) => Ok(Given::open(table, self.path.clone())),
            _ => Err(self.expected("a table in braces")),
        }
    }

    /// The items of a list, which has some.
    pub fn items(&self) -> Result<Vec<Entry<'a>>> {
        let Value::List(items) = self.value else { return Err(self.expected("an array in brackets")) };
        if items.is_empty() {
            return Err(self.error("the array is empty; write one entry or more"));
        }
        let item = |(i, value): (usize, &'a Value)| Entry {
            key: self.key.clone(),
            value,
            path: self.path.iter().cloned().chain([Step::Item(i)]).collect(),
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// Whether it is a list without items.
    pub fn is_empty_list(&self) -> bool {
        matches!(self.value, Value::List(items) if items.is_empty())
    }

    /// The items of a list, or the value itself.
    pub fn one_or_more(&self) -> Result<Vec<Entry<'a>>> {
        if self.is_list() { self.items() } else { Ok(vec![self.clone()]) }
    }

    /// A list of numbers.
    pub fn numbers(&self) -> Result<Vec<f64>> {
        self.items()?.iter().map(Entry::number).collect()
    }

    /// Numbers, one an entry of the measures.
    pub fn entries(&self, expected: usize) -> Result<Vec<f64>> {
        let numbers = self.numbers()?;
        let found = numbers.len();
        if found == expected {
            return Ok(numbers);
        }
        Err(self
            .error(format!("found {found} numbers; expected {expected}, one for each entry of the measures")))
    }

    /// A list of lists of numbers.
    pub fn rows(&self) -> Result<Vec<Vec<f64>>> {
        self.items()?.iter().map(Entry::numbers).collect()
    }
}
