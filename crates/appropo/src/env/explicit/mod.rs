//! Models as probabilistic model checkers keep them: states, choices, transitions, rewards and labels.
//!
//! [`ExplicitModel`] holds what a file has. [`ExplicitModel::world`] makes the world of it that a problem asks for.

mod builder;
mod checksum;
mod memory;
mod of_world;
mod valuations;
mod world;

use std::ops::Range;

pub use builder::ModelBuilder;
pub use valuations::{Valuations, Values, Variable};
pub use world::{Asked, average, reach, share, time};

use super::Array;
use super::spec::{EnvEntry, HORIZON};
use crate::options::{Key, Kind};

/// The environment's name in problem files, which may be left out where the key of the same name is there.
pub const NAME: &str = "model";

/// The label that says where episodes start, in every format.
pub const START: &str = "init";

pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: NAME,
    about: "a model in the files of Storm, PRISM or Modest: DRN, UMB or explicit",
    keys: &[
        Key::required(
            "model",
            Kind::Name,
            "\"team.drn\"",
            "The file, beside the problem file unless its path says otherwise.",
        ),
        Key::optional(
            "checksum",
            Kind::Name,
            "\"9f86d0…\"",
            "The checksum of the model, so that another in its place is refused; a run writes it down.",
        ),
        Key::optional(
            "rewards",
            Kind::NamesOrNone,
            "[\"energy\"]",
            "The reward structures that are measures; by default all, and none where the list is empty.",
        ),
        Key::optional(
            "reach",
            Kind::Names,
            "[\"goal\"]",
            "Labels whose probability of being reached is a measure: \"reach(goal)\".",
        ),
        Key::optional(
            "time",
            Kind::Names,
            "[\"busy\"]",
            "Labels whose expected number of steps is a measure: \"time(busy)\".",
        ),
        Key::optional(
            "average",
            Kind::Names,
            "[\"power\"]",
            "Reward structures whose average a step, over all time, is a measure: \"average(power)\".",
        ),
        Key::optional(
            "share",
            Kind::Names,
            "[\"busy\"]",
            "Labels whose share of all time is a measure: \"share(busy)\".",
        ),
        Key::optional("end", Kind::Names, "[\"done\"]", "Labels whose states end the episode."),
        HORIZON,
    ],
    // A file is read by who reads the problem, which then calls `ExplicitModel::world`.
    read: |given, _| Err(given.require("model")?.error("this reader of problems reads no models")),
};

/// A Markov decision process as a file has it. A Markov chain is one with a single choice in every state.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplicitModel {
    is_chain: bool,
    start: Vec<(u32, f64)>,
    /// The first choice of each state, and the end.
    choices: Vec<u32>,
    /// The first transition of each choice, and the end.
    rows: Vec<u32>,
    targets: Array<u32>,
    probabilities: Array<f64>,
    rewards: Vec<RewardStructure>,
    labels: Vec<Label>,
    choice_labels: Option<ChoiceLabels>,
    valuations: Option<Valuations>,
}

/// What is earned: in a state, by a choice and in a transition, which add up. A list that is empty earns nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RewardStructure {
    /// Its name; empty for the one that has none.
    pub name: String,
    /// By every step that is taken in a state.
    pub states: Vec<f64>,
    /// By a choice.
    pub choices: Vec<f64>,
    /// By a transition.
    pub transitions: Array<f64>,
}

/// A set of states with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Its name.
    pub name: String,
    /// Its states, in order.
    pub states: Vec<u32>,
}

/// What choices are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoiceLabels {
    /// The names; that of a choice without one is empty.
    pub names: Vec<String>,
    /// Which name each choice has.
    pub of: Vec<u32>,
}

impl RewardStructure {
    /// The name of the measure.
    pub fn measure(&self) -> &str {
        if self.name.is_empty() { "reward" } else { &self.name }
    }

    /// What a transition of a choice of a state earns in all.
    pub fn earned(&self, state: usize, choice: usize, transition: usize) -> f64 {
        let of = |list: &[f64], index: usize| list.get(index).copied().unwrap_or(0.0);
        of(&self.states, state) + of(&self.choices, choice) + of(&self.transitions, transition)
    }
}

impl ExplicitModel {
    /// Whether it is a Markov chain: nothing is chosen.
    pub fn is_chain(&self) -> bool {
        self.is_chain
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.choices.len() - 1
    }

    /// Number of choices, over all states.
    pub fn choices(&self) -> usize {
        self.rows.len() - 1
    }

    /// Number of transitions.
    pub fn transitions(&self) -> usize {
        self.targets.len()
    }

    /// Where episodes start, with probabilities.
    pub fn start(&self) -> &[(u32, f64)] {
        &self.start
    }

    /// Whether all states where episodes start are equally likely, as they are in every file.
    pub fn starts_evenly(&self) -> bool {
        self.start.iter().all(|(_, probability)| *probability == self.start[0].1)
    }

    /// The choices of a state.
    pub fn choices_of(&self, state: usize) -> Range<usize> {
        self.choices[state] as usize..self.choices[state + 1] as usize
    }

    /// The transitions of a choice.
    pub fn transitions_of(&self, choice: usize) -> Range<usize> {
        self.rows[choice] as usize..self.rows[choice + 1] as usize
    }

    /// The state that each transition leads to.
    pub fn targets(&self) -> &[u32] {
        &self.targets
    }

    /// The probability of each transition. Those of a choice add up to 1 but for the digits that the file left out.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// The reward structures.
    pub fn rewards(&self) -> &[RewardStructure] {
        &self.rewards
    }

    /// The labels, without the one of the initial states.
    pub fn labels(&self) -> &[Label] {
        &self.labels
    }

    /// What choices are called, where they have names.
    pub fn choice_labels(&self) -> Option<&ChoiceLabels> {
        self.choice_labels.as_ref()
    }

    /// The name of a choice, where it has one.
    pub fn choice_label(&self, choice: usize) -> Option<&str> {
        let labels = self.choice_labels.as_ref()?;
        Some(labels.names[labels.of[choice] as usize].as_str()).filter(|name| !name.is_empty())
    }

    /// What variables are in every state, where that is known.
    pub fn valuations(&self) -> Option<&Valuations> {
        self.valuations.as_ref()
    }
}
