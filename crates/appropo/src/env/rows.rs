use std::iter::Zip;
use std::slice::Iter;

use super::outcomes::Interner;
use super::tabular::Transition;
use crate::error::{Error, Result, not_too_large};

/// What every choice can lead to, by compressed rows. Successors and outcomes are stored side by side, and the probabilities of
/// a row once for all rows that have the same: a map of any size has a handful.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    /// The first transition of each choice, and the end.
    first: Vec<u32>,
    next: Vec<u32>,
    outcomes: Vec<u32>,
    /// Where the probabilities of each choice begin.
    pattern: Vec<u32>,
    probabilities: Vec<f64>,
}

/// What a choice can lead to.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    probabilities: &'a [f64],
    next: &'a [u32],
    outcomes: &'a [u32],
}

impl<'a> Row<'a> {
    /// Number of transitions.
    pub fn len(&self) -> usize {
        self.next.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.next.is_empty()
    }

    /// One of the transitions.
    pub fn get(&self, index: usize) -> Transition {
        Transition {
            probability: self.probabilities[index],
            next: self.next[index],
            outcome: self.outcomes[index],
        }
    }

    /// The transitions, in the order of the states that they lead to.
    pub fn iter(&self) -> Transitions<'a> {
        Transitions(self.probabilities.iter().zip(self.next.iter().zip(self.outcomes)))
    }

    /// Probabilities and the states that they lead to.
    pub fn successors(&self) -> impl Iterator<Item = (f64, usize)> + use<'a> {
        self.probabilities.iter().zip(self.next).map(|(&probability, &next)| (probability, next as usize))
    }
}

impl<'a> IntoIterator for Row<'a> {
    type Item = Transition;
    type IntoIter = Transitions<'a>;

    fn into_iter(self) -> Transitions<'a> {
        self.iter()
    }
}

/// The transitions of a [`Row`].
#[derive(Debug, Clone)]
pub struct Transitions<'a>(Zip<Iter<'a, f64>, Zip<Iter<'a, u32>, Iter<'a, u32>>>);

impl Iterator for Transitions<'_> {
    type Item = Transition;

    #[inline]
    fn next(&mut self) -> Option<Transition> {
        let (&probability, (&next, &outcome)) = self.0.next()?;
        Some(Transition { probability, next, outcome })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.pattern.len()
    }

    /// Number of transitions in all rows.
    pub fn transitions(&self) -> usize {
        self.next.len()
    }

    #[inline(always)]
    pub fn get(&self, choice: usize) -> Row<'_> {
        let (start, end) = (self.first[choice] as usize, self.first[choice + 1] as usize);
        let pattern = self.pattern[choice] as usize;
        Row {
            probabilities: &self.probabilities[pattern..pattern + (end - start)],
            next: &self.next[start..end],
            outcomes: &self.outcomes[start..end],
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).map(|choice| self.get(choice))
    }

    /// No rows, with room for so many that share the probabilities of these.
    pub fn emptied(&self, rows: usize) -> Self {
        let mut first = Vec::with_capacity(rows + 1);
        first.push(0);
        let mut probabilities = Vec::with_capacity(self.probabilities.len() + 1);
        probabilities.extend_from_slice(&self.probabilities);
        // For rows that lead to one state.
        probabilities.push(1.0);
        let (next, outcomes) = (Vec::new(), Vec::new());
        Self { first, next, outcomes, pattern: Vec::with_capacity(rows), probabilities }
    }

    /// Adds a row of those that this was made of, with every state in its place.
    pub fn push_moved(&mut self, of: &Self, choice: usize, places: &[u32]) {
        let row = of.get(choice);
        self.next.extend(row.next.iter().map(|next| places[*next as usize]));
        self.outcomes.extend_from_slice(row.outcomes);
        self.first.push(self.next.len() as u32);
        self.pattern.push(of.pattern[choice]);
    }

    /// Adds a row that leads to one state.
    pub fn push_sure(&mut self, next: u32, outcome: u32) {
        self.next.push(next);
        self.outcomes.push(outcome);
        self.first.push(self.next.len() as u32);
        self.pattern.push(self.probabilities.len() as u32 - 1);
    }
}

/// Rows in the making. Most worlds give all transitions of a choice in a row, so each row is compressed as soon as the next
/// one begins.
#[derive(Debug, Clone)]
pub(super) struct RowsBuilder {
    /// State and action of each row.
    keys: Vec<(u32, u32)>,
    rows: Rows,
    /// The row that is open, and what it can lead to.
    open: Option<(u32, u32)>,
    transitions: Vec<Transition>,
    /// Where probabilities begin, by pattern.
    patterns: Vec<(u32, u32)>,
    known: Interner,
}

