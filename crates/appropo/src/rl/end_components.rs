use super::chain::Chain;
use crate::env::TabularMdp;
use crate::error::Result;

const NONE: u32 = u32::MAX;

/// Sets of states that some policy never leaves, each as large as it can be.
#[derive(Debug)]
pub(crate) struct EndComponents {
    /// The component of each state; `None` for those that every policy leaves.
    places: Vec<u32>,
    count: usize,
    /// Whether a choice stays in its state's component.
    stays: Vec<bool>,
}

impl EndComponents {
    /// Those of the states `is_inside` with the choices that are allowed (de Alfaro 1997).
    pub fn new(model: &TabularMdp, is_inside: &[bool], is_allowed: impl Fn(usize) -> bool) -> Self {
        let mut kept = Kept::new(model, is_inside, is_allowed);
        loop {
            let (places, count) =
                strongly_connected(model, |s| kept.states[s], |choice| kept.choices[choice]);
            let mut leaving = Vec::new();
            for state in (0..model.states()).filter(|&s| kept.states[s]) {
                let leaves =
                    |choice: usize| successors(model, choice).any(|next| places[next] != places[state]);
                leaving.extend(model.choices_of(state).filter(|&c| kept.choices[c] && leaves(c)));
            }
            if leaving.is_empty() {
                return Self { places, count, stays: kept.choices };
            }
            kept.drop_choices(leaving);
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The component of a state.
    pub fn of(&self, state: usize) -> Option<usize> {
        Some(self.places[state]).filter(|place| *place != NONE).map(|place| place as usize)
    }

    /// Whether a choice stays in its state's component.
    pub fn stays(&self, choice: usize) -> bool {
        self.stays[choice]
    }
}

/// The states that a choice can lead to.
pub(super) fn successors(model: &TabularMdp, choice: usize) -> impl Iterator<Item = usize> {
    model.outcomes_of(choice).iter().filter(|t| t.probability > 0.0).map(|t| t.next as usize)
}

/// The choices that can lead to each state, and whose choices they are.
#[derive(Debug)]
pub(super) struct Predecessors {
    ends: Vec<usize>,
    choices: Vec<u32>,
    owners: Vec<u32>,
}

impl Predecessors {
    pub fn new(model: &TabularMdp) -> Self {
        let mut owners = vec![0; model.choices()];
        for state in 0..model.states() {
            owners[model.choices_of(state)].fill(state as u32);
        }
        let mut ends = vec![0usize; model.states() + 1];
        for next in (0..model.choices()).flat_map(|choice| successors(model, choice)) {
            ends[next + 1] += 1;
        }
        for state in 0..model.states() {
            ends[state + 1] += ends[state];
        }
        let mut free = ends.clone();
        let mut choices = vec![0; ends[model.states()]];
        for choice in 0..model.choices() {
            for next in successors(model, choice) {
                choices[free[next]] = choice as u32;
                free[next] += 1;
            }
        }
        Self { ends, choices, owners }
    }

    /// The choices that can lead to `state`, as (whose, choice).
    pub fn of(&self, state: usize) -> impl Iterator<Item = (usize, usize)> {
        let choices = &self.choices[self.ends[state]..self.ends[state + 1]];
        choices.iter().map(|&choice| (self.owners[choice as usize] as usize, choice as usize))
    }
}

/// States and choices among which one can go on for ever.
struct Kept {
    states: Vec<bool>,
    choices: Vec<bool>,
    /// How many choices of each state are kept.
    counts: Vec<u32>,
    predecessors: Predecessors,
}

impl Kept {
    /// The most of the states and choices that never lead to others.
    fn new(model: &TabularMdp, is_inside: &[bool], is_allowed: impl Fn(usize) -> bool) -> Self {
        let mut kept = Self {
            states: is_inside.to_vec(),
            choices: vec![false; model.choices()],
            counts: vec![0; model.states()],
            predecessors: Predecessors::new(model),
        };
        for state in (0..model.states()).filter(|&s| is_inside[s]) {
            for choice in model.choices_of(state) {
                let is_kept = is_allowed(choice) && successors(model, choice).all(|next| is_inside[next]);
                kept.choices[choice] = is_kept;
                kept.counts[state] += u32::from(is_kept);
            }
        }
        let stuck = (0..model.states()).filter(|&s| is_inside[s] && kept.counts[s] == 0).collect();
        kept.drop_states(stuck);
        kept
    }

    fn drop_choices(&mut self, choices: Vec<usize>) {
        let mut stuck = Vec::new();
        for choice in choices {
            self.drop_choice(choice, &mut stuck);
        }
        self.drop_states(stuck);
    }

    fn drop_choice(&mut self, choice: usize, stuck: &mut Vec<usize>) {
        if std::mem::replace(&mut self.choices[choice], false) {
            let owner = self.predecessors.owners[choice] as usize;
            self.counts[owner] -= 1;
            if self.counts[owner] == 0 {
                stuck.push(owner);
            }
        }
    }

    /// States without a choice drop out, and so do the choices that can lead to them.
    fn drop_states(&mut self, mut stuck: Vec<usize>) {
        while let Some(state) = stuck.pop() {
            self.states[state] = false;
            let leading: Vec<usize> = self.predecessors.of(state).map(|(_, choice)| choice).collect();
            for choice in leading {
                self.drop_choice(choice, &mut stuck);
            }
        }
    }
}

/// The strongly connected components of the states `is_inside` under the choices `is_taken` (Tarjan 1972), and how many.
/// States outside are in none.
pub(super) fn strongly_connected(
    model: &TabularMdp,
    is_inside: impl Fn(usize) -> bool,
    is_taken: impl Fn(usize) -> bool,
) -> (Vec<u32>, usize) {
    struct Frame {
        state: usize,
        choice: usize,
        next: usize,
    }
    let frame = |state: usize| Frame { state, choice: model.choices_of(state).start, next: 0 };
    // Numbers begin with 1, in the order in which states are found.
    let (mut numbers, mut lowest) = (vec![0u32; model.states()], vec![0u32; model.states()]);
    let mut places = vec![NONE; model.states()];
    let (mut open, mut frames, mut found, mut count) = (Vec::new(), Vec::<Frame>::new(), 0, 0);
    for root in (0..model.states()).filter(|&s| is_inside(s)) {
        if numbers[root] != 0 {
            continue;
        }
        let mut enter = Some(root);
        loop {
            if let Some(state) = enter.take() {
                found += 1;
                (numbers[state], lowest[state]) = (found, found);
                open.push(state);
                frames.push(frame(state));
            }
            let Some(here) = frames.last_mut() else { break };
            let state = here.state;
            let next = loop {
                if here.choice == model.choices_of(state).end {
                    break None;
                }
                let row = model.outcomes_of(here.choice);
                if !is_taken(here.choice) || here.next == row.len() {
                    (here.choice, here.next) = (here.choice + 1, 0);
                    continue;
                }
                let t = row.get(here.next);
                here.next += 1;
                if t.probability > 0.0 && is_inside(t.next as usize) {
                    break Some(t.next as usize);
                }
            };
            match next {
                Some(next) if numbers[next] == 0 => enter = Some(next),
                Some(next) if places[next] == NONE => lowest[state] = lowest[state].min(numbers[next]),
                Some(_) => {}
                None => {
                    frames.pop();
                    if let Some(parent) = frames.last() {
                        lowest[parent.state] = lowest[parent.state].min(lowest[state]);
                    }
                    if lowest[state] == numbers[state] {
                        while let Some(member) = open.pop() {
                            places[member] = count;
                            if member == state {
                                break;
                            }
                        }
                        count += 1;
                    }
                }
            }
        }
    }
    (places, count as usize)
}

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
        let (mut places, count) = strongly_connected(model, |s| decisions[s], |choice| is_taken[choice]);
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
        // Visits between two to the first state of a class, for all classes at once.
        let mut first = vec![None; self.count];
        let mut others = vec![false; model.states()];
        for state in 0..model.states() {
            let Some(class) = self.of(state) else { continue };
            others[state] = first[class].is_some();
            first[class].get_or_insert(state);
        }
        let mut start = Vec::new();
        for &state in first.iter().flatten() {
            for action in (0..model.actions()).filter(|&a| policy(state, a) > 0.0) {
                let row = model.row(state, action).iter();
                start.extend(row.map(|t| (t.next as usize, policy(state, action) * t.probability)));
            }
        }
        let mut visits = vec![0.0; model.states()];
        Chain::new(model, 1.0, &others, policy).visits(&start, &mut visits)?;
        first.iter().flatten().for_each(|&state| visits[state] = 1.0);
        let mut round = vec![0.0; self.count];
        for (state, visits) in visits.iter().enumerate() {
            self.of(state).into_iter().for_each(|class| round[class] += visits);
        }
        for (state, visits) in visits.iter_mut().enumerate() {
            self.of(state).into_iter().for_each(|class| *visits /= round[class]);
        }
        Ok(visits)
    }

