//! The world that a problem asks for, made of a model.

use std::collections::HashMap;

use super::memory::{MOST_LABELS, Memory};
use super::{ExplicitModel, Label, RewardStructure};
use crate::env::{TabularMdp, TabularMdpBuilder};
use crate::error::{Error, Result, in_range, not_too_large};
use crate::measurement::Measures;

/// What a problem asks of a model, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Asked {
    /// The reward structures that are measures; all of them unless said.
    pub rewards: Option<Vec<String>>,
    /// Labels whose probability of being reached is a measure.
    pub reach: Vec<String>,
    /// Labels whose expected number of steps is a measure.
    pub time: Vec<String>,
    /// Reward structures whose long-run average a step is a measure.
    pub average: Vec<String>,
    /// Labels whose share of all time is a measure.
    pub share: Vec<String>,
    /// Labels whose states end the episode.
    pub end: Vec<String>,
}

/// The measure that is the probability of reaching a label.
pub fn reach(label: &str) -> String {
    format!("reach({label})")
}

/// The measure that is the expected number of steps in a label.
pub fn time(label: &str) -> String {
    format!("time({label})")
}

/// The measure that is the long-run average of a reward structure.
pub fn average(structure: &str) -> String {
    format!("average({structure})")
}

/// The measure that is the share of all time spent in a label.
pub fn share(label: &str) -> String {
    format!("share({label})")
}

impl ExplicitModel {
    /// The label of this name.
    pub fn label(&self, name: &str) -> Result<&Label> {
        self.labels.iter().find(|label| label.name == name).ok_or_else(|| Error::UnknownName {
            what: "label",
            name: name.into(),
            known: self.labels.iter().map(|label| label.name.clone()).collect(),
        })
    }

    /// The reward structure of this name.
    pub fn reward(&self, name: &str) -> Result<&RewardStructure> {
        let named = |structure: &&RewardStructure| structure.name == name || structure.measure() == name;
        self.rewards.iter().find(named).ok_or_else(|| Error::UnknownName {
            what: "reward structure",
            name: name.into(),
            known: self.rewards.iter().map(|structure| structure.measure().to_owned()).collect(),
        })
    }

    /// The world in which a problem is solved. Its measures are the reward structures, "steps" unless one of them has that
    /// name, then `reach(label)`, `time(label)`, `average(structure)` and `share(label)` for those asked for.
    ///
    /// A state that can't be left and in which nothing is earned ends the episode; its steps are not counted. Where
    /// nothing must be remembered, the states are those of the model, in its order; otherwise a state stands there once
    /// for each of the sets of labels that may have been reached before it.
    pub fn world(&self, asked: &Asked) -> Result<TabularMdp> {
        let world = World::new(self, asked)?;
        match world.memory.is_needed()
            || self.start.iter().any(|(state, _)| world.is_special(*state as usize))
        {
            true => world.product(),
            false => world.plain(),
        }
    }
}

/// A model, and what is measured in it.
struct World<'a> {
    model: &'a ExplicitModel,
    /// What is earned, by entry.
    rewards: Vec<(usize, &'a RewardStructure)>,
    /// The entry of the steps, where they are counted.
    steps: Option<usize>,
    /// The first entry of what is reached.
    reached: usize,
    memory: Memory,
    /// The first entry of the times and that of the shares of time, each with every state's labels as bits.
    times: [Times; 2],
    ends: Vec<bool>,
    measures: Measures,
}

