use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use super::averages::{Averages, Staying};
use super::decision_states;
use super::end_components::EndComponents;
use super::ending::Ending;
use super::graph::{NONE, Predecessors, StrongComponents, successors};
use super::shortest_path;
use crate::env::TabularMdp;
use crate::error::{Error, Result};

/// A model without discount as it is planned in: each end component where nothing adds up is one state, with one action
/// more, to stay for ever; states after which nothing is measured are the end; and the others are numbered by strongly connected
/// components, each after those that it leads to. Policies that measure finitely end there, and the others are left out as far as
/// they can be.
///
/// What is averaged over time depends on where one stays alone. It is measured by the actions to stay, each by an entry of its
/// own after those of the model, whose price is what staying there is worth ([`Quotient::staying`]).
///
/// Going round in a component where nothing adds up costs nothing, so all its states are worth the same (de Alfaro 1997;
/// Haddad and Monmege 2018).
#[derive(Debug)]
pub(crate) struct Quotient {
    /// The model.
    pub model: TabularMdp,
    /// Its decision states.
    pub decisions: Vec<bool>,
    /// Where its strongly connected components begin, and the end.
    components: Vec<u32>,
    /// A policy that ends, from every decision state.
    pub ending: Vec<u32>,
    /// Whether some policy goes on for ever.
    pub is_endless: bool,
    /// What is measured for ever by policies that do not end: state, action and mean of every choice that they can repeat.
    pub endless: Vec<(usize, usize, Vec<f64>)>,
    /// State and action there of each choice here; `None` where it stays.
    origins: Origins,
    /// The states there, by the state here, and where those of each begin.
    members: Vec<u32>,
    first: Vec<u32>,
    /// The components there that are one state here.
    collapsed: EndComponents,
    /// Actions there where nothing is measured any more.
    aside: Vec<u32>,
    /// What can be had by staying, the entries of what is averaged there, and the number of each state here that can stay.
    averages: Averages,
    averaged: Vec<usize>,
    numbers: Vec<Option<usize>>,
    /// Entries that are measured there.
    dim: usize,
    /// A bound on the steps left in each state, where every policy ends, once it is asked for.
    steps: OnceLock<Vec<f64>>,
}

type Origins = Vec<Option<(u32, u32)>>;

impl Quotient {
    /// The quotient of a model by what it measures, found once.
    pub fn of(model: &TabularMdp) -> Result<Arc<Self>> {
        let mut digest = Sha256::new();
        digest.update(b"quotient");
        digest.update(model.measures().dim().to_le_bytes());
        model.digest_outcomes(&mut |bytes| digest.update(bytes));
        model.remembered(digest.finalize().into(), || Self::new(model, model.decision_states()))
    }

    fn new(there: &TabularMdp, decisions: &[bool]) -> Result<Self> {
        let model = &there.without_averages();
        let predecessors = Predecessors::new(model);
        let measures = |model: &TabularMdp, choice: usize| {
            model.outcomes_of(choice).iter().any(|t| !model.outcome(t.outcome).is_empty())
        };
        let measuring = measuring(model, decisions, &predecessors, |choice| measures(there, choice));
        let aside = aside(model, decisions, &measuring, &predecessors);
        let collapsed =
            EndComponents::within(model, &predecessors, &measuring, |choice| !measures(model, choice));
        drop(predecessors);
        let Places { places, components, members, first } = Places::new(model, &measuring, &collapsed);
        let (choices, origins) = leaving(model, (&first, &members), &collapsed);
        let mut averages = Averages::default();
        let mut numbers = vec![None; first.len() - 1];
        for (number, ends) in numbers.iter_mut().zip(first.windows(2)) {
            let members = &members[ends[0] as usize..ends[1] as usize];
            if collapsed.of(members[0] as usize).is_some() {
                *number = averages.add(there, &collapsed, members)?;
            }
        }
        let whole = model.rearranged(&places, choices, &origins, &numbers)?;
        let end = first.len() - 1;
        let reached: Vec<bool> = (0..=end).map(|place| place < end).collect();
        let predecessors = Predecessors::new(&whole);
        let repeated = EndComponents::within(&whole, &predecessors, &reached, |_| true);
        let mut quotient = Self {
            endless: endless(&whole, &repeated, &origins, there.measures().dim()),
            ending: vec![0; end + 1],
            is_endless: repeated.count() > 0,
            model: whole,
            decisions: reached,
            components,
            origins,
            members,
            first,
            collapsed,
            aside,
            averages,
            averaged: there.measures().averages().to_vec(),
            numbers,
            dim: there.measures().dim(),
            steps: OnceLock::new(),
        };
        if quotient.is_endless {
            quotient.leave_out_endless(&predecessors)?;
        }
        Ok(quotient)
    }

