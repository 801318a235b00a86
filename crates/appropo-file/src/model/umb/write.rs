use std::collections::HashSet;

use appropo::env::explicit::{ExplicitModel, Values};
use serde_json::{Map, Value, json};

use super::index::VERSION;
use super::valuations::{FieldType, fields, pack};
use super::*;
use crate::model::tar::{append, finish};

/// A model as a packed archive. The same model gives the same bytes.
pub fn write(model: &ExplicitModel) -> Vec<u8> {
    let mut files = Files::default();
    let index = index(model, &mut files);
    let mut archive = Vec::new();
    append(&mut archive, INDEX, format!("{index:#}\n").as_bytes());
    if !model.is_chain() {
        let ends = (0..model.states()).map(|state| model.choices_of(state).end as u64);
        append(&mut archive, STATE_TO_CHOICES, &words(std::iter::once(0).chain(ends)));
    }
    append(
        &mut archive,
        STATE_IS_INITIAL,
        &set(model.states(), model.start().iter().map(|(state, _)| *state)),
    );
    let ends = (0..model.choices()).map(|choice| model.transitions_of(choice).end as u64);
    append(&mut archive, CHOICE_TO_BRANCHES, &words(std::iter::once(0).chain(ends)));
    append(&mut archive, BRANCH_TO_TARGET, &words(model.targets().iter().map(|target| u64::from(*target))));
    append(&mut archive, BRANCH_TO_PROBABILITY, &numbers(model.probabilities()));
    for (name, bytes) in &files.0 {
        append(&mut archive, name, bytes);
    }
    finish(&mut archive);
    crate::model::unpack::pack(&archive)
}

/// The files that the index describes.
#[derive(Default)]
struct Files(Vec<(String, Vec<u8>)>);

fn index(model: &ExplicitModel, files: &mut Files) -> Value {
    let double = json!({ "type": "double", "size": 64 });
    let mut rewards = Map::new();
    let mut taken = HashSet::new();
    for structure in model.rewards() {
        let id =
            if structure.name.is_empty() { "default".into() } else { identifier(&structure.name, &taken) };
        taken.insert(id.clone());
        let lists = [
            (Entity::States, structure.states.as_slice()),
            (Entity::Choices, &structure.choices),
            (Entity::Branches, &structure.transitions),
        ];
        let mut applies: Vec<&str> = Vec::new();
        // Something must be there, if only zeros.
        let is_empty = lists.iter().all(|(_, list)| list.is_empty());
        for (entity, list) in lists {
            if !list.is_empty() {
                files.0.push((annotation("rewards", &id, entity), numbers(list)));
                applies.push(entity.word());
            } else if is_empty && entity == Entity::States {
                files.0.push((annotation("rewards", &id, entity), vec![0; 8 * model.states()]));
                applies.push(entity.word());
            }
        }
        let mut described = json!({ "applies-to": applies, "type": double });
        if !structure.name.is_empty() {
            described["alias"] = structure.name.as_str().into();
        }
        rewards.insert(id, described);
    }
    let mut labels = Map::new();
    taken.clear();
    for label in model.labels() {
        let id = identifier(&label.name, &taken);
        taken.insert(id.clone());
        files.0.push((
            annotation("aps", &id, Entity::States),
            set(model.states(), label.states.iter().copied()),
        ));
        let kind = json!({ "type": "bool", "size": 1 });
        labels.insert(id, json!({ "alias": label.name, "applies-to": ["states"], "type": kind }));
    }
    let actions = model.choice_labels().map_or(0, |labels| {
        let bytes = labels.of.iter().flat_map(|index| index.to_le_bytes()).collect();
        files.0.push((format!("{CHOICE_ACTIONS}/values.bin"), bytes));
        files.texts(CHOICE_ACTIONS, labels.names.iter());
        labels.names.len()
    });
    let mut index = json!({
        "format-version": VERSION,
        "format-revision": 0,
        "file-data": { "tool": "appropo", "tool-version": env!("CARGO_PKG_VERSION") },
        "transition-system": {
            "time": "discrete",
            "#players": u8::from(!model.is_chain()),
            "#states": model.states(),
            "#initial-states": model.start().len(),
            "#choices": model.choices(),
            "#choice-actions": actions,
            "#branches": model.transitions(),
            "#branch-actions": 0,
            "#observations": 0,
            "branch-probability-type": double,
        },
        "annotations": { "aps": labels, "rewards": rewards },
    });
    if let Some(valuations) = model.valuations() {
        let fields = fields(valuations);
        files
            .0
            .push((format!("{STATE_VALUATIONS}/valuations.bin"), pack(valuations, &fields, model.states())));
        let texts: Vec<&String> = valuations
            .variables
            .iter()
            .flat_map(|variable| match &variable.values {
                Values::Texts(texts, _) => texts.iter().collect(),
                _ => Vec::new(),
            })
            .collect();
        let mut described = Vec::new();
        let mut end = 0;
        for field in &fields {
            let mut entry = match field.kind {
                FieldType::Padding => json!({ "padding": field.end - end }),
                kind => json!({ "name": field.name, "type": { "type": word(kind), "size": field.size } }),
            };
            end = field.end;
            if field.is_optional {
                entry["is-optional"] = true.into();
            }
            described.push(entry);
        }
        let mut states = json!({ "unique": false, "classes": [{ "variables": described }] });
        if !texts.is_empty() {
            states["#strings"] = texts.len().into();
            files.texts(STATE_VALUATIONS, texts.into_iter());
        }
        index["valuations"] = json!({ "states": states });
    }
    index
}

impl Files {
    /// Texts one after another, and where each begins.
    fn texts<'a>(&mut self, folder: &str, texts: impl Iterator<Item = &'a String>) {
        let (mut bytes, mut ends) = (Vec::new(), vec![0]);
        for text in texts {
            bytes.extend_from_slice(text.as_bytes());
            ends.push(bytes.len() as u64);
        }
        self.0.push((format!("{folder}/string-mapping.bin"), words(ends.into_iter())));
        self.0.push((format!("{folder}/strings.bin"), bytes));
    }
}

fn word(kind: FieldType) -> &'static str {
    match kind {
        FieldType::Padding => "padding",
        FieldType::Flag => "bool",
        FieldType::Signed => "int",
        FieldType::Unsigned => "uint",
        FieldType::Double => "double",
        FieldType::Rational => "rational",
        FieldType::Text => "string",
    }
}

/// A name of the characters that identifiers may have, and that no other has.
fn identifier(name: &str, taken: &HashSet<String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '_' };
    let base: String = name.chars().take(60).map(plain).collect();
    let base = if base.is_empty() { "unnamed".into() } else { base };
    let numbered = (2..).map(|number| format!("{base}-{number}"));
    std::iter::once(base.clone()).chain(numbered).find(|id| !taken.contains(id)).unwrap_or(base)
}

fn words(numbers: impl Iterator<Item = u64>) -> Vec<u8> {
    numbers.flat_map(u64::to_le_bytes).collect()
}

fn numbers(list: &[f64]) -> Vec<u8> {
    list.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// One bit a state, in whole words.
fn set(states: usize, members: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut bytes = vec![0; states.div_ceil(64) * 8];
    members.for_each(|state| bytes[state as usize / 8] |= 1 << (state % 8));
    bytes
}
