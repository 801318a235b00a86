//! Problem files as they stand in the text: every value has its place, so that every error can show it.

use std::ops::Range;

use appropo::options::{OptionError, Part, Step, Table, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::Diagnostic;

/// The text of a problem file, parsed.
pub struct Document<'i> {
    file: &'i str,
    text: &'i str,
    places: Spanned<DeTable<'i>>,
    /// What stands in it.
    pub table: Table,
}

impl<'i> Document<'i> {
    pub fn parse(file: &'i str, text: &'i str) -> Result<Self, Diagnostic> {
        let places = DeTable::parse(text).map_err(|error| match error.span() {
            Some(span) => {
                let found = text.get(span.clone()).unwrap_or_default();
                Diagnostic::at(file, text, span, in_other_words(error.message(), found))
            }
            None => Diagnostic::nowhere(file, error.message()),
        })?;
        let table = table(places.get_ref());
        Ok(Self { file, text, places, table })
    }

    /// Shows what is wrong at its place.
    pub fn diagnostic(&self, error: OptionError) -> Diagnostic {
        match self.place(&error.path, error.part) {
            Some(span) => Diagnostic::at(self.file, self.text, span, error.message),
            None => Diagnostic::nowhere(self.file, error.message),
        }
    }

    /// Where a value stands; `None` where it does not stand in the text.
    fn place(&self, path: &[Step], part: Part) -> Option<Range<usize>> {
        let mut value = Place::Table(self.places.get_ref(), 0..0);
        let mut name = 0..0;
        for step in path {
            value = match (value, step) {
                (Place::Table(table, _), Step::Key(key)) => {
                    let (found, inner) =
                        table.iter().find(|(known, _)| known.get_ref().as_ref() == key.as_str())?;
                    name = found.span();
                    Place::of(inner)
                }
                (Place::List(items), Step::Item(i)) => Place::of(items.get(*i)?),
                _ => return None,
            };
        }
        let span = value.span();
        match part {
            Part::Name => Some(name),
            Part::Value => Some(span),
            Part::Row(line) => Some(self.row(span, line)),
        }
    }

    /// A row of a map that is given as text.
    fn row(&self, span: Range<usize>, line: usize) -> Range<usize> {
        let (mut start, mut rows) = (span.start, 0);
        for text in self.text[span.clone()].split_inclusive('\n') {
            if !text.trim().trim_matches(['"', '\'']).is_empty() {
                rows += 1;
                if rows == line {
                    let indent = text.len() - text.trim_start().len();
                    return start + indent..start + text.trim_end().len();
                }
            }
            start += text.len();
        }
        span
    }
}

/// A value on the way to another.
enum Place<'a, 'i> {
    Table(&'a DeTable<'i>, Range<usize>),
    List(Items<'a, 'i>),
    Other(Range<usize>),
}

struct Items<'a, 'i> {
    items: &'a toml::de::DeArray<'i>,
    span: Range<usize>,
}

impl<'a, 'i> Items<'a, 'i> {
    fn get(&self, i: usize) -> Option<&'a Spanned<DeValue<'i>>> {
        self.items.get(i)
    }
}

impl<'a, 'i> Place<'a, 'i> {
    fn of(value: &'a Spanned<DeValue<'i>>) -> Self {
        match value.get_ref() {
            DeValue::Table(table) => Place::Table(table, value.span()),
            DeValue::Array(items) => Place::List(Items { items, span: value.span() }),
            _ => Place::Other(value.span()),
        }
    }

    fn span(self) -> Range<usize> {
        match self {
            Place::Table(_, span) | Place::Other(span) => span,
            Place::List(items) => items.span,
        }
    }
}

/// A value as TOML writes it, such as `3e-4` or `[1, 2]`.
pub fn value(text: &str) -> Option<Value> {
    let text = format!("value = {text}");
    let document = DeTable::parse(&text).ok()?;
    let table = table(document.get_ref());
    if table.iter().count() == 1 { table.get("value").cloned() } else { None }
}

/// The entries in the order of the text.
fn table(table: &DeTable) -> Table {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    Table::new(entries.into_iter().map(|(key, value)| (key.get_ref().to_string(), plain(value.get_ref()))))
}

fn plain(value: &DeValue) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Boolean(flag) => Value::Flag(*flag),
        DeValue::Float(number) => Value::Number(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(integer) => Value::Integer(integer),
            Err(_) => Value::Number(number.as_str().parse().unwrap_or(f64::INFINITY)),
        },
        DeValue::Array(items) => Value::List(items.iter().map(|item| plain(item.get_ref())).collect()),
        DeValue::Table(inner) => Value::Table(table(inner)),
        DeValue::Datetime(_) => Value::Other("a date or time"),
    }
}

/// What the parser says, with what to write where that is not plain from it.
fn in_other_words(message: &str, found: &str) -> String {
    let said = message.replace('\n', ", ");
    match said.split(',').next().unwrap_or_default() {
        "string values must be quoted" if found.trim().is_empty() => {
            "a value is missing; write one here".into()
        }
        "string values must be quoted" => {
            format!("{found} is no number; write text in quotation marks: \"{found}\"")
        }
        "invalid mantissa" => "expected digits before the point; write 0.5, not .5".into(),
        "duplicate key" => "this key stands here twice; leave one of them out".into(),
        "unexpected key or value" => {
            format!("{said}; one value a line, and a point for decimals: 0.5, not 0,5")
        }
        _ => said,
    }
}
