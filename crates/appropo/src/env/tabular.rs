use std::any::Any;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::outcomes::{OutcomeTable, Outcomes};
use super::rows::{MovedRows, Row, Rows, RowsBuilder, Successors, check_probability};
use crate::error::{Error, Result, finite, not_too_large};
use crate::measurement::{Measures, Selection};

/// A vector-valued Markov decision process with finitely many states and actions.
///
/// Transitions are stored by compressed rows, one row a *choice*, which is an action of a state; rows with the same
/// probabilities share them. What is measured belongs to a transition's *outcome*, a sparse vector; equal outcomes are stored
/// once, so a grid of n cells has n of them.
/// Entering a terminal state ends the episode. States may have fewer actions than others; an action that a state does not
/// have is its last one.
#[derive(Debug, Clone)]
pub struct TabularMdp {
    shape: Arc<Shape>,
    measures: Measures,
    outcomes: Outcomes,
}

#[derive(Debug)]
struct Shape {
    states: usize,
    actions: usize,
    start: Vec<(usize, f64)>,
    terminal: Vec<bool>,
    /// The first choice of each state, and the end.
    choices: Vec<u32>,
    rows: Rows,
    /// The states in which an action may have to be chosen, once they are asked for.
    decisions: OnceLock<Vec<bool>>,
    /// What was computed last, by what it was computed from.
    recent: Recent,
}

/// Things about as large as a number a state, the newest last, by what they were computed from.
type Recent = Mutex<VecDeque<([u8; 32], Arc<dyn Any + Send + Sync>)>>;

/// Numbers that are remembered at most, unless fewer than four such things fit.
const REMEMBERED: usize = 1 << 24;

/// One possible result of an action.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transition {
    /// Its probability.
    pub probability: f64,
    /// The state entered.
    pub next: u32,
    /// What is measured, as an index of [`TabularMdp::outcome`].
    pub outcome: u32,
}

impl TabularMdp {
    /// Starts a model with the given numbers of states and actions.
    pub fn builder(states: usize, actions: usize, measures: Measures) -> TabularMdpBuilder {
        TabularMdpBuilder {
            states,
            actions,
            measures,
            start: Vec::new(),
            terminal: vec![false; states],
            available: vec![narrow(actions); states],
            rows: RowsBuilder::new(false),
            outcomes: OutcomeTable::default(),
        }
    }

    /// Number of states, terminal ones included.
    pub fn states(&self) -> usize {
        self.shape.states
    }

    /// Number of actions, in the states that have the most.
    pub fn actions(&self) -> usize {
        self.shape.actions
    }

    /// Number of actions in `state`.
    pub fn actions_of(&self, state: usize) -> usize {
        self.choices_of(state).len()
    }

    /// Number of choices: of actions, over all states.
    pub fn choices(&self) -> usize {
        self.shape.rows.len()
    }

    /// The choices of a state.
    pub fn choices_of(&self, state: usize) -> Range<usize> {
        self.shape.choices[state] as usize..self.shape.choices[state + 1] as usize
    }

    /// The choice of `action` in `state`, of which there must be one.
    pub fn choice(&self, state: usize, action: usize) -> usize {
        let Range { start, end } = self.choices_of(state);
        (start + action).min(end - 1)
    }

    /// Number of stored transitions.
    pub fn transitions(&self) -> usize {
        self.shape.rows.transitions()
    }

    /// Whether transitions are kept in a file instead of in memory.
    pub fn is_in_file(&self) -> bool {
        self.shape.rows.is_in_file()
    }

    /// The entries of the measurement vector.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// The initial distribution β, as (state, probability).
    pub fn start(&self) -> &[(usize, f64)] {
        &self.shape.start
    }

    /// Whether entering `state` ends the episode.
    pub fn is_terminal(&self, state: usize) -> bool {
        self.shape.terminal[state]
    }

