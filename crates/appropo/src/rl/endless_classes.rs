use super::aggregation::long_run;
use super::chain::Chain;
use super::graph::{NONE, StrongComponents, successors};
use crate::env::TabularMdp;
use crate::error::Result;

/// A state that is visited less than this share of what another is, is no good to count visits between.
const SELDOM: f64 = 1e-3;
/// The share of time in a state where it may be new, besides what is known.
const UNKNOWN: f64 = 1e-12;
/// How often others are looked for.
const CHANGES: usize = 4;

/// States among which a policy stays for ever.
pub(super) struct EndlessClasses {
    /// The class of each state; `NONE` outside.
    places: Vec<u32>,
    count: usize,
}

impl EndlessClasses {
    /// The classes that `policy(state, action)` does not leave; `None` where it always ends.
    pub fn new(model: &TabularMdp, decisions: &[bool], policy: impl Fn(usize, usize) -> f64) -> Option<Self> {
        let mut is_taken = vec![false; model.choices()];
        for state in (0..model.states()).filter(|&s| decisions[s]) {
            for action in (0..model.actions()).filter(|&a| policy(state, a) > 0.0) {
                is_taken[model.choice(state, action)] = true;
            }
        }
        let roots = (0..model.states()).filter(|&s| decisions[s]);
        let strong = StrongComponents::new(model.states(), roots, |state, open| {
            let taken = model.choices_of(state).filter(|&choice| is_taken[choice]);
            let next = taken.flat_map(|choice| successors(model, choice));
            open.extend(next.filter(|&next| decisions[next]).map(|next| next as u32));
        });
        let StrongComponents { mut places, count, .. } = strong;
        let mut is_left = vec![false; count];
        for state in (0..model.states()).filter(|&s| decisions[s]) {
            let taken = model.choices_of(state).filter(|&choice| is_taken[choice]);
            if taken.flat_map(|choice| successors(model, choice)).any(|next| places[next] != places[state]) {
                is_left[places[state] as usize] = true;
            }
        }
        places
            .iter_mut()
            .filter(|place| **place != NONE && is_left[**place as usize])
            .for_each(|p| *p = NONE);
        is_left.contains(&false).then_some(Self { places, count })
    }

    /// More than the number of any class.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The class of a state.
    pub fn of(&self, state: usize) -> Option<usize> {
        Some(self.places[state]).filter(|place| *place != NONE).map(|place| place as usize)
    }

    /// The share of the time that is spent in each state of a class, by whoever stays there.
    pub fn frequencies(&self, model: &TabularMdp, policy: impl Fn(usize, usize) -> f64) -> Result<Vec<f64>> {
        self.solve(model, policy, &[], |chain| chain)
    }

    /// The same from those of a policy that is alike; an error where that takes long.
    pub fn frequencies_soon(
        &self,
        model: &TabularMdp,
        policy: impl Fn(usize, usize) -> f64,
        known: &[f64],
    ) -> Result<Vec<f64>> {
        self.solve(model, policy, known, Chain::impatient)
    }

    fn solve(
        &self,
        model: &TabularMdp,
        policy: impl Fn(usize, usize) -> f64,
        known: &[f64],
        how: impl Fn(Chain) -> Chain,
    ) -> Result<Vec<f64>> {
        let moves = self.moves(model, &policy);
        let somewhere = |state: usize| known.get(state).map_or(1.0, |known| known + UNKNOWN);
        let guess = (0..self.places.len()).map(|state| self.of(state).map_or(0.0, |_| somewhere(state)));
        let mut frequencies = long_run(&moves, guess.collect());
        for _ in 0..CHANGES {
            let references = self.most_frequent(&frequencies);
            // Visits between two to the reference of a class, for all classes at once.
            let mut others: Vec<bool> = self.places.iter().map(|place| *place != NONE).collect();
            references.iter().flatten().for_each(|&state| others[state] = false);
            let is_reference = |state: usize| self.of(state).is_some() && !others[state];
            let leaving = moves.iter().filter(|(from, _, _)| is_reference(*from as usize));
            let start: Vec<(usize, f64)> = leaving.map(|&(_, to, p)| (to as usize, p)).collect();
            let units: Vec<f64> =
                references.iter().map(|state| state.map_or(1.0, |s| frequencies[s])).collect();
            self.divide(&mut frequencies, &units);
            how(Chain::new(model, 1.0, &others, &policy)).visits_from(&start, &mut frequencies)?;
            references.iter().flatten().for_each(|&state| frequencies[state] = 1.0);
            self.normalize(&mut frequencies);
            let is_seldom = |(reference, often): (&Option<usize>, &Option<usize>)| match (reference, often) {
                (Some(reference), Some(often)) => frequencies[*reference] < SELDOM * frequencies[*often],
                _ => false,
            };
            if !references.iter().zip(&self.most_frequent(&frequencies)).any(is_seldom) {
                break;
            }
        }
        Ok(frequencies)
    }

    /// The state of each class that is visited most; the first of several.
    pub fn most_frequent(&self, frequencies: &[f64]) -> Vec<Option<usize>> {
        let mut found: Vec<Option<usize>> = vec![None; self.count];
        for state in 0..frequencies.len() {
            let Some(class) = self.of(state) else { continue };
            if found[class].is_none_or(|best| frequencies[state] > frequencies[best]) {
                found[class] = Some(state);
            }
        }
        found
    }

    /// The steps that are taken within classes, as (from, to, probability).
    fn moves(&self, model: &TabularMdp, policy: impl Fn(usize, usize) -> f64) -> Vec<(u32, u32, f64)> {
        let mut moves = Vec::new();
        for state in (0..model.states()).filter(|&state| self.of(state).is_some()) {
            for action in 0..model.actions() {
                let chosen = policy(state, action);
                if chosen > 0.0 {
                    let row = model.row(state, action).iter();
                    moves.extend(row.map(|t| (state as u32, t.next, chosen * t.probability)));
                }
            }
        }
        moves
    }

    /// Makes the numbers of each class add up to 1.
    fn normalize(&self, frequencies: &mut [f64]) {
        let mut sums = vec![0.0; self.count];
        for (state, frequency) in frequencies.iter().enumerate() {
            self.of(state).into_iter().for_each(|class| sums[class] += frequency);
        }
        self.divide(frequencies, &sums);
    }

    fn divide(&self, frequencies: &mut [f64], units: &[f64]) {
        for (state, frequency) in frequencies.iter_mut().enumerate() {
            self.of(state).into_iter().for_each(|class| *frequency /= units[class]);
        }
    }
}
