use std::collections::VecDeque;

use super::chain::Chain;
use super::end_components::EndComponents;
use super::endless_classes::EndlessClasses;
use super::graph::Predecessors;
use super::sweeps::Sweeps;
use crate::env::TabularMdp;
use crate::error::Result;
use crate::measurement::Measures;
use crate::vector::{largest, rounding};

const ROUNDS: usize = 1000;
/// Sweeps before the first evaluation, by which policies see a little ahead.
const FIRST_SWEEPS: usize = 64;
/// Spans of sweeps between two evaluations.
const SPANS: usize = 8;
/// Sweeps where they come first: until values settle, relative to the largest reward, but not more than these, and than so many
/// transitions take.
const SETTLED: f64 = 1e-10;
const MOST_SWEEPS: usize = 10_000;
const MOST_WORK: usize = 2_000_000_000;
/// How closely policies on the way are evaluated, relative to the largest value.
const ROUGHLY: f64 = 1e-8;
/// A switch must gain more than rounding, or equal actions would be swapped for ever.
const GAIN: f64 = 1e-13;

/// The long-run averages of those who stay in an end component for ever, component by component.
///
/// Within a component every state can be reached from every other, so that only what is done in the end counts, and the best
/// average is the same from everywhere (Puterman 1994, chapter 9).
#[derive(Debug, Default)]
pub(crate) struct Averages {
    components: Vec<Component>,
}

/// An end component as a model of its own.
#[derive(Debug)]
struct Component {
    /// The states there.
    states: Vec<u32>,
    /// The actions there, by choice.
    actions: Vec<u32>,
    model: TabularMdp,
    predecessors: Predecessors,
}

/// How policies are improved.
#[derive(Clone, Copy, PartialEq)]
enum Pace {
    /// By sweeps that go on from each evaluation.
    Leaping,
    /// One step at a time.
    Careful,
}

/// How to stay for the best average payoff.
pub(crate) struct Staying {
    /// λ, and after it a bound on the average payoff of whoever stays, component by component.
    pub lam: Vec<f64>,
    /// What proves the bounds: see [`Averages::priced`].
    pub bias: Vec<f64>,
    /// The actions there, as (state, action), by component.
    pub actions: Vec<Vec<(u32, u32)>>,
}

impl Averages {
    /// Adds a component by its states. Returns its number, or `None` where nothing is averaged in it.
    pub fn add(
        &mut self,
        model: &TabularMdp,
        components: &EndComponents,
        states: &[u32],
    ) -> Result<Option<usize>> {
        let averages = model.measures().averages();
        let is_averaged = |choice: usize| {
            let mut entries = model.outcomes_of(choice).iter().flat_map(|t| model.outcome(t.outcome));
            entries.any(|(entry, _)| model.measures().is_average(*entry as usize))
        };
        let staying = |state: u32| model.choices_of(state as usize).filter(|&c| components.stays(c));
        if averages.is_empty() || !states.iter().any(|&state| staying(state).any(is_averaged)) {
            return Ok(None);
        }
        let most = states.iter().map(|&state| staying(state).count()).max().unwrap_or(1);
        let mut builder =
            TabularMdp::builder(states.len(), most, Measures::new([("average", averages.len())]));
        let mut actions = Vec::new();
        for (place, &state) in states.iter().enumerate() {
            builder.available(place, staying(state).count());
            for (action, choice) in staying(state).enumerate() {
                actions.push((choice - model.choices_of(state as usize).start) as u32);
                for t in model.outcomes_of(choice).iter().filter(|t| t.probability > 0.0) {
                    let outcome = model.outcome(t.outcome).iter();
                    let z: Vec<(usize, f64)> = outcome
                        .filter_map(|&(entry, v)| Some((averages.binary_search(&(entry as usize)).ok()?, v)))
                        .collect();
                    // A component is closed: what it leads to is one of its states, which are in order.
                    let next = states.binary_search(&t.next).unwrap_or(usize::MAX);
                    builder.transition((place, action), t.probability, next, &z);
                }
            }
        }
        builder.start(0, 1.0);
        let model = builder.build()?;
        let predecessors = Predecessors::new(&model);
        self.components.push(Component { states: states.to_vec(), actions, model, predecessors });
        Ok(Some(self.components.len() - 1))
    }

    /// The best ways to stay for −λ·z, where `averages` are the entries of λ that price averages.
    pub fn best(&self, averages: &[usize], lam: &[f64]) -> Result<Staying> {
        let prices: Vec<f64> = averages.iter().map(|entry| lam[*entry]).collect();
        let (mut bias, mut actions) = (Vec::new(), Vec::new());
        for component in &self.components {
            let (taken, of_component) = component.best(&prices)?;
            bias.extend(of_component);
            let place = |state: usize| component.model.choice(state, taken[state] as usize);
            let states = component.states.iter().enumerate();
            actions.push(states.map(|(i, &state)| (state, component.actions[place(i)])).collect());
        }
        let lam = self.priced(averages, lam, &bias)?;
        Ok(Staying { lam, bias, actions })
    }

