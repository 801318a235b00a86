//! Problem files as they stand in the text: every value knows its place, so that every error can show it.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A mistake in a problem file, with the place and what to write instead.
#[derive(Debug)]
pub struct Mistake {
    file: String,
    /// Line and column from 1, the line's text, and how many characters are meant.
    place: Option<(usize, usize, String, usize)>,
    message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Some((line, column, text, length)) = &self.place else {
            return write!(f, "{}: {}", self.file, self.message);
        };
        let margin = " ".repeat(line.to_string().len());
        let indent: String =
            text.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        writeln!(f, "{}:{line}:{column}: {}", self.file, self.message)?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{line} | {text}")?;
        write!(f, "{margin} | {indent}{}", "^".repeat(*length))
    }
}

pub type Result<T> = std::result::Result<T, Mistake>;

/// The text of a problem file and its name.
#[derive(Clone, Copy)]
pub struct Source<'i> {
    pub file: &'i str,
    pub text: &'i str,
}

impl<'i> Source<'i> {
    /// Parses the text as TOML.
    pub fn parse(self) -> Result<Spanned<DeTable<'i>>> {
        DeTable::parse(self.text).map_err(|error| match error.span() {
            Some(span) => self.mistake(span, error.message().replace('\n', ", ")),
            None => self.nowhere(error.message()),
        })
    }

    pub fn mistake(self, span: Range<usize>, message: impl Into<String>) -> Mistake {
        let start = span.start.min(self.text.len());
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line_text = self.text[line_start..].lines().next().unwrap_or("").to_owned();
        let column = before[line_start..].chars().count() + 1;
        let on_line = self.text[start..span.end.max(start).min(self.text.len())].lines().next().unwrap_or("");
        let place = (before.matches('\n').count() + 1, column, line_text, on_line.chars().count().max(1));
        Mistake { file: self.file.into(), place: Some(place), message: message.into() }
    }

    pub fn nowhere(self, message: impl Into<String>) -> Mistake {
        Mistake { file: self.file.into(), place: None, message: message.into() }
    }
}

/// "; did you mean "x"?", or the list of what there is.
pub fn suggestion<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(found, k), k))
        .min()
        .filter(|(distance, k)| *distance <= 1 + k.len() / 3);
    match near {
        Some((_, name)) => format!("did you mean \"{name}\"?"),
        None => format!("write one of {}", known.join(", ")),
    }
}

/// A table being read. Keys that nobody asked for are mistakes.
pub struct Table<'a, 'i> {
    pub source: Source<'i>,
    table: &'a DeTable<'i>,
    span: Range<usize>,
    known: RefCell<Vec<&'static str>>,
}

/// A value and the key it belongs to.
#[derive(Clone)]
pub struct Entry<'a, 'i> {
    pub source: Source<'i>,
    pub key: String,
    pub value: &'a Spanned<DeValue<'i>>,
}

impl<'a, 'i> Table<'a, 'i> {
    pub fn new(source: Source<'i>, table: &'a DeTable<'i>, span: Range<usize>) -> Self {
        Self { source, table, span, known: RefCell::default() }
    }

    /// The value of `key`, if it is there.
    pub fn get(&self, key: &'static str) -> Option<Entry<'a, 'i>> {
        self.known.borrow_mut().push(key);
        let value = self.table.get(key)?;
        Some(Entry { source: self.source, key: key.into(), value })
    }

    /// The value of `key`, which must be there.
    pub fn require(&self, key: &'static str, example: &str) -> Result<Entry<'a, 'i>> {
        self.get(key).ok_or_else(|| self.mistake(format!("\"{key}\" is missing; write {key} = {example}")))
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

    pub fn mistake(&self, message: impl Into<String>) -> Mistake {
        self.source.mistake(self.span.clone(), message)
    }

    /// Refuses keys that nobody asked for.
    pub fn finish(&self) -> Result<()> {
        let known = self.known.borrow();
        let unknown = self.table.keys().filter(|k| !known.contains(&k.get_ref().as_ref()));
        match unknown.min_by_key(|k| k.span().start) {
            None => Ok(()),
            Some(key) => {
                let message = format!(
                    "unknown key \"{}\"; {}",
                    key.get_ref(),
                    suggestion(key.get_ref(), known.iter().copied())
                );
                Err(self.source.mistake(key.span(), message))
            }
        }
    }
}

impl<'a, 'i> Entry<'a, 'i> {
    pub fn mistake(&self, message: impl fmt::Display) -> Mistake {
        self.source.mistake(self.value.span(), format!("{}: {message}", self.key))
    }

    fn expected(&self, what: &str) -> Mistake {
        let found = match self.value.get_ref() {
            DeValue::String(text) => format!("the text \"{text}\""),
            DeValue::Integer(number) => format!("the number {number}"),
            DeValue::Float(number) => format!("the number {number}"),
            DeValue::Boolean(value) => value.to_string(),
            other => format!("a value of type {}", other.type_str()),
        };
        self.mistake(format!("found {found}; expected {what}"))
    }

    /// A finite number.
    pub fn number(&self) -> Result<f64> {
        let text = match self.value.get_ref() {
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Integer(number) => number.to_string(),
            _ => return Err(self.expected("a number")),
        };
        match text.replace('_', "").parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            Ok(number) => Err(self.mistake(format!("found {number}; expected a finite number"))),
            Err(_) => Err(self.expected("a number")),
        }
    }

    /// A finite number for which `holds`.
    pub fn number_where(&self, holds: impl Fn(f64) -> bool, expected: &str) -> Result<f64> {
        let number = self.number()?;
        if holds(number) {
            Ok(number)
        } else {
            Err(self.mistake(format!("found {number}; expected {expected}")))
        }
    }

    /// A whole number of at least `least`.
    pub fn count(&self, least: u64) -> Result<u64> {
        let parsed = match self.value.get_ref() {
            DeValue::Integer(number) => {
                u64::from_str_radix(&number.as_str().replace(['_', '+'], ""), number.radix()).ok()
            }
            _ => None,
        };
        parsed
            .filter(|n| *n >= least)
            .ok_or_else(|| self.expected(&format!("a whole number, {least} or more")))
    }

    pub fn flag(&self) -> Result<bool> {
        self.value.get_ref().as_bool().ok_or_else(|| self.expected("true or false"))
    }

    pub fn text(&self) -> Result<&'a str> {
        self.value.get_ref().as_str().ok_or_else(|| self.expected("a text in quotation marks"))
    }

    /// One of several words, by what it stands for.
    pub fn word<T: Clone>(&self, words: &[(&str, T)]) -> Result<T> {
        let text = self.text()?;
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meaning)) => Ok(meaning.clone()),
            None => {
                let help = suggestion(text, words.iter().map(|(word, _)| *word));
                Err(self.mistake(format!("\"{text}\" is not known here; {help}")))
            }
        }
    }

    pub fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    pub fn table(&self) -> Result<Table<'a, 'i>> {
        let table = self.value.get_ref().as_table().ok_or_else(|| self.expected("a table in braces"))?;
        Ok(Table::new(self.source, table, self.value.span()))
    }

    /// The items of an array.
    pub fn items(&self) -> Result<Vec<Entry<'a, 'i>>> {
        let items = self.value.get_ref().as_array().ok_or_else(|| self.expected("an array in brackets"))?;
        Ok(items.iter().map(|value| Entry { source: self.source, key: self.key.clone(), value }).collect())
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
