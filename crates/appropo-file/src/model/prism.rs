//! PRISM's explicit files: transitions, and beside them states, labels and rewards.

use appropo::env::explicit::{ExplicitModel, Label, ModelBuilder, RewardStructure, START, Valuations};
use appropo::error::Error;

use super::folder::Folder;
use super::lines::{Lines, number, shown, whole, word};
use super::unpack::{self, Limits};
use super::valuations::{ValuationsBuilder, Value};
use super::{ModelError, Result};

/// Reward structures are numbered from 1 where there are several; no model has more.
const MOST_STRUCTURES: usize = 100;

/// Reads the model whose transitions are in the file `name`.
pub fn read(folder: &dyn Folder, name: &str, limits: &Limits) -> Result<ExplicitModel> {
    let (base, packed) = base_of(name);
    let find = |middle: &str, endings: &[&str]| -> Result<Option<Lines>> {
        for ending in endings {
            for packed in ["", packed] {
                let name = format!("{base}{middle}.{ending}{packed}");
                if let Some(reader) = unpack::find(folder, &name, limits)? {
                    return Ok(Some(Lines::new(&name, reader)));
                }
            }
        }
        Ok(None)
    };
    let mut lines = unpack::lines(folder, name, limits)?;
    let (mut builder, is_chain) = transitions(&mut lines)?;
    let states = builder.states();
    let (start, labels) = match find("", &["lab"])? {
        Some(mut lines) => read_labels(&mut lines, states)?,
        // Without labels episodes start in the first state.
        None => (vec![0], Vec::new()),
    };
    let refused = |error: Error| ModelError::new(name, error.to_string());
    builder.start_evenly(&start).map_err(refused)?;
    let valuations = match find("", &["sta"])? {
        Some(mut lines) => read_states(&mut lines, states)?,
        None => None,
    };
    let model = builder.build(Vec::new(), labels, valuations).map_err(refused)?;
    let mut rewards = Vec::new();
    for number in 0..=MOST_STRUCTURES {
        let middle = if number == 0 { String::new() } else { number.to_string() };
        let mut structure: Option<RewardStructure> = None;
        if let Some(mut lines) = find(&middle, &["srew", "rews"])? {
            let structure = structure.get_or_insert_default();
            structure.states = state_rewards(&mut lines, states, &mut structure.name)?;
        }
        if let Some(mut lines) = find(&middle, &["trew", "rewt"])? {
            let structure = structure.get_or_insert_default();
            structure.transitions =
                transition_rewards(&mut lines, &model, is_chain, &mut structure.name)?.into();
        }
        match structure {
            Some(mut structure) => {
                // Without a header only the number tells them apart.
                if structure.name.is_empty() && number > 1 {
                    structure.name = format!("reward{number}");
                }
                rewards.push(structure);
            }
            None if number > 0 => break,
            None => {}
        }
    }
    let (labels, valuations) = (model.labels().to_vec(), model.valuations().cloned());
    model.annotated(rewards, labels, valuations).map_err(refused)
}

/// The name without its ending, and how it is packed.
fn base_of(name: &str) -> (&str, &str) {
    let (plain, packed) = match name.len().checked_sub(3).and_then(|end| name.split_at_checked(end)) {
        Some((plain, packed)) if [".gz", ".xz"].contains(&packed) => (plain, packed),
        _ => (name, ""),
    };
    (plain.rsplit_once('.').map_or(plain, |(base, _)| base), packed)
}

struct Row {
    state: u32,
    choice: u32,
    target: u32,
    line: u32,
    probability: f64,
    /// Among the names, or none.
    name: u32,
}

