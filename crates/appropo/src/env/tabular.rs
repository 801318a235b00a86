use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result, finite};
use crate::measurement::{Measures, Selection};

/// A vector-valued Markov decision process with finitely many states and actions.
///
/// Transitions are stored by compressed rows, one row a *choice*, which is an action of a state. What is measured belongs
/// to a transition's *outcome*, a sparse vector; equal outcomes are stored once, so a grid of n cells has n of them.
/// Entering a terminal state ends the episode. States may have fewer actions than others; an action that a state does not
/// have is its last one.
#[derive(Debug, Clone)]
pub struct TabularMdp {
    shape: Arc<Shape>,
    measures: Measures,
    outcomes: Vec<Vec<(u32, f64)>>,
}

#[derive(Debug)]
struct Shape {
    states: usize,
    actions: usize,
    start: Vec<(usize, f64)>,
    terminal: Vec<bool>,
    /// The first choice of each state, and the end.
    choices: Vec<usize>,
    /// The first transition of each choice, and the end.
    rows: Vec<usize>,
    transitions: Vec<Transition>,
}

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
            transitions: Vec::new(),
            outcomes: Vec::new(),
            known: HashMap::new(),
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
        self.shape.choices[state + 1] - self.shape.choices[state]
    }

    /// Number of choices: of actions, over all states.
    pub fn choices(&self) -> usize {
        self.shape.rows.len() - 1
    }

    /// The choices of a state.
    pub fn choices_of(&self, state: usize) -> Range<usize> {
        self.shape.choices[state]..self.shape.choices[state + 1]
    }

    /// The choice of `action` in `state`, of which there must be one.
    pub fn choice(&self, state: usize, action: usize) -> usize {
        let Range { start, end } = self.choices_of(state);
        (start + action).min(end - 1)
    }

    /// Number of stored transitions.
    pub fn transitions(&self) -> usize {
        self.shape.transitions.len()
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

    /// What `action` in `state` can lead to.
    pub fn row(&self, state: usize, action: usize) -> &[Transition] {
        self.outcomes_of(self.choice(state, action))
    }

    /// What a choice can lead to.
    pub fn outcomes_of(&self, choice: usize) -> &[Transition] {
        &self.shape.transitions[self.shape.rows[choice]..self.shape.rows[choice + 1]]
    }

    /// The measurement that belongs to an outcome, as (entry, value).
    pub fn outcome(&self, outcome: u32) -> &[(u32, f64)] {
        &self.outcomes[outcome as usize]
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
        let rows = self.shape.rows.windows(2).map(|row| row[1] - row[0]);
        (rows.max().unwrap_or(0), self.outcomes.iter().map(Vec::len).max().unwrap_or(0))
    }

    /// The expected scalar reward −λ·z of every choice.
    pub fn rewards(&self, lam: &[f64]) -> Vec<f64> {
        let payoffs = self.payoffs(lam);
        let rows = self.shape.rows.windows(2).map(|row| &self.shape.transitions[row[0]..row[1]]);
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
        let norm = |z: &Vec<(u32, f64)>| z.iter().map(|(_, v)| v * v).sum::<f64>().sqrt();
        self.outcomes.iter().map(norm).fold(0.0, f64::max)
    }

    /// E‖z‖ of every choice.
    pub fn step_norms(&self) -> Vec<f64> {
        let norm = |z: &[(u32, f64)]| z.iter().map(|(_, v)| v * v).sum::<f64>().sqrt();
        let rows = self.shape.rows.windows(2).map(|row| &self.shape.transitions[row[0]..row[1]]);
        rows.map(|row| row.iter().map(|t| t.probability * norm(self.outcome(t.outcome))).sum()).collect()
    }

    /// The same world, measured by the selected entries only.
    pub fn select(&self, selection: &Selection) -> TabularMdp {
        let mut places = vec![Vec::new(); self.measures.dim()];
        for (new, &(old, factor)) in selection.entries.iter().enumerate() {
            places[old].push((new as u32, factor));
        }
        let outcomes = self
            .outcomes
            .iter()
            .map(|z| {
                let mut selected: Vec<(u32, f64)> = z
                    .iter()
                    .flat_map(|&(i, v)| {
                        places[i as usize].iter().map(move |&(new, factor)| (new, factor * v))
                    })
                    .collect();
                selected.sort_unstable_by_key(|(i, _)| *i);
                selected
            })
            .collect();
        TabularMdp {
            shape: Arc::clone(&self.shape),
            measures: Measures::new([("selected", selection.entries.len())]),
            outcomes,
        }
    }

    /// The world unrolled over `horizon` steps: state `stage * states + state`, cut off by a terminal state at the end.
    pub fn unrolled(&self, horizon: usize) -> Result<TabularMdp> {
        let (states, end) = (self.states(), self.states() * horizon);
        let mut builder = Self::builder(end + 1, self.actions(), self.measures.clone());
        builder.outcomes.clone_from(&self.outcomes);
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
                        builder.transitions.push((key, Transition { next: next as u32, ..*t }));
                    }
                }
            }
        }
        builder.build()
    }
}

