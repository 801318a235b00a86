//! Storm's explicit text, one line after another.

use std::collections::HashMap;

use appropo::env::explicit::{ExplicitModel, Label, ModelBuilder, RewardStructure, START};
use appropo::error::Error;

use super::lines::{Lines, number, shown, whole, word};
use super::valuations::ValuationsBuilder;
use super::{ModelError, Result};

/// The name of a choice that has none.
pub const NO_LABEL: &str = "__NOLABEL__";

/// Reads a model.
pub fn read(lines: &mut Lines) -> Result<ExplicitModel> {
    let header = Header::read(lines)?;
    let builder = ExplicitModel::builder(header.states, header.is_chain)
        .map_err(|error| lines.error_at(header.states_line, error.to_string()))?;
    let structure = |name: &String| RewardStructure { name: name.clone(), ..RewardStructure::default() };
    let mut body = Body {
        lines,
        builder,
        rewards: header.rewards.iter().map(structure).collect(),
        placeholders: header.placeholders,
        labels: Vec::new(),
        places: HashMap::new(),
        start: Vec::new(),
        valuations: ValuationsBuilder::default(),
        choice_line: 0,
        is_numbered: true,
        choices_of_state: 0,
        rewards_read: 0,
        rewards_kept: 0,
    };
    body.read()?;
    body.build(header.choices)
}

/// All that stands before the states.
struct Header {
    is_chain: bool,
    states: usize,
    states_line: u64,
    /// How many choices there are, and the line that says so.
    choices: Option<(usize, u64)>,
    rewards: Vec<String>,
    placeholders: HashMap<Vec<u8>, f64>,
}

impl Header {
    fn read(lines: &mut Lines) -> Result<Self> {
        let (mut is_chain, mut states, mut choices) = (None, None, None);
        let (mut rewards, mut placeholders) = (Vec::new(), HashMap::new());
        let mut is_read = true;
        loop {
            if std::mem::replace(&mut is_read, true) {
                lines.expect("@model")?;
            }
            let line = lines.text()?.trim_end();
            match line {
                "" => {}
                _ if line.starts_with("//") => {}
                "@parameters" => {
                    lines.expect("the names of the parameters, or an empty line")?;
                    if !lines.line().trim_ascii().is_empty() {
                        let found = shown(lines.line().trim_ascii());
                        return Err(lines.error(format!(
                            "the model has the parameters {found}; expected none: give them values, then export it again"
                        )));
                    }
                }
                "@placeholders" => {
                    lines.expect("a placeholder")?;
                    while lines.line().starts_with(b"$") {
                        let (name, value) = placeholder(lines)?;
                        placeholders.insert(name, value);
                        lines.expect("@model")?;
                    }
                    // The line that follows the last one is already there.
                    is_read = false;
                }
                "@reward_models" => {
                    lines.expect("the names of the reward models")?;
                    rewards = reward_names(lines.text()?);
                }
                "@nr_states" => {
                    states = Some((count(lines, "the number of states")?, lines.number()));
                }
                "@nr_choices" => {
                    choices = Some((count(lines, "the number of choices")?, lines.number()));
                }
                "@model" => break,
                _ => match line.split_once(':') {
                    Some(("@type", kind)) => is_chain = Some(is_a_chain(lines, kind.trim())?),
                    Some(("@value_type", kind)) => check_values(lines, kind.trim())?,
                    _ => {
                        let found = shown(line.as_bytes());
                        return Err(lines.error(format!(
                            "found {found}; expected @type:, @value_type:, @parameters, @placeholders, @reward_models, @nr_states, @nr_choices or @model"
                        )));
                    }
                },
            }
        }
        let missing = |what: &str| lines.error(format!("{what} is missing before @model"));
        let is_chain = is_chain.ok_or_else(|| missing("\"@type: MDP\""))?;
        let (states, states_line) = states.ok_or_else(|| missing("@nr_states"))?;
        Ok(Self { is_chain, states, states_line, choices, rewards, placeholders })
    }
}

