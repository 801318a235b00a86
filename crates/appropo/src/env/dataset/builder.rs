use std::collections::HashSet;
use std::sync::OnceLock;

use super::{Dataset, Extent, Space};
use crate::error::{Error, Result};
use crate::measurement::Measures;

/// Larger measurements overflow when a network squares them.
const LARGEST: f64 = 1e15;
/// How far beyond its bounds a number may lie, relative to them: single precision rounds.
const ROUNDING: f64 = 1e-6;

/// A step of a logged episode.
#[derive(Debug, Clone, Copy, Default)]
pub struct Step<'a> {
    /// The number of its episode, which no other has.
    pub episode: u64,
    /// Its number within the episode, from 0.
    pub step: u64,
    /// What was seen.
    pub observation: &'a [f64],
    /// What was done.
    pub action: &'a [f64],
    /// What was measured.
    pub z: &'a [f64],
    /// What was seen then.
    pub next_observation: &'a [f64],
    /// Whether the episode came to its end.
    pub terminated: bool,
    /// Whether it was cut off.
    pub truncated: bool,
}

/// Collects the steps of a [`Dataset`], in order, and refuses those that make no episodes.
#[derive(Debug)]
pub struct DatasetBuilder {
    dataset: Dataset,
    known: HashSet<u64>,
    /// The episode that goes on, its next step, and what is seen there.
    open: Option<(u64, u64, Vec<f64>)>,
    rows: usize,
}

impl DatasetBuilder {
    pub(super) fn new(measures: Measures, observations: Space, actions: Space) -> Self {
        let dataset = Dataset {
            name: String::new(),
            measures,
            observations,
            actions,
            episodes: Vec::new(),
            seen: Vec::new(),
            done: Vec::new(),
            z: Vec::new(),
            checksum: OnceLock::new(),
        };
        Self { dataset, known: HashSet::new(), open: None, rows: 0 }
    }

    /// The same for a data set of this name, which errors begin with.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.dataset.name = name.into();
        self
    }

    /// Adds a step.
    pub fn push(&mut self, step: &Step) -> Result<()> {
        self.rows += 1;
        let bad =
            |problem: String| Error::Dataset { file: self.dataset.name.clone(), row: self.rows, problem };
        self.check_order(step).map_err(bad)?;
        self.check_numbers(step).map_err(bad)?;
        if self.open.is_none() {
            self.known.insert(step.episode);
            let first = self.dataset.steps_before();
            self.dataset.episodes.push(Extent { first, steps: 0, is_terminated: false });
            self.dataset.seen.extend_from_slice(step.observation);
        }
        self.dataset.seen.extend_from_slice(step.next_observation);
        self.dataset.done.extend_from_slice(step.action);
        self.dataset.z.extend_from_slice(step.z);
        if let Some(episode) = self.dataset.episodes.last_mut() {
            episode.steps += 1;
            episode.is_terminated = step.terminated;
        }
        let goes_on = !(step.terminated || step.truncated);
        self.open = goes_on.then(|| (step.episode, step.step + 1, step.next_observation.to_vec()));
        Ok(())
    }

    /// The data set, if every episode has its end.
    pub fn build(self) -> Result<Dataset> {
        let bad =
            |problem: String| Error::Dataset { file: self.dataset.name.clone(), row: self.rows, problem };
        match &self.open {
            Some((episode, ..)) => Err(bad(format!(
                "episode {episode} never ends: its last row has neither terminated nor truncated; write truncated where a log breaks off"
            ))),
            None if self.rows == 0 => Err(bad("there are no steps; expected one episode or more".into())),
            None => Ok(self.dataset),
        }
    }

    fn check_order(&self, step: &Step) -> std::result::Result<(), String> {
        let Step { episode, step: number, .. } = *step;
        match &self.open {
            None if self.known.contains(&episode) => Err(format!(
                "episode {episode} has ended in an earlier row; expected the number of another episode"
            )),
            None if number != 0 => {
                Err(format!("step is {number} in the first row of episode {episode}; expected 0"))
            }
            Some((open, ..)) if *open != episode => Err(format!(
                "episode {episode} begins, but episode {open} never ended: its last row has neither terminated nor truncated"
            )),
            Some((_, next, _)) if *next != number => Err(format!(
                "step is {number} in episode {episode}; expected {next}, the one after the last row's"
            )),
            Some((_, _, seen)) if seen != step.observation => Err(format!(
                "the observation is {}; expected {}, the next observation of the row before",
                shown(step.observation),
                shown(seen)
            )),
            _ => Ok(()),
        }
    }

    fn check_numbers(&self, step: &Step) -> std::result::Result<(), String> {
        let Dataset { observations, actions, measures, .. } = &self.dataset;
        inside("observation", step.observation, observations)?;
        inside("next observation", step.next_observation, observations)?;
        inside("action", step.action, actions)?;
        if step.z.len() != measures.dim() {
            return Err(format!("{} measurements; expected {}", step.z.len(), measures.dim()));
        }
        let is_wrong = |value: &f64| !(value.abs() <= LARGEST);
        let Some(place) = step.z.iter().position(is_wrong) else { return Ok(()) };
        let name = measures.iter().find(|(_, range)| range.contains(&place)).map_or("", |(name, _)| name);
        Err(format!(
            "the measure \"{name}\" is {}; expected a finite number of at most 1e15 in size",
            step.z[place]
        ))
    }
}

impl Dataset {
    /// Steps of the episodes so far.
    fn steps_before(&self) -> usize {
        self.episodes.last().map_or(0, |extent| extent.first + extent.steps)
    }
}

/// Whether numbers are an element of a space.
fn inside(what: &str, numbers: &[f64], space: &Space) -> std::result::Result<(), String> {
    if numbers.len() != space.entries() {
        return Err(format!("the {what} has {} numbers; expected {}", numbers.len(), space.entries()));
    }
    match space {
        Space::Discrete(count) => {
            let number = numbers[0];
            // Written so that NaN is refused.
            let is_one = number >= 0.0 && number < *count as f64 && number.fract() == 0.0;
            if is_one { Ok(()) } else { Err(format!("the {what} is {number}; expected {}", words(*count))) }
        }
        Space::Continuous(bounds) => {
            for (i, (number, (low, high))) in numbers.iter().zip(bounds).enumerate() {
                let room = |bound: f64| ROUNDING * (1.0 + bound.abs());
                let is_inside = number.is_finite()
                    && (*low == f64::NEG_INFINITY || *number >= low - room(*low))
                    && (*high == f64::INFINITY || *number <= high + room(*high));
                if !is_inside {
                    let expected = match (low.is_finite(), high.is_finite()) {
                        (false, false) => "a finite number".into(),
                        _ => format!("a number from {low} to {high}"),
                    };
                    return Err(format!("entry {i} of the {what} is {number}; expected {expected}"));
                }
            }
            Ok(())
        }
    }
}

fn words(count: usize) -> String {
    match count {
        1 => "0".into(),
        count => format!("a whole number from 0 to {}", count - 1),
    }
}

fn shown(numbers: &[f64]) -> String {
    match numbers {
        [number] => number.to_string(),
        numbers if numbers.len() <= 6 => format!("{numbers:?}"),
        numbers => format!("{:?} and on", &numbers[..6]),
    }
}
