//! Problem files as they stand in the text: every value knows its place, so that every error can show it.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::explain;
use super::keys::{self, Key, Kind, Presence, VECTORS};
use super::source::{Mistake, Result, Source, suggestion};

/// A table being read, with the keys that may stand in it.
pub struct Table<'a, 'i> {
    source: Source<'i>,
    table: &'a DeTable<'i>,
    span: Range<usize>,
    keys: Vec<&'static Key>,
}

/// A value and the key it belongs to.
#[derive(Clone)]
pub struct Entry<'a, 'i> {
    source: Source<'i>,
    pub key: String,
    pub value: &'a Spanned<DeValue<'i>>,
}

impl<'a, 'i> Table<'a, 'i> {
    /// Refuses unknown keys, values that may not stand at theirs, and tables that lack a key.
    pub fn read(
        source: Source<'i>,
        table: &'a DeTable<'i>,
        span: Range<usize>,
        keys: Vec<&'static Key>,
    ) -> Result<Self> {
        let table = Self { source, table, span, keys };
        for entry in table.entries() {
            match table.keys.iter().find(|key| key.name == entry.key) {
                Some(key) => entry.check(&key.kind)?,
                None => return Err(table.unknown(&entry.key, table.keys.iter().map(|key| key.name))),
            }
        }
        let is_missing =
            |key: &&&Key| matches!(key.presence, Presence::Required) && table.get(key.name).is_none();
        match table.keys.iter().find(is_missing) {
            Some(key) => Err(table.missing(key)),
            None => Ok(table),
        }
    }

    pub fn keys(&self) -> &[&'static Key] {
        &self.keys
    }

    /// The value of `key`, if it is there.
    pub fn get(&self, key: &str) -> Option<Entry<'a, 'i>> {
        let value = self.table.get(key)?;
        Some(Entry { source: self.source, key: key.into(), value })
    }

    /// The value of `key`, which must be there.
    pub fn require(&self, key: &'static str) -> Result<Entry<'a, 'i>> {
        self.get(key).ok_or_else(|| self.mistake(format!("\"{key}\" is missing")))
    }

    /// A number, as given or by default.
    pub fn number(&self, key: &'static str) -> Result<f64> {
        self.get(key).map_or_else(|| self.default(key), |entry| entry.number())
    }

    /// A whole number, as given or by default.
    pub fn count(&self, key: &'static str) -> Result<u64> {
        self.get(key).map_or_else(|| self.default(key), |entry| entry.count(0, u64::MAX))
    }

    /// True or false, as given or by default.
    pub fn flag(&self, key: &'static str) -> Result<bool> {
        self.get(key).map_or_else(|| self.default(key), |entry| entry.flag())
    }

    /// What a word stands for, as given or by default.
    pub fn word<T: Clone>(&self, key: &'static str, words: &[(&str, T)]) -> Result<T> {
        let word = self.get(key).map_or_else(|| self.default(key), |e| e.text().map(str::to_owned))?;
        let meaning = words.iter().find(|(known, _)| *known == word).map(|(_, meaning)| meaning.clone());
        meaning.ok_or_else(|| self.mistake(format!("{key}: \"{word}\" is not known here")))
    }

    fn default<T: FromStr>(&self, name: &'static str) -> Result<T> {
        let key = self.keys.iter().find(|key| key.name == name);
        let text = key.and_then(|key| key.default()).map(|text| text.trim_matches('"'));
        text.and_then(|text| text.parse().ok())
            .ok_or_else(|| key.map_or_else(|| self.mistake(name), |key| self.missing(key)))
    }

    pub fn missing(&self, key: &Key) -> Mistake {
        self.mistake(format!("\"{0}\" is missing; write {0} = {1}", key.name, key.example))
    }

    /// All entries, whatever their keys, in the order of the file.
    pub fn entries(&self) -> Vec<Entry<'a, 'i>> {
        let mut entries: Vec<_> = self.table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, value): (&Spanned<_>, _)| Entry {
            source: self.source,
            key: AsRef::<str>::as_ref(key.get_ref()).to_owned(),
            value,
        };
        entries.into_iter().map(entry).collect()
    }

    /// A key that is not one of those known.
    pub fn unknown<'k>(&self, key: &str, known: impl IntoIterator<Item = &'k str>) -> Mistake {
        let found = self.table.keys().find(|k| k.get_ref().as_ref() == key);
        let place = found.map_or(self.span.clone(), |key| key.span());
        self.source.mistake(place, format!("unknown key \"{key}\"; {}", suggestion(key, known)))
    }

    pub fn mistake(&self, message: impl Into<String>) -> Mistake {
        self.source.mistake(self.span.clone(), message)
    }
}

