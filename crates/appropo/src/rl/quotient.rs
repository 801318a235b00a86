use std::collections::{HashMap, HashSet, VecDeque};

use super::averages::{Averages, Staying};
use super::decision_states;
use super::end_components::{EndComponents, Predecessors, successors};
use crate::env::{TabularMdp, Transition};
use crate::error::{Error, Result};
use crate::measurement::Measures;

/// A model without discount in which each end component where nothing adds up is one state, with one action more: to
/// stay for ever. Policies that measure finitely end there, and the others are left out as far as they can be.
///
/// What is averaged over time depends on where one stays alone. It is measured by the actions to stay, each by an entry of its
/// own after those of the model, whose price is what staying there is worth ([`Quotient::staying`]).
///
/// Going round in such a component costs nothing, so all its states are worth the same (de Alfaro 1997; Haddad and Monmege
/// 2018).
#[derive(Debug)]
pub(crate) struct Quotient {
    /// The model.
    pub model: TabularMdp,
    /// Its decision states.
    pub decisions: Vec<bool>,
    /// A policy that ends, from every decision state.
    pub ending: Vec<u32>,
    /// What is measured for ever by policies that do not end: state, action and mean of every choice that they can repeat.
    pub endless: Vec<(usize, usize, Vec<f64>)>,
    /// State and action there of each choice here; `None` where it stays.
    origins: Vec<Option<(u32, u32)>>,
    /// The states there of each state here.
    members: Vec<Vec<u32>>,
    components: EndComponents,
    averages: Averages,
    /// The entries of what is averaged there.
    averaged: Vec<usize>,
    /// The number among the averages of each state here that has any.
    numbers: Vec<Option<usize>>,
}

impl Quotient {
    /// The quotient of a model by what it measures; `None` where every policy ends and nothing is averaged.
    pub fn new(there: &TabularMdp, decisions: &[bool]) -> Result<Option<Self>> {
        let averaged = there.measures().averages().to_vec();
        if averaged.is_empty() && EndComponents::new(there, decisions, |_| true).count() == 0 {
            return Ok(None);
        }
        let model = &there.without_averages();
        let measures_nothing =
            |choice: usize| model.outcomes_of(choice).iter().all(|t| model.outcome(t.outcome).is_empty());
        let components = EndComponents::new(model, decisions, measures_nothing);
        let (places, members) = places(model, decisions, &components);
        let mut averages = Averages::default();
        let mut numbers = vec![None; members.len() + 1];
        for (place, states) in members.iter().enumerate() {
            if components.of(states[0] as usize).is_some() {
                numbers[place] = averages.add(there, &components, states)?;
            }
        }
        let (whole, origins) = collapsed(model, &places, &members, &components, &numbers)?;
        let reached = decision_states(&whole);
        let of_choice = |choice: usize| origins[choice];
        let endless = endless(&whole, &reached, &of_choice, there.measures().dim());
        let ending = Ending::new(&whole, &reached);
        if let Some(&(state, _)) = whole.start().iter().find(|(s, _)| reached[*s] && !ending.ends[*s]) {
            return Err(Error::Infinite { state: members[state][0] as usize });
        }
        let (model, origins) = ending.restricted(&whole, &origins)?;
        let decisions = decision_states(&model);
        let ending = Ending::new(&model, &decisions).actions;
        Ok(Some(Self {
            model,
            decisions,
            ending,
            endless,
            origins,
            members,
            components,
            averages,
            averaged,
            numbers,
        }))
    }

    /// The best ways to stay for −λ·z, and λ with what they are worth after it.
    pub fn staying(&self, lam: &[f64]) -> Result<Staying> {
        self.averages.best(&self.averaged, lam)
    }

    /// λ, and after it what staying is worth at most by the proof `bias`.
    pub fn priced(&self, lam: &[f64], bias: &[f64]) -> Result<Vec<f64>> {
        self.averages.priced(&self.averaged, lam, bias)
    }

    /// A bound on E‖z‖ of every choice.
    pub fn step_norms(&self, there: &TabularMdp) -> Vec<f64> {
        let mut norms = self.model.step_norms();
        let largest = there.measurement_bound();
        for (norm, origin) in norms.iter_mut().zip(&self.origins) {
            if origin.is_none() && *norm > 0.0 {
                *norm = largest;
            }
        }
        norms
    }