    /// Leaves out the choices after which no policy is sure to end.
    fn leave_out_endless(&mut self, predecessors: &Predecessors) -> Result<()> {
        let ending = Ending::new(&self.model, predecessors, &self.decisions);
        let is_stuck = |state: usize| self.decisions[state] && !ending.ends[state];
        if let Some(&(state, _)) = self.model.start().iter().find(|(state, _)| is_stuck(*state)) {
            return Err(Error::Infinite { state: self.members_of(state)[0] as usize });
        }
        let (first, kept) = ending.kept(&self.model);
        let places: Vec<u32> = (0..self.model.states() as u32).collect();
        let origin =
            |&(state, action): &(u32, u32)| self.origins[self.model.choice(state as usize, action as usize)];
        let origins = kept.iter().map(origin).collect();
        let kept: Origins = kept.into_iter().map(Some).collect();
        self.model = self.model.rearranged(&places, first, &kept, &[])?;
        self.origins = origins;
        self.decisions = decision_states(&self.model);
        self.ending = Ending::new(&self.model, &Predecessors::new(&self.model), &self.decisions).actions;
        Ok(())
    }

    /// The strongly connected components, each after those that it leads to.
    pub fn components(&self) -> impl Iterator<Item = Range<usize>> {
        self.components.windows(2).map(|ends| ends[0] as usize..ends[1] as usize)
    }

    /// A bound on the steps left in each state, where every policy ends.
    pub fn steps(&self) -> Result<&[f64]> {
        if self.steps.get().is_none() {
            let each_step = vec![1.0; self.model.choices()];
            let mut longest = shortest_path(self, &each_step, &self.ending)?.values;
            // Twice as much leaves room for rounding: the bound must hold with certainty, not be tight.
            longest.iter_mut().for_each(|w| *w *= 2.0);
            self.steps.get_or_init(|| longest);
        }
        Ok(self.steps.get().map_or(&[], Vec::as_slice))
    }

    /// The states there of a state here.
    fn members_of(&self, state: usize) -> &[u32] {
        &self.members[self.first[state] as usize..self.first[state + 1] as usize]
    }

    /// Entries that are measured there.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The best ways to stay for −λ·z, and λ with what they are worth after it.
    pub fn staying(&self, lam: &[f64]) -> Result<Staying> {
        self.averages.best(&self.averaged, lam)
    }

    /// λ, and after it what staying is worth at most by the proof `bias`.
    pub fn priced(&self, lam: &[f64], bias: &[f64]) -> Result<Vec<f64>> {
        self.averages.priced(&self.averaged, lam, bias)
    }