    /// States of all components.
    pub fn states(&self) -> usize {
        self.components.iter().map(|component| component.states.len()).sum()
    }

    /// λ, and after it a number for each component that no average payoff of whoever stays in it is below.
    ///
    /// For any b, the average of λ·z is that of λ·z + b(here) − b(next), because b is bounded: it is at least the least of
    /// these over all choices. What rounding may have added is taken off.
    pub fn priced(&self, averages: &[usize], lam: &[f64], bias: &[f64]) -> Result<Vec<f64>> {
        crate::error::dimension("bias", bias.len(), self.states())?;
        let prices: Vec<f64> = averages.iter().map(|entry| lam[*entry]).collect();
        let mut priced = lam.to_vec();
        let mut rest = bias;
        for component in &self.components {
            let (bias, others) = rest.split_at(component.states.len());
            rest = others;
            priced.push(component.least_payoff(&prices, bias));
        }
        Ok(priced)
    }
}

impl Component {
    fn least_payoff(&self, lam: &[f64], bias: &[f64]) -> f64 {
        let model = &self.model;
        let (payoffs, sizes) = (model.payoffs(lam), model.payoff_sizes(lam));
        let (longest_row, longest_outcome) = model.longest_sums();
        // The probabilities of a row add up to 1 but for rounding, which counts as well.
        let rounding = rounding(2 * longest_row + longest_outcome);
        let mut least = f64::INFINITY;
        for state in 0..model.states() {
            for choice in model.choices_of(state) {
                let (mut payoff, mut size) = (bias[state], bias[state].abs());
                for t in model.outcomes_of(choice) {
                    let (later, outcome) = (bias[t.next as usize], t.outcome as usize);
                    payoff += t.probability * (payoffs[outcome] - later);
                    size += t.probability * (sizes[outcome] + later.abs());
                }
                let payoff = payoff - rounding * size;
                // NaN must not pass for a proof.
                least = if payoff.is_nan() { f64::NEG_INFINITY } else { least.min(payoff) };
            }
        }
        least
    }

    /// The actions with the largest average of −λ·z, and b with b(s) + gain ≥ −λ·z + b(next) for all choices: policy iteration
    /// in a model where every state can be reached (Puterman 1994, section 9.5).
    ///
    /// Sweeps between evaluations save most of them, but may lead to policies that hardly ever come back to where they are
    /// evaluated from. Then all sweeps come first.
    fn best(&self, lam: &[f64]) -> Result<(Vec<u32>, Vec<f64>)> {
        let rewards = self.model.rewards(lam);
        let mut bias = vec![0.0; self.model.states()];
        self.look_ahead(&rewards, FIRST_SWEEPS, &mut bias);
        if let Ok(found) = self.iterate(&rewards, bias.clone(), Pace::Leaping) {
            return Ok(found);
        }
        self.look_ahead(&rewards, MOST_SWEEPS.min(MOST_WORK / self.model.transitions().max(1)), &mut bias);
        self.iterate(&rewards, bias, Pace::Careful)
    }

    /// So many sweeps of relative value iteration, or as many as it takes to settle.
    fn look_ahead(&self, rewards: &[f64], sweeps: usize, bias: &mut Vec<f64>) {
        let largest = largest(rewards);
        for _ in 0..sweeps {
            let best = |state: usize| {
                let choices = self.model.choices_of(state);
                choices.map(|choice| self.worth(rewards, choice, bias)).fold(f64::NEG_INFINITY, f64::max)
            };
            // Half a step at a time, so that rounds are no trouble.
            let mut next: Vec<f64> = (0..bias.len()).map(|s| 0.5 * (bias[s] + best(s))).collect();
            let changes = next.iter().zip(bias.iter()).map(|(next, bias)| next - bias);
            let (least, most) =
                changes.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
            let first = next[0];
            next.iter_mut().for_each(|v| *v -= first);
            *bias = next;
            if most - least <= SETTLED * largest {
                break;
            }
        }
    }

