use std::iter::Zip;
use std::slice::Iter;

use super::array::{Array, ArrayBuilder};
use super::outcomes::Interner;
use super::tabular::Transition;
use crate::error::{Error, Result, not_too_large};

/// What every choice can lead to, by compressed rows. Successors and outcomes are stored side by side, and the probabilities of
/// a row once for all rows that have the same: a map of any size has a handful.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    /// The first transition of each choice, and the end.
    first: Vec<u32>,
    next: Array<u32>,
    outcomes: Array<u32>,
    /// Where the probabilities of each choice begin.
    pattern: Vec<u32>,
    probabilities: Array<f64>,
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

/// Where every choice leads to and how likely, without what is measured: a view for loops that read all of it many times.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Successors<'a> {
    first: &'a [u32],
    next: &'a [u32],
    pattern: &'a [u32],
    probabilities: &'a [f64],
}

impl Successors<'_> {
    /// Σ P(s′) value(s′) over the states that a choice leads to, in their order.
    #[inline(always)]
    pub fn expectation(&self, choice: usize, value: impl Fn(usize) -> f64) -> f64 {
        let (start, end) = (self.first[choice] as usize, self.first[choice + 1] as usize);
        let pattern = self.pattern[choice] as usize;
        let next = &self.next[start..end];
        let probabilities = &self.probabilities[pattern..pattern + next.len()];
        let value = |next: u32| value(next as usize);
        // Most rows are short, and a loop of a few steps costs more than they do.
        match (probabilities, next) {
            ([p], [a]) => p * value(*a),
            ([p, q], [a, b]) => p * value(*a) + q * value(*b),
            ([p, q, r], [a, b, c]) => p * value(*a) + q * value(*b) + r * value(*c),
            ([p, q, r, s], [a, b, c, d]) => p * value(*a) + q * value(*b) + r * value(*c) + s * value(*d),
            _ => probabilities.iter().zip(next).fold(0.0, |sum, (p, next)| sum + p * value(*next)),
        }
    }
}

impl Rows {
    pub fn successors(&self) -> Successors<'_> {
        let Self { first, next, pattern, probabilities, .. } = self;
        Successors { first, next, pattern, probabilities }
    }

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

    /// The most transitions of a row.
    pub fn longest(&self) -> usize {
        self.first.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0) as usize
    }

    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).map(|choice| self.get(choice))
    }

    /// Whether transitions are kept in a file.
    pub fn is_in_file(&self) -> bool {
        self.next.is_in_file()
    }
}

/// Rows that are added one after another, kept where they are to stay.
#[derive(Debug)]
struct Growing {
    first: Vec<u32>,
    next: ArrayBuilder<u32>,
    outcomes: ArrayBuilder<u32>,
    pattern: Vec<u32>,
}

impl Growing {
    fn new(in_file: bool) -> Self {
        let (next, outcomes) = (ArrayBuilder::new(in_file), ArrayBuilder::new(in_file));
        Self { first: vec![0], next, outcomes, pattern: Vec::new() }
    }

    fn push(&mut self, transitions: impl Iterator<Item = (u32, u32)>, pattern: u32) {
        for (next, outcome) in transitions {
            self.next.push(next);
            self.outcomes.push(outcome);
        }
        self.first.push(self.next.len() as u32);
        self.pattern.push(pattern);
    }

    fn build(self, probabilities: Array<f64>) -> Result<Rows> {
        let Self { first, next, outcomes, pattern } = self;
        Ok(Rows { first, next: next.build()?, outcomes: outcomes.build()?, pattern, probabilities })
    }
}

/// The rows of another model in another order, with every state in its place.
#[derive(Debug)]
pub(super) struct MovedRows<'a> {
    of: &'a Rows,
    places: &'a [u32],
    rows: Growing,
}

impl<'a> MovedRows<'a> {
    pub fn new(of: &'a Rows, places: &'a [u32]) -> Self {
        Self { of, places, rows: Growing::new(of.is_in_file()) }
    }

    /// Adds one of the rows.
    pub fn push(&mut self, choice: usize) {
        let row = self.of.get(choice);
        let next = row.next.iter().map(|next| self.places[*next as usize]);
        self.rows.push(next.zip(row.outcomes.iter().copied()), self.of.pattern[choice]);
    }

    /// Adds a row that leads to one state.
    pub fn push_sure(&mut self, next: u32, outcome: u32) {
        self.rows.push([(next, outcome)].into_iter(), self.of.probabilities.len() as u32);
    }

    pub fn build(self) -> Result<Rows> {
        let mut probabilities = ArrayBuilder::new(self.of.probabilities.is_in_file());
        probabilities.extend_from_slice(&self.of.probabilities);
        // For rows that lead to one state.
        probabilities.push(1.0);
        self.rows.build(probabilities.build()?)
    }
}