    /// The decision states outside.
    pub fn others(&self, decisions: &[bool]) -> Vec<bool> {
        decisions.iter().zip(&self.places).map(|(decides, place)| *decides && *place == NONE).collect()
    }

    /// Gives every state of a class the visits that enter the class, of which there are more and more. Returns what is measured
    /// there without end, by entry.
    pub fn enter(
        &self,
        model: &TabularMdp,
        visits: &mut [f64],
        policy: impl Fn(usize, usize) -> f64,
    ) -> Vec<bool> {
        let mut entered = vec![0.0; self.count];
        for &(state, probability) in model.start() {
            self.of(state).into_iter().for_each(|class| entered[class] += probability);
        }
        for state in (0..model.states()).filter(|&s| visits[s] > 0.0) {
            for action in (0..model.actions()).filter(|&a| policy(state, a) > 0.0) {
                for t in model.row(state, action) {
                    let mass = visits[state] * policy(state, action) * t.probability;
                    self.of(t.next as usize).into_iter().for_each(|class| entered[class] += mass);
                }
            }
        }
        let mut is_infinite = vec![false; model.measures().dim()];
        for state in 0..model.states() {
            let Some(mass) = self.of(state).map(|class| entered[class]).filter(|mass| *mass > 0.0) else {
                continue;
            };
            visits[state] = mass;
            for action in (0..model.actions()).filter(|&a| policy(state, a) > 0.0) {
                for t in model.row(state, action).iter().filter(|t| t.probability > 0.0) {
                    let entries = model.outcome(t.outcome).iter().map(|(entry, _)| *entry as usize);
                    entries.for_each(|entry| is_infinite[entry] |= !model.measures().is_average(entry));
                }
            }
        }
        is_infinite
    }
}