    /// A policy here as one there: in a component it goes to where the component is left, or stays.
    pub fn lift(&self, there: &TabularMdp, actions: &[u32], staying: &Staying) -> Vec<u32> {
        let mut lifted = vec![0; there.states()];
        for (state, members) in self.members.iter().enumerate() {
            if !self.decisions[state] {
                continue;
            }
            let origin = self.origins[self.model.choice(state, actions[state] as usize)];
            let is_component = self.components.of(members[0] as usize).is_some();
            match (origin, self.numbers[state]) {
                (None, Some(number)) => {
                    staying.actions[number].iter().for_each(|&(s, action)| lifted[s as usize] = action);
                }
                _ if is_component => {
                    self.go_round(there, members, origin.map(|(leaving, _)| leaving), &mut lifted);
                }
                _ => {}
            }
            if let Some((leaving, action)) = origin {
                lifted[leaving as usize] = action;
            }
        }
        lifted
    }

    /// Actions that stay in a component and sooner or later come by `target`.
    fn go_round(&self, there: &TabularMdp, members: &[u32], target: Option<u32>, lifted: &mut [u32]) {
        let staying = |state: u32| {
            let choices = there.choices_of(state as usize);
            choices
                .clone()
                .filter(|&c| self.components.stays(c))
                .map(move |c| (c, (c - choices.start) as u32))
        };
        let Some(target) = target else {
            for &state in members {
                lifted[state as usize] = staying(state).next().map_or(0, |(_, action)| action);
            }
            return;
        };
        let mut sources = HashMap::<usize, Vec<(u32, u32)>>::new();
        for &state in members {
            for (choice, action) in staying(state) {
                for next in successors(there, choice) {
                    sources.entry(next).or_default().push((state, action));
                }
            }
        }
        let mut open = VecDeque::from([target]);
        let mut found = HashSet::from([target]);
        while let Some(state) = open.pop_front() {
            for &(source, action) in sources.get(&(state as usize)).into_iter().flatten() {
                if found.insert(source) {
                    lifted[source as usize] = action;
                    open.push_back(source);
                }
            }
        }
    }
}

/// Where each state goes, and the states of each place. What needs no decision goes to the last place.
fn places(model: &TabularMdp, decisions: &[bool], components: &EndComponents) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut members: Vec<Vec<u32>> = Vec::new();
    let mut first = vec![u32::MAX; components.count()];
    let mut places = vec![u32::MAX; model.states()];
    for state in (0..model.states()).filter(|&s| decisions[s]) {
        let place = match components.of(state) {
            Some(component) if first[component] != u32::MAX => first[component],
            found => {
                let place = members.len() as u32;
                members.push(Vec::new());
                if let Some(component) = found {
                    first[component] = place;
                }
                place
            }
        };
        places[state] = place;
        members[place as usize].push(state as u32);
    }
    let end = members.len() as u32;
    places.iter_mut().filter(|place| **place == u32::MAX).for_each(|place| *place = end);
    (places, members)
}

type Origins = Vec<Option<(u32, u32)>>;

fn collapsed(
    model: &TabularMdp,
    places: &[u32],
    members: &[Vec<u32>],
    components: &EndComponents,
    numbers: &[Option<usize>],
) -> Result<(TabularMdp, Origins)> {
    let end = members.len();
    let choices_of = |place: usize| -> Vec<Option<(u32, u32)>> {
        let leaving = members[place].iter().flat_map(|&state| {
            let choices = model.choices_of(state as usize);
            choices
                .clone()
                .filter(|&c| !components.stays(c))
                .map(move |c| Some((state, (c - choices.start) as u32)))
        });
        let is_component = components.of(members[place][0] as usize).is_some();
        leaving.chain(is_component.then_some(None)).collect()
    };
    let most = (0..end).map(|place| choices_of(place).len()).max().unwrap_or(1);
    let dim = model.measures().dim();
    let measures = Measures::new([("selected", dim), ("stay", numbers.iter().flatten().count())]);
    let mut builder = TabularMdp::builder(end + 1, most, measures);
    builder.terminal(end);
    let mut origins = Vec::new();
    for place in 0..end {
        let choices = choices_of(place);
        builder.available(place, choices.len());
        for (action, origin) in choices.iter().enumerate() {
            let Some((state, there)) = origin else {
                let worth = numbers[place].map(|number| (dim + number, 1.0));
                builder.transition((place, action), 1.0, end, worth.as_slice());
                continue;
            };
            for t in model.row(*state as usize, *there as usize) {
                add(&mut builder, model, (place, action), t, places[t.next as usize] as usize);
            }
        }
        origins.extend(choices);
    }
    for &(state, probability) in model.start() {
        builder.start(places[state] as usize, probability);
    }
    Ok((builder.build()?, origins))
}

