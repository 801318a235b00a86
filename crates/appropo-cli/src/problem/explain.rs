//! A problem file with every default written out.

use std::fmt::Write;

use toml::de::DeValue;

use super::document::{Entry, Table};
use super::keys::{Key, Kind, with_sets};
use super::source::Result;

/// `key = value`, marked where that is the default.
pub fn line(out: &mut String, key: &str, value: &str, default: Option<&str>) {
    let mark = if default == Some(value) { "  # default" } else { "" };
    let _ = writeln!(out, "{key} = {value}{mark}");
}

/// What stands at a key of `table`, as given or by default, in the table `path` with `prefix` before its keys.
pub fn key(out: &mut String, table: &Table, key: &'static Key, prefix: &str, path: &str) -> Result<()> {
    let name = format!("{prefix}{}", key.name);
    match (&key.kind, table.get(key.name)) {
        // An inline table has no room for comments; dotted keys have.
        (Kind::Table(keys), Some(entry)) => {
            let inner = entry.table(keys.iter().collect())?;
            for key in inner.keys() {
                self::key(out, &inner, key, &format!("{name}."), path)?;
            }
        }
        (Kind::Parts, Some(entry)) => {
            for part in entry.items()? {
                let path = format!("{path}.{name}");
                let _ = writeln!(out, "\n[[{path}]]");
                let part = part.table(with_sets(&[]))?;
                for key in part.keys() {
                    self::key(out, &part, key, "", &path)?;
                }
            }
        }
        (_, Some(entry)) => line(out, &name, &value(&entry)?, key.default()),
        (_, None) => {
            if let Some(default) = key.default() {
                line(out, &name, default, Some(default));
            }
        }
    }
    Ok(())
}

/// A number in the form in which it is written everywhere.
pub fn number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 { format!("{number}") } else { format!("{number:?}") }
}

pub fn numbers(numbers: &[f64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|n| number(*n)).collect();
    format!("[{}]", numbers.join(", "))
}

pub fn text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}

fn value(entry: &Entry) -> Result<String> {
    Ok(match entry.value.get_ref() {
        DeValue::String(found) => text(found),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Array(_) => {
            let items: Vec<String> = entry.items()?.iter().map(value).collect::<Result<_>>()?;
            format!("[{}]", items.join(", "))
        }
        // Seeds may be larger than a float holds.
        DeValue::Integer(_) => match entry.count(0, u64::MAX) {
            Ok(count) => count.to_string(),
            Err(_) => number(entry.number()?),
        },
        _ => number(entry.number()?),
    })
}
