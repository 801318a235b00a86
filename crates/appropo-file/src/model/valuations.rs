//! State valuations as they come, one state after another.

use std::collections::HashMap;

use appropo::env::explicit::{Valuations, Values, Variable};

/// Collects the values of variables.
#[derive(Debug, Default)]
pub struct ValuationsBuilder {
    columns: Vec<Column>,
    places: HashMap<String, usize>,
    /// Whether something could not be understood.
    is_broken: bool,
    /// How many values there are, and how many are missing between them.
    filled: usize,
    gaps: usize,
}

/// How many values may be missing for each that is there, and beyond that: memory is for what files say.
const MOST_GAPS: (usize, usize) = (4, 1 << 20);

#[derive(Debug)]
struct Column {
    name: String,
    kind: Kind,
    /// Numbers as their bits, texts and flags as whole numbers.
    values: Vec<i64>,
    absent: Vec<u32>,
    texts: Vec<String>,
    known: HashMap<String, i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Flag,
    Integer,
    Number,
    Text,
}

/// The value of a variable in a state.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    Flag(bool),
    Integer(i64),
    Number(f64),
    Text(&'a str),
}

impl<'a> Value<'a> {
    /// As texts write it: `true`, `3`, `0.5` or anything else.
    pub fn parse(text: &'a str) -> Self {
        match text {
            "true" => Value::Flag(true),
            "false" => Value::Flag(false),
            text => match (text.parse(), text.parse()) {
                (Ok(integer), _) => Value::Integer(integer),
                (_, Ok(number)) => Value::Number(number),
                _ => {
                    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                    Value::Text(inner.unwrap_or(text))
                }
            },
        }
    }
}

impl ValuationsBuilder {
    /// Reads a state as Storm writes it: `x=3 & flag & !other`.
    pub fn parse(&mut self, state: usize, text: &str) {
        for (i, part) in text.split('&').map(str::trim).filter(|part| !part.is_empty()).enumerate() {
            match (part.split_once('='), part.strip_prefix('!')) {
                (Some((name, value)), _) => self.set(state, i, name.trim(), Value::parse(value.trim())),
                (None, Some(name)) => self.set(state, i, name.trim(), Value::Flag(false)),
                (None, None) => self.set(state, i, part, Value::Flag(true)),
            }
        }
    }

    /// Sets a variable, which is probably the one at `place`.
    pub fn set(&mut self, state: usize, place: usize, name: &str, value: Value) {
        if self.is_broken {
            return;
        }
        let column = match self.columns.get(place).filter(|column| column.name == name) {
            Some(_) => place,
            None => self.place(name, &value),
        };
        let column = &mut self.columns[column];
        self.filled += 1;
        self.gaps += state.saturating_sub(column.values.len());
        self.is_broken |= self.gaps > MOST_GAPS.0 * self.filled + MOST_GAPS.1 || !column.set(state, value);
    }

    fn place(&mut self, name: &str, value: &Value) -> usize {
        *self.places.entry(name.to_owned()).or_insert_with(|| {
            let kind = match value {
                Value::Flag(_) => Kind::Flag,
                Value::Integer(_) => Kind::Integer,
                Value::Number(_) => Kind::Number,
                Value::Text(_) => Kind::Text,
            };
            self.columns.push(Column {
                name: name.to_owned(),
                kind,
                values: Vec::new(),
                absent: Vec::new(),
                texts: Vec::new(),
                known: HashMap::new(),
            });
            self.columns.len() - 1
        })
    }

    /// All that was said of so many states, if it could be understood.
    pub fn build(self, states: usize) -> Option<Valuations> {
        let last: usize = self.columns.iter().map(|column| states.saturating_sub(column.values.len())).sum();
        let is_sparse = self.gaps + last > MOST_GAPS.0 * self.filled + MOST_GAPS.1;
        if self.is_broken || is_sparse || self.columns.is_empty() {
            return None;
        }
        let variables = self.columns.into_iter().map(|mut column| {
            column.skip_to(states);
            let values = match column.kind {
                Kind::Flag => Values::Flags(column.values.iter().map(|value| *value != 0).collect()),
                Kind::Integer => Values::Integers(column.values),
                Kind::Number => {
                    Values::Numbers(column.values.iter().map(|bits| f64::from_bits(*bits as u64)).collect())
                }
                Kind::Text => {
                    Values::Texts(column.texts, column.values.iter().map(|index| *index as u32).collect())
                }
            };
            Variable { name: column.name, values, absent: column.absent }
        });
        Some(Valuations { variables: variables.collect() })
    }
}

impl Column {
    /// Whether the value could be set: states come in order, and a variable keeps its kind.
    fn set(&mut self, state: usize, value: Value) -> bool {
        if self.values.len() > state {
            return false;
        }
        self.skip_to(state);
        if let (Kind::Integer, Value::Number(_)) = (self.kind, &value) {
            self.kind = Kind::Number;
            self.values.iter_mut().for_each(|value| *value = (*value as f64).to_bits() as i64);
        }
        let stored = match (self.kind, value) {
            (Kind::Flag, Value::Flag(flag)) => i64::from(flag),
            (Kind::Integer, Value::Integer(integer)) => integer,
            (Kind::Number, Value::Integer(integer)) => (integer as f64).to_bits() as i64,
            (Kind::Number, Value::Number(number)) => number.to_bits() as i64,
            (Kind::Text, Value::Text(text)) => *self.known.entry(text.to_owned()).or_insert_with(|| {
                self.texts.push(text.to_owned());
                self.texts.len() as i64 - 1
            }),
            _ => return false,
        };
        self.values.push(stored);
        true
    }

    fn skip_to(&mut self, state: usize) {
        self.absent.extend(self.values.len() as u32..state as u32);
        self.values.resize(state, 0);
    }
}