/// Lines that say something: neither empty nor a comment.
fn advance(lines: &mut Lines) -> Result<bool> {
    while lines.advance()? {
        let line = lines.line().trim_ascii();
        if !line.is_empty() && !line.starts_with(b"#") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The whole numbers of the first line.
fn sizes(lines: &mut Lines, expected: &str) -> Result<Vec<usize>> {
    if !advance(lines)? {
        return Err(lines.error_at(lines.number() + 1, format!("the file ends; expected {expected}")));
    }
    let words = lines.line().split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    words.map(|word| whole(word).ok_or_else(|| lines.error(wrong(word, expected)))).collect()
}

fn wrong(found: &[u8], expected: &str) -> String {
    format!("found {}; expected {expected}", shown(found))
}

/// The next word of a line as a whole number below a count.
fn index<'l>(lines: &Lines, rest: &'l [u8], what: &str, count: usize) -> Result<(usize, &'l [u8])> {
    let (found, rest) = word(rest);
    match whole(found) {
        Some(index) if index < count => Ok((index, rest)),
        Some(index) => Err(lines.error(format!(
            "{what} {index} does not exist; expected one from 0 to {}",
            count.saturating_sub(1)
        ))),
        None => Err(lines.error(wrong(found, &format!("the number of a {what}")))),
    }
}

fn value(lines: &Lines, found: &[u8]) -> Result<f64> {
    number(found).ok_or_else(|| {
        let expected = if found.starts_with(b"[") { "a number, not an interval" } else { "a finite number" };
        lines.error(wrong(found, expected))
    })
}

/// All transitions, and whether the model is a chain.
fn transitions(lines: &mut Lines) -> Result<(ModelBuilder, bool)> {
    let expected = "\"states choices transitions\" of an MDP, or \"states transitions\" of a Markov chain";
    let sizes = sizes(lines, expected)?;
    let (states, choices, count) = match sizes[..] {
        [states, count] => (states, None, count),
        [states, choices, count] => (states, Some(choices), count),
        [_, _, _, _] => return Err(lines.error("the model has observations; expected none")),
        _ => return Err(lines.error(wrong(lines.line(), expected))),
    };
    let header = lines.number();
    let is_chain = choices.is_none();
    let mut builder =
        ExplicitModel::builder(states, is_chain).map_err(|error| lines.error(error.to_string()))?;
    let (mut rows, mut names) = (Vec::new(), Names::default());
    while advance(lines)? {
        rows.push(row(lines, states, is_chain, &mut names)?);
    }
    if rows.len() != count {
        let cut = if rows.len() < count { "; the file is cut short" } else { "" };
        let message = format!("there are {} transitions; expected {count}{cut}", rows.len());
        return Err(lines.error_at(header, message));
    }
    if !rows.is_sorted_by_key(|row| (row.state, row.choice)) {
        rows.sort_by_key(|row| (row.state, row.choice));
    }
    let mut rows = rows.into_iter().peekable();
    for state in 0..states as u32 {
        builder.state().map_err(|error| lines.error_at(header, error.to_string()))?;
        let mut expected = 0;
        while let Some(first) = rows.peek().filter(|row| row.state == state) {
            let (choice, line) = (first.choice, u64::from(first.line));
            if choice != expected {
                let message = format!("found choice {choice} of state {state}; expected {expected}");
                return Err(lines.error_at(line, message));
            }
            expected += 1;
            let refused = |error: Error, line: u64| lines.error_at(line, error.to_string());
            builder.choice().map_err(|error| refused(error, line))?;
            builder.choice_label(names.0.get(first.name as usize).map_or("", String::as_str));
            while let Some(row) = rows.next_if(|row| (row.state, row.choice) == (state, choice)) {
                let added = builder.transition(row.target as usize, row.probability);
                added.map_err(|error| refused(error, row.line.into()))?;
            }
            builder.close_choice().map_err(|error| {
                let hint = if is_chain { "; the rates of continuous time are no probabilities" } else { "" };
                lines.error_at(line, format!("{error}{hint}"))
            })?;
        }
        if expected == 0 {
            let message = format!("state {state} has no transitions; export the model with deadlocks fixed");
            return Err(lines.error_at(header, message));
        }
    }
    match choices.filter(|expected| *expected != builder.choices()) {
        Some(expected) => {
            let message = format!("there are {} choices; expected {expected}", builder.choices());
            Err(lines.error_at(header, message))
        }
        None => Ok((builder, is_chain)),
    }
}

/// Names of choices, of which few differ.
#[derive(Default)]
struct Names(Vec<String>, std::collections::HashMap<String, u32>);

fn row(lines: &Lines, states: usize, is_chain: bool, names: &mut Names) -> Result<Row> {
    let (state, rest) = index(lines, lines.line().trim_ascii(), "state", states)?;
    let (choice, rest) = match is_chain {
        true => (0, rest),
        false => index(lines, rest, "choice", u32::MAX as usize)?,
    };
    let (target, rest) = index(lines, rest, "state", states)?;
    let (probability, name) = word(rest);
    let probability = value(lines, probability)?;
    let name = match name.trim_ascii() {
        b"" => u32::MAX,
        name => {
            let name = std::str::from_utf8(name).map_err(|_| lines.error("the name is not UTF-8 text"))?;
            match names.1.get(name) {
                Some(index) => *index,
                None => {
                    names.0.push(name.to_owned());
                    names.1.insert(name.to_owned(), names.0.len() as u32 - 1);
                    names.0.len() as u32 - 1
                }
            }
        }
    };
    let line = u32::try_from(lines.number()).unwrap_or(u32::MAX);
    Ok(Row { state: state as u32, choice: choice as u32, target: target as u32, line, probability, name })
}

/// `0="init" 1="goal"`, then `3: 0 1`. The initial states, and the other labels.
fn read_labels(lines: &mut Lines, states: usize) -> Result<(Vec<u32>, Vec<Label>)> {
    let expected = "the names of the labels, such as 0=\"init\" 1=\"goal\"";
    if !advance(lines)? {
        return Err(lines.error_at(lines.number() + 1, format!("the file ends; expected {expected}")));
    }
    let header = lines.text()?.to_owned();
    let mut labels: Vec<Label> = Vec::new();
    let mut rest = header.trim();
    while !rest.is_empty() {
        let named = rest.split_once("=\"").and_then(|(number, rest)| {
            let (name, rest) = rest.split_once('"')?;
            (whole(number.as_bytes()) == Some(labels.len())).then_some((name, rest))
        });
        let Some((name, after)) = named else { return Err(lines.error(wrong(rest.as_bytes(), expected))) };
        labels.push(Label { name: name.to_owned(), states: Vec::new() });
        rest = after.trim_start();
    }
    while advance(lines)? {
        let line = lines.line().trim_ascii();
        let colon = line.iter().position(|byte| *byte == b':');
        let Some((state, mut rest)) = colon.map(|colon| (&line[..colon], line[colon + 1..].trim_ascii()))
        else {
            return Err(lines.error(wrong(line, "a state and its labels, such as 3: 0 1")));
        };
        let (state, _) = index(lines, state, "state", states)?;
        while !rest.is_empty() {
            let (label, after) = index(lines, rest, "label", labels.len())?;
            labels[label].states.push(state as u32);
            rest = after;
        }
    }
    let start = labels.iter().position(|label| label.name == START).map(|place| labels.remove(place).states);
    Ok((start.unwrap_or_default(), labels))
}

/// `(x,y)`, then `0:(3,true)`.
fn read_states(lines: &mut Lines, states: usize) -> Result<Option<Valuations>> {
    let expected = "the names of the variables, such as (x,y)";
    if !advance(lines)? {
        return Err(lines.error_at(lines.number() + 1, format!("the file ends; expected {expected}")));
    }
    let inner = |text: &str| Some(text.trim().strip_prefix('(')?.strip_suffix(')')?.to_owned());
    let header = lines.text()?;
    let header = inner(header).ok_or_else(|| lines.error(wrong(header.as_bytes(), expected)))?;
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let mut valuations = ValuationsBuilder::default();
    for state in 0..states {
        if !advance(lines)? {
            let message = format!("the file ends after {state} of {states} states; it is cut short");
            return Err(lines.error_at(lines.number() + 1, message));
        }
        let text = lines.text()?.trim();
        let parts = text.split_once(':').filter(|(number, _)| whole(number.as_bytes()) == Some(state));
        let values = parts.and_then(|(_, values)| inner(values));
        let values = values.filter(|values| values.split(',').count() == names.len());
        let Some(values) = values else {
            let expected = format!("state {state} with {} values, such as {state}:(3,true)", names.len());
            return Err(lines.error(wrong(text.as_bytes(), &expected)));
        };
        for (place, (name, value)) in names.iter().zip(values.split(',')).enumerate() {
            valuations.set(state, place, name, Value::parse(value.trim()));
        }
    }
    Ok(valuations.build(states))
}

/// The name of a reward structure, which stands in a comment before all else.
fn named(lines: &mut Lines, name: &mut String) -> Result<bool> {
    while lines.advance()? {
        let line = lines.text()?.trim();
        match line.strip_prefix('#') {
            Some(comment) => {
                let quoted = comment.trim().strip_prefix("Reward structure").map(str::trim);
                if let Some(found) = quoted.and_then(|name| name.strip_prefix('"')?.strip_suffix('"')) {
                    *name = found.to_owned();
                }
            }
            None if line.is_empty() => {}
            None => return Ok(true),
        }
    }
    Ok(false)
}

/// Reads the header of a file of rewards: `states rewards`, with the number of choices between them for transitions of an
/// MDP. Returns how many rewards there are.
fn reward_header(
    lines: &mut Lines,
    states: usize,
    numbers: usize,
    name: &mut String,
) -> Result<(usize, u64)> {
    let expected = if numbers == 2 { "\"states rewards\"" } else { "\"states choices rewards\"" };
    if !named(lines, name)? {
        return Err(lines.error_at(lines.number() + 1, format!("the file ends; expected {expected}")));
    }
    let words = lines.line().split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let sizes: Option<Vec<usize>> = words.map(whole).collect();
    match sizes.filter(|sizes| sizes.len() == numbers) {
        Some(sizes) if sizes[0] == states => Ok((sizes[numbers - 1], lines.number())),
        Some(sizes) => Err(lines.error(format!("it is about {} states; expected {states}", sizes[0]))),
        None => Err(lines.error(wrong(lines.line(), expected))),
    }
}

fn check_count(lines: &Lines, found: usize, (expected, line): (usize, u64)) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let cut = if found < expected { "; the file is cut short" } else { "" };
    Err(lines.error_at(line, format!("there are {found} rewards; expected {expected}{cut}")))
}

