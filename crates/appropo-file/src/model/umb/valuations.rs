//! Values of variables, packed into bits.

use appropo::env::explicit::{Valuations, Values};

use super::number::{NumberType, unsigned};
use crate::model::valuations::{ValuationsBuilder, Value};

/// A variable among the bits of a state, or bits that mean nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub kind: FieldType,
    /// The first bit, and how many there are.
    pub first: usize,
    pub size: usize,
    /// The first bit of what follows.
    pub end: usize,
    /// Whether the bit before it says that it has a value.
    pub is_optional: bool,
    pub offset: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldType {
    Padding,
    Flag,
    Signed,
    Unsigned,
    Double,
    Rational,
    Text,
}

impl Field {
    pub fn padding(end: usize) -> Self {
        let kind = FieldType::Padding;
        Self { name: String::new(), kind, first: end, size: 0, end, is_optional: false, offset: 0 }
    }
}

/// How many bytes the fields of a class take.
pub fn width(fields: &[Field]) -> usize {
    fields.last().map_or(0, |field| field.end / 8)
}

/// Up to 64 bits, the lowest first.
fn bits(bytes: &[u8], first: usize, size: usize) -> u64 {
    let last = first + size;
    let whole = &bytes[first / 8..last.div_ceil(8)];
    let number = whole.iter().rev().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
    let mask = if size == 64 { u64::MAX } else { (1u64 << size) - 1 };
    (number >> (first % 8)) as u64 & mask
}

/// Reads the values of a state.
pub fn unpack(state: usize, bytes: &[u8], fields: &[Field], texts: &[String], to: &mut ValuationsBuilder) {
    for (place, field) in fields.iter().filter(|field| field.kind != FieldType::Padding).enumerate() {
        if field.is_optional && bits(bytes, field.first - 1, 1) == 0 {
            continue;
        }
        let number = || bits(bytes, field.first, field.size);
        let value = match field.kind {
            FieldType::Padding => continue,
            FieldType::Flag => Value::Flag(number() != 0),
            FieldType::Unsigned => Value::Integer((number() as i64).wrapping_add(field.offset)),
            FieldType::Signed => {
                let shift = 64 - field.size;
                Value::Integer((((number() << shift) as i64) >> shift).wrapping_add(field.offset))
            }
            FieldType::Double => Value::Number(f64::from_bits(number())),
            FieldType::Rational => {
                let halves = [0, 64].map(|half| bits(bytes, field.first + half, 64).to_le_bytes());
                Value::Number(NumberType::Rational(8).read(&halves.concat()))
            }
            FieldType::Text => match texts.get(number() as usize) {
                Some(text) => Value::Text(text),
                None => continue,
            },
        };
        to.set(state, place, &field.name, value);
    }
}

/// Strings, by where each begins and the end.
pub fn texts(mapping: &[u8], bytes: &[u8]) -> Option<Vec<String>> {
    let ends: Vec<usize> = mapping.chunks_exact(8).map(|bytes| unsigned(bytes) as usize).collect();
    let text = |range: &[usize]| {
        let bytes = bytes.get(range[0]..range[1])?;
        Some(std::str::from_utf8(bytes).ok()?.to_owned())
    };
    ends.windows(2).map(text).collect()
}

/// Fields for variables, each with as many bits as its values need.
pub fn fields(valuations: &Valuations) -> Vec<Field> {
    let (mut fields, mut end) = (Vec::new(), 0);
    for variable in &valuations.variables {
        let is_optional = !variable.absent.is_empty();
        end += usize::from(is_optional);
        let (kind, size) = match &variable.values {
            Values::Flags(_) => (FieldType::Flag, 1),
            Values::Numbers(_) => (FieldType::Double, 64),
            Values::Texts(..) => (FieldType::Text, 64),
            Values::Integers(values) => {
                let (least, most) = bounds(values);
                let bits = |number: i64| 64 - (number.unsigned_abs().leading_zeros() as usize);
                match least < 0 {
                    false => (FieldType::Unsigned, bits(most).max(1)),
                    true => (FieldType::Signed, (bits(least).max(bits(most)) + 1).min(64)),
                }
            }
        };
        let first = end;
        end += size;
        fields.push(Field { name: variable.name.clone(), kind, first, size, end, is_optional, offset: 0 });
    }
    if end % 8 != 0 {
        fields.push(Field::padding(end.next_multiple_of(8)));
    }
    fields
}

/// The least and the largest of some whole numbers.
fn bounds(values: &[i64]) -> (i64, i64) {
    (values.iter().copied().min().unwrap_or(0), values.iter().copied().max().unwrap_or(0))
}

/// The values of every state as bits. The texts of a variable follow those of the variables before it.
pub fn pack(valuations: &Valuations, fields: &[Field], states: usize) -> Vec<u8> {
    let width = width(fields);
    let mut bytes = vec![0u8; width * states];
    let mut texts_before = 0;
    for (variable, field) in valuations.variables.iter().zip(fields) {
        for state in 0..states {
            let state_bytes = &mut bytes[state * width..(state + 1) * width];
            if variable.absent.binary_search(&(state as u32)).is_ok() {
                continue;
            }
            if field.is_optional {
                put(state_bytes, field.first - 1, 1, 1);
            }
            let number = match &variable.values {
                Values::Flags(values) => u64::from(values[state]),
                Values::Integers(values) => values[state] as u64,
                Values::Numbers(values) => values[state].to_bits(),
                Values::Texts(_, values) => texts_before + u64::from(values[state]),
            };
            put(state_bytes, field.first, field.size, number);
        }
        if let Values::Texts(texts, _) = &variable.values {
            texts_before += texts.len() as u64;
        }
    }
    bytes
}

fn put(bytes: &mut [u8], first: usize, size: usize, number: u64) {
    for bit in 0..size {
        bytes[(first + bit) / 8] |= ((number >> bit & 1) as u8) << ((first + bit) % 8);
    }
}