impl<'a, 'i> Entry<'a, 'i> {
    pub fn mistake(&self, message: impl fmt::Display) -> Mistake {
        self.source.mistake(self.value.span(), format!("{}: {message}", self.key))
    }

    fn expected(&self, what: &str) -> Mistake {
        let found = match self.value.get_ref() {
            DeValue::String(text) if text.chars().count() > 40 => {
                format!("the text \"{}...\"", text.chars().take(37).collect::<String>())
            }
            DeValue::String(text) => format!("the text \"{text}\""),
            DeValue::Integer(number) => format!("the number {number}"),
            DeValue::Float(number) => format!("the number {number}"),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Array(_) => "an array".into(),
            DeValue::Table(_) => "a table".into(),
            DeValue::Datetime(_) => "a date or time".into(),
        };
        self.mistake(format!("found {found}; expected {what}"))
    }

    /// Refuses what may not stand at a key of this kind.
    fn check(&self, kind: &Kind) -> Result<()> {
        match kind {
            Kind::Number(range) => match self.number()? {
                number if range.contains(number) => Ok(()),
                number => {
                    let found = explain::number(number);
                    Err(self.mistake(format!("found {found}; expected {}", range.words)))
                }
            },
            Kind::Count(least, most) => self.count(*least, *most).map(drop),
            Kind::Flag => self.flag().map(drop),
            Kind::True if self.flag()? => Ok(()),
            Kind::True => Err(self.mistake("found false; write true, or leave the key out")),
            Kind::Name => self.name().map(drop),
            Kind::Word(words) => self.word(words),
            Kind::Names => self.items()?.iter().try_for_each(|item| item.name().map(drop)),
            Kind::Measures => self.one_or_more()?.iter().try_for_each(|item| item.text().map(drop)),
            Kind::Map(_, None) => self.text().map(drop),
            Kind::Map(_, Some(keys)) if self.is_table() => self.table(keys.iter().collect()).map(drop),
            Kind::Map(_, Some(_)) if self.is_text() => Ok(()),
            Kind::Map(_, Some(_)) => {
                Err(self
                    .expected("the name of a map, its text, or { rows = 100, columns = 100, rocks = 0.05 }"))
            }
            Kind::Vector if self.is_text() => self.word(&VECTORS),
            Kind::Vector | Kind::Numbers => self.numbers().map(drop),
            Kind::PerEntry if self.is_array() => self.numbers().map(drop),
            Kind::PerEntry => self.number().map(drop),
            Kind::Pair => {
                match self.numbers()?.as_slice() {
                    [lower, upper] if lower <= upper => Ok(()),
                    [lower, upper] => Err(self.mistake(format!(
                        "{lower} is above {upper}; write the lower bound first: [{upper}, {lower}]"
                    ))),
                    other => Err(self
                        .mistake(format!("found {} numbers; expected two, as in [0.1, 0.2]", other.len()))),
                }
            }
            Kind::Rows => self.rows().map(drop),
            Kind::Table(_) | Kind::Environment(_) if self.is_array() => {
                Err(self.mistake("found an array; write one table, with single brackets or in braces"))
            }
            Kind::Table(keys) => self.table(keys.iter().collect()).map(drop),
            Kind::Parts => {
                self.items()?.iter().try_for_each(|part| part.table(keys::with_sets(&[])).map(drop))
            }
            Kind::Constraints(_) if self.is_table() => {
                Err(self.mistake("found one table; write [[constraint]], with two brackets on either side"))
            }
            Kind::Constraints(_) => self.items().map(drop),
            Kind::Environment(_) => self.open_table().map(drop),
            Kind::Measurements => self.open_table().map(drop),
        }
    }

