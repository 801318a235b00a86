use std::sync::Arc;

use crate::error::Result;
use crate::measurement::Spread;
use crate::set::{ConvexSet, SharedSet, placed};
use crate::state::{Loader, Saver};
use crate::vector;

/// How the multipliers of Lagrangian learning move.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Pace {
    /// Not at all: the learner minds the constraints itself.
    Still,
    /// By proportional, integral and derivative gains without units: a constraint counts by how far it is from its edge
    /// beside how much episodes vary, a price by what the objective varies by for what the constraint does, and time by the
    /// share of all samples.
    Pid {
        /// What is added while it is outside the set.
        kp: f64,
        /// How far they move over all samples while it is.
        ki: f64,
        /// What is added while it gets further away.
        kd: f64,
    },
    /// By optimistic gradients, in the same units: every time by what was measured and by what that changed since the time
    /// before, y ← y + η(2z − z of the time before − bound) for a bound. Plain gradients turn in circles around the
    /// multipliers that they look for; these reach them.
    Optimistic {
        /// η, as the part of a price that a constraint which is off by all it can be off by moves by.
        rate: f64,
        /// Whether what changed counts at all; without it these are plain gradients.
        is_ahead: bool,
    },
    /// Every time by so much for each unit of violation.
    Gradient {
        /// η.
        rate: f64,
        /// No constraint's is longer.
        most: f64,
        /// What they begin with, one an entry of the set; nothing for 0.
        initial: Vec<f64>,
    },
}

/// The prices y of a set's entries, which follow what a policy measures while it learns for objective − y·z. They move by
/// proximal steps of dual ascent, y ← η(w − Γ(w)) with w = z + y/η: y ← max(y + η(z − bound), 0) for the set z ≤ bound.
#[derive(Debug)]
pub(super) struct Multipliers {
    set: SharedSet,
    pace: Pace,
    /// Those that steps add up to.
    sums: Vec<f64>,
    prices: Vec<f64>,
    /// How far outside each constraint was, beside how much episodes vary.
    outside: Vec<f64>,
    /// The most that each constraint was off or varied by so far.
    units: Vec<f64>,
    /// The most that the objective varied by so far; `None` without one.
    objective: Option<f64>,
    /// What was measured the time before, where that counts; nothing at first.
    before: Vec<f64>,
    /// The points of the set's edge that the multipliers lead to, since they moved last.
    edge: Vec<f64>,
}

impl Multipliers {
    /// Multipliers of `set`, beside an objective or not.
    pub fn new(set: &SharedSet, has_objective: bool, pace: Pace) -> Self {
        let constraints = blocks(set).len();
        let mut first = vec![0.0; set.dim()];
        if let Pace::Gradient { initial, .. } = &pace {
            first.iter_mut().zip(initial).for_each(|(first, initial)| *first = *initial);
        }
        Self {
            set: Arc::clone(set),
            pace,
            sums: first.clone(),
            prices: first,
            outside: vec![0.0; constraints],
            units: vec![0.0; constraints],
            objective: has_objective.then_some(0.0),
            before: Vec::new(),
            edge: vec![0.0; set.dim()],
        }
    }

    /// y.
    pub fn prices(&self) -> &[f64] {
        &self.prices
    }

    /// The most that y·z is on the set; infinite before a first optimistic step, which tells.
    pub fn offset(&self) -> f64 {
        if self.before.is_empty() { f64::INFINITY } else { vector::dot(&self.prices, &self.edge) }
    }

    /// Goes on from these prices with optimistic gradients of half the steps.
    pub fn restart(&mut self, prices: &[f64]) {
        if let Pace::Optimistic { rate, .. } = &mut self.pace {
            *rate *= 0.5;
        }
        self.sums.copy_from_slice(prices);
        self.prices.copy_from_slice(prices);
        self.before.clear();
    }

