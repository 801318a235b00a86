use sha2::{Digest, Sha256};

use super::chain::{Chain, chosen, taken};
use super::discounted_visits::discounted_visits;
use super::endless_classes::EndlessClasses;
use super::flow;
use super::walk::Walk;
use crate::env::TabularMdp;
use crate::error::{Error, Result};
use crate::measurement::Discounting;
use crate::policy::{Mixed, TabularPolicy};
use crate::vector::add_scaled;

/// ρ(s, a), the expected discounted number of times an episode takes action a in state s; one table a step
/// where there is a horizon. Measurements are linear in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Occupancy {
    states: usize,
    actions: usize,
    /// `[(stage * states + state) * actions + action]`.
    mass: Vec<f64>,
    /// The share of time that is spent on each for ever, in the same places; empty where nothing is averaged.
    share: Vec<f64>,
    /// What is measured without end, by entry; empty where nothing is.
    is_infinite: Vec<bool>,
    /// Policies that stay somewhere for ever, and policies.
    endless: (usize, usize),
}

/// How far visits may be off, relative to all of them, to be taken for a policy's. Measurements are compared with 1e-7.
const ACCURACY: f64 = 1e-10;

/// What one policy visits.
struct Visits {
    visits: Vec<f64>,
    /// The states among which it stays for ever.
    staying: Vec<u32>,
    ends: bool,
}

