//! The index: what the model is, how large, and what is in the other files.

use serde_json::{Map, Value};

use super::number::NumberType;
use super::valuations::{Field, FieldType};
use super::{Entity, INDEX};
use crate::model::{ModelError, Place, Result};

/// The version of the format that is read and written.
pub const VERSION: u64 = 1;

/// What an index says, as far as it is needed.
#[derive(Debug)]
pub struct Index {
    pub is_chain: bool,
    pub states: usize,
    pub choices: usize,
    pub branches: usize,
    pub choice_actions: usize,
    /// Without one every transition is certain.
    pub probability: Option<NumberType>,
    pub rewards: Vec<Rewards>,
    /// Identifiers and names.
    pub labels: Vec<(String, String)>,
    /// The variables of each class of states; none where there are no valuations.
    pub valuations: Vec<Vec<Field>>,
}

/// A reward structure.
#[derive(Debug)]
pub struct Rewards {
    pub id: String,
    pub name: String,
    pub number: NumberType,
    pub entities: Vec<Entity>,
}

/// A table of the index, with the way to it.
struct At<'v> {
    file: &'v str,
    path: String,
    value: &'v Value,
}

impl<'v> At<'v> {
    fn error(&self, problem: impl Into<String>) -> ModelError {
        ModelError::new(self.file, problem).at(Place::Part(INDEX.into(), None))
    }

    fn wrong(&self, expected: &str) -> ModelError {
        let found: String = self.value.to_string().chars().take(40).collect();
        self.error(format!("{} is {found}; expected {expected}", self.path))
    }

    fn of(&self, value: &'v Value, key: &str) -> Self {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        At { file: self.file, path, value }
    }

    fn get(&self, key: &str) -> Option<Self> {
        Some(self.of(self.value.get(key)?, key))
    }

    fn require(&self, key: &str) -> Result<Self> {
        self.get(key).ok_or_else(|| self.error(format!("{} is missing", self.of(self.value, key).path)))
    }

    fn table(&self) -> Result<&'v Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.wrong("a table"))
    }

    fn items(&self) -> Result<Vec<Self>> {
        let items = self.value.as_array().ok_or_else(|| self.wrong("a list"))?;
        Ok(items.iter().enumerate().map(|(i, item)| self.of(item, &i.to_string())).collect())
    }

    fn entries(&self) -> Result<Vec<(&'v str, Self)>> {
        Ok(self.table()?.iter().map(|(key, value)| (key.as_str(), self.of(value, key))).collect())
    }

    fn text(&self) -> Result<&'v str> {
        self.value.as_str().ok_or_else(|| self.wrong("a text"))
    }

    fn count(&self, most: u64) -> Result<usize> {
        let found = self.value.as_u64().filter(|count| *count <= most);
        found.map(|count| count as usize).ok_or_else(|| self.wrong(&format!("a whole number up to {most}")))
    }

    /// A type with its size in bits.
    fn typed(&self) -> Result<(&'v str, Option<usize>)> {
        // Some write the word alone.
        if let Some(word) = self.value.as_str() {
            return Ok((word, None));
        }
        let size = self.get("size").map(|size| size.count(1 << 20)).transpose()?;
        Ok((self.require("type")?.text()?, size))
    }

    fn number(&self) -> Result<NumberType> {
        match self.typed()? {
            ("double", None | Some(64)) => Ok(NumberType::Double),
            ("rational", size) => match size.unwrap_or(128) {
                size if size > 0 && size % 128 == 0 => Ok(NumberType::Rational(size / 16)),
                _ => Err(self.wrong("a size of 128 bits or a multiple")),
            },
            _ => Err(self.wrong("double or rational; intervals are not supported")),
        }
    }
}

impl Index {
    /// Reads an index; `file` is what the archive is called.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Self> {
        let broken = |error: serde_json::Error| {
            ModelError::new(file, format!("it is no JSON: {error}")).at(Place::Part(INDEX.into(), None))
        };
        let value: Value = serde_json::from_slice(bytes).map_err(broken)?;
        let root = At { file, path: String::new(), value: &value };
        let version = root.require("format-version")?;
        if version.count(u64::MAX)? as u64 > VERSION {
            return Err(version.wrong(&format!("{VERSION}: the file is of a newer version of the format")));
        }
        let system = root.require("transition-system")?;
        let time = system.require("time")?;
        if time.text()? != "discrete" {
            return Err(time.wrong("\"discrete\": continuous time is not supported"));
        }
        let players = system.require("#players")?;
        let is_chain = match players.count(u64::from(u32::MAX))? {
            0 => true,
            1 => false,
            _ => return Err(players.wrong("0 or 1: games are not supported")),
        };
        if let Some(observations) = system.get("#observations")
            && observations.count(u64::MAX)? > 0
        {
            return Err(observations.wrong("0: states that are not observed are not supported"));
        }
        let most = u64::from(u32::MAX) - 1;
        let size = |key: &str| system.require(key)?.count(most);
        let probability = system.get("branch-probability-type").map(|kind| kind.number()).transpose()?;
        let (rewards, labels) = annotations(&root)?;
        Ok(Self {
            is_chain,
            states: size("#states")?,
            choices: size("#choices")?,
            branches: size("#branches")?,
            choice_actions: system.get("#choice-actions").map_or(Ok(0), |count| count.count(most))?,
            probability,
            rewards,
            labels,
            valuations: valuations(&root)?,
        })
    }

    /// How many there are of something.
    pub fn count(&self, entity: Entity) -> usize {
        match entity {
            Entity::States => self.states,
            Entity::Choices => self.choices,
            Entity::Branches => self.branches,
        }
    }
}