/// Probabilities that are kept in memory to be shared, where transitions are kept in a file.
const SHARED: usize = if cfg!(test) { 64 } else { 1 << 22 };

/// Rows in the making. Most worlds give all transitions of a choice in a row, so each row is compressed as soon as the next
/// one begins.
#[derive(Debug)]
pub(super) struct RowsBuilder {
    in_file: bool,
    /// State and action of each row.
    keys: Vec<(u32, u32)>,
    rows: Growing,
    /// The row that is open, and what it can lead to.
    open: Option<(u32, u32)>,
    transitions: Vec<Transition>,
    /// The probabilities of rows, as they were given, and where they begin, by pattern.
    probabilities: Vec<f64>,
    patterns: Vec<(u32, u32)>,
    known: Interner,
    /// Those to share and all after them that are shared no more, adding up to 1.
    unshared: Option<ArrayBuilder<f64>>,
    /// The first row among these that is not one of probabilities.
    refused: Option<Error>,
}

impl RowsBuilder {
    pub fn new(in_file: bool) -> Self {
        Self {
            in_file,
            keys: Vec::new(),
            rows: Growing::new(in_file),
            open: None,
            transitions: Vec::new(),
            probabilities: Vec::new(),
            patterns: Vec::new(),
            known: Interner::default(),
            unshared: None,
            refused: None,
        }
    }

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
        self.keys.push(key);
        let pattern = self.pattern();
        self.rows.push(self.transitions.iter().map(|t| (t.next, t.outcome)), pattern);
        self.transitions.clear();
    }

    /// Where the open row's probabilities are stored.
    fn pattern(&mut self) -> u32 {
        let Self { transitions, patterns, known, probabilities, .. } = self;
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
        if self.in_file && probabilities.len() + transitions.len() > SHARED {
            return self.unshared_pattern();
        }
        known.insert(hash, patterns.len() as u32);
        let start = probabilities.len() as u32;
        probabilities.extend(transitions.iter().map(|t| t.probability));
        patterns.push((start, transitions.len() as u32));
        start
    }

    /// The same for a row that no other will share its probabilities with.
    fn unshared_pattern(&mut self) -> u32 {
        if self.unshared.is_none() {
            let mut shared = ArrayBuilder::new(true);
            let mut normal = self.probabilities.clone();
            self.refused = self.normalize(&mut normal).err();
            shared.extend_from_slice(&normal);
            self.unshared = Some(shared);
        }
        let mut row: Vec<f64> = self.transitions.iter().map(|t| t.probability).collect();
        let checked = row.iter().try_for_each(|p| check_probability(*p));
        let normal = checked.and_then(|()| normalize(&mut row, || self.keys[self.keys.len() - 1]));
        if let (Err(error), None) = (normal, &self.refused) {
            self.refused = Some(error);
        }
        let unshared = self.unshared.get_or_insert_with(|| ArrayBuilder::new(true));
        let start = unshared.len() as u32;
        unshared.extend_from_slice(&row);
        start
    }

    /// The rows in the order of their keys, one a key, without those of terminal states. Checks what they hold.
    pub fn build(mut self, terminal: &[bool], available: &[u32]) -> Result<Rows> {
        self.close();
        not_too_large("transitions", &[self.rows.next.len()], u32::MAX as usize)?;
        let is_terminal = |state: u32| terminal.get(state as usize).is_some_and(|is_terminal| *is_terminal);
        let is_sorted = self.keys.is_sorted_by(|a, b| a < b);
        if !is_sorted || self.keys.iter().any(|(state, _)| is_terminal(*state)) {
            self = self.sorted(is_terminal)?;
        }
        let states = terminal.len();
        let state_index = |index: u32| Error::Index { what: "state", index: index as usize, count: states };
        for &(state, action) in &self.keys {
            let Some(&count) = available.get(state as usize) else { return Err(state_index(state)) };
            if action >= count {
                return Err(Error::Index { what: "action", index: action as usize, count: count as usize });
            }
        }
        // The keys are in order, so the first that is missing is where they differ from all that there should be.
        let choices =
            available.iter().zip(0u32..).flat_map(|(count, state)| (0..*count).map(move |a| (state, a)));
        let mut keys = self.keys.iter();
        let missing = choices.into_iter().find(|choice| keys.next() != Some(choice));
        let mut probabilities = std::mem::take(&mut self.probabilities);
        let checked = probabilities.iter().try_for_each(|p| check_probability(*p));
        let normal = match missing {
            Some((state, action)) => {
                Err(Error::Probabilities { state: state as usize, action: action as usize, sum: 0.0 })
            }
            None => self.normalize(&mut probabilities),
        };
        let probabilities = match self.unshared.take() {
            Some(unshared) => unshared.build()?,
            None => probabilities.into(),
        };
        let rows = self.rows.build(probabilities)?;
        if let Some(next) = rows.next.iter().find(|next| **next as usize >= states) {
            return Err(state_index(*next));
        }
        checked.and(normal)?;
        self.refused.map_or(Ok(rows), Err)
    }

    /// Makes the probabilities of every pattern add up to 1, where they do but for rounding.
    fn normalize(&self, probabilities: &mut [f64]) -> Result<()> {
        for &(start, count) in &self.patterns {
            let stored = &mut probabilities[start as usize..][..count as usize];
            let first = || self.rows.pattern.iter().position(|pattern| *pattern == start).unwrap_or(0);
            normalize(stored, || self.keys[first()])?;
        }
        Ok(())
    }

    fn sorted(self, is_terminal: impl Fn(u32) -> bool) -> Result<Self> {
        let mut order: Vec<u32> = (0..self.keys.len() as u32).collect();
        order.retain(|&row| !is_terminal(self.keys[row as usize].0));
        order.sort_by_key(|&row| self.keys[row as usize]);
        let probabilities = match self.unshared {
            Some(unshared) => unshared.build()?,
            None => self.probabilities.into(),
        };
        let rows = self.rows.build(probabilities)?;
        let mut sorted = Self::new(self.in_file);
        for row in order {
            for transition in rows.get(row as usize) {
                sorted.push(self.keys[row as usize], transition);
            }
        }
        sorted.close();
        Ok(Self { refused: sorted.refused.take().or(self.refused), ..sorted })
    }
}