impl Default for RowsBuilder {
    fn default() -> Self {
        let rows = Rows {
            first: vec![0],
            next: Vec::new(),
            outcomes: Vec::new(),
            pattern: Vec::new(),
            probabilities: Vec::new(),
        };
        Self {
            keys: Vec::new(),
            rows,
            open: None,
            transitions: Vec::new(),
            patterns: Vec::new(),
            known: Interner::default(),
        }
    }
}

impl RowsBuilder {
    pub fn push(&mut self, key: (u32, u32), transition: Transition) {
        if self.open != Some(key) {
            self.close();
            self.open = Some(key);
        }
        self.transitions.push(transition);
    }

    fn close(&mut self) {
        let Some(key) = self.open.take() else { return };
        let transitions = &mut self.transitions;
        transitions.sort_by_key(|t| (t.next, t.outcome));
        transitions.dedup_by(|b, a| {
            let same = (a.next, a.outcome) == (b.next, b.outcome);
            if same {
                a.probability += b.probability;
            }
            same
        });
        let pattern = self.pattern();
        let rows = &mut self.rows;
        rows.next.extend(self.transitions.iter().map(|t| t.next));
        rows.outcomes.extend(self.transitions.iter().map(|t| t.outcome));
        rows.first.push(rows.next.len() as u32);
        rows.pattern.push(pattern);
        self.keys.push(key);
        self.transitions.clear();
    }

    /// Where the open row's probabilities are stored.
    fn pattern(&mut self) -> u32 {
        let Self { transitions, patterns, known, rows: Rows { probabilities, .. }, .. } = self;
        let bits = || transitions.iter().map(|t| t.probability.to_bits());
        let hash = known.hash(bits());
        let is_same = |pattern: u32| {
            let (start, count) = patterns[pattern as usize];
            let stored = &probabilities[start as usize..][..count as usize];
            stored.len() == transitions.len() && stored.iter().map(|p| p.to_bits()).eq(bits())
        };
        if let Some(pattern) = known.find(hash, is_same) {
            return patterns[pattern as usize].0;
        }
        known.insert(hash, patterns.len() as u32);
        let start = probabilities.len() as u32;
        probabilities.extend(transitions.iter().map(|t| t.probability));
        patterns.push((start, transitions.len() as u32));
        start
    }

    /// The rows in the order of their keys, one a key, without those of terminal states. Checks what they hold.
    pub fn build(mut self, terminal: &[bool], available: &[u32]) -> Result<Rows> {
        self.close();
        not_too_large("transitions", &[self.rows.transitions()], u32::MAX as usize)?;
        let is_terminal = |state: u32| terminal.get(state as usize).is_some_and(|is_terminal| *is_terminal);
        let is_sorted = self.keys.is_sorted_by(|a, b| a < b);
        if !is_sorted || self.keys.iter().any(|(state, _)| is_terminal(*state)) {
            self = self.sorted(is_terminal);
        }
        let states = terminal.len();
        let state_index = |index: u32| Error::Index { what: "state", index: index as usize, count: states };
        for &(state, action) in &self.keys {
            let Some(&count) = available.get(state as usize) else { return Err(state_index(state)) };
            if action >= count {
                return Err(Error::Index { what: "action", index: action as usize, count: count as usize });
            }
        }
        if let Some(next) = self.rows.next.iter().find(|next| **next as usize >= states) {
            return Err(state_index(*next));
        }
        self.rows.probabilities.iter().try_for_each(|p| check_probability(*p))?;
        // The keys are in order, so the first that is missing is where they differ from all that there should be.
        let choices =
            available.iter().zip(0u32..).flat_map(|(count, state)| (0..*count).map(move |a| (state, a)));
        let mut keys = self.keys.iter();
        for (state, action) in choices {
            if keys.next() != Some(&(state, action)) {
                return Err(Error::Probabilities {
                    state: state as usize,
                    action: action as usize,
                    sum: 0.0,
                });
            }
        }
        self.normalize()?;
        let mut rows = self.rows;
        rows.next.shrink_to_fit();
        rows.outcomes.shrink_to_fit();
        Ok(rows)
    }

    /// Makes the probabilities of every row add up to 1, where they do but for rounding.
    fn normalize(&mut self) -> Result<()> {
        let Rows { probabilities, pattern, .. } = &mut self.rows;
        for &(start, count) in &self.patterns {
            let stored = &mut probabilities[start as usize..][..count as usize];
            let sum = stored.iter().fold(0.0, |sum, p| sum + p);
            if (sum - 1.0).abs() > 1e-9 {
                let row = pattern.iter().position(|pattern| *pattern == start).unwrap_or(0);
                let (state, action) = self.keys[row];
                return Err(Error::Probabilities { state: state as usize, action: action as usize, sum });
            }
            stored.iter_mut().for_each(|p| *p /= sum);
        }
        Ok(())
    }

