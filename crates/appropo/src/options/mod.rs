//! Options as files, command lines and other languages give them: named values, checked against the keys that may be
//! there.
//!
//! Every set, environment, player, oracle, learner and method lists its options as [`Key`]s. Readers of any kind turn
//! what they are given into a [`Table`]; [`Given`] checks it against the keys and hands the values out. What is wrong is
//! an [`OptionError`], which knows the path of the value, so that a reader can show its place.

mod declare;
mod given;
mod key;

pub(crate) use declare::{Field, options, setters, trimmed, words};
pub use declare::{Measurements, Options};
pub use given::{Entry, Given};
pub use key::{Key, Kind, Presence, Range, Registered, VECTORS};

use std::fmt;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// True or false.
    Flag(bool),
    /// A whole number.
    Integer(i128),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Several values.
    List(Vec<Value>),
    /// Named values.
    Table(Table),
    /// Something that no option is, in words.
    Other(&'static str),
}

impl Value {
    /// What kind of value it is, as messages say it.
    fn kind(&self) -> String {
        match self {
            Value::Text(text) if text.chars().count() > 40 => {
                format!("the text \"{}...\"", text.chars().take(37).collect::<String>())
            }
            Value::Text(text) => format!("the text \"{text}\""),
            Value::Integer(number) => format!("the number {number}"),
            Value::Number(number) => format!("the number {number}"),
            Value::Flag(value) => value.to_string(),
            Value::List(_) => "an array".into(),
            Value::Table(_) => "a table".into(),
            Value::Other(what) => (*what).into(),
        }
    }
}

/// As one writes it in a problem file.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Flag(value) => write!(f, "{value}"),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => write!(f, "{number}"),
            Value::Number(number) => write!(f, "{number:?}"),
            Value::Text(text) => {
                f.write_str("\"")?;
                for c in text.chars() {
                    match c {
                        '"' | '\\' => write!(f, "\\{c}")?,
                        c if c.is_control() => write!(f, "\\u{:04X}", u32::from(c))?,
                        c => write!(f, "{c}")?,
                    }
                }
                f.write_str("\"")
            }
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(Value::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Value::Table(table) => {
                let entries: Vec<String> =
                    table.iter().map(|(key, value)| format!("{} = {value}", shown_key(key))).collect();
                if entries.is_empty() { f.write_str("{}") } else { write!(f, "{{ {} }}", entries.join(", ")) }
            }
            Value::Other(what) => f.write_str(what),
        }
    }
}

/// A key as one writes it: in quotation marks where it needs them.
pub fn shown_key(key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !key.is_empty() && key.chars().all(is_plain) {
        key.into()
    } else {
        Value::Text(key.into()).to_string()
    }
}

macro_rules! values {
    ($($kind:ty => $variant:ident as $as:ty),*) => {$(
        impl From<$kind> for Value {
            fn from(value: $kind) -> Self {
                Value::$variant(value as $as)
            }
        }
    )*};
}

values!(bool => Flag as bool, f64 => Number as f64, f32 => Number as f64, u64 => Integer as i128, usize => Integer as i128);

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<Table> for Value {
    fn from(table: Table) -> Self {
        Value::Table(table)
    }
}

impl<T: Clone + Into<Value>> From<&[T]> for Value {
    fn from(values: &[T]) -> Self {
        Value::List(values.iter().cloned().map(Into::into).collect())
    }
}

impl<T: Clone + Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Self {
        values.as_slice().into()
    }
}

/// Named values, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    entries: Vec<(String, Value)>,
}

impl Table {
    /// Values with their names.
    pub fn new<K: Into<String>, V: Into<Value>>(entries: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { entries: entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect() }
    }

    /// The value of a name.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// Names a value, or gives a name another value.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        *self.place(key.into()) = value.into();
    }

    /// Sets a value some tables deep, which are made where they are not there.
    pub fn set_deep(&mut self, path: &[&str], value: impl Into<Value>) {
        match path {
            [] => {}
            [key] => self.set(*key, value),
            [key, rest @ ..] => {
                let place = self.place((*key).into());
                if !matches!(place, Value::Table(_)) {
                    *place = Value::Table(Table::default());
                }
                if let Value::Table(table) = place {
                    table.set_deep(rest, value);
                }
            }
        }
    }

    fn place(&mut self, key: String) -> &mut Value {
        let at = self.entries.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            self.entries.push((key, Value::Flag(false)));
            self.entries.len() - 1
        });
        &mut self.entries[at].1
    }

    /// Takes a value out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let place = self.entries.iter().position(|(known, _)| known == key)?;
        Some(self.entries.remove(place).1)
    }

    /// All names with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// A step on the way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The value of this name.
    Key(String),
    /// The item of this number.
    Item(usize),
}

/// What is wrong with an option.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionError {
    /// Where it stands.
    pub path: Vec<Step>,
    /// What of it is meant.
    pub part: Part,
    /// What was found, what was expected and what to do.
    pub message: String,
}

/// What of a value is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The value.
    Value,
    /// Its name.
    Name,
    /// A row of a map given as text, counted from 1.
    Row(usize),
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OptionError {}

/// A result with an [`OptionError`].
pub type Result<T> = std::result::Result<T, OptionError>;

/// "did you mean "x"?", or the list of what there is.
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
