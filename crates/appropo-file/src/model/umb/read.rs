use std::collections::HashMap;
use std::io::BufRead;

use appropo::env::explicit::{ChoiceLabels, ExplicitModel, Label, ModelBuilder, RewardStructure, START};
use appropo::env::{Array, ArrayBuilder};
use appropo::error::Error;

use super::index::Index;
use super::number::{NumberType, unsigned};
use super::*;
use crate::model::folder::Folder;
use crate::model::tar::Archive;
use crate::model::unpack::{self, Limits};
use crate::model::valuations::ValuationsBuilder;
use crate::model::{ModelError, Place, Result};

/// No index is larger.
const LARGEST_INDEX: u64 = 1 << 26;

/// How many bytes are decoded at a time, at least.
const CHUNK: usize = 1 << 16;

/// Reads the model of an archive.
pub fn read(folder: &dyn Folder, name: &str, limits: &Limits) -> Result<ExplicitModel> {
    let open = || Ok(Archive::new(name, unpack::open(folder, name, limits)?));
    let mut archive: Archive<Box<dyn BufRead>> = open()?;
    let mut is_first = true;
    let index = loop {
        match archive.next_file()? {
            Some((part, size)) if part == INDEX => {
                if size > LARGEST_INDEX {
                    let message = format!("it has {size} bytes; expected at most {LARGEST_INDEX}");
                    return Err(ModelError::new(name, message).at(Place::Part(part, None)));
                }
                break Index::read(name, &whole(&mut archive, INDEX)?)?;
            }
            Some(_) => is_first = false,
            None => return Err(ModelError::new(name, "there is no index.json in it; it is no UMB")),
        }
    };
    // What stands before the index can't be understood without it.
    if !is_first {
        archive = open()?;
    }
    let in_file = index.branches as u64 > limits.transitions;
    Reader { file: name, index, in_file, arrays: Arrays::default() }.read(&mut archive)
}

