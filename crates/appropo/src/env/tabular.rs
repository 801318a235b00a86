use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Result, finite};
use crate::measurement::{Measures, Selection};

/// A vector-valued Markov decision process with finitely many states and actions.
///
/// Transitions are stored by compressed rows, one row a state and action. What is measured belongs to a
/// transition's *outcome*, a sparse vector; equal outcomes are stored once, so a grid of n cells has n of them.
/// Entering a terminal state ends the episode.
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
            transitions: Vec::new(),
            outcomes: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Number of states, terminal ones included.
    pub fn states(&self) -> usize {
        self.shape.states
    }

    /// Number of actions.
    pub fn actions(&self) -> usize {
        self.shape.actions
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
        let row = state * self.shape.actions + action;
        &self.shape.transitions[self.shape.rows[row]..self.shape.rows[row + 1]]
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

    /// The most transitions of a state and action, and the most entries of an outcome.
    pub(crate) fn longest_sums(&self) -> (usize, usize) {
        let rows = self.shape.rows.windows(2).map(|row| row[1] - row[0]);
        (rows.max().unwrap_or(0), self.outcomes.iter().map(Vec::len).max().unwrap_or(0))
    }

    /// The expected scalar reward −λ·z of every state and action, as `[state * actions + action]`.
    pub fn rewards(&self, lam: &[f64]) -> Vec<f64> {
        let payoffs = self.payoffs(lam);
        let rows = self.shape.rows.windows(2).map(|row| &self.shape.transitions[row[0]..row[1]]);
        rows.map(|row| -row.iter().map(|t| t.probability * payoffs[t.outcome as usize]).sum::<f64>())
            .collect()
    }

    /// Σ ρ(s, a) E[z | s, a] for an occupancy given as `(state, action) → mass`.
    pub fn measure(&self, mass: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut weights = vec![0.0; self.outcomes.len()];
        for state in 0..self.states() {
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

    /// E‖z‖ of every state and action, as `[state * actions + action]`.
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
                for action in 0..self.actions() {
                    for t in self.row(state, action) {
                        let next =
                            if stage + 1 < horizon { (stage + 1) * states + t.next as usize } else { end };
                        let row = (stage * states + state) * self.actions() + action;
                        builder.transitions.push((row, Transition { next: next as u32, ..*t }));
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
    transitions: Vec<(usize, Transition)>,
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
        // A wrong index is kept as it is for `build` to report.
        let row = if action < self.actions { state * self.actions + action } else { usize::MAX - action };
        self.transitions.push((row, Transition { probability, next: narrow(next), outcome }));
        self
    }

    /// Checks the parts and puts them together.
    pub fn build(mut self) -> Result<TabularMdp> {
        for (what, count) in [("states", self.states), ("actions", self.actions)] {
            crate::error::in_range(what, count as f64, count > 0, "1 or more")?;
        }
        let rows = self.states * self.actions;
        self.transitions.sort_by_key(|&(row, t)| (row, t.next, t.outcome));
        self.transitions.dedup_by(|b, a| {
            let same = (a.0, a.1.next, a.1.outcome) == (b.0, b.1.next, b.1.outcome);
            if same {
                a.1.probability += b.1.probability;
            }
            same
        });
        for &(row, t) in &self.transitions {
            if row >= rows {
                return Err(if row > usize::MAX / 2 {
                    Error::Index { what: "action", index: usize::MAX - row, count: self.actions }
                } else {
                    Error::Index { what: "state", index: row / self.actions, count: self.states }
                });
            }
            if t.next as usize >= self.states {
                return Err(Error::Index { what: "state", index: t.next as usize, count: self.states });
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
        let mut starts = vec![0usize; rows + 1];
        let mut sums = vec![0.0; rows];
        for &(row, t) in &self.transitions {
            starts[row + 1] += 1;
            sums[row] += t.probability;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
            let (state, action) = (row / self.actions, row % self.actions);
            if !self.terminal[state] && (sums[row] - 1.0).abs() > 1e-9 {
                return Err(Error::Probabilities { state, action, sum: sums[row] });
            }
        }
        for (row, t) in &mut self.transitions {
            t.probability /= sums[*row];
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
                rows: starts,
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