impl Occupancy {
    /// The occupancy of a policy, from one transposed solve or, with a horizon, one pass forward.
    pub fn of(model: &TabularMdp, discounting: &Discounting, policy: &TabularPolicy) -> Result<Self> {
        let (states, actions, gamma) = (model.states(), model.actions(), discounting.gamma());
        let decisions = model.decision_states();
        let Some(horizon) = discounting.horizon() else {
            let stages = policy.stages();
            crate::error::in_range(
                "the number of tables of a policy without a horizon",
                stages as f64,
                stages == 1,
                "1",
            )?;
            return match policy.actions_taken() {
                Some(actions) => Self::stationary(model, gamma, policy, |s| taken(model, actions, s)),
                None => Self::stationary(model, gamma, policy, |s| {
                    chosen(model, |s: usize, a: usize| policy.probability(0, s, a), s)
                }),
            };
        };
        let mut visits = vec![0.0; states];
        for &(state, probability) in model.start() {
            visits[state] += probability;
        }
        let mut mass = Vec::with_capacity(horizon * states * actions);
        for stage in 0..horizon {
            for (visits, decides) in visits.iter_mut().zip(decisions) {
                *visits *= f64::from(*decides);
            }
            let now = spread(&visits, actions, |s, a| policy.probability(stage, s, a));
            visits.fill(0.0);
            for (row, &mass) in now.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
                for t in model.row(row / actions, row % actions) {
                    visits[t.next as usize] += gamma * mass * t.probability;
                }
            }
            mass.extend(now);
        }
        Ok(Self::from_mass(model, mass))
    }

    /// The occupancy of a policy that takes the choices `chosen(state)` at every step.
    fn stationary<I: Iterator<Item = (usize, f64)>>(
        model: &TabularMdp,
        gamma: f64,
        policy: &TabularPolicy,
        chosen: impl Fn(usize) -> I,
    ) -> Result<Self> {
        let (states, actions, decisions) = (model.states(), model.actions(), model.decision_states());
        // The same policies are measured when they are found, when they are mixed and when they are reported.
        let found = model.remembered(fingerprint(gamma, policy), || {
            let mut visits = vec![0.0; states];
            if gamma < 1.0 {
                discounted_visits(model, gamma, &chosen, &mut visits)?;
                return Ok(Visits { visits, staying: Vec::new(), ends: true });
            }
            let walk = Walk::new(model, decisions, &chosen);
            let chain = Chain::of(model, 1.0, (0..states, walk.passed()), &chosen, |s| walk.component(s));
            chain.visits(model.start(), &mut visits)?;
            let ends = walk.ends();
            let staying = if ends { Vec::new() } else { walk.stay(model, &mut visits, &chosen) };
            Ok(Visits { visits, staying, ends })
        })?;
        let Visits { visits, staying, ends } = found.as_ref();
        let mut is_infinite = vec![false; if *ends { 0 } else { model.measures().dim() }];
        for (choice, _) in staying.iter().flat_map(|&state| chosen(state as usize)) {
            for t in model.outcomes_of(choice).iter().filter(|t| t.probability > 0.0) {
                let entries = model.outcome(t.outcome).iter().map(|(entry, _)| *entry as usize);
                entries.for_each(|entry| is_infinite[entry] |= !model.measures().is_average(entry));
            }
        }
        let probability = |s: usize, a: usize| policy.probability(0, s, a);
        let mass = spread(visits, actions, probability);
        let mut share = Vec::new();
        if !ends && !model.measures().averages().is_empty() {
            share = spread(&times(model, visits, probability)?, actions, probability);
        }
        Ok(Self { states, actions, mass, share, is_infinite, endless: (usize::from(!ends), 1) })
    }

    /// The discounted number of times that a policy visits each state; `None` where there is a horizon or no discount.
    /// [`accept_visits`](Self::accept_visits) checks it in one sweep, where finding it takes a linear solve.
    pub fn visits(
        model: &TabularMdp,
        discounting: &Discounting,
        policy: &TabularPolicy,
    ) -> Result<Option<Vec<f64>>> {
        if !is_summed(discounting) {
            return Ok(None);
        }
        Self::of(model, discounting, policy)?;
        // It was remembered just now.
        let found = model
            .remembered(fingerprint(discounting.gamma(), policy), || Err::<Visits, _>(Error::NoTable))?;
        Ok(Some(found.visits.clone()))
    }

    /// Whether these surely are the visits of a policy, but for 1e-10 of them all. Then they are remembered, and the policy's
    /// occupancy is known without a linear solve. Whatever else they are changes nothing.
    pub fn accept_visits(
        model: &TabularMdp,
        discounting: &Discounting,
        policy: &TabularPolicy,
        visits: Vec<f64>,
    ) -> bool {
        let gamma = discounting.gamma();
        if !is_summed(discounting) || policy.stages() != 1 || policy.states() < model.states() {
            return false;
        }
        let bound = match policy.actions_taken() {
            Some(actions) => flow::error_bound(model, gamma, |s| taken(model, actions, s), &visits),
            None => {
                let probability = |s: usize, a: usize| policy.probability(0, s, a);
                flow::error_bound(model, gamma, |s| chosen(model, probability, s), &visits)
            }
        };
        let is_close = bound.is_finite() && bound <= ACCURACY * visits.iter().sum::<f64>();
        let visits = Visits { visits, staying: Vec::new(), ends: true };
        is_close && model.remembered(fingerprint(gamma, policy), || Ok(visits)).is_ok()
    }

    /// The occupancy of a mixed policy: the weighted sum of its parts'.
    pub fn of_mixture(model: &TabularMdp, discounting: &Discounting, mixture: &Mixed) -> Result<Self> {
        let entries = model.states() * model.actions() * discounting.horizon().unwrap_or(1);
        let mut sum = Self::from_mass(model, vec![0.0; entries]);
        sum.endless.1 = 0;
        for (weight, policy) in mixture.parts() {
            let policy = policy.as_table().ok_or(Error::NoTable)?;
            let part = Self::of(model, discounting, &policy)?;
            add_scaled(&mut sum.mass, *weight, &part.mass);
            if !part.share.is_empty() {
                sum.share.resize(part.share.len(), 0.0);
                add_scaled(&mut sum.share, *weight, &part.share);
            }
            sum.is_infinite.resize(part.is_infinite.len().max(sum.is_infinite.len()), false);
            sum.is_infinite.iter_mut().zip(&part.is_infinite).for_each(|(sum, part)| *sum |= *part);
            sum.endless = (sum.endless.0 + part.endless.0, sum.endless.1 + 1);
        }
        Ok(sum)
    }

    /// An occupancy given by its entries, as found by a linear programme; negative ones are rounding.
    pub fn from_mass(model: &TabularMdp, mut mass: Vec<f64>) -> Self {
        mass.iter_mut().for_each(|m| *m = m.max(0.0));
        let (states, actions) = (model.states(), model.actions());
        Self { states, actions, mass, share: Vec::new(), is_infinite: Vec::new(), endless: (0, 1) }
    }

    /// ρ(s, a), over all steps.
    pub fn mass(&self, state: usize, action: usize) -> f64 {
        let table = self.states * self.actions;
        let place = state * self.actions + action;
        self.mass[place..].iter().step_by(table).sum()
    }

    /// The long-term measurement Z̄ = Σ ρ(s, a) E[z | s, a], with shares of time for averages; NaN where something is measured without end.
    pub fn measure(&self, model: &TabularMdp) -> Vec<f64> {
        let mut z = model.measure(|s, a| self.mass(s, a));
        let infinite = z.iter_mut().zip(&self.is_infinite).filter(|(_, is_infinite)| **is_infinite);
        infinite.for_each(|(z, _)| *z = f64::NAN);
        let averages = model.measures().averages();
        if self.share.is_empty() {
            averages.iter().for_each(|&entry| z[entry] = 0.0);
        } else {
            let over_time = model.measure(|s, a| self.share[s * self.actions + a]);
            averages.iter().for_each(|&entry| z[entry] = over_time[entry]);
        }
        z
    }

    /// The single policy π(a|s) = ρ(s, a)/ρ(s), which has this occupancy and so the same measurements.
    /// States that are never visited choose uniformly. Where some of several policies stay somewhere for ever there is none.
    pub fn policy(&self) -> Result<TabularPolicy> {
        if self.endless.0 > 0 && self.endless.1 > 1 {
            return Err(Error::NoOnePolicy);
        }
        let mut table = self.mass.clone();
        for row in table.chunks_mut(self.actions) {
            let total: f64 = row.iter().sum();
            if total > f64::MIN_POSITIVE {
                row.iter_mut().for_each(|p| *p /= total);
            } else {
                row.fill(1.0 / self.actions as f64);
            }
        }
        TabularPolicy::stochastic(self.states, self.actions, table)
    }
}