    /// Entries of such a proof.
    pub fn proof_length(&self) -> usize {
        self.averages.states()
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
        let mut lifted = self.aside.clone();
        for state in 0..self.first.len() - 1 {
            if !self.decisions[state] {
                continue;
            }
            let members = self.members_of(state);
            let origin = self.origins[self.model.choice(state, actions[state] as usize)];
            match (origin, self.numbers[state]) {
                (None, Some(number)) => {
                    staying.actions[number].iter().for_each(|&(s, action)| lifted[s as usize] = action);
                }
                _ if self.collapsed.of(members[0] as usize).is_some() => {
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
            choices.clone().filter(|&c| self.collapsed.stays(c)).map(move |c| (c, (c - choices.start) as u32))
        };
        let Some(target) = target else {
            for &state in members {
                lifted[state as usize] = staying(state).next().map_or(0, |(_, action)| action);
            }
            return;
        };
        // Members are sorted.
        let number = |state: usize| members.binary_search(&(state as u32)).ok();
        let mut sources = vec![Vec::new(); members.len()];
        for (member, &state) in members.iter().enumerate() {
            for (choice, action) in staying(state) {
                for next in successors(there, choice).filter_map(number) {
                    sources[next].push((member, action));
                }
            }
        }
        let (mut open, mut is_found) = (VecDeque::new(), vec![false; members.len()]);
        if let Some(target) = number(target as usize) {
            is_found[target] = true;
            open.push_back(target);
        }
        while let Some(member) = open.pop_front() {
            for &(source, action) in &sources[member] {
                if !std::mem::replace(&mut is_found[source], true) {
                    lifted[members[source] as usize] = action;
                    open.push_back(source);
                }
            }
        }
    }
}

/// The decision states after which something can still be measured.
fn measuring(
    model: &TabularMdp,
    decisions: &[bool],
    predecessors: &Predecessors,
    measures: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let is_first = |s: usize| decisions[s] && model.choices_of(s).any(&measures);
    let mut found: Vec<bool> = (0..model.states()).map(is_first).collect();
    let mut open: Vec<usize> = (0..model.states()).filter(|&s| found[s]).collect();
    while let Some(state) = open.pop() {
        for (source, _) in predecessors.of(state) {
            if decisions[source] && !std::mem::replace(&mut found[source], true) {
                open.push(source);
            }
        }
    }
    found
}

/// Actions for states after which nothing is measured: short ways to the end.
fn aside(
    model: &TabularMdp,
    decisions: &[bool],
    measuring: &[bool],
    predecessors: &Predecessors,
) -> Vec<u32> {
    let mut actions = vec![0; model.states()];
    let mut is_open: Vec<bool> = decisions.iter().zip(measuring).map(|(d, m)| *d && !*m).collect();
    let mut open: VecDeque<usize> = match is_open.contains(&true) {
        true => (0..model.states()).filter(|&s| !decisions[s]).collect(),
        false => VecDeque::new(),
    };
    while let Some(state) = open.pop_front() {
        for (source, choice) in predecessors.of(state) {
            if std::mem::replace(&mut is_open[source], false) {
                actions[source] = (choice - model.choices_of(source).start) as u32;
                open.push_back(source);
            }
        }
    }
    actions
}

/// Where states go.
struct Places {
    /// The place of each state; that of all which are left out is the last.
    places: Vec<u32>,
    /// Where strongly connected components begin, and the end.
    components: Vec<u32>,
    /// The states of each place, sorted, and where they begin.
    members: Vec<u32>,
    first: Vec<u32>,
}

impl Places {
    fn new(model: &TabularMdp, is_inside: &[bool], collapsed: &EndComponents) -> Self {
        let roots = (0..model.states()).filter(|&s| is_inside[s]);
        let strong = StrongComponents::new(model.states(), roots, |state, open| {
            let next = model.choices_of(state).flat_map(|choice| successors(model, choice));
            open.extend(next.filter(|&next| is_inside[next]).map(|next| next as u32));
        });
        let StrongComponents { places: strong, order, .. } = strong;
        let mut places = vec![NONE; model.states()];
        let mut place_of = vec![NONE; collapsed.count()];
        let (mut count, mut components) = (0, vec![0]);
        for members in order.chunk_by(|a, b| strong[*a as usize] == strong[*b as usize]) {
            for &state in members {
                let known = collapsed.of(state as usize).map(|component| &mut place_of[component]);
                places[state as usize] = match known {
                    Some(place) if *place != NONE => *place,
                    known => {
                        known.into_iter().for_each(|place| *place = count);
                        count += 1;
                        count - 1
                    }
                };
            }
            components.push(count);
        }
        let mut first = vec![0u32; count as usize + 1];
        order.iter().for_each(|state| first[places[*state as usize] as usize + 1] += 1);
        for place in 0..count as usize {
            first[place + 1] += first[place];
        }
        let (mut free, mut members) = (first.clone(), vec![0; order.len()]);
        for &state in &order {
            let free = &mut free[places[state as usize] as usize];
            members[*free as usize] = state;
            *free += 1;
        }
        for ends in first.windows(2) {
            members[ends[0] as usize..ends[1] as usize].sort_unstable();
        }
        places.iter_mut().filter(|place| **place == NONE).for_each(|place| *place = count);
        Self { places, components, members, first }
    }
}

/// The choices of every place, and where they begin: those of its states that leave it, and to stay where it is a component.
fn leaving(
    model: &TabularMdp,
    (first, members): (&[u32], &[u32]),
    collapsed: &EndComponents,
) -> (Vec<u32>, Origins) {
    let (mut choices, mut origins) = (vec![0], Vec::new());
    for ends in first.windows(2) {
        let members = &members[ends[0] as usize..ends[1] as usize];
        for &state in members {
            let all = model.choices_of(state as usize).zip(0u32..);
            let leaving = all.filter(|(choice, _)| !collapsed.stays(*choice));
            origins.extend(leaving.map(|(_, action)| Some((state, action))));
        }
        if collapsed.of(members[0] as usize).is_some() {
            origins.push(None);
        }
        choices.push(origins.len() as u32);
    }
    // The end has none.
    choices.push(origins.len() as u32);
    (choices, origins)
}

/// The choices that can be repeated for ever, by whose they are, and what they measure on average.
fn endless(
    model: &TabularMdp,
    repeated: &EndComponents,
    origins: &Origins,
    dim: usize,
) -> Vec<(usize, usize, Vec<f64>)> {
    let staying = (0..model.choices()).filter(|&choice| repeated.stays(choice));
    let mut found: Vec<(usize, usize, Vec<f64>)> = staying
        .filter_map(|choice| {
            let mut z = vec![0.0; dim];
            for t in model.outcomes_of(choice) {
                model.outcome(t.outcome).iter().for_each(|&(i, v)| z[i as usize] += t.probability * v);
            }
            let (state, action) = origins[choice]?;
            z.iter().any(|v| *v != 0.0).then_some((state as usize, action as usize, z))
        })
        .collect();
    // What is told of is the first of the model.
    found.sort_by_key(|(state, action, _)| (*state, *action));
    found
}