type Annotations = (Vec<Rewards>, Vec<(String, String)>);

fn annotations(root: &At) -> Result<Annotations> {
    let (mut rewards, mut labels) = (Vec::new(), Vec::new());
    let Some(groups) = root.get("annotations") else { return Ok((rewards, labels)) };
    for (id, at) in groups.get("rewards").map_or(Ok(Vec::new()), |group| group.entries())? {
        let name = match at.get("alias") {
            Some(alias) => alias.text()?,
            // Storm's name for rewards without one.
            None if id == "default" => "",
            None => id,
        };
        let mut entities = Vec::new();
        for item in at.require("applies-to")?.items()? {
            let word = item.text()?;
            let entity = Entity::ALL.into_iter().find(|entity| entity.word() == word);
            entities.push(entity.ok_or_else(|| item.wrong("states, choices or branches"))?);
        }
        let number = at.require("type")?.number()?;
        if at.get("probability-type").is_some() {
            return Err(at.error(format!("{} is drawn at random; expected fixed rewards", at.path)));
        }
        rewards.push(Rewards { id: id.into(), name: name.into(), number, entities });
    }
    for (id, at) in groups.get("aps").map_or(Ok(Vec::new()), |group| group.entries())? {
        let name = at.get("alias").map_or(Ok(id), |alias| alias.text())?;
        labels.push((id.to_owned(), name.to_owned()));
    }
    Ok((rewards, labels))
}

/// The variables of every class of states.
fn valuations(root: &At) -> Result<Vec<Vec<Field>>> {
    let Some(states) = root.get("valuations").and_then(|all| all.get("states")) else {
        return Ok(Vec::new());
    };
    let mut classes = Vec::new();
    for class in states.require("classes")?.items()? {
        let (mut fields, mut bits) = (Vec::new(), 0usize);
        for at in class.require("variables")?.items()? {
            if let Some(padding) = at.get("padding") {
                bits += padding.count(1 << 20)?;
                fields.push(Field::padding(bits));
                continue;
            }
            let is_optional = at.get("is-optional").is_some_and(|flag| flag.value == &Value::Bool(true));
            bits += usize::from(is_optional);
            let kind = at.require("type")?;
            // Some write the size beside the type.
            let beside = at.get("size").map(|size| size.count(1 << 20)).transpose()?;
            let (word, size) = kind.typed()?;
            let (kind, size) = match (word, size.or(beside)) {
                ("bool", size) => (FieldType::Flag, size.unwrap_or(1)),
                ("int", size) => (FieldType::Signed, size.unwrap_or(64)),
                ("uint", size) => (FieldType::Unsigned, size.unwrap_or(64)),
                ("double", None | Some(64)) => (FieldType::Double, 64),
                ("rational", None | Some(128)) => (FieldType::Rational, 128),
                ("string", None | Some(64)) => (FieldType::Text, 64),
                _ => return Err(kind.wrong("bool, int, uint, double, rational or string")),
            };
            let most = if kind == FieldType::Rational { 128 } else { 64 };
            if size == 0 || size > most {
                return Err(at.error(format!("{} has {size} bits; expected 1 to {most}", at.path)));
            }
            let offset = at.get("offset").map_or(Some(0), |offset| offset.value.as_i64());
            let offset = offset.ok_or_else(|| at.error(format!("{}.offset is no whole number", at.path)))?;
            let name = at.require("name")?.text()?.to_owned();
            let first = bits;
            bits += size;
            fields.push(Field { name, kind, first, size, end: bits, is_optional, offset });
        }
        if bits % 8 != 0 {
            return Err(class.error(format!("{} has {bits} bits; expected a multiple of 8", class.path)));
        }
        classes.push(fields);
    }
    Ok(classes)
}
