use std::fmt::Write;
use std::path::Path;

use appropo::env::explicit::{ExplicitModel, RewardStructure, Values};
use appropo::outcome::{count, number};
use appropo_file::Reader;
use appropo_file::model::{Format, encode, read};
use appropo_run::write_whole;

use crate::{Failure, Output};

/// How many names of a kind are shown.
const SHOWN: usize = 20;

/// Shows a model, or some of its states, or writes it in another format.
pub fn run(file: &str, states: &[usize], out: Option<&str>) -> Result<Output, Failure> {
    if let Some(out) = out {
        // Before anything is read.
        Format::of(out).map_err(|error| Failure::Input(error.to_string()))?;
        if Path::new(out).exists() {
            return Err(appropo_run::Error::Taken { path: out.into() }.into());
        }
    }
    let model = load(file)?;
    if let Some(out) = out {
        let bytes = encode(&model, out).map_err(|error| Failure::Input(error.to_string()))?;
        write_whole(Path::new(out), &bytes)?;
        return Ok(Output::of(format!("{out}: {}; checksum {}\n", size(&model), model.checksum())));
    }
    if states.is_empty() {
        return Ok(Output::of(summary(file, &model)));
    }
    let mut text = String::new();
    for &index in states {
        if index >= model.states() {
            let last = model.states() - 1;
            return Err(Failure::Input(format!(
                "{file}: state {index} does not exist; expected one from 0 to {last}"
            )));
        }
        state(&mut text, &model, index);
    }
    Ok(Output::of(text))
}

/// The model of a file, or the world of a problem as one.
fn load(file: &str) -> Result<ExplicitModel, Failure> {
    if Format::of(file).is_ok() {
        return read(Path::new(file)).map_err(|error| Failure::Input(error.to_string()));
    }
    let problem = Reader::default().load(file)?.problem;
    match problem.env().model() {
        Some(world) => Ok(ExplicitModel::of_world(world)?),
        None => Err(Failure::Input(format!("{file}: the world has no model, so there is nothing to show"))),
    }
}

fn size(model: &ExplicitModel) -> String {
    let [states, choices, transitions] = [
        count(model.states(), "state", "states"),
        count(model.choices(), "choice", "choices"),
        count(model.transitions(), "transition", "transitions"),
    ];
    format!("{states}, {choices}, {transitions}")
}

fn summary(file: &str, model: &ExplicitModel) -> String {
    let kind = if model.is_chain() { "a Markov chain" } else { "a Markov decision process" };
    let mut text = format!("{file}: {kind}\n\nsize        {}\n", size(model));
    let start = model.start().iter().map(|(state, _)| state.to_string());
    let evenly = match (model.start().len(), model.starts_evenly()) {
        (1, _) => "",
        (_, true) => ", each as likely as the others",
        (_, false) => ", with different probabilities",
    };
    let _ = writeln!(text, "start       {}{evenly}", list(start));
    let rewards =
        model.rewards().iter().map(|structure| format!("{} ({})", structure.measure(), of(structure)));
    let labels = model.labels().iter();
    let labels =
        labels.map(|label| format!("{} ({})", label.name, count(label.states.len(), "state", "states")));
    let choices =
        model.choice_labels().map(|labels| labels.names.iter().filter(|name| !name.is_empty()).cloned());
    let variables = model.valuations().map(|valuations| {
        valuations.variables.iter().map(|variable| format!("{} ({})", variable.name, range(&variable.values)))
    });
    let rows = [
        ("rewards", list(rewards)),
        ("labels", list(labels)),
        ("choices", choices.map_or("none".into(), list)),
        ("variables", variables.map_or("none".into(), list)),
        ("checksum", model.checksum()),
    ];
    for (name, what) in rows {
        let _ = writeln!(text, "{name:<11} {what}");
    }
    text
}

fn list(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.len() {
        0 => "none".into(),
        count if count > SHOWN => format!("{} and {} more", names[..SHOWN].join(", "), count - SHOWN),
        _ => names.join(", "),
    }
}

/// Where a structure has rewards.
fn of(structure: &RewardStructure) -> String {
    let lists = [
        ("states", structure.states.as_slice()),
        ("choices", &structure.choices),
        ("transitions", &structure.transitions),
    ];
    let words: Vec<&str> = lists.iter().filter(|(_, list)| !list.is_empty()).map(|(word, _)| *word).collect();
    if words.is_empty() { "all 0".into() } else { words.join(", ") }
}

fn range(values: &Values) -> String {
    match values {
        Values::Flags(_) => "true or false".into(),
        Values::Integers(values) => {
            let bounds = (values.iter().min().unwrap_or(&0), values.iter().max().unwrap_or(&0));
            format!("{} to {}", bounds.0, bounds.1)
        }
        Values::Numbers(_) => "numbers".into(),
        Values::Texts(texts, _) => count(texts.len(), "text", "texts"),
    }
}

/// A state with all that belongs to it.
fn state(text: &mut String, model: &ExplicitModel, index: usize) {
    let _ = write!(text, "state {index}");
    if let Some(valuations) = model.valuations() {
        text.push_str(": ");
        valuations.write(index, ", ", text);
    }
    text.push('\n');
    let labels = model.labels().iter().filter(|label| label.states.binary_search(&(index as u32)).is_ok());
    let names: Vec<&str> = labels.map(|label| label.name.as_str()).collect();
    if !names.is_empty() {
        let _ = writeln!(text, "  labels: {}", names.join(", "));
    }
    earned(text, model, "  ", |structure| structure.states.get(index).copied());
    for (action, choice) in model.choices_of(index).enumerate() {
        let name = model.choice_label(choice).map_or(String::new(), |name| format!(" \"{name}\""));
        let _ = writeln!(text, "  choice {action}{name}");
        earned(text, model, "    ", |structure| structure.choices.get(choice).copied());
        for transition in model.transitions_of(choice) {
            let (target, probability) = (model.targets()[transition], model.probabilities()[transition]);
            let _ = writeln!(text, "    {} to state {target}", number(probability));
            earned(text, model, "      ", |structure| structure.transitions.get(transition).copied());
        }
    }
}

fn earned(
    text: &mut String,
    model: &ExplicitModel,
    indent: &str,
    value: impl Fn(&RewardStructure) -> Option<f64>,
) {
    for structure in model.rewards() {
        if let Some(value) = value(structure).filter(|value| *value != 0.0) {
            let _ = writeln!(text, "{indent}{}: {}", structure.measure(), number(value));
        }
    }
}
