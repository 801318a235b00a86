//! Storm's explicit text, written.

use std::borrow::Cow;
use std::fmt::Write;

use appropo::env::explicit::{ExplicitModel, RewardStructure, START};

use super::drn::NO_LABEL;

/// A model as text. Rewards of transitions become those of their choices, by expectation: the format has no others.
pub fn write(model: &ExplicitModel) -> String {
    let kind = if model.is_chain() { "DTMC" } else { "MDP" };
    let mut out = format!(
        "// Exported by appropo\n@type: {kind}\n@value_type: double\n@parameters\n\n@reward_models\n"
    );
    for structure in model.rewards() {
        let _ = write!(out, "{} ", one_word(&structure.name));
    }
    let (states, choices) = (model.states(), model.choices());
    let _ = write!(out, "\n@nr_states\n{states}\n@nr_choices\n{choices}\n@model\n");
    let mut labels: Vec<(Cow<str>, std::iter::Peekable<std::slice::Iter<u32>>)> = model
        .labels()
        .iter()
        .map(|label| (label_name(&label.name), label.states.iter().peekable()))
        .collect();
    let mut start: Vec<u32> = model.start().iter().map(|(state, _)| *state).collect();
    start.sort_unstable();
    labels.push((START.into(), start.iter().peekable()));
    labels.sort_by(|a, b| a.0.cmp(&b.0));
    let has_state_rewards = model.rewards().iter().any(|structure| !structure.states.is_empty());
    let mut values = String::new();
    for state in 0..states {
        let _ = write!(out, "state {state}");
        if has_state_rewards {
            rewards(&mut out, model, |structure| structure.states.get(state).copied().unwrap_or(0.0));
        }
        for (name, states) in &mut labels {
            if states.next_if(|next| **next as usize == state).is_some() {
                let _ = write!(out, " {name}");
            }
        }
        out.push('\n');
        if let Some(valuations) = model.valuations() {
            values.clear();
            valuations.write(state, "\t& ", &mut values);
            // A name with the end of a line in it must not begin another.
            let _ = writeln!(out, "//[{}]", values.replace(['\n', '\r'], " "));
        }
        for (number, choice) in model.choices_of(state).enumerate() {
            match (model.choice_labels(), model.choice_label(choice)) {
                (None, _) => drop(write!(out, "\taction {number}")),
                (Some(_), name) => drop(write!(out, "\taction {}", name.map_or(NO_LABEL.into(), one_word))),
            }
            if !model.rewards().is_empty() {
                rewards(&mut out, model, |structure| of_choice(model, structure, choice));
            }
            out.push('\n');
            for transition in model.transitions_of(choice) {
                let _ = write!(out, "\t\t{} : ", model.targets()[transition]);
                number_to(&mut out, model.probabilities()[transition]);
                out.push('\n');
            }
        }
    }
    out
}

fn of_choice(model: &ExplicitModel, structure: &RewardStructure, choice: usize) -> f64 {
    let own = structure.choices.get(choice).copied().unwrap_or(0.0);
    if structure.transitions.is_empty() {
        return own;
    }
    let all = model.transitions_of(choice);
    let sum: f64 = model.probabilities()[all.clone()].iter().sum();
    own + all.map(|i| model.probabilities()[i] / sum * structure.transitions[i]).sum::<f64>()
}

fn rewards(out: &mut String, model: &ExplicitModel, value: impl Fn(&RewardStructure) -> f64) {
    for (i, structure) in model.rewards().iter().enumerate() {
        out.push_str(if i == 0 { " [" } else { ", " });
        number_to(out, value(structure));
    }
    out.push(']');
}

/// A number with as many digits as it takes to read the same one again.
fn number_to(out: &mut String, value: f64) {
    let _ = match value == 0.0 || (1e-5..1e16).contains(&value.abs()) {
        true => write!(out, "{value}"),
        false => write!(out, "{value:e}"),
    };
}

/// Names of choices and rewards end at a blank.
fn one_word(name: &str) -> Cow<'_, str> {
    match name.contains(|c: char| c.is_whitespace() || c == '[') {
        true => name.replace(|c: char| c.is_whitespace() || c == '[', "_").into(),
        false => name.into(),
    }
}

fn label_name(name: &str) -> Cow<'_, str> {
    match name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '"' || c == '[' || c == '!') {
        true => format!("\"{}\"", name.replace(['"', '\n', '\r'], "'")).into(),
        false => name.into(),
    }
}