/// Whether the type of a model is a chain's.
fn is_a_chain(lines: &Lines, kind: &str) -> Result<bool> {
    let instead = match kind {
        "DTMC" => return Ok(true),
        "MDP" => return Ok(false),
        "CTMC" | "MA" | "Markov Automaton" | "CTMDP" => "its time is continuous",
        "POMDP" => "its states are not observed",
        "SMG" | "S2PG" => "several players choose in it",
        _ => "it is unknown",
    };
    let kind = shown(kind.as_bytes());
    Err(lines.error(format!("the model is of the type {kind}: {instead}; expected DTMC or MDP")))
}

fn check_values(lines: &Lines, kind: &str) -> Result<()> {
    match kind {
        "double" | "rational" => Ok(()),
        _ => {
            let found = shown(kind.as_bytes());
            Err(lines.error(format!("the values are of the type {found}; expected double or rational")))
        }
    }
}

fn count(lines: &mut Lines, what: &str) -> Result<usize> {
    lines.expect(what)?;
    let text = lines.line().trim_ascii();
    whole(text).ok_or_else(|| lines.error(format!("found {}; expected {what}", shown(text))))
}

/// Storm writes a blank after every name, and one name may be empty.
fn reward_names(line: &str) -> Vec<String> {
    match line.strip_suffix([' ', '\t']).unwrap_or(line) {
        "" if line.is_empty() => Vec::new(),
        names => names.split([' ', '\t']).map(str::to_owned).collect(),
    }
}

fn placeholder(lines: &Lines) -> Result<(Vec<u8>, f64)> {
    let line = lines.line();
    let parts = line.iter().position(|byte| *byte == b':').map(|colon| (&line[..colon], &line[colon + 1..]));
    let named = parts.map(|(name, value)| (name.trim_ascii().to_vec(), number(value.trim_ascii())));
    match named {
        Some((name, Some(value))) => Ok((name, value)),
        _ => Err(lines.error(format!("found {}; expected a placeholder such as $0 : 0.5", shown(line)))),
    }
}

/// The states, as far as they were read.
struct Body<'l> {
    lines: &'l mut Lines,
    builder: ModelBuilder,
    rewards: Vec<RewardStructure>,
    placeholders: HashMap<Vec<u8>, f64>,
    labels: Vec<Label>,
    places: HashMap<String, usize>,
    start: Vec<u32>,
    valuations: ValuationsBuilder,
    /// Where the choice that is open began.
    choice_line: u64,
    /// Whether every choice is called by its number, which is no name.
    is_numbered: bool,
    choices_of_state: usize,
    /// How many rewards were read, and how many there are with the zeros between them.
    rewards_read: usize,
    rewards_kept: usize,
}

/// How many rewards may be left out for each that is there, and beyond that: memory is for what files say.
const MOST_GAPS: (usize, usize) = (64, 1 << 20);