    fn sorted(&self, is_terminal: impl Fn(u32) -> bool) -> Self {
        let mut order: Vec<u32> = (0..self.keys.len() as u32).collect();
        order.retain(|&row| !is_terminal(self.keys[row as usize].0));
        order.sort_by_key(|&row| self.keys[row as usize]);
        let mut sorted = Self::default();
        for row in order {
            for transition in self.rows.get(row as usize) {
                sorted.push(self.keys[row as usize], transition);
            }
        }
        sorted.close();
        sorted
    }
}

pub(super) fn check_probability(probability: f64) -> Result<()> {
    crate::error::in_range(
        "a probability",
        probability,
        (0.0..=1.0 + 1e-9).contains(&probability),
        "between 0 and 1",
    )
}

#[cfg(test)]
mod tests {
    use super::super::{TabularMdp, garnet};
    use crate::error::Error;
    use crate::measurement::Measures;
    use crate::random;

    /// A model does not depend on the order in which it was given, nor on how often its transitions were split.
    #[test]
    fn transitions_may_come_in_any_order() {
        let rng = &mut random::generator(1);
        let size = garnet::Size { states: 30, actions: 3, branching: 4, measures: 2 };
        let model = garnet::world(size, rng).unwrap().model;
        let mut parts = Vec::new();
        for (state, action) in (0..30).flat_map(|s| (0..3).map(move |a| (s, a))) {
            for t in model.row(state, action) {
                parts.extend([0.5, 0.5].map(|share| ((state, action), share * t.probability, t)));
            }
        }
        for i in (1..parts.len()).rev() {
            parts.swap(i, random::below(i + 1, rng));
        }
        let mut again = TabularMdp::builder(30, 3, model.measures().clone());
        for &(state, probability) in model.start() {
            again.start(state, probability);
        }
        for (key, probability, t) in parts {
            let z: Vec<(usize, f64)> =
                model.outcome(t.outcome).iter().map(|&(i, v)| (i as usize, v)).collect();
            again.transition(key, probability, t.next as usize, &z);
        }
        let again = again.build().unwrap();
        assert_eq!(again.transitions(), model.transitions());
        for (state, action) in (0..30).flat_map(|s| (0..3).map(move |a| (s, a))) {
            let measured = |model: &TabularMdp| -> Vec<_> {
                let row = model.row(state, action).into_iter();
                row.map(|t| (t.next, t.probability, model.outcome(t.outcome).to_vec())).collect()
            };
            for (a, b) in measured(&model).iter().zip(measured(&again)) {
                assert!(a.0 == b.0 && (a.1 - b.1).abs() <= 1e-15 && a.2 == b.2);
            }
        }
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let build = |parts: &[(usize, usize, f64, usize)]| {
            let mut model = TabularMdp::builder(3, 2, Measures::new([("cost", 1)]));
            model.start(0, 1.0).terminal(2);
            for &(state, action, probability, next) in parts {
                model.transition((state, action), probability, next, &[(0, 1.0)]);
            }
            model.build().map(|model| model.transitions())
        };
        let whole = [(1, 1, 1.0, 2), (0, 0, 1.0, 1), (0, 1, 0.5, 1), (0, 1, 0.5, 2), (1, 0, 1.0, 0)];
        assert_eq!(build(&whole).unwrap(), 5);
        // Nothing happens after the end.
        assert_eq!(build(&[&whole[..], &[(2, 0, 0.3, 0)]].concat()).unwrap(), 5);
        for (change, expected) in [
            (&whole[1..], Error::Probabilities { state: 1, action: 1, sum: 0.0 }),
            (&whole[..4], Error::Probabilities { state: 1, action: 0, sum: 0.0 }),
            (
                &[&whole[..], &[(0, 0, 0.5, 2)]].concat(),
                Error::Probabilities { state: 0, action: 0, sum: 1.5 },
            ),
            (&[&whole[..], &[(0, 2, 1.0, 2)]].concat(), Error::Index { what: "action", index: 2, count: 2 }),
            (&[&whole[..], &[(3, 0, 1.0, 2)]].concat(), Error::Index { what: "state", index: 3, count: 3 }),
            (&[&whole[..], &[(0, 0, 0.0, 7)]].concat(), Error::Index { what: "state", index: 7, count: 3 }),
        ] {
            assert_eq!(build(change).unwrap_err(), expected);
        }
    }
}