fn add(
    builder: &mut crate::env::TabularMdpBuilder,
    model: &TabularMdp,
    choice: (usize, usize),
    t: Transition,
    next: usize,
) {
    let z: Vec<(usize, f64)> = model.outcome(t.outcome).iter().map(|&(i, v)| (i as usize, v)).collect();
    builder.transition(choice, t.probability, next, &z);
}

/// The choices that can be repeated for ever, by whose they are, and what they measure on average.
fn endless(
    model: &TabularMdp,
    decisions: &[bool],
    origin: &dyn Fn(usize) -> Option<(u32, u32)>,
    dim: usize,
) -> Vec<(usize, usize, Vec<f64>)> {
    let components = EndComponents::new(model, decisions, |_| true);
    let staying = (0..model.choices()).filter(|&choice| components.stays(choice));
    staying
        .filter_map(|choice| {
            let mut z = vec![0.0; dim];
            for t in model.outcomes_of(choice) {
                model.outcome(t.outcome).iter().for_each(|&(i, v)| z[i as usize] += t.probability * v);
            }
            let (state, action) = origin(choice)?;
            z.iter().any(|v| *v != 0.0).then_some((state as usize, action as usize, z))
        })
        .collect()
}

/// From where some policy ends with probability 1, and how.
struct Ending {
    ends: Vec<bool>,
    actions: Vec<u32>,
}

impl Ending {
    fn new(model: &TabularMdp, decisions: &[bool]) -> Self {
        let predecessors = Predecessors::new(model);
        let mut ends = decisions.to_vec();
        let mut actions = vec![0; model.states()];
        loop {
            // States that can end without the risk of going where nothing ends.
            let is_safe = |choice: usize, ends: &[bool]| {
                successors(model, choice).all(|next| ends[next] || !decisions[next])
            };
            let mut reached = vec![false; model.states()];
            // First come, first served: the ways to the end are short.
            let mut open: VecDeque<usize> = (0..model.states()).filter(|&s| !decisions[s]).collect();
            while let Some(state) = open.pop_front() {
                for (source, choice) in predecessors.of(state) {
                    if ends[source] && !reached[source] && is_safe(choice, &ends) {
                        reached[source] = true;
                        actions[source] = (choice - model.choices_of(source).start) as u32;
                        open.push_back(source);
                    }
                }
            }
            if reached == ends {
                return Self { ends, actions };
            }
            ends = reached;
        }
    }

    /// The model without the choices after which no policy is sure to end.
    fn restricted(&self, model: &TabularMdp, origins: &Origins) -> Result<(TabularMdp, Origins)> {
        let is_kept =
            |choice: usize| successors(model, choice).all(|next| self.ends[next] || model.is_terminal(next));
        let mut kept = Vec::new();
        let mut builder = TabularMdp::builder(model.states(), model.actions(), model.measures().clone());
        for state in 0..model.states() {
            if !self.ends[state] {
                builder.terminal(state);
                continue;
            }
            let choices: Vec<usize> = model.choices_of(state).filter(|&choice| is_kept(choice)).collect();
            builder.available(state, choices.len());
            for (action, &choice) in choices.iter().enumerate() {
                for t in model.outcomes_of(choice) {
                    add(&mut builder, model, (state, action), t, t.next as usize);
                }
            }
            kept.extend(choices.iter().map(|&choice| origins[choice]));
        }
        for &(state, probability) in model.start() {
            builder.start(state, probability);
        }
        Ok((builder.build()?, kept))
    }
}
