//! The JSON Schema of a problem file, for editors.

use std::ops::Bound;

use serde_json::{Map, Value, json};

use super::format::{Environment, NAME, ROOT, SETS};
use super::keys::{Key, Kind, Presence, Range, VECTORS};

/// A JSON Schema (draft 2020-12) of problem files.
pub fn schema() -> Value {
    let mut schema = table(&ROOT);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "appropo problem".into();
    schema["description"] = "A world, what is measured in it, and the constraints.".into();
    schema["$defs"] = json!({ "set": one_set(&[]) });
    schema
}

fn table<'k>(keys: impl IntoIterator<Item = &'k Key>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for key in keys {
        properties.insert(key.name.into(), property(key));
        if matches!(key.presence, Presence::Required) {
            required.push(key.name);
        }
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// A table that states exactly one set, besides other keys.
fn one_set(others: &'static [Key]) -> Value {
    let mut schema = table(others.iter().chain(&SETS));
    schema["oneOf"] = SETS.iter().map(|key| json!({ "required": [key.name] })).collect();
    schema
}

fn property(key: &Key) -> Value {
    let mut schema = kind(&key.kind);
    schema["description"] = key.about.into();
    // Every default is a number, a flag or a word in quotation marks, which JSON writes alike.
    if let Some(default) = key.default().and_then(|text| serde_json::from_str(text).ok()) {
        schema["default"] = default;
    }
    schema
}

fn kind(kind: &Kind) -> Value {
    let numbers = json!({ "type": "array", "items": { "type": "number" }, "minItems": 1 });
    match kind {
        Kind::Number(range) => number(range),
        Kind::Count(least, u64::MAX) => json!({ "type": "integer", "minimum": least }),
        Kind::Count(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::True => json!({ "const": true }),
        Kind::Name => json!({ "type": "string", "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]+$" }),
        Kind::Names => json!({ "type": "array", "items": self::kind(&Kind::Name), "minItems": 1 }),
        Kind::Word(words) => one_of(words),
        Kind::Measures => {
            let text = json!({ "type": "string" });
            json!({ "anyOf": [text, { "type": "array", "items": text, "minItems": 1 }] })
        }
        Kind::Map(maps, random) => {
            let names: Vec<&str> = maps.iter().map(|(name, _)| *name).collect();
            let text = json!({ "type": "string", "pattern": "^[SFHG\\s]+$" });
            let mut ways = vec![json!({ "enum": names }), text];
            ways.extend(random.map(table));
            json!({ "anyOf": ways })
        }
        Kind::Vector => json!({ "anyOf": [one_of(&VECTORS), numbers] }),
        Kind::PerEntry => json!({ "anyOf": [{ "type": "number" }, numbers] }),
        Kind::Pair => {
            json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 })
        }
        Kind::Numbers => numbers,
        Kind::Rows => json!({ "type": "array", "items": numbers, "minItems": 1 }),
        Kind::Table(keys) => table(*keys),
        Kind::Parts => json!({ "type": "array", "items": { "$ref": "#/$defs/set" }, "minItems": 1 }),
        Kind::Measurements => {
            let value = json!({ "anyOf": [{ "type": "number" }, numbers] });
            json!({ "type": "object", "additionalProperties": value })
        }
        Kind::Environment(worlds) => json!({ "oneOf": worlds.iter().map(environment).collect::<Vec<_>>() }),
        Kind::Constraints(keys) => json!({ "type": "array", "items": one_set(keys), "minItems": 1 }),
    }
}

/// One of several words, each with its description.
fn one_of(words: &[(&str, &str)]) -> Value {
    let words: Vec<Value> =
        words.iter().map(|(word, about)| json!({ "const": word, "description": about })).collect();
    json!({ "oneOf": words })
}

fn number(range: &Range) -> Value {
    let mut schema = json!({ "type": "number" });
    match range.least {
        Bound::Included(least) => schema["minimum"] = least.into(),
        Bound::Excluded(least) => schema["exclusiveMinimum"] = least.into(),
        Bound::Unbounded => {}
    }
    match range.most {
        Bound::Included(most) => schema["maximum"] = most.into(),
        Bound::Excluded(most) => schema["exclusiveMaximum"] = most.into(),
        Bound::Unbounded => {}
    }
    schema
}

fn environment(world: &Environment) -> Value {
    let mut schema = table([&NAME].into_iter().chain(world.keys));
    schema["title"] = world.name.into();
    schema["description"] = world.about.into();
    schema["properties"]["name"] = json!({ "const": world.name, "description": world.about });
    schema
}