    /// λ: y, and −1 for the objective, shorter where prices are high.
    pub fn lam(&self) -> Vec<f64> {
        let Some(unit) = self.objective else { return self.prices.clone() };
        let ranges = placed(blocks(&self.set)).map(|(_, range)| range);
        let worth = ranges.zip(&self.units).map(|(range, unit)| vector::norm(&self.prices[range]) * unit);
        let length = 1.0 + if unit > 0.0 { worth.sum::<f64>() / unit } else { 0.0 };
        self.prices.iter().chain([&-1.0]).map(|price| price / length).collect()
    }

    /// Takes what the policy measures now, the objective last, after another `share` of all samples.
    pub fn observe(&mut self, z: &[f64], spread: &Spread, share: f64) {
        if let Some(most) = &mut self.objective {
            *most = most.max(spread.deviations.last().copied().unwrap_or(0.0));
        }
        let set = Arc::clone(&self.set);
        for (number, (block, range)) in placed(blocks(&set)).enumerate() {
            let deviation = vector::norm(&spread.deviations[range.clone()]);
            let nearest = projected(block, &z[range.clone()]);
            let distance = vector::distance(&z[range.clone()], &nearest);
            self.units[number] = self.units[number].max(distance).max(deviation);
            match self.pace {
                Pace::Still => {}
                Pace::Optimistic { rate, is_ahead } => {
                    let price = self.objective.unwrap_or(1.0) / self.units[number];
                    let rate = rate * price / self.units[number];
                    let mut ahead = z[range.clone()].to_vec();
                    if let Some(before) = self.before.get(range.clone()).filter(|_| is_ahead) {
                        ahead.iter_mut().zip(before).for_each(|(z, before)| *z += *z - before);
                    }
                    if rate > 0.0 && rate.is_finite() {
                        let sum = &mut self.sums[range.clone()];
                        step(block, &ahead, sum, rate, &mut self.edge[range.clone()]);
                        self.prices[range.clone()].copy_from_slice(sum);
                    }
                }
                Pace::Gradient { rate, most, .. } => {
                    let (sum, edge) = (&mut self.sums[range.clone()], &mut self.edge[range.clone()]);
                    step(block, &z[range.clone()], sum, rate, edge);
                    self.prices[range.clone()].copy_from_slice(&self.sums[range.clone()]);
                    let over = vector::norm(&self.prices[range.clone()]) / most;
                    if over > 1.0 {
                        vector::scale(&mut self.prices[range.clone()], 1.0 / over);
                        self.sums[range.clone()].copy_from_slice(&self.prices[range]);
                    }
                }
                Pace::Pid { kp, ki, kd } => {
                    // Where nothing was ever off or varied, nothing is known of what it is worth.
                    let price = self.objective.unwrap_or(1.0) / self.units[number];
                    if !(price > 0.0 && price.is_finite()) {
                        continue;
                    }
                    let (z, sum) = (&z[range.clone()], &mut self.sums[range.clone()]);
                    let room = distance_from_edge(block, z, sum, FAR * self.units[number]);
                    if room + deviation > 0.0 {
                        let edge = &mut self.edge[range.clone()];
                        step(block, z, sum, ki * share * price / (room + deviation), edge);
                    }
                    let outside = if distance > 0.0 { distance / (distance + deviation) } else { 0.0 };
                    let growth = (outside - self.outside[number]).max(0.0);
                    self.outside[number] = outside;
                    let added = price * (kp * outside + kd * growth) / distance.max(f64::MIN_POSITIVE);
                    for (i, y) in self.prices[range.clone()].iter_mut().enumerate() {
                        *y = sum[i] + added * (z[i] - nearest[i]);
                    }
                }
            }
        }
        if matches!(self.pace, Pace::Optimistic { .. }) {
            self.before = z.to_vec();
        }
    }