impl<'a> World<'a> {
    fn new(model: &'a ExplicitModel, asked: &Asked) -> Result<Self> {
        let all = |names: &[String]| names.iter().map(|name| model.label(name)).collect::<Result<Vec<_>>>();
        let (reach_labels, end_labels) = (all(&asked.reach)?, all(&asked.end)?);
        let (time_labels, share_labels) = (all(&asked.time)?, all(&asked.share)?);
        for labels in [&reach_labels, &time_labels, &share_labels] {
            let (count, expected) = (labels.len(), format!("at most {MOST_LABELS}"));
            in_range("the number of labels asked for", count as f64, count <= MOST_LABELS, &expected)?;
        }
        let structures =
            |names: &[String]| names.iter().map(|name| model.reward(name)).collect::<Result<Vec<_>>>();
        let rewards = match &asked.rewards {
            Some(names) => structures(names)?,
            None => model.rewards.iter().collect(),
        };
        let averages = structures(&asked.average)?;
        let mut names: Vec<String> = rewards.iter().map(|structure| structure.measure().to_owned()).collect();
        let steps = (!names.iter().any(|name| name == "steps")).then_some(names.len());
        names.extend(steps.map(|_| "steps".into()));
        let reached = names.len();
        names.extend(asked.reach.iter().map(|label| reach(label)));
        let first_time = names.len();
        names.extend(asked.time.iter().map(|label| time(label)));
        let first_average = names.len();
        names.extend(averages.iter().map(|structure| average(structure.measure())));
        let first_share = names.len();
        names.extend(asked.share.iter().map(|label| share(label)));
        for (i, name) in names.iter().enumerate() {
            if names[..i].contains(name) {
                return Err(Error::Model(format!("there are two measures \"{name}\"; leave one out")));
            }
        }
        let measures = Measures::new(names.iter().map(|name| (name.as_str(), 1)));
        let measures = measures.averaging(first_average..names.len());
        let times =
            [Times::new(model, first_time, &time_labels), Times::new(model, first_share, &share_labels)];
        let rewards: Vec<_> =
            rewards.into_iter().enumerate().chain((first_average..).zip(averages)).collect();
        let mut ends: Vec<bool> = (0..model.states())
            .map(|state| times.iter().all(|times| times.of(state) == 0) && model.is_idle(state, &rewards))
            .collect();
        for label in end_labels {
            label.states.iter().for_each(|state| ends[*state as usize] = true);
        }
        let sets: Vec<&[u32]> = reach_labels.iter().map(|label| label.states.as_slice()).collect();
        let memory = Memory::new(model, &sets, &ends);
        Ok(Self { model, rewards, steps, reached, memory, times, ends, measures })
    }

    /// Whether an episode that starts in a state differs from one that comes by: what holds there is reached at once, and
    /// where it ends there is one step to be taken, in which nothing else is measured.
    fn is_special(&self, state: usize) -> bool {
        self.ends[state] || self.memory.of(state) != 0
    }

    fn actions(&self) -> usize {
        let counts = (0..self.model.states()).filter(|state| !self.ends[*state]);
        counts.map(|state| self.model.choices_of(state).len()).max().unwrap_or(1).max(1)
    }

    /// What is measured by a transition, when these labels are reached in it for the first time.
    fn measured(&self, place: (usize, usize, usize), reached: u64, z: &mut Vec<(usize, f64)>) {
        let (state, choice, transition) = place;
        z.clear();
        for (entry, structure) in &self.rewards {
            let earned = structure.earned(state, choice, transition);
            if earned != 0.0 {
                z.push((*entry, earned));
            }
        }
        z.extend(self.steps.map(|entry| (entry, 1.0)));
        z.extend(bits(reached).map(|bit| (self.reached + bit, 1.0)));
        for times in &self.times {
            z.extend(bits(times.of(state)).map(|bit| (times.first + bit, 1.0)));
        }
    }

    /// A world of so many states, whose transitions are kept where the model's are.
    fn builder(&self, states: usize) -> TabularMdpBuilder {
        let mut builder = TabularMdp::builder(states, self.actions(), self.measures.clone());
        builder.keep_transitions(self.model.targets.is_in_file());
        builder
    }

    /// The states as they are.
    fn plain(&self) -> Result<TabularMdp> {
        let model = self.model;
        let mut builder = self.builder(model.states());
        for &(state, probability) in &model.start {
            builder.start(state as usize, probability);
        }
        let mut z = Vec::new();
        for state in 0..model.states() {
            if self.ends[state] {
                builder.terminal(state);
                continue;
            }
            builder.available(state, model.choices_of(state).len());
            for (action, choice) in model.choices_of(state).enumerate() {
                let sum: f64 = model.probabilities[model.transitions_of(choice)].iter().sum();
                for transition in model.transitions_of(choice) {
                    let target = model.targets[transition] as usize;
                    let reached = self.memory.of(target) & !self.memory.of(state);
                    self.measured((state, choice, transition), reached, &mut z);
                    builder.transition((state, action), model.probabilities[transition] / sum, target, &z);
                }
            }
        }
        builder.build()
    }