/// All of a file of the archive.
fn whole<R: std::io::Read>(archive: &mut Archive<R>, part: &str) -> Result<Vec<u8>> {
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; CHUNK]);
    loop {
        match archive.read(part, &mut chunk)? {
            0 => return Ok(bytes),
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

/// What was read so far.
#[derive(Default)]
struct Arrays {
    start: Vec<u32>,
    choices: Option<Vec<u32>>,
    rows: Option<Vec<u32>>,
    targets: Option<Array<u32>>,
    probabilities: Option<Array<f64>>,
    actions: Option<Vec<u32>>,
    labels: HashMap<String, Vec<u32>>,
    rewards: HashMap<String, Array<f64>>,
    /// Files that are understood when all are there.
    others: HashMap<String, Vec<u8>>,
}

struct Reader<'n> {
    file: &'n str,
    index: Index,
    /// Whether what belongs to transitions is kept in files.
    in_file: bool,
    arrays: Arrays,
}

impl Reader<'_> {
    fn error(&self, part: &str, byte: Option<usize>, problem: impl Into<String>) -> ModelError {
        ModelError::new(self.file, problem).at(Place::Part(part.into(), byte.map(|byte| byte as u64)))
    }

    fn read<R: std::io::Read>(mut self, archive: &mut Archive<R>) -> Result<ExplicitModel> {
        let mut wanted: HashMap<String, Wanted> = HashMap::new();
        for (id, _) in &self.index.labels {
            wanted.insert(annotation("aps", id, Entity::States), Wanted::Label);
        }
        for rewards in &self.index.rewards {
            for entity in &rewards.entities {
                let part = annotation("rewards", &rewards.id, *entity);
                wanted.insert(part, Wanted::Rewards(*entity, rewards.number));
            }
        }
        while let Some((part, size)) = archive.next_file()? {
            self.part(archive, &part, size, wanted.get(&part))?;
        }
        self.build()
    }

    fn part<R: std::io::Read>(
        &mut self,
        archive: &mut Archive<R>,
        part: &str,
        size: u64,
        wanted: Option<&Wanted>,
    ) -> Result<()> {
        let Index { states, choices, branches, .. } = self.index;
        let expect = |what: &str, count: usize, bytes: u64| match size == bytes {
            true => Ok(()),
            false => {
                let message = format!("it has {size} bytes; expected {bytes}, for {count} {what}");
                Err(self.error(part, None, message))
            }
        };
        let bytes = |count: usize, width: usize| (count as u64).saturating_mul(width as u64);
        let bitset = |count: usize| (count as u64).div_ceil(64) * 8;
        match (part, wanted) {
            (STATE_TO_CHOICES, _) => {
                expect("states", states, bytes(states + 1, 8))?;
                self.arrays.choices = Some(self.bounds(archive, part, choices)?);
            }
            (CHOICE_TO_BRANCHES, _) => {
                expect("choices", choices, bytes(choices + 1, 8))?;
                self.arrays.rows = Some(self.bounds(archive, part, branches)?);
            }
            (BRANCH_TO_TARGET, _) => {
                expect("branches", branches, bytes(branches, 8))?;
                self.arrays.targets =
                    Some(self.indices(archive, part, (8, self.in_file), states, "state")?);
            }
            (BRANCH_TO_PROBABILITY, _) => {
                let number = self.index.probability.unwrap_or(NumberType::Double);
                expect("branches", branches, bytes(branches, number.width()))?;
                self.arrays.probabilities = Some(self.numbers(archive, part, number, self.in_file)?);
            }
            (STATE_IS_INITIAL, _) => {
                expect("states", states, bitset(states))?;
                self.arrays.start = self.set(archive, part)?;
            }
            (_, Some(Wanted::Label)) => {
                expect("states", states, bitset(states))?;
                let found = self.set(archive, part)?;
                self.arrays.labels.insert(part.into(), found);
            }
            (_, Some(Wanted::Rewards(entity, number))) => {
                let count = self.index.count(*entity);
                expect(entity.word(), count, bytes(count, number.width()))?;
                let in_file = self.in_file && *entity == Entity::Branches;
                let found = self.numbers(archive, part, *number, in_file)?;
                self.arrays.rewards.insert(part.into(), found);
            }
            _ if part == format!("{CHOICE_ACTIONS}/values.bin") => {
                expect("choices", choices, bytes(choices, 4))?;
                let count = self.index.choice_actions;
                self.arrays.actions = Some(self.indices(archive, part, (4, false), count, "action")?.into());
            }
            _ if part.starts_with(CHOICE_ACTIONS) || part.starts_with(STATE_VALUATIONS) => {
                self.arrays.others.insert(part.into(), whole(archive, part)?);
            }
            _ => {}
        }
        Ok(())
    }

    /// Decodes values of so many bytes each, with their places.
    fn each<R: std::io::Read>(
        &self,
        archive: &mut Archive<R>,
        part: &str,
        width: usize,
        mut take: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut chunk = vec![0; width.saturating_mul(CHUNK.div_ceil(width))];
        let mut place = 0;
        loop {
            let count = archive.read(part, &mut chunk)?;
            if count == 0 {
                return Ok(());
            }
            for bytes in chunk[..count].chunks_exact(width) {
                take(place, bytes)?;
                place += width;
            }
        }
    }

    /// Where the parts of each of several things begin, and the end.
    fn bounds<R: std::io::Read>(&self, archive: &mut Archive<R>, part: &str, end: usize) -> Result<Vec<u32>> {
        let mut found: Vec<u32> = Vec::new();
        self.each(archive, part, 8, |byte, bytes| {
            let next = unsigned(bytes);
            let least = found.last().map_or(0, |last| u64::from(*last));
            if next < least || next > end as u64 || (found.is_empty() && next != 0) {
                let expected = if found.is_empty() { "0".into() } else { format!("{least} to {end}") };
                return Err(self.error(part, Some(byte), format!("found {next}; expected {expected}")));
            }
            found.push(next as u32);
            Ok(())
        })?;
        match found.last() {
            Some(last) if *last as usize == end => Ok(found),
            last => {
                let last = last.copied().unwrap_or(0);
                Err(self.error(part, None, format!("it ends with {last}; expected {end}")))
            }
        }
    }

    fn indices<R: std::io::Read>(
        &self,
        archive: &mut Archive<R>,
        part: &str,
        (width, in_file): (usize, bool),
        count: usize,
        what: &str,
    ) -> Result<Array<u32>> {
        let mut found = ArrayBuilder::new(in_file);
        self.each(archive, part, width, |byte, bytes| {
            let index = unsigned(bytes);
            if index >= count as u64 {
                let message = format!("{what} {index} does not exist; there are {count}");
                return Err(self.error(part, Some(byte), message));
            }
            found.push(index as u32);
            Ok(())
        })?;
        found.build().map_err(|error| self.error(part, None, error.to_string()))
    }

    fn numbers<R: std::io::Read>(
        &self,
        archive: &mut Archive<R>,
        part: &str,
        number: NumberType,
        in_file: bool,
    ) -> Result<Array<f64>> {
        let mut found = ArrayBuilder::new(in_file);
        self.each(archive, part, number.width(), |byte, bytes| {
            let value = number.read(bytes);
            if !value.is_finite() {
                return Err(self.error(part, Some(byte), format!("found {value}; expected a finite number")));
            }
            found.push(value);
            Ok(())
        })?;
        found.build().map_err(|error| self.error(part, None, error.to_string()))
    }

    /// The states whose bit is set.
    fn set<R: std::io::Read>(&self, archive: &mut Archive<R>, part: &str) -> Result<Vec<u32>> {
        let mut found = Vec::new();
        self.each(archive, part, 8, |byte, bytes| {
            let mut bits = unsigned(bytes);
            while bits != 0 {
                let state = byte * 8 + bits.trailing_zeros() as usize;
                if state >= self.index.states {
                    let message = format!("state {state} does not exist; there are {}", self.index.states);
                    return Err(self.error(part, Some(byte), message));
                }
                found.push(state as u32);
                bits &= bits - 1;
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn build(mut self) -> Result<ExplicitModel> {
        let one_each = |what: &'static str, of: usize, count: usize, file: &str, part: &str| match of == count
        {
            true => Ok((0..=count as u32).collect::<Vec<u32>>()),
            false => {
                let message = format!("{part} is missing, though there are {count} {what} for {of}");
                Err(ModelError::new(file, message))
            }
        };
        let Index { states, choices, branches, is_chain, .. } = self.index;
        let missing = |part: &str| ModelError::new(self.file, format!("{part} is missing"));
        // What is left out is only made up where as many bytes were there for what it leads to.
        let targets = self.arrays.targets.take().ok_or_else(|| missing(BRANCH_TO_TARGET))?;
        let rows = match self.arrays.rows.take() {
            Some(found) => found,
            None => one_each("branches", choices, branches, self.file, CHOICE_TO_BRANCHES)?,
        };
        let first_choices = match self.arrays.choices.take() {
            Some(found) => found,
            None => one_each("choices", states, choices, self.file, STATE_TO_CHOICES)?,
        };
        let probabilities = match (self.arrays.probabilities.take(), self.index.probability) {
            (Some(found), _) => found,
            (None, None) => {
                let mut sure = ArrayBuilder::new(self.in_file);
                (0..branches).for_each(|_| sure.push(1.0));
                sure.build().map_err(|error| ModelError::new(self.file, error.to_string()))?
            }
            (None, Some(_)) => return Err(missing(BRANCH_TO_PROBABILITY)),
        };
        let refused = |error: Error| ModelError::new(self.file, error.to_string());
        let mut rewards = self.rewards();
        let of_branches = rewards.iter_mut().map(|structure| &mut structure.transitions).collect();
        let parts = (first_choices, rows, targets, probabilities);
        let mut builder =
            ModelBuilder::of_rows(is_chain, states, parts, of_branches).map_err(|error| match &error {
                Error::Probabilities { .. } | Error::OutOfRange { .. } => {
                    self.error(BRANCH_TO_PROBABILITY, None, error.to_string())
                }
                _ => refused(error),
            })?;
        builder.start_evenly(&self.arrays.start).map_err(refused)?;
        if let Some(labels) = self.choice_labels()? {
            builder.set_choice_labels(labels).map_err(refused)?;
        }
        let valuations = self.valuations()?;
        let labels = self.labels();
        builder.build(rewards, labels, valuations).map_err(refused)
    }

    fn rewards(&mut self) -> Vec<RewardStructure> {
        let mut structures = Vec::new();
        for described in &self.index.rewards {
            let mut structure =
                RewardStructure { name: described.name.clone(), ..RewardStructure::default() };
            for entity in &described.entities {
                let part = annotation("rewards", &described.id, *entity);
                // Without a file nothing is earned.
                let values = self.arrays.rewards.remove(&part).unwrap_or_default();
                match entity {
                    Entity::States => structure.states = values.into(),
                    Entity::Choices => structure.choices = values.into(),
                    Entity::Branches => structure.transitions = values,
                }
            }
            structures.push(structure);
        }
        structures
    }

    fn labels(&mut self) -> Vec<Label> {
        let described = self.index.labels.iter().filter(|(_, name)| name != START);
        described
            .map(|(id, name)| {
                let states = self.arrays.labels.remove(&annotation("aps", id, Entity::States));
                Label { name: name.clone(), states: states.unwrap_or_default() }
            })
            .collect()
    }

    fn choice_labels(&mut self) -> Result<Option<ChoiceLabels>> {
        let [mapping, strings] =
            ["string-mapping", "strings"].map(|part| format!("{CHOICE_ACTIONS}/{part}.bin"));
        let (Some(ends), Some(bytes)) = (self.arrays.others.get(&mapping), self.arrays.others.get(&strings))
        else {
            return Ok(None);
        };
        let names = valuations::texts(ends, bytes)
            .filter(|names| names.len() == self.index.choice_actions)
            .ok_or_else(|| {
            let message =
                format!("expected the places of {} texts in strings.bin", self.index.choice_actions);
            self.error(&mapping, None, message)
        })?;
        let of = self.arrays.actions.take().unwrap_or_else(|| vec![0; self.index.choices]);
        Ok(if names.is_empty() { None } else { Some(ChoiceLabels { names, of }) })
    }

    fn valuations(&mut self) -> Result<Option<appropo::env::explicit::Valuations>> {
        let classes = &self.index.valuations;
        let path = |part: &str| format!("{STATE_VALUATIONS}/{part}.bin");
        let Some(packed) = self.arrays.others.get(&path("valuations")) else { return Ok(None) };
        let texts =
            match (self.arrays.others.get(&path("string-mapping")), self.arrays.others.get(&path("strings")))
            {
                (Some(ends), Some(bytes)) => valuations::texts(ends, bytes).ok_or_else(|| {
                    self.error(&path("string-mapping"), None, "it does not lead to texts in strings.bin")
                })?,
                _ => Vec::new(),
            };
        let class_of = self.arrays.others.get(&path("valuation-to-class"));
        let mut builder = ValuationsBuilder::default();
        let mut byte = 0;
        for state in 0..self.index.states {
            let class = match class_of {
                None => 0,
                Some(bytes) => match bytes.get(4 * state..4 * state + 4) {
                    Some(bytes) => unsigned(bytes) as usize,
                    None => {
                        return Err(self.error(
                            &path("valuation-to-class"),
                            Some(4 * state),
                            "it is cut short",
                        ));
                    }
                },
            };
            let Some(fields) = classes.get(class) else {
                let message = format!("class {class} does not exist; there are {}", classes.len());
                return Err(self.error(&path("valuation-to-class"), Some(4 * state), message));
            };
            let width = valuations::width(fields);
            let Some(bytes) = packed.get(byte..byte + width) else {
                let message = format!("it ends before the values of state {state}");
                return Err(self.error(&path("valuations"), Some(packed.len()), message));
            };
            valuations::unpack(state, bytes, fields, &texts, &mut builder);
            byte += width;
        }
        Ok(builder.build(self.index.states))
    }
}

/// Files that the index names.
enum Wanted {
    Label,
    Rewards(Entity, NumberType),
}
