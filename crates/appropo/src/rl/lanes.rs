use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::env::TabularMdp;

/// Successors that are read at a time.
const WIDTH: usize = 4;
/// Places for successors that may be left empty, for each that is taken.
const EMPTY: usize = 4;
/// Lanes that a copy has at most: more would cost memory, and no longer fit where reading is fast.
const MOST: usize = 1 << 20;

/// What the choices of a discounted model are worth, copied for loops that pass through them many times: rows have the same
/// length, what ends an episode is left out, and staying put is solved for. Q(a) = f(a)r(a) + Σ W(a, s′)V(s′).
pub(super) struct Lanes {
    /// Lanes of a choice.
    count: usize,
    lanes: Vec<Lane>,
    /// f(a) = 1/(1 − γP(s|s, a)).
    factors: Vec<f64>,
}

/// Places for a few successors, the last of them empty: with weight 0, and the state itself.
#[derive(Clone, Copy)]
struct Lane {
    next: [u32; WIDTH],
    weights: [f64; WIDTH],
}

impl Lane {
    #[inline(always)]
    fn add(&self, mut sum: f64, values: &[f64]) -> f64 {
        for k in 0..WIDTH {
            sum += self.weights[k] * values[self.next[k] as usize];
        }
        sum
    }
}

impl Lanes {
    /// The choices of these states, one after the other, with every state by its number; `u32::MAX` stands for those that are worth
    /// nothing. `None` where choices differ too much in how many states they lead to, or lead to too many.
    pub fn new(
        model: &TabularMdp,
        gamma: f64,
        states: impl Iterator<Item = usize> + Clone,
        number: &[u32],
    ) -> Option<Self> {
        let mut row: Vec<(u32, f64)> = Vec::new();
        let (mut longest, mut taken, mut choices) = (1, 0, 0);
        for (state, choice) in states.clone().flat_map(|s| model.choices_of(s).map(move |choice| (s, choice)))
        {
            read(model, (state, choice), gamma, number, &mut row);
            longest = longest.max(row.len());
            taken += row.len().max(1);
            choices += 1;
        }
        let count = longest.div_ceil(WIDTH);
        if WIDTH * count * choices > (1 + EMPTY) * taken || count * choices > MOST {
            return None;
        }
        let (mut lanes, mut factors) = (Vec::with_capacity(choices * count), Vec::with_capacity(choices));
        for (state, choice) in states.flat_map(|s| model.choices_of(s).map(move |choice| (s, choice))) {
            let factor = read(model, (state, choice), gamma, number, &mut row);
            factors.push(factor);
            let itself = if number[state] == u32::MAX { 0 } else { number[state] };
            for lane in 0..count {
                let at = |k: usize| row.get(lane * WIDTH + k).copied().unwrap_or((itself, 0.0));
                lanes.push(Lane {
                    next: std::array::from_fn(|k| at(k).0),
                    weights: std::array::from_fn(|k| factor * at(k).1),
                });
            }
        }
        Some(Self { count, lanes, factors })
    }

    /// f(a) of every choice.
    pub fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// The successors of a choice and their weights, among them empty places.
    #[inline(always)]
    pub fn places(&self, choice: usize) -> impl Iterator<Item = (usize, f64)> {
        let lanes = self.lanes[choice * self.count..][..self.count].iter();
        lanes.flat_map(|lane| (0..WIDTH).map(|k| (lane.next[k] as usize, lane.weights[k])))
    }

    /// The successors of a choice and their weights.
    pub fn row(&self, choice: usize) -> impl Iterator<Item = (usize, f64)> {
        self.places(choice).filter(|(_, weight)| *weight > 0.0)
    }

    /// What a choice is worth, given f(a)r(a) of every choice and the values of all states.
    #[inline(always)]
    pub fn value(&self, choice: usize, rewards: &[f64], values: &[f64]) -> f64 {
        let lanes = &self.lanes[choice * self.count..][..self.count];
        lanes.iter().fold(rewards[choice], |sum, lane| lane.add(sum, values))
    }

    /// The best of some choices and its value; the first of several, and −∞ where none is a number.
    #[inline(always)]
    pub fn best(&self, choices: Range<usize>, rewards: &[f64], values: &[f64]) -> (usize, f64) {
        let lanes = &self.lanes[choices.start * self.count..choices.end * self.count];
        let rewards = choices.clone().zip(&rewards[choices.clone()]);
        let none = (choices.start, f64::NEG_INFINITY);
        // A loop of one step costs as much as the step.
        if self.count == 1 {
            let all = rewards.zip(lanes);
            all.fold(none, |best, ((choice, reward), lane)| better(best, choice, lane.add(*reward, values)))
        } else {
            let all = rewards.zip(lanes.chunks_exact(self.count));
            all.fold(none, |best, ((choice, reward), lanes)| {
                better(best, choice, lanes.iter().fold(*reward, |sum, lane| lane.add(sum, values)))
            })
        }
    }
}

/// The better of two, chosen without a branch, which could not be foretold.
#[inline(always)]
fn better(best: (usize, f64), choice: usize, value: f64) -> (usize, f64) {
    let is_better = value > best.1;
    (if is_better { choice } else { best.0 }, if is_better { value } else { best.1 })
}

/// The successors of a choice of a state with γ times their probabilities, without the state itself. Returns f(a).
fn read(
    model: &TabularMdp,
    (state, choice): (usize, usize),
    gamma: f64,
    number: &[u32],
    row: &mut Vec<(u32, f64)>,
) -> f64 {
    row.clear();
    let mut stay = 0.0;
    for (probability, next) in model.outcomes_of(choice).successors() {
        match (number[next], row.last_mut()) {
            (u32::MAX, _) => {}
            _ if next == state => stay += probability,
            (next, Some(last)) if last.0 == next => last.1 += gamma * probability,
            (next, _) => row.push((next, gamma * probability)),
        }
    }
    1.0 / (1.0 - gamma * stay)
}

/// What a copy of a discounted model depends on besides its transitions.
pub(super) fn key(kind: &str, gamma: f64, decisions: &[bool]) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(kind);
    digest.update(gamma.to_le_bytes());
    digest.update(Vec::from_iter(decisions.iter().map(|decides| u8::from(*decides))));
    digest.finalize().into()
}