/// Collects the parts of a [`TabularMdp`].
#[derive(Debug, Clone)]
pub struct TabularMdpBuilder {
    states: usize,
    actions: usize,
    measures: Measures,
    start: Vec<(usize, f64)>,
    terminal: Vec<bool>,
    available: Vec<u32>,
    /// State and action before what they can lead to.
    transitions: Vec<((u32, u32), Transition)>,
    outcomes: Vec<Vec<(u32, f64)>>,
    known: HashMap<Vec<(u32, u64)>, u32>,
}

impl TabularMdpBuilder {
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
        let mut entries: Vec<(u32, f64)> =
            z.iter().filter(|(_, v)| *v != 0.0).map(|&(i, v)| (narrow(i), v)).collect();
        entries.sort_by_key(|(i, _)| *i);
        entries.dedup_by(|b, a| {
            let same = a.0 == b.0;
            if same {
                a.1 += b.1;
            }
            same
        });
        let key: Vec<(u32, u64)> = entries.iter().map(|&(i, v)| (i, v.to_bits())).collect();
        let outcome = *self.known.entry(key).or_insert_with_key(|key| {
            self.outcomes.push(key.iter().map(|&(i, v)| (i, f64::from_bits(v))).collect());
            self.outcomes.len() as u32 - 1
        });
        // A wrong index is kept for `build` to report.
        let key = (narrow(state), narrow(action));
        self.transitions.push((key, Transition { probability, next: narrow(next), outcome }));
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
        // Episodes are over there.
        self.transitions.retain(|((state, _), _)| {
            self.terminal.get(*state as usize).is_none_or(|is_terminal| !is_terminal)
        });
        self.transitions.sort_by_key(|&(key, t)| (key, t.next, t.outcome));
        self.transitions.dedup_by(|b, a| {
            let same = (a.0, a.1.next, a.1.outcome) == (b.0, b.1.next, b.1.outcome);
            if same {
                a.1.probability += b.1.probability;
            }
            same
        });
        for &((state, action), t) in &self.transitions {
            for index in [state, t.next] {
                if index as usize >= self.states {
                    return Err(Error::Index { what: "state", index: index as usize, count: self.states });
                }
            }
            let count = self.available[state as usize];
            if action >= count {
                return Err(Error::Index { what: "action", index: action as usize, count: count as usize });
            }
            check_probability(t.probability)?;
        }
        let dim = self.measures.dim();
        for &(i, v) in self.outcomes.iter().flatten() {
            if i as usize >= dim {
                return Err(Error::Index { what: "measurement entry", index: i as usize, count: dim });
            }
            finite("measurement", &[v])?;
        }
        let mut choices = vec![0usize];
        choices.extend(self.available.iter().scan(0, |sum, count| {
            *sum += *count as usize;
            Some(*sum)
        }));
        let mut rows = vec![0usize; choices[self.states] + 1];
        let mut sums = vec![0.0; choices[self.states]];
        let choice = |(state, action): (u32, u32)| choices[state as usize] + action as usize;
        for &(key, t) in &self.transitions {
            rows[choice(key) + 1] += 1;
            sums[choice(key)] += t.probability;
        }
        for state in 0..self.states {
            for choice in choices[state]..choices[state + 1] {
                rows[choice + 1] += rows[choice];
                if (sums[choice] - 1.0).abs() > 1e-9 {
                    let action = choice - choices[state];
                    return Err(Error::Probabilities { state, action, sum: sums[choice] });
                }
            }
        }
        for (key, t) in &mut self.transitions {
            t.probability /= sums[choice(*key)];
        }
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
                transitions: self.transitions.into_iter().map(|(_, t)| t).collect(),
            }),
            measures: self.measures,
            outcomes: self.outcomes,
        })
    }
}

/// An index too large to store becomes one that no model has.
fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn check_probability(probability: f64) -> Result<()> {
    crate::error::in_range(
        "a probability",
        probability,
        (0.0..=1.0 + 1e-9).contains(&probability),
        "between 0 and 1",
    )
}
