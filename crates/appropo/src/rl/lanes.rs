use sha2::{Digest, Sha256};

use crate::env::TabularMdp;

/// Choices of a state that are looked at side by side.
const SIDE: usize = 4;
/// Successors that are read at a time.
const WIDTH: usize = 4;
/// Weights that a copy may hold for each that is not 0, where a choice counts as two of them.
const WEIGHTS: usize = 6;
/// Fans that a copy has at most: more would cost memory, and no longer fit where reading is fast.
const MOST: usize = 1 << 18;

/// What the choices of a discounted model are worth, copied for loops that pass through them many times. The choices of a state
/// share the states that they lead to: on a map each value is read once for all directions. What ends an episode is left
/// out, and staying put is solved for. Q(a) = f(a)r(a) + Σ W(a, s′)V(s′).
pub(super) struct Lanes {
    /// The first lane of each place, and the end. A place stands for a state.
    places: Vec<u32>,
    /// The first fan of each lane, and the end.
    lanes: Vec<u32>,
    fans: Vec<Fan>,
    /// f(a) = 1/(1 − γP(s|s, a)), and 0 where a lane has no choice.
    factors: Vec<Side>,
    /// The first choice of each place in the model.
    origin: Vec<u32>,
}

/// A number for each choice of a lane.
pub(super) type Side = [f64; SIDE];

/// A few states that the choices of a lane lead to. Places left over have weight 0, and the state itself.
#[derive(Clone, Copy)]
struct Fan {
    next: [u32; WIDTH],
    weights: [Side; WIDTH],
}

impl Lanes {
    /// The choices of these states, one after the other, with every state by its number; `u32::MAX` stands for those that are worth
    /// nothing. `None` where choices of a state lead to too many different states.
    pub fn new(
        model: &TabularMdp,
        gamma: f64,
        states: impl Iterator<Item = usize> + Clone,
        number: &[u32],
    ) -> Option<Self> {
        let mut copy = Self {
            places: vec![0],
            lanes: vec![0],
            fans: Vec::new(),
            factors: Vec::new(),
            origin: Vec::new(),
        };
        let (mut rows, mut taken) = (<[Vec<(u32, f64)>; SIDE]>::default(), 0);
        let mut union: Vec<u32> = Vec::new();
        for state in states {
            let choices = model.choices_of(state);
            copy.origin.push(choices.start as u32);
            for start in choices.clone().step_by(SIDE) {
                let mut factors = [0.0; SIDE];
                union.clear();
                for i in 0..SIDE {
                    rows[i].clear();
                    if start + i < choices.end {
                        factors[i] = read(model, (state, start + i), gamma, number, &mut rows[i]);
                        union.extend(rows[i].iter().map(|(next, _)| *next));
                        taken += rows[i].len() + 2;
                    }
                }
                union.sort_unstable();
                union.dedup();
                let itself = if number[state] == u32::MAX { 0 } else { number[state] };
                for few in union.chunks(WIDTH) {
                    let mut fan = Fan { next: [itself; WIDTH], weights: [[0.0; SIDE]; WIDTH] };
                    fan.next[..few.len()].copy_from_slice(few);
                    for i in 0..SIDE {
                        // Rows are in the order of their states, as the union is.
                        let row = rows[i].iter().filter(|(next, _)| few.binary_search(next).is_ok());
                        for (next, weight) in row {
                            let k = few.partition_point(|other| other < next);
                            fan.weights[k][i] = factors[i] * weight;
                        }
                    }
                    copy.fans.push(fan);
                }
                if copy.fans.len() > MOST {
                    return None;
                }
                copy.factors.push(factors);
                copy.lanes.push(copy.fans.len() as u32);
            }
            copy.places.push(copy.factors.len() as u32);
        }
        (WIDTH * SIDE * copy.fans.len() <= WEIGHTS * taken).then_some(copy)
    }