    /// Policy iteration from the policy that is greedy for a bias. Leaping, a policy that can't be evaluated soon is an error.
    fn iterate(&self, rewards: &[f64], mut bias: Vec<f64>, pace: Pace) -> Result<(Vec<u32>, Vec<f64>)> {
        let model = &self.model;
        let everywhere = vec![true; model.states()];
        let mut actions = self.greedy(rewards, &bias);
        let (mut accuracy, mut frequencies) = (ROUGHLY, Vec::new());
        for _ in 0..ROUNDS {
            let reward =
                |state: usize, actions: &[u32]| rewards[model.choice(state, actions[state] as usize)];
            let taken = |s: usize, a: usize| f64::from(actions[s] as usize == a);
            let Some(classes) = EndlessClasses::new(model, &everywhere, taken) else { break };
            frequencies = match pace {
                Pace::Leaping => classes.frequencies_soon(model, taken, &frequencies)?,
                Pace::Careful => classes.frequencies(model, taken)?,
            };
            let mut gains = vec![0.0; classes.count()];
            for (state, frequency) in frequencies.iter().enumerate() {
                if let Some(class) = classes.of(state) {
                    gains[class] += frequency * reward(state, &actions);
                }
            }
            // The first of the best.
            let references = classes.most_frequent(&frequencies).into_iter().enumerate();
            let references = references.filter_map(|(class, state)| Some((class, state?)));
            let best = references.max_by(|(a, _), (b, _)| gains[*a].total_cmp(&gains[*b]).then(b.cmp(a)));
            let Some((class, reference)) = best else { break };
            self.lead_to(|state| classes.of(state) == Some(class), &mut actions);

            let mut others = everywhere.clone();
            others[reference] = false;
            let level = bias[reference];
            bias.iter_mut().for_each(|v| *v -= level);
            let chain = Chain::deterministic(model, 1.0, &others, &actions);
            let chain = if pace == Pace::Leaping { chain.impatient() } else { chain };
            chain.values(|state| reward(state, &actions) - gains[class], accuracy, &mut bias)?;

            let scale = largest(&bias).max(largest(rewards));
            if self.improve(rewards, &bias, accuracy.max(GAIN) * scale, &mut actions) {
                if pace == Pace::Leaping {
                    // What is better here is better for all that leads here.
                    let beyond: Vec<f64> = rewards.iter().map(|reward| reward - gains[class]).collect();
                    let mut sweeps = Sweeps::new(model, 1.0, (0..model.states(), &others), &beyond, GAIN);
                    (0..SPANS).for_each(|_| sweeps.run_span(&mut bias));
                    self.improve(rewards, &bias, GAIN * scale, &mut actions);
                }
            } else if accuracy == 0.0 {
                break;
            } else {
                accuracy = 0.0;
            }
        }
        Ok((actions, bias))
    }

    fn worth(&self, rewards: &[f64], choice: usize, bias: &[f64]) -> f64 {
        let row = self.model.outcomes_of(choice);
        rewards[choice] + row.iter().map(|t| t.probability * bias[t.next as usize]).sum::<f64>()
    }

    fn greedy(&self, rewards: &[f64], bias: &[f64]) -> Vec<u32> {
        let mut actions = vec![0; self.model.states()];
        self.improve(rewards, bias, 0.0, &mut actions);
        actions
    }

    /// Takes actions that are worth more than those taken by a margin; whether there are any.
    fn improve(&self, rewards: &[f64], bias: &[f64], margin: f64, actions: &mut [u32]) -> bool {
        let mut is_improved = false;
        for (state, action) in actions.iter_mut().enumerate() {
            let choices = self.model.choices_of(state);
            let mut most = self.worth(rewards, self.model.choice(state, *action as usize), bias) + margin;
            for choice in choices.clone() {
                let found = self.worth(rewards, choice, bias);
                if found > most {
                    (most, is_improved) = (found, true);
                    *action = (choice - choices.start) as u32;
                }
            }
        }
        is_improved
    }

    /// Changes actions so that all states lead to the target for sure: those that may end up elsewhere go the shortest way.
    fn lead_to(&self, is_target: impl Fn(usize) -> bool, actions: &mut [u32]) {
        let model = &self.model;
        let taken = |s: usize, actions: &[u32]| model.choice(s, actions[s] as usize);
        let leading = |sources: Vec<usize>, is_followed: &dyn Fn(usize, usize) -> bool| {
            let mut found = vec![false; model.states()];
            sources.iter().for_each(|&state| found[state] = true);
            let mut open = VecDeque::from(sources);
            let mut order = Vec::new();
            while let Some(state) = open.pop_front() {
                for (source, choice) in self.predecessors.of(state) {
                    if !found[source] && is_followed(source, choice) {
                        found[source] = true;
                        order.push((source, choice));
                        open.push_back(source);
                    }
                }
            }
            (found, order)
        };
        let targets: Vec<usize> = (0..model.states()).filter(|&s| is_target(s)).collect();
        let (leads, _) = leading(targets, &|source, choice| taken(source, actions) == choice);
        let lost: Vec<usize> = (0..model.states()).filter(|&s| !leads[s]).collect();
        // Those that may come to where no way leads on are lost, too.
        let (is_lost, _) =
            leading(lost, &|source, choice| taken(source, actions) == choice && !is_target(source));
        let safe: Vec<usize> = (0..model.states()).filter(|&s| !is_lost[s]).collect();
        let (_, ways) = leading(safe, &|source, _| is_lost[source]);
        for (source, choice) in ways {
            actions[source] = (choice - model.choices_of(source).start) as u32;
        }
    }
}
