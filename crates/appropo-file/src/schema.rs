//! The JSON Schema of a problem file, for editors.

use std::ops::Bound;

use serde_json::{Map, Value, json};

use appropo::env::{EnvEntry, explicit, logged};
use appropo::options::{Key, Kind, Presence, Range, VECTORS};
use appropo::registry::Registry;
use appropo::utility::FUNCTIONS;

use crate::keys::{CONSTRAINT, NAME, OBJECTIVE, ROOT};
use crate::logs::MEAN;
use crate::read::solve_keys;

/// A JSON Schema (draft 2020-12) of problem files.
pub fn schema(registry: &Registry) -> Value {
    let mut schema = table(&ROOT);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "appropo problem".into();
    schema["description"] = "A world, what is measured in it, and the constraints.".into();
    let worlds: Vec<Value> = registry.environments().iter().map(|entry| environment(entry)).collect();
    describe(&mut schema, "environment", json!({ "oneOf": worlds }));
    let constraint = one_set(registry, &CONSTRAINT);
    describe(&mut schema, "constraint", json!({ "type": "array", "items": constraint, "minItems": 1 }));
    describe(&mut schema, "solve", solve(registry));
    let mut objective = table(&OBJECTIVE);
    (objective["minProperties"], objective["maxProperties"]) = (1.into(), 1.into());
    describe(&mut schema, "objective", objective);
    let twice = [["maximize", "minimize"], ["objective", "maximize"], ["objective", "minimize"]];
    schema["not"] = json!({ "anyOf": twice.map(|keys| json!({ "required": keys })) });
    schema["$defs"] = json!({ "set": one_set(registry, &[]) });
    schema
}

/// Says what may stand at a key of the file.
fn describe(schema: &mut Value, key: &str, mut value: Value) {
    value["description"] = schema["properties"][key]["description"].take();
    schema["properties"][key] = value;
}

/// The table of how to solve, with a table for the options of each player, oracle and learner.
fn solve(registry: &Registry) -> Value {
    let mut schema = table(solve_keys(registry));
    let words = |names: Vec<(&str, &str)>| one_of(&names);
    let choices = [
        ("method", words(registry.methods().iter().map(|entry| (entry.name, entry.about)).collect())),
        ("oracle", words(registry.oracles().into_iter().map(|(name, about, _)| (name, about)).collect())),
        ("player", words(registry.players().iter().map(|entry| (entry.name, entry.about)).collect())),
    ];
    for (key, mut value) in choices {
        if let Some(default) = schema["properties"][key].get("default").cloned() {
            value["default"] = default;
        }
        describe(&mut schema, key, value);
    }
    for (name, about, keys) in registry.option_tables() {
        let mut options = table(keys);
        options["description"] = about.into();
        schema["properties"][name] = options;
    }
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
fn one_set(registry: &Registry, others: &'static [Key]) -> Value {
    let sets = || registry.sets().iter().map(|set| &set.key);
    let mut schema = table(others.iter().chain(sets()));
    schema["oneOf"] = sets().map(|key| json!({ "required": [key.name] })).collect();
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
        Kind::NamesOrNone => json!({ "type": "array", "items": self::kind(&Kind::Name) }),
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
        Kind::Vector => json!({ "anyOf": [one_of(&VECTORS), numbers, table(&MEAN)] }),
        Kind::PerEntry => json!({ "anyOf": [{ "type": "number" }, one_of(&VECTORS), numbers, table(&MEAN)] }),
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
        Kind::Utility(keys) => {
            let mut term = table(*keys);
            term["oneOf"] = keys[..FUNCTIONS].iter().map(|key| json!({ "required": [key.name] })).collect();
            json!({ "anyOf": [self::kind(&Kind::Name), term, { "type": "array", "items": term, "minItems": 1 }] })
        }
        Kind::Counts(least, most) => {
            let count = self::kind(&Kind::Count(*least, *most));
            json!({ "type": "array", "items": count, "minItems": 1 })
        }
        Kind::Open => json!({ "type": "object" }),
        Kind::Tables => json!({ "type": "array", "items": { "type": "object" }, "minItems": 1 }),
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

fn environment(world: &EnvEntry) -> Value {
    let mut schema = table([&NAME].into_iter().chain(world.keys));
    schema["title"] = world.name.into();
    schema["description"] = world.about.into();
    schema["properties"]["name"] = json!({ "const": world.name, "description": world.about });
    if [logged::NAME, explicit::NAME].contains(&world.name)
        && let Some(required) = schema["required"].as_array_mut()
    {
        // The key says what it is.
        required.retain(|key| key != NAME.name);
    }
    schema
}