    /// A finite number.
    pub fn number(&self) -> Result<f64> {
        let parsed = match self.value.get_ref() {
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse::<f64>().ok(),
            DeValue::Integer(number) => {
                u64::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n as f64)
            }
            _ => None,
        };
        match parsed {
            Some(number) if number.is_finite() => Ok(number),
            Some(number) => Err(self.mistake(format!("found {number}; expected a finite number"))),
            None if self.text().is_ok_and(|text| text.parse::<f64>().is_ok()) => {
                Err(self.expected("a number, which has no quotation marks"))
            }
            None => Err(self.expected("a number")),
        }
    }

    /// A whole number from `least` to `most`.
    pub fn count(&self, least: u64, most: u64) -> Result<u64> {
        let parsed = match self.value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let most_words = if most == u64::MAX { "more".into() } else { format!("more, at most {most}") };
        parsed
            .filter(|n| (least..=most).contains(n))
            .ok_or_else(|| self.expected(&format!("a whole number, {least} or {most_words}")))
    }

    pub fn flag(&self) -> Result<bool> {
        self.value.get_ref().as_bool().ok_or_else(|| self.expected("true or false"))
    }

    pub fn text(&self) -> Result<&'a str> {
        self.value.get_ref().as_str().ok_or_else(|| self.expected("a text in quotation marks"))
    }

    /// A text to show to people.
    pub fn name(&self) -> Result<&'a str> {
        let text = self.text()?;
        if text.trim().is_empty() {
            return Err(self.mistake("the text is empty; write a name, or leave the key out"));
        }
        if text.chars().any(char::is_control) {
            return Err(self.mistake("found a control character; write a name of one line of plain text"));
        }
        Ok(text)
    }

    /// Refuses what is not one of `words`.
    pub fn word<T>(&self, words: &[(&str, T)]) -> Result<()> {
        let text = self.text()?;
        if words.iter().any(|(word, _)| *word == text) {
            return Ok(());
        }
        let help = suggestion(text, words.iter().map(|(word, _)| *word));
        Err(self.mistake(format!("\"{text}\" is not known here; {help}")))
    }

    pub fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    pub fn is_array(&self) -> bool {
        self.value.get_ref().is_array()
    }

    pub fn is_text(&self) -> bool {
        self.value.get_ref().is_str()
    }

    pub fn table(&self, keys: Vec<&'static Key>) -> Result<Table<'a, 'i>> {
        let open = self.open_table()?;
        Table::read(self.source, open.table, open.span, keys)
    }

    /// A table whose keys are not known beforehand.
    pub fn open_table(&self) -> Result<Table<'a, 'i>> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.expected("a table in braces"))?;
        Ok(Table { source: self.source, table, span: self.value.span(), keys: Vec::new() })
    }

    /// The items of an array, which has some.
    pub fn items(&self) -> Result<Vec<Entry<'a, 'i>>> {
        let items = self.value.get_ref().as_array().ok_or_else(|| self.expected("an array in brackets"))?;
        if items.is_empty() {
            return Err(self.mistake("the array is empty; write one entry or more"));
        }
        Ok(items.iter().map(|value| Entry { source: self.source, key: self.key.clone(), value }).collect())
    }

    /// The items of an array, or the value itself.
    pub fn one_or_more(&self) -> Result<Vec<Entry<'a, 'i>>> {
        if self.is_array() { self.items() } else { Ok(vec![self.clone()]) }
    }

    /// An array of numbers.
    pub fn numbers(&self) -> Result<Vec<f64>> {
        self.items()?.iter().map(Entry::number).collect()
    }

    /// An array of arrays of numbers.
    pub fn rows(&self) -> Result<Vec<Vec<f64>>> {
        self.items()?.iter().map(Entry::numbers).collect()
    }

    /// Turns a library error into one at this place.
    pub fn at<T>(&self, result: appropo::error::Result<T>) -> Result<T> {
        result.map_err(|error| match &error {
            appropo::error::Error::Map { line, problem } => self.map_mistake(*line, problem),
            _ => self.mistake(error),
        })
    }

    /// A mistake in a row of a map given as text, shown at that row.
    fn map_mistake(&self, line: usize, problem: &str) -> Mistake {
        let span = self.value.span();
        let mut start = span.start;
        let mut rows = 0;
        for text in self.source.text[span.clone()].split_inclusive('\n') {
            let row = text.trim().trim_matches(['"', '\'']);
            if !row.is_empty() {
                rows += 1;
                if rows == line {
                    let indent = text.len() - text.trim_start().len();
                    return self.source.mistake(
                        start + indent..start + text.trim_end().len(),
                        format!("map, row {line}: {problem}"),
                    );
                }
            }
            start += text.len();
        }
        self.mistake(problem)
    }
}