    /// f(a)r(a) of every choice, and −∞ where a lane has none.
    pub fn scaled(&self, rewards: &[f64]) -> Vec<Side> {
        let mut scaled = Vec::with_capacity(self.factors.len());
        for (place, &origin) in self.origin.iter().enumerate() {
            let lanes = self.places[place] as usize..self.places[place + 1] as usize;
            for (factors, start) in self.factors[lanes].iter().zip((origin as usize..).step_by(SIDE)) {
                let scale = |i: usize| match factors[i] {
                    0.0 => f64::NEG_INFINITY,
                    factor => factor * rewards[start + i],
                };
                scaled.push(std::array::from_fn(scale));
            }
        }
        scaled
    }

    /// The actions in a place.
    pub fn actions(&self, place: usize) -> impl Iterator<Item = usize> {
        let lanes = self.places[place] as usize..self.places[place + 1] as usize;
        let factors = self.factors[lanes].iter().flatten();
        (0..).zip(factors).filter(|(_, factor)| **factor > 0.0).map(|(action, _)| action)
    }

    #[inline(always)]
    fn fans(&self, lane: usize) -> &[Fan] {
        &self.fans[self.lanes[lane] as usize..self.lanes[lane + 1] as usize]
    }

    /// The lane of an action, and its number there.
    #[inline(always)]
    fn lane(&self, place: usize, action: usize) -> (usize, usize) {
        (self.places[place] as usize + action / SIDE, action % SIDE)
    }

    /// The successors of an action and their weights, some of them 0.
    #[inline(always)]
    pub fn successors(&self, place: usize, action: usize) -> impl Iterator<Item = (usize, f64)> {
        let (lane, i) = self.lane(place, action);
        let fans = self.fans(lane).iter();
        fans.flat_map(move |fan| (0..WIDTH).map(move |k| (fan.next[k] as usize, fan.weights[k][i])))
    }

    /// The successors of an action and their weights.
    pub fn row(&self, place: usize, action: usize) -> impl Iterator<Item = (usize, f64)> {
        self.successors(place, action).filter(|(_, weight)| *weight > 0.0)
    }

    /// f(a)r(a) of an action.
    #[inline(always)]
    pub fn reward(&self, place: usize, action: usize, scaled: &[Side]) -> f64 {
        let (lane, i) = self.lane(place, action);
        scaled[lane][i]
    }

    /// What an action is worth, given the rewards scaled and the values of all states.
    #[inline(always)]
    pub fn value(&self, place: usize, action: usize, scaled: &[Side], values: &[f64]) -> f64 {
        let (lane, i) = self.lane(place, action);
        self.fans(lane).iter().fold(scaled[lane][i], |mut sum, fan| {
            for k in 0..WIDTH {
                sum += fan.weights[k][i] * values[fan.next[k] as usize];
            }
            sum
        })
    }

    /// The best action and its value; the first of several, and −∞ where none is a number.
    #[inline(always)]
    pub fn best(&self, place: usize, scaled: &[Side], values: &[f64]) -> (usize, f64) {
        let (start, end) = (self.places[place] as usize, self.places[place + 1] as usize);
        let mut best = (0, f64::NEG_INFINITY);
        for lane in start..end {
            let mut sums = scaled[lane];
            for fan in self.fans(lane) {
                for k in 0..WIDTH {
                    let value = values[fan.next[k] as usize];
                    for i in 0..SIDE {
                        sums[i] += fan.weights[k][i] * value;
                    }
                }
            }
            for i in 0..SIDE {
                best = better(best, SIDE * (lane - start) + i, sums[i]);
            }
        }
        best
    }
}

/// The better of two, chosen without a branch, which could not be foretold.
#[inline(always)]
fn better(best: (usize, f64), action: usize, value: f64) -> (usize, f64) {
    let is_better = value > best.1;
    (if is_better { action } else { best.0 }, if is_better { value } else { best.1 })
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