/// Whether visits add up over steps without end to a number.
fn is_summed(discounting: &Discounting) -> bool {
    discounting.gamma() < 1.0 && discounting.horizon().is_none()
}

/// The share of time in each state among which a policy stays for ever, where `visits` has those that enter.
fn times(model: &TabularMdp, visits: &[f64], policy: impl Fn(usize, usize) -> f64) -> Result<Vec<f64>> {
    let Some(classes) = EndlessClasses::new(model, model.decision_states(), &policy) else {
        return Ok(vec![0.0; visits.len()]);
    };
    let mut times = classes.frequencies(model, policy)?;
    times.iter_mut().zip(visits).for_each(|(time, entered)| *time *= entered);
    Ok(times)
}

fn spread(visits: &[f64], actions: usize, policy: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let rows = visits.iter().enumerate();
    rows.flat_map(|(s, v)| (0..actions).map(move |a| (s, a, v)))
        .map(|(s, a, v)| if *v > 0.0 { v * policy(s, a) } else { 0.0 })
        .collect()
}

/// What the visits of a policy depend on besides the transitions.
fn fingerprint(gamma: f64, policy: &TabularPolicy) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(gamma.to_le_bytes());
    let mut bytes = Vec::new();
    match policy.actions_taken() {
        Some(taken) => {
            for taken in taken.chunks(1024) {
                bytes.clear();
                bytes.extend(taken.iter().flat_map(|action| action.to_le_bytes()));
                digest.update(&bytes);
            }
        }
        None => {
            digest.update([1]);
            for state in 0..policy.states() {
                bytes.clear();
                let chosen = |action| policy.probability(0, state, action).to_le_bytes();
                bytes.extend((0..policy.actions()).flat_map(chosen));
                digest.update(&bytes);
            }
        }
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::mars_rover;
    use crate::measurement::Selection;

    /// The visits of a policy are solved for once, whatever is measured; another policy or discount has its own.
    #[test]
    fn visits_are_remembered() {
        let world = mars_rover::world("8x8", 0.05).unwrap();
        let selected = world.model.select(&Selection { entries: vec![(0, 2.0), (1, 1.0)] });
        let right = TabularPolicy::deterministic(64, 4, vec![2; 64]).unwrap();
        let policies = [right, TabularPolicy::uniform(64, 4)];
        let mut keys = Vec::new();
        for (policy, gamma) in policies.iter().flat_map(|policy| [(policy, 0.99), (policy, 0.9)]) {
            let discounting = Discounting::new(gamma, None).unwrap();
            let all = Occupancy::of(&world.model, &discounting, policy).unwrap().measure(&world.model);
            let two = Occupancy::of(&selected, &discounting, policy).unwrap().measure(&selected);
            assert_eq!(two, [2.0 * all[0], all[1]]);
            let key = fingerprint(gamma, policy);
            assert!(!keys.contains(&key));
            keys.push(key);
            selected.remembered(key, || Err::<Visits, _>(Error::NoTable)).unwrap();
        }
    }
    /// Visits that are a policy's are taken as they are; those of another policy, altered ones and what is no number change
    /// nothing.
    #[test]
    fn visits_are_accepted_by_their_flow() {
        let fresh = || mars_rover::world("sparse-30x30", 0.05).unwrap().model;
        let discounting = Discounting::new(0.999, None).unwrap();
        let right = TabularPolicy::deterministic(900, 4, vec![2; 900]).unwrap();
        let random = TabularPolicy::uniform(900, 4);
        for (policy, other) in [(&right, &random), (&random, &right)] {
            let visits = |policy| Occupancy::visits(&fresh(), &discounting, policy).unwrap().unwrap();
            let (own, wrong) = (visits(policy), visits(other));
            let solved = Occupancy::of(&fresh(), &discounting, policy).unwrap();
            let model = fresh();
            assert!(!Occupancy::accept_visits(&model, &discounting, policy, wrong));
            assert!(!Occupancy::accept_visits(&model, &discounting, policy, own[1..].to_vec()));
            let most = (0..900).max_by(|a, b| own[*a].total_cmp(&own[*b])).unwrap();
            let rock = (0..900).find(|&s| model.is_terminal(s)).unwrap();
            for (place, value) in
                [(most, own[most] * (1.0 + 1e-9)), (most, f64::NAN), (most, f64::INFINITY), (rock, 1e-3)]
            {
                let mut altered = own.clone();
                altered[place] = value;
                assert!(!Occupancy::accept_visits(&model, &discounting, policy, altered), "{place}: {value}");
            }
            assert!(Occupancy::of(&model, &discounting, policy).unwrap() == solved);
            let model = fresh();
            assert!(Occupancy::accept_visits(&model, &discounting, policy, own));
            assert!(Occupancy::of(&model, &discounting, policy).unwrap() == solved);
        }
    }
}