    /// The states that can be reached and are not terminal.
    pub(crate) fn decision_states(&self) -> &[bool] {
        self.shape.decisions.get_or_init(|| {
            let mut reached = vec![false; self.states()];
            let mut open: Vec<u32> = Vec::new();
            let enter = |state: usize, reached: &mut [bool], open: &mut Vec<u32>| {
                if !self.is_terminal(state) && !std::mem::replace(&mut reached[state], true) {
                    open.push(state as u32);
                }
            };
            self.start().iter().for_each(|&(state, _)| enter(state, &mut reached, &mut open));
            while let Some(state) = open.pop() {
                for choice in self.choices_of(state as usize) {
                    for (probability, next) in self.outcomes_of(choice).successors() {
                        if probability > 0.0 {
                            enter(next, &mut reached, &mut open);
                        }
                    }
                }
            }
            reached
        })
    }

    /// Something that depends on transitions and on what `key` stands for alone: what was computed before, for this world by any
    /// of its measures, or a new one.
    pub(crate) fn remembered<T: Any + Send + Sync>(
        &self,
        key: [u8; 32],
        compute: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        // Nothing is computed while it is locked: what is there is whole, whoever panicked.
        let recent = || self.shape.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let known = recent().iter().find(|(other, _)| *other == key).map(|(_, known)| Arc::clone(known));
        if let Some(known) = known.and_then(|known| known.downcast().ok()) {
            return Ok(known);
        }
        let computed = Arc::new(compute()?);
        let mut recent = recent();
        recent.push_back((key, computed.clone()));
        while recent.len() > 4 && recent.len() * self.states() > REMEMBERED {
            recent.pop_front();
        }
        Ok(computed)
    }