fn state_rewards(lines: &mut Lines, states: usize, name: &mut String) -> Result<Vec<f64>> {
    let count = reward_header(lines, states, 2, name)?;
    let (mut rewards, mut found) = (vec![0.0; if count.0 == 0 { 0 } else { states }], 0);
    while advance(lines)? {
        let (state, rest) = index(lines, lines.line().trim_ascii(), "state", states)?;
        found += 1;
        if found > count.0 {
            return Err(
                lines.error(format!("there are more rewards than the {} of line {}", count.0, count.1))
            );
        }
        rewards[state] = value(lines, rest.trim_ascii())?;
    }
    check_count(lines, found, count)?;
    Ok(rewards)
}

fn transition_rewards(
    lines: &mut Lines,
    model: &ExplicitModel,
    is_chain: bool,
    name: &mut String,
) -> Result<Vec<f64>> {
    let count = reward_header(lines, model.states(), if is_chain { 2 } else { 3 }, name)?;
    let (mut rewards, mut found) = (vec![0.0; if count.0 == 0 { 0 } else { model.transitions() }], 0);
    while advance(lines)? {
        let (state, rest) = index(lines, lines.line().trim_ascii(), "state", model.states())?;
        let choices = model.choices_of(state);
        let (action, rest) = match is_chain {
            true => (0, rest),
            false => index(lines, rest, "choice", choices.len())?,
        };
        let (target, rest) = index(lines, rest, "state", model.states())?;
        let earned = value(lines, word(rest).0)?;
        let mut transitions = model.transitions_of(choices.start + action);
        let place = transitions.find(|transition| model.targets()[*transition] as usize == target);
        let Some(place) = place else {
            let message = format!("choice {action} of state {state} has no transition to state {target}");
            return Err(lines.error(message));
        };
        found += 1;
        if found > count.0 {
            return Err(
                lines.error(format!("there are more rewards than the {} of line {}", count.0, count.1))
            );
        }
        rewards[place] = earned;
    }
    check_count(lines, found, count)?;
    Ok(rewards)
}