impl Body<'_> {
    fn read(&mut self) -> Result<()> {
        // The line is taken out while it is read, so that the rest can be changed.
        let mut line = Vec::new();
        while self.lines.advance()? {
            line.clear();
            line.extend_from_slice(self.lines.line().trim_ascii_start());
            match line.first() {
                None => {}
                Some(b'0'..=b'9') => self.transition(&line)?,
                Some(b'/') if line.starts_with(b"//") => self.comment(&line),
                _ => match word(&line) {
                    (b"action", rest) => self.action(rest)?,
                    (b"state", rest) => self.state(rest)?,
                    _ => {
                        let found = shown(&line);
                        let expected = "\"state\", \"action\" or a transition such as 3 : 0.5";
                        return Err(self.lines.error(format!("found {found}; expected {expected}")));
                    }
                },
            }
        }
        // A choice that is cut short is no mistake of its own.
        self.is_whole()?;
        self.close_choice()
    }

    fn is_whole(&self) -> Result<()> {
        let (found, expected) = (self.builder.begun(), self.builder.states());
        match found < expected {
            true => {
                let message = format!("the file ends after {found} of {expected} states; it is cut short");
                Err(self.lines.error_at(self.lines.number() + 1, message))
            }
            false => Ok(()),
        }
    }

    fn comment(&mut self, line: &[u8]) {
        let inner = line.strip_prefix(b"//[").and_then(|line| line.trim_ascii_end().strip_suffix(b"]"));
        if let (Some(inner), Some(state)) = (inner, self.builder.begun().checked_sub(1))
            && let Ok(text) = std::str::from_utf8(inner)
        {
            self.valuations.parse(state, text);
        }
    }

    fn refused(&self, error: &Error) -> ModelError {
        self.lines.error(error.to_string())
    }

    fn close_choice(&mut self) -> Result<()> {
        let closed = self.builder.close_choice();
        closed.map_err(|error| self.lines.error_at(self.choice_line, error.to_string()))
    }

    fn state(&mut self, rest: &[u8]) -> Result<()> {
        self.close_choice()?;
        let (id, mut rest) = word(rest);
        let expected = self.builder.begun();
        if whole(id) != Some(expected) {
            let message = format!("found state {}; expected {expected}: states stand in order", shown(id));
            return Err(self.lines.error(message));
        }
        self.builder.state().map_err(|error| match error {
            Error::Index { count, .. } => {
                self.lines.error(format!("there are more states than the {count} of @nr_states"))
            }
            error => self.refused(&error),
        })?;
        self.choices_of_state = 0;
        match rest.first() {
            Some(b'!') => {
                return Err(self.lines.error("the state has an exit rate; expected none in discrete time"));
            }
            Some(b'{') => return Err(self.lines.error("the state has an observation; expected none")),
            Some(b'[') => rest = self.earn(rest, expected, |structure| &mut structure.states)?,
            _ => {}
        }
        while !rest.is_empty() {
            rest = self.label(rest, expected)?;
        }
        Ok(())
    }

    /// Reads one label of a state, in quotation marks or not.
    fn label<'r>(&mut self, rest: &'r [u8], state: usize) -> Result<&'r [u8]> {
        let (name, rest) = match rest.strip_prefix(b"\"") {
            None => word(rest),
            Some(inner) => match inner.iter().position(|byte| *byte == b'"') {
                Some(end) => (&inner[..end], inner[end + 1..].trim_ascii_start()),
                None => return Err(self.lines.error("the quotation marks of a label are not closed")),
            },
        };
        let name = std::str::from_utf8(name).map_err(|_| self.lines.error("a label is not UTF-8 text"))?;
        if name == START {
            self.start.push(state as u32);
            return Ok(rest);
        }
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                self.labels.push(Label { name: name.to_owned(), states: Vec::new() });
                self.places.insert(name.to_owned(), self.labels.len() - 1);
                self.labels.len() - 1
            }
        };
        let states = &mut self.labels[place].states;
        if states.last() != Some(&(state as u32)) {
            states.push(state as u32);
        }
        Ok(rest)
    }

    fn action(&mut self, rest: &[u8]) -> Result<()> {
        self.close_choice()?;
        if self.builder.begun() == 0 {
            return Err(self.lines.error("found an action before the first state"));
        }
        self.choice_line = self.lines.number();
        self.builder.choice().map_err(|error| self.refused(&error))?;
        let (name, rest) = word(rest);
        self.is_numbered &= whole(name) == Some(self.choices_of_state) && name.len() < 10;
        self.choices_of_state += 1;
        let text = std::str::from_utf8(name).map_err(|_| self.lines.error("the name is not UTF-8 text"))?;
        self.builder.choice_label(if text == NO_LABEL { "" } else { text });
        let choice = self.builder.choices() - 1;
        let rest = match rest.first() {
            Some(b'[') => self.earn(rest, choice, |structure| &mut structure.choices)?,
            _ => rest,
        };
        match rest.is_empty() {
            true => Ok(()),
            false => {
                Err(self.lines.error(format!("found {} after the action; expected nothing", shown(rest))))
            }
        }
    }

    fn transition(&mut self, line: &[u8]) -> Result<()> {
        let colon = line.iter().position(|byte| *byte == b':');
        let parts = colon.map(|colon| (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()));
        let Some((target, Some(target_state), value)) = parts.map(|(to, value)| (to, whole(to), value))
        else {
            let message = format!("found {}; expected a transition such as 3 : 0.5", shown(line));
            return Err(self.lines.error(message));
        };
        if self.choices_of_state == 0 {
            return Err(self.lines.error("found a transition before the first action of its state"));
        }
        let probability = self.value(value)?;
        self.builder.transition(target_state, probability).map(drop).map_err(|error| match error {
            Error::Index { count, .. } => self.lines.error(format!(
                "the transition leads to state {}; expected one from 0 to {}",
                String::from_utf8_lossy(target),
                count - 1
            )),
            error => self.refused(&error),
        })
    }

    fn value(&self, word: &[u8]) -> Result<f64> {
        let found = match word.first() {
            Some(b'$') => self.placeholders.get(word).copied(),
            _ => number(word),
        };
        found.ok_or_else(|| {
            let expected = match word.first() {
                Some(b'[') => "a number, not an interval",
                Some(b'$') => "one of the @placeholders",
                _ => "a finite number, or a fraction such as 1/3",
            };
            self.lines.error(format!("found {}; expected {expected}", shown(word)))
        })
    }

    /// Reads what a state or a choice earns, one number a reward structure.
    fn earn<'r>(
        &mut self,
        rest: &'r [u8],
        index: usize,
        list: fn(&mut RewardStructure) -> &mut Vec<f64>,
    ) -> Result<&'r [u8]> {
        let Some(end) = rest.iter().position(|byte| *byte == b']') else {
            return Err(self.lines.error("the bracket of the rewards is not closed"));
        };
        let inner = &rest[1..end];
        // The name of the only structure may be empty, and then its blank may be lost.
        if self.rewards.is_empty() && index == 0 && !inner.contains(&b',') {
            self.rewards.push(RewardStructure::default());
        }
        let mut count = 0;
        for value in inner.split(|byte| *byte == b',') {
            let value = self.value(value.trim_ascii())?;
            let Some(structure) = self.rewards.get_mut(count) else {
                count = inner.split(|byte| *byte == b',').count();
                break;
            };
            count += 1;
            self.rewards_read += 1;
            let list = list(structure);
            if value != 0.0 && self.rewards_kept <= MOST_GAPS.0 * self.rewards_read + MOST_GAPS.1 {
                self.rewards_kept += index + 1 - list.len();
                list.resize(index, 0.0);
                list.push(value);
            }
        }
        if self.rewards_kept > MOST_GAPS.0 * self.rewards_read + MOST_GAPS.1 {
            return Err(self.lines.error("most states or choices have no rewards; write them for every one"));
        }
        if count != self.rewards.len() {
            let expected = self.rewards.len();
            let message = format!("found {count} rewards; expected {expected}, one a name of @reward_models");
            return Err(self.lines.error(message));
        }
        Ok(rest[end + 1..].trim_ascii_start())
    }

    fn build(mut self, choices: Option<(usize, u64)>) -> Result<ExplicitModel> {
        let states = self.builder.states();
        let found = self.builder.choices();
        if let Some((expected, line)) = choices.filter(|(count, _)| *count != found) {
            let message = format!("there are {found} choices; expected {expected}, as @nr_choices says");
            return Err(self.lines.error_at(line, message));
        }
        for structure in &mut self.rewards {
            for (list, length) in [(&mut structure.states, states), (&mut structure.choices, found)] {
                if !list.is_empty() {
                    self.rewards_kept += length - list.len();
                    list.resize(length, 0.0);
                }
            }
        }
        if self.is_numbered {
            self.builder.forget_choice_labels();
        }
        let built = self
            .builder
            .start_evenly(&self.start)
            .and_then(|()| self.builder.build(self.rewards, self.labels, self.valuations.build(states)));
        built.map_err(|error| self.lines.error_at(self.lines.number(), error.to_string()))
    }
}
