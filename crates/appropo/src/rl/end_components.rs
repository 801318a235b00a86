use crate::env::TabularMdp;

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