    pub fn save(&self, to: &mut Saver) {
        let Self { set: _, pace, sums, prices, outside, units, objective, before, edge } = self;
        [sums, prices, outside, units].into_iter().for_each(|numbers| to.put_all(numbers));
        to.put(objective);
        if let Pace::Optimistic { rate, .. } = pace {
            to.put(rate);
            to.put(before);
            to.put_all(edge);
        }
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        let Self { set: _, pace, sums, prices, outside, units, objective, before, edge } = self;
        for numbers in [sums, prices, outside, units] {
            from.get_finite("a multiplier", numbers)?;
        }
        let fits = |most: &Option<f64>| {
            most.is_some() == objective.is_some() && most.is_none_or(|most| (0.0..=f64::MAX).contains(&most))
        };
        *objective = from.get_where("a multiplier's unit", fits)?;
        if let Pace::Optimistic { rate, .. } = pace {
            *rate = from.get_where("a multiplier's step", |rate: &f64| (0.0..=f64::MAX).contains(rate))?;
            let dim = edge.len() + usize::from(objective.is_some());
            let fits = |z: &Vec<f64>| (z.is_empty() || z.len() == dim) && z.iter().all(|z| z.is_finite());
            *before = from.get_where("a measurement", fits)?;
            from.get_finite("a point of the edge", edge)?;
        }
        Ok(())
    }
}

/// The constraints that a set is made of.
fn blocks(set: &SharedSet) -> &[SharedSet] {
    set.blocks().unwrap_or(std::slice::from_ref(set))
}

fn projected(set: &SharedSet, z: &[f64]) -> Vec<f64> {
    let mut nearest = vec![0.0; z.len()];
    set.project(z, &mut nearest);
    nearest
}

/// Moves y by a proximal step, and says which point of the set's edge it leads to.
fn step(set: &SharedSet, z: &[f64], y: &mut [f64], rate: f64, edge: &mut [f64]) {
    if rate > 0.0 {
        let w: Vec<f64> = z.iter().zip(&*y).map(|(z, y)| z + y / rate).collect();
        set.project(&w, edge);
        for ((y, w), nearest) in y.iter_mut().zip(&w).zip(&*edge) {
            *y = rate * (w - nearest);
        }
    }
}

/// How far away a point is that lies outside for sure, in units.
const FAR: f64 = 1e6;

