use std::collections::HashMap;

use super::Dataset;
use crate::env::{TabularMdp, countable};
use crate::error::{Result, not_too_large};
use crate::measurement::Measures;

/// Entries of a table of states and actions at most.
const MOST_ENTRIES: usize = 200_000_000;

/// What a data set says of a world whose observations and actions can be counted: transitions as often as they were logged.
///
/// Fitted Q iteration with a table is planning in this model, and fitted Q evaluation is evaluation in it.
///
/// It has a state for every observation and one more, where episodes end. An observation in which nothing was logged is an
/// end, too: what follows is not known. An action that was not logged in a state does there what the one logged most often
/// does, so that a plan can be carried out by actions that were logged. The last measure counts how often episodes come to
/// where nothing was logged.
#[derive(Debug)]
pub struct Empirical {
    states: usize,
    actions: usize,
    measures: Measures,
    /// State, action, next state and what is measured, each once.
    transitions: Vec<(usize, usize, usize, Vec<(usize, f64)>)>,
    /// Which transition each row is.
    rows: Vec<u32>,
    /// The first state and the number of steps of every episode.
    episodes: Vec<(usize, usize)>,
    /// The action that stands for each, `[state * actions + action]`; `u32::MAX` where nothing was logged.
    taken: Vec<u32>,
}

/// What stands for an action in a state without any.
const NONE: u32 = u32::MAX;

impl Empirical {
    /// What a data set says. Its observations and actions must be counted.
    pub fn new(dataset: &Dataset) -> Result<Self> {
        let (states, actions) = countable("a table", &dataset.observations, &dataset.actions)?;
        not_too_large("states times actions", &[states, actions], MOST_ENTRIES)?;
        let dim = dataset.measures.dim();
        let names = dataset.measures.iter().map(|(name, range)| (name, range.len()));
        let measures = Measures::new(names.chain([("not logged", 1)]));
        let mut counts = vec![0usize; states * actions];
        for episode in dataset.episodes() {
            for (seen, done) in episode.observations.iter().zip(episode.actions) {
                counts[*seen as usize * actions + *done as usize] += 1;
            }
        }
        let mut taken = Vec::with_capacity(counts.len());
        for counts in counts.chunks_exact(actions) {
            let most = counts.iter().enumerate().rev().max_by_key(|(_, count)| **count);
            let usual = most.filter(|(_, count)| **count > 0).map_or(NONE, |(action, _)| action as u32);
            taken.extend(counts.iter().enumerate().map(|(action, count)| match count {
                0 => usual,
                _ => action as u32,
            }));
        }
        let is_unknown = |state: usize| taken[state * actions] == NONE;
        let (mut transitions, mut known, mut rows) = (Vec::new(), HashMap::new(), Vec::new());
        let mut episodes = Vec::new();
        for episode in dataset.episodes() {
            episodes.push((episode.observations[0] as usize, episode.steps));
            for step in 0..episode.steps {
                let [state, after] = [step, step + 1].map(|row| episode.observations[row] as usize);
                let action = episode.actions[step] as usize;
                let is_end = episode.is_terminated && step + 1 == episode.steps;
                let next = if is_end { states } else { after };
                let z = episode.z[step * dim..(step + 1) * dim].iter().copied().enumerate();
                let mut z: Vec<(usize, f64)> = z.filter(|(_, value)| *value != 0.0).collect();
                if !is_end && is_unknown(after) {
                    z.push((dim, 1.0));
                }
                let bits: Vec<(usize, u64)> = z.iter().map(|(i, value)| (*i, value.to_bits())).collect();
                let row = *known.entry((state, action, next, bits)).or_insert_with(|| {
                    transitions.push((state, action, next, z));
                    transitions.len() as u32 - 1
                });
                rows.push(row);
            }
        }
        Ok(Self { states, actions, measures, transitions, rows, episodes, taken })
    }

    /// Observations.
    pub fn states(&self) -> usize {
        self.states
    }

    /// Actions.
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// Episodes.
    pub fn episodes(&self) -> usize {
        self.episodes.len()
    }

    /// The action that was logged in a state and stands for this one; `None` where nothing was logged.
    pub fn taken(&self, state: usize, action: usize) -> Option<usize> {
        Some(self.taken[state * self.actions + action])
            .filter(|taken| *taken != NONE)
            .map(|taken| taken as usize)
    }

    /// The model in which every episode counts for so much. Weights are above 0.
    pub fn model(&self, weight: impl Fn(usize) -> f64) -> Result<TabularMdp> {
        let mut model = TabularMdp::builder(self.states + 1, self.actions, self.measures.clone());
        let mut starts = vec![0.0; self.states];
        let mut weights = vec![0.0; self.transitions.len()];
        let (mut first, mut total) = (0, 0.0);
        for (episode, (start, steps)) in self.episodes.iter().enumerate() {
            let weight = weight(episode);
            starts[*start] += weight;
            total += weight;
            self.rows[first..first + steps].iter().for_each(|row| weights[*row as usize] += weight);
            first += steps;
        }
        for (state, weight) in starts.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            model.start(state, weight / total);
        }
        model.terminal(self.states);
        (0..self.states).filter(|state| self.taken(*state, 0).is_none()).for_each(|state| {
            model.terminal(state);
        });
        let mut totals = vec![0.0; self.states * self.actions];
        for ((state, action, ..), weight) in self.transitions.iter().zip(&weights) {
            totals[state * self.actions + action] += weight;
        }
        for ((state, action, next, z), weight) in self.transitions.iter().zip(&weights) {
            let probability = weight / totals[state * self.actions + action];
            for other in (0..self.actions).filter(|other| self.taken(*state, *other) == Some(*action)) {
                model.transition((*state, other), probability, *next, z);
            }
        }
        model.build()
    }
}