    /// The states with what was reached before them, as far as the start leads to them.
    fn product(&self) -> Result<TabularMdp> {
        let model = self.model;
        let mut product = Product::default();
        let start: Vec<(usize, f64)> = model
            .start
            .iter()
            .map(|&(state, probability)| {
                let first = if self.is_special(state as usize) { FIRST } else { 0 };
                (product.index(state, first), probability)
            })
            .collect();
        // The number of states is known when all have been looked at.
        let mut place = 0;
        while place < product.states.len() {
            let (state, memory) = product.states[place];
            not_too_large(
                "the states with what was reached before them",
                &[product.states.len()],
                MOST_STATES,
            )?;
            place += 1;
            if self.ends[state as usize] {
                if memory == FIRST {
                    product.index(state, 0);
                }
                continue;
            }
            for choice in model.choices_of(state as usize) {
                for transition in model.transitions_of(choice) {
                    let target = model.targets[transition];
                    product.index(target, self.after(state as usize, memory, target as usize).0);
                }
            }
        }
        let mut builder = self.builder(product.states.len());
        for (state, probability) in start {
            builder.start(state, probability);
        }
        let mut z = Vec::new();
        for place in 0..product.states.len() {
            let (state, memory) = product.states[place];
            let at = state as usize;
            match (self.ends[at], memory == FIRST) {
                (true, true) => {
                    let z: Vec<_> = bits(self.memory.of(at)).map(|bit| (self.reached + bit, 1.0)).collect();
                    builder.available(place, 1).transition((place, 0), 1.0, product.index(state, 0), &z);
                    continue;
                }
                (true, false) => {
                    builder.terminal(place);
                    continue;
                }
                _ => {}
            }
            builder.available(place, model.choices_of(at).len());
            for (action, choice) in model.choices_of(at).enumerate() {
                let sum: f64 = model.probabilities[model.transitions_of(choice)].iter().sum();
                for transition in model.transitions_of(choice) {
                    let target = model.targets[transition];
                    let (next, reached) = self.after(at, memory, target as usize);
                    self.measured((at, choice, transition), reached, &mut z);
                    let probability = model.probabilities[transition] / sum;
                    builder.transition((place, action), probability, product.index(target, next), &z);
                }
            }
        }
        builder.build()
    }

    /// What is remembered after a transition, and what was reached in it for the first time.
    fn after(&self, state: usize, memory: u64, target: usize) -> (u64, u64) {
        let (here, there) = (self.memory.of(state), self.memory.of(target));
        let before = if memory == FIRST { 0 } else { memory | here };
        (self.memory.kept(target, before | here | there), (here | there) & !before)
    }
}

/// Labels whose steps are counted, each by an entry of its own.
struct Times {
    first: usize,
    /// The labels of each state, as bits; empty where there are none.
    labels: Vec<u64>,
}

impl Times {
    fn new(model: &ExplicitModel, first: usize, counted: &[&Label]) -> Self {
        let mut labels = vec![0u64; if counted.is_empty() { 0 } else { model.states() }];
        for (bit, label) in counted.iter().enumerate() {
            label.states.iter().for_each(|state| labels[*state as usize] |= 1 << bit);
        }
        Self { first, labels }
    }

    fn of(&self, state: usize) -> u64 {
        self.labels.get(state).copied().unwrap_or(0)
    }
}

/// The most states that remember something.
const MOST_STATES: usize = 200_000_000;

/// What is remembered where an episode starts in a state that has labels, or ends in it.
const FIRST: u64 = 1 << MOST_LABELS;

/// States with what is remembered in them, numbered in the order in which they were found.
#[derive(Default)]
struct Product {
    states: Vec<(u32, u64)>,
    known: HashMap<(u32, u64), u32>,
}

impl Product {
    fn index(&mut self, state: u32, memory: u64) -> usize {
        *self.known.entry((state, memory)).or_insert_with(|| {
            self.states.push((state, memory));
            self.states.len() as u32 - 1
        }) as usize
    }
}

fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}

impl ExplicitModel {
    /// Whether nothing happens in a state any more: every choice stays there, and none earns anything.
    fn is_idle(&self, state: usize, rewards: &[(usize, &RewardStructure)]) -> bool {
        let stays = |choice: usize| {
            self.transitions_of(choice).all(|transition| {
                self.targets[transition] as usize == state
                    && rewards.iter().all(|(_, structure)| structure.earned(state, choice, transition) == 0.0)
            })
        };
        self.choices_of(state).all(stays)
    }
}