/// Makes the probabilities of a row add up to 1, where they do but for rounding.
fn normalize(row: &mut [f64], key: impl Fn() -> (u32, u32)) -> Result<()> {
    let sum = row.iter().fold(0.0, |sum, p| sum + p);
    if (sum - 1.0).abs() > 1e-9 {
        let (state, action) = key();
        return Err(Error::Probabilities { state: state as usize, action: action as usize, sum });
    }
    row.iter_mut().for_each(|p| *p /= sum);
    Ok(())
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

    /// The same rows in memory and in files, with many more probabilities than are shared there; also in another order, and with
    /// other states.
    #[test]
    fn rows_are_the_same_in_a_file() {
        let size = garnet::Size { states: 60, actions: 3, branching: 4, measures: 2 };
        let world = garnet::world(size, &mut random::generator(2)).unwrap().model;
        let build = |in_file: bool, is_backward: bool, wrong: f64| {
            let mut builder = TabularMdp::builder(60, 3, world.measures().clone());
            builder.keep_transitions(in_file);
            builder.start(0, 1.0);
            let mut keys: Vec<_> = (0..60).flat_map(|s| (0..3).map(move |a| (s, a))).collect();
            if is_backward {
                keys.reverse();
            }
            for key in keys {
                for t in world.row(key.0, key.1) {
                    let z: Vec<_> = world.outcome(t.outcome).iter().map(|&(i, v)| (i as usize, v)).collect();
                    let factor = if key == (50, 1) { wrong } else { 1.0 };
                    builder.transition(key, factor * t.probability, t.next as usize, &z);
                }
            }
            builder.build()
        };
        let rows = |model: &TabularMdp| -> Vec<_> {
            let rows = (0..model.choices()).map(|choice| model.outcomes_of(choice));
            rows.flat_map(|row| row.iter().map(|t| (t.probability.to_bits(), t.next, t.outcome))).collect()
        };
        let [plain, in_file] = [false, true].map(|in_file| build(in_file, false, 1.0).unwrap());
        assert!(in_file.is_in_file() && !plain.is_in_file());
        assert!(plain.transitions() > 2 * super::SHARED, "too few");
        assert_eq!(rows(&plain), rows(&in_file));
        let [plain, in_file] = [plain, in_file].map(|model| {
            let places: Vec<u32> = (0..60).map(|state| 59 - state).chain([60]).collect();
            let first = (0..=60).map(|state| 3 * state).chain([181]).collect();
            let choices = (0..60).flat_map(|s| (0..3).map(move |a| Some((59 - s, a)))).chain([None]);
            model.rearranged(&places, first, &choices.collect::<Vec<_>>(), &[]).unwrap()
        });
        assert!(in_file.is_in_file() && !plain.is_in_file());
        assert_eq!(rows(&plain), rows(&in_file));
        // Rows that come backward are read again from where they were put, and no further from adding up to 1.
        let near = |model: TabularMdp| rows(&model).into_iter().map(|row| f64::from_bits(row.0));
        let pairs = near(build(false, true, 1.0).unwrap()).zip(near(build(true, true, 1.0).unwrap()));
        pairs.for_each(|(a, b)| assert!((a - b).abs() <= 1e-15));
        for wrong in [0.5, 3.0] {
            assert_eq!(build(true, false, wrong).unwrap_err(), build(false, false, wrong).unwrap_err());
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