/// How far z is from the point of the set's edge that y leads to; from the set where y is 0.
fn distance_from_edge(set: &SharedSet, z: &[f64], y: &[f64], far: f64) -> f64 {
    let length = vector::norm(y).max(f64::MIN_POSITIVE);
    let w: Vec<f64> = z.iter().zip(y).map(|(z, y)| z + far * (y / length)).collect();
    vector::distance(z, &projected(set, &w))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::{Ball, Bounds, Product};

    fn limit(most: f64) -> SharedSet {
        Arc::new(Bounds::at_most(most).unwrap())
    }

    fn spread(deviations: &[f64]) -> Spread {
        Spread { deviations: deviations.to_vec(), episodes: 25.0 }
    }

    /// A constraint that holds in every episode alike: its price was not a number.
    #[test]
    fn nothing_moves_where_nothing_is_off() {
        let mut multipliers = Multipliers::new(&limit(0.5), true, Pace::Pid { kp: 1.0, ki: 1.0, kd: 1.0 });
        for cost in [1.0, 0.0, 0.5, 0.0] {
            multipliers.observe(&[cost, 3.0], &spread(&[0.0, 2.0]), 0.1);
            assert!(multipliers.lam().iter().all(|price| price.is_finite()), "{multipliers:?}");
        }
        close(&multipliers.lam(), &[0.0, -1.0]);
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert!(vector::distance(found, expected) < 1e-12, "{found:?} instead of {expected:?}");
    }

    /// y ← min(max(y + η(z − bound), 0), most), each constraint on its own.
    #[test]
    fn gradients_are_those_of_reward_constrained_policy_optimisation() {
        let at_least: SharedSet = Arc::new(Bounds::at_least(-0.5).unwrap());
        let set: SharedSet = Arc::new(Product::new(vec![limit(0.2), at_least]));
        let mut multipliers =
            Multipliers::new(&set, false, Pace::Gradient { rate: 0.1, most: 0.05, initial: Vec::new() });
        let none = spread(&[0.0, 0.0]);
        multipliers.observe(&[0.5, -0.3], &none, 0.1);
        close(&multipliers.lam(), &[0.03, 0.0]);
        multipliers.observe(&[0.1, -0.8], &none, 0.1);
        close(&multipliers.lam(), &[0.02, -0.03]);
        multipliers.observe(&[0.0, -5.0], &none, 0.1);
        close(&multipliers.lam(), &[0.0, -0.05]);
    }

    /// y ← max(y + η(2z − z of the time before − bound), 0), and y·z is at most y · bound on the set.
    #[test]
    fn optimistic_gradients_go_by_what_changed_as_well() {
        let pace = Pace::Optimistic { rate: 0.5, is_ahead: true };
        let mut multipliers = Multipliers::new(&limit(0.2), false, pace);
        assert_eq!(multipliers.offset(), f64::INFINITY);
        for (z, expected) in [(0.6, 0.2), (0.3, 0.1), (0.4, 0.25), (0.0, 0.0)] {
            multipliers.observe(&[z], &spread(&[1.0]), 0.0);
            close(multipliers.prices(), &[expected]);
            close(&[multipliers.offset()], &[0.2 * expected]);
        }
        multipliers.restart(&[0.3]);
        multipliers.observe(&[0.6], &spread(&[1.0]), 0.0);
        close(multipliers.prices(), &[0.3 + 0.25 * 0.4]);
    }

    /// Prices rise while a constraint is violated and fall when it is not, as much in cents as in euros.
    #[test]
    fn gains_have_no_units() {
        for (cents, points) in [(1.0, 1.0), (100.0, 1.0), (1.0, 1000.0)] {
            let pace = Pace::Pid { kp: 0.5, ki: 10.0, kd: 0.2 };
            let mut multipliers = Multipliers::new(&limit(25.0 * cents), true, pace);
            let mut observe = |cost: f64, reward: f64| {
                let spread = spread(&[5.0 * cents, 3.0 * points]);
                multipliers.observe(&[cost * cents, reward * points], &spread, 0.01);
                let lam = multipliers.lam();
                -lam[0] / lam[1] * cents / points
            };
            // Off by 20 where episodes vary by 5: the unit is 20, a price 3 / 20.
            let (unit, off) = (3.0 / 20.0, 20.0 / 25.0);
            let first = observe(45.0, 7.0);
            assert!((first - unit * off * (0.1 + 0.5 + 0.2)).abs() < 1e-12, "{first}");
            let second = observe(45.0, 7.0);
            assert!((second - unit * off * (0.2 + 0.5)).abs() < 1e-12, "{second}");
            let third = observe(20.0, 7.0);
            assert!((third - unit * (0.2 * off - 0.1 * 5.0 / 10.0)).abs() < 1e-12, "{third}");
        }
    }

    /// Any convex set has prices: those of a ball lead to its centre.
    #[test]
    fn a_ball_is_priced_by_what_leads_out_of_it() {
        let ball: SharedSet = Arc::new(Ball::new(vec![1.0, 1.0], 1.0).unwrap());
        let mut multipliers = Multipliers::new(&ball, true, Pace::Pid { kp: 0.0, ki: 1.0, kd: 0.0 });
        multipliers.observe(&[4.0, 5.0, 0.0], &spread(&[0.3, 0.4, 2.0]), 0.5);
        let lam = multipliers.lam();
        close(&[lam[0] / lam[1], lam[2]], &[0.75, -1.0 / (1.0 + 0.5 * 4.0 / 4.5)]);
        for _ in 0..1000 {
            multipliers.observe(&[1.0, 1.0, 0.0], &spread(&[0.3, 0.4, 2.0]), 0.5);
        }
        close(&multipliers.lam(), &[0.0, 0.0, -1.0]);
    }
}