    /// What `action` in `state` can lead to.
    pub fn row(&self, state: usize, action: usize) -> Row<'_> {
        self.outcomes_of(self.choice(state, action))
    }

    /// What a choice can lead to.
    #[inline(always)]
    pub fn outcomes_of(&self, choice: usize) -> Row<'_> {
        self.shape.rows.get(choice)
    }

    /// Where all choices lead to.
    pub(crate) fn successors(&self) -> Successors<'_> {
        self.shape.rows.successors()
    }

    /// The measurement that belongs to an outcome, as (entry, value).
    pub fn outcome(&self, outcome: u32) -> &[(u32, f64)] {
        self.outcomes.get(outcome)
    }

    /// λ·z for every outcome.
    pub fn payoffs(&self, lam: &[f64]) -> Vec<f64> {
        self.outcomes.iter().map(|z| z.iter().map(|&(i, v)| lam[i as usize] * v).sum()).collect()
    }

    /// Σ |λᵢzᵢ| for every outcome: what the rounding of its payoff is relative to.
    pub(crate) fn payoff_sizes(&self, lam: &[f64]) -> Vec<f64> {
        self.outcomes.iter().map(|z| z.iter().map(|&(i, v)| (lam[i as usize] * v).abs()).sum()).collect()
    }

    /// The most transitions of a choice, and the most entries of an outcome.
    pub(crate) fn longest_sums(&self) -> (usize, usize) {
        (self.shape.rows.longest(), self.outcomes.iter().map(<[_]>::len).max().unwrap_or(0))
    }

    /// The expected scalar reward −λ·z of every choice.
    pub fn rewards(&self, lam: &[f64]) -> Vec<f64> {
        let payoffs = self.payoffs(lam);
        let rows = self.shape.rows.iter();
        rows.map(|row| -row.iter().map(|t| t.probability * payoffs[t.outcome as usize]).sum::<f64>())
            .collect()
    }

    /// Σ ρ(s, a) E[z | s, a] for an occupancy given as `(state, action) → mass`.
    pub fn measure(&self, mass: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut weights = vec![0.0; self.outcomes.len()];
        for state in (0..self.states()).filter(|&s| !self.is_terminal(s)) {
            for action in 0..self.actions() {
                let mass = mass(state, action);
                if mass != 0.0 {
                    for t in self.row(state, action) {
                        weights[t.outcome as usize] += mass * t.probability;
                    }
                }
            }
        }
        let mut z = vec![0.0; self.measures.dim()];
        for (outcome, weight) in self.outcomes.iter().zip(weights) {
            for &(i, v) in outcome {
                z[i as usize] += weight * v;
            }
        }
        z
    }

    /// B, the largest norm of a single step's measurement.
    pub fn measurement_bound(&self) -> f64 {
        let norm = |z: &[(u32, f64)]| z.iter().map(|(_, v)| v * v).sum::<f64>().sqrt();
        self.outcomes.iter().map(norm).fold(0.0, f64::max)
    }

    /// E‖z‖ of every choice.
    pub fn step_norms(&self) -> Vec<f64> {
        let norm = |z: &[(u32, f64)]| z.iter().map(|(_, v)| v * v).sum::<f64>().sqrt();
        let rows = self.shape.rows.iter();
        rows.map(|row| row.iter().map(|t| t.probability * norm(self.outcome(t.outcome))).sum()).collect()
    }

    /// The same world, measured by the selected entries only.
    pub fn select(&self, selection: &Selection) -> TabularMdp {
        TabularMdp {
            shape: Arc::clone(&self.shape),
            measures: self.measures.select(selection),
            outcomes: self.outcomes.select(selection, self.measures.dim()),
        }
    }

    /// The same world, in which long-run averages are not measured.
    pub(crate) fn without_averages(&self) -> TabularMdp {
        let outcomes = match self.measures.averages() {
            [] => self.outcomes.clone(),
            _ => self.outcomes.filtered(|entry| !self.measures.is_average(entry as usize)),
        };
        TabularMdp { shape: Arc::clone(&self.shape), measures: self.measures.clone(), outcomes }
    }

    /// The same choices in other states: those from `first[s]` to `first[s + 1]` are now `s`'s, and lead to where `places` puts
    /// the states that they led to. A choice that is `None` enters the last state, and measures 1 in the entry of its state's
    /// number after all others, or nothing where it has none. States without choices are terminal. Rows keep the order of their
    /// transitions, and may lead to a state more than once.
    pub(crate) fn rearranged(
        &self,
        places: &[u32],
        first: Vec<u32>,
        choices: &[Option<(u32, u32)>],
        numbers: &[Option<usize>],
    ) -> Result<TabularMdp> {
        let states = first.len() - 1;
        let mut outcomes = self.outcomes.clone();
        let nothing = outcomes.nothing();
        let dim = self.measures.dim();
        let mut rows = MovedRows::new(&self.shape.rows, places);
        for (place, ends) in first.windows(2).enumerate() {
            for choice in &choices[ends[0] as usize..ends[1] as usize] {
                match (choice, numbers.get(place).copied().flatten()) {
                    (Some((state, action)), _) => {
                        rows.push(self.choice(*state as usize, *action as usize));
                    }
                    (None, None) => rows.push_sure(narrow(states - 1), nothing),
                    (None, Some(number)) => {
                        rows.push_sure(narrow(states - 1), outcomes.push_one(narrow(dim + number)));
                    }
                }
            }
        }
        let measures = Measures::new([("sums", dim), ("stay", numbers.iter().flatten().count())]);
        let counts = first.windows(2).map(|ends| (ends[1] - ends[0]) as usize);
        Ok(TabularMdp {
            shape: Arc::new(Shape {
                states,
                actions: counts.clone().max().unwrap_or(0).max(1),
                start: self.start().iter().map(|&(s, p)| (places[s] as usize, p)).collect(),
                terminal: counts.map(|count| count == 0).collect(),
                choices: first,
                rows: rows.build()?,
                decisions: OnceLock::new(),
                recent: Recent::default(),
            }),
            measures,
            outcomes,
        })
    }

    /// What stands for all that outcomes measure.
    pub(crate) fn digest_outcomes(&self, digest: &mut impl FnMut(&[u8])) {
        self.measures.averages().iter().for_each(|entry| digest(&entry.to_le_bytes()));
        self.outcomes.digest(digest);
    }

    /// The world unrolled over `horizon` steps: state `stage * states + state`, cut off by a terminal state at the end.
    pub fn unrolled(&self, horizon: usize) -> Result<TabularMdp> {
        let (states, end) = (self.states(), self.states() * horizon);
        let mut builder = Self::builder(end + 1, self.actions(), self.measures.clone());
        builder.outcomes = self.outcomes.clone().into();
        builder.keep_transitions(self.is_in_file());
        builder.terminal(end);
        for &(state, probability) in self.start() {
            builder.start(state, probability);
        }
        for stage in 0..horizon {
            for state in 0..states {
                if self.is_terminal(state) {
                    builder.terminal(stage * states + state);
                    continue;
                }
                let here = stage * states + state;
                builder.available(here, self.actions_of(state));
                for action in 0..self.actions_of(state) {
                    for t in self.row(state, action) {
                        let next =
                            if stage + 1 < horizon { (stage + 1) * states + t.next as usize } else { end };
                        let key = (narrow(here), narrow(action));
                        builder.rows.push(key, Transition { next: next as u32, ..t });
                    }
                }
            }
        }
        builder.build()
    }
}

/// Collects the parts of a [`TabularMdp`].
#[derive(Debug)]
pub struct TabularMdpBuilder {
    states: usize,
    actions: usize,
    measures: Measures,
    start: Vec<(usize, f64)>,
    terminal: Vec<bool>,
    available: Vec<u32>,
    rows: RowsBuilder,
    outcomes: OutcomeTable,
}

impl TabularMdpBuilder {
    /// Whether transitions are kept in a file instead of in memory; to be said before the first of them.
    pub(crate) fn keep_transitions(&mut self, in_file: bool) {
        self.rows = RowsBuilder::new(in_file);
    }

    /// Episodes start in `state` with this probability.
    pub fn start(&mut self, state: usize, probability: f64) -> &mut Self {
        self.start.push((state, probability));
        self
    }

    /// Entering `state` ends the episode.
    pub fn terminal(&mut self, state: usize) -> &mut Self {
        if let Some(terminal) = self.terminal.get_mut(state) {
            *terminal = true;
        }
        self
    }

    /// `state` has only the first `count` actions.
    pub fn available(&mut self, state: usize, count: usize) -> &mut Self {
        if let Some(available) = self.available.get_mut(state) {
            *available = narrow(count.min(self.actions));
        }
        self
    }

    /// `action` in `state` leads to `next` with this probability and measures `z`, given by its non-zero entries.
    pub fn transition(
        &mut self,
        (state, action): (usize, usize),
        probability: f64,
        next: usize,
        z: &[(usize, f64)],
    ) -> &mut Self {
        let outcome = self.outcome(z);
        // A wrong index is kept for `build` to report.
        let next = narrow(next);
        self.push((state, action), Transition { probability, next, outcome })
    }

    /// The number of the outcome that measures `z`, for worlds that know when it comes again.
    pub(super) fn outcome(&mut self, z: &[(usize, f64)]) -> u32 {
        self.outcomes.find_or_add(z)
    }

    /// Adds a transition whose outcome has its number.
    pub(super) fn push(&mut self, (state, action): (usize, usize), transition: Transition) -> &mut Self {
        self.rows.push((narrow(state), narrow(action)), transition);
        self
    }

    /// Checks the parts and puts them together.
    pub fn build(mut self) -> Result<TabularMdp> {
        for (what, count) in [("states", self.states), ("actions", self.actions)] {
            crate::error::in_range(what, count as f64, count > 0, "1 or more")?;
        }
        for state in 0..self.states {
            if self.terminal[state] {
                self.available[state] = 0;
            } else if self.available[state] == 0 {
                return Err(Error::NoAction { state });
            }
        }
        let rows = self.rows.build(&self.terminal, &self.available)?;
        let outcomes = self.outcomes.outcomes;
        let dim = self.measures.dim();
        not_too_large("entries of outcomes", &[outcomes.entries().len()], u32::MAX as usize)?;
        for &(i, v) in outcomes.entries() {
            if i as usize >= dim {
                return Err(Error::Index { what: "measurement entry", index: i as usize, count: dim });
            }
            finite("measurement", &[v])?;
        }
        let mut choices = vec![0];
        choices.extend(self.available.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }));
        for &(state, probability) in &self.start {
            if state >= self.states {
                return Err(Error::Index { what: "start state", index: state, count: self.states });
            }
            check_probability(probability)?;
        }
        let sum: f64 = self.start.iter().map(|(_, p)| p).sum();
        crate::error::in_range("the sum of the start probabilities", sum, (sum - 1.0).abs() < 1e-9, "1")?;
        Ok(TabularMdp {
            shape: Arc::new(Shape {
                states: self.states,
                actions: self.actions,
                start: self.start,
                terminal: self.terminal,
                choices,
                rows,
                decisions: OnceLock::new(),
                recent: Recent::default(),
            }),
            measures: self.measures,
            outcomes,
        })
    }
}

/// An index too large to store becomes one that no model has.
pub(super) fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
