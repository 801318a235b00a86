//! The states that choices lead to, as a graph.

use crate::env::TabularMdp;

/// No component, or none yet.
pub(super) const NONE: u32 = u32::MAX;

/// The states that a choice can lead to.
pub(super) fn successors(model: &TabularMdp, choice: usize) -> impl Iterator<Item = usize> {
    let row = model.outcomes_of(choice).successors();
    row.filter(|(probability, _)| *probability > 0.0).map(|(_, next)| next)
}

/// The choices that can lead to each state, and whose choices they are.
#[derive(Debug)]
pub(super) struct Predecessors {
    ends: Vec<u32>,
    choices: Vec<u32>,
    owners: Vec<u32>,
}

impl Predecessors {
    pub fn new(model: &TabularMdp) -> Self {
        let mut owners = vec![0; model.choices()];
        for state in 0..model.states() {
            owners[model.choices_of(state)].fill(state as u32);
        }
        let mut ends = vec![0u32; model.states() + 1];
        for next in (0..model.choices()).flat_map(|choice| successors(model, choice)) {
            ends[next + 1] += 1;
        }
        for state in 0..model.states() {
            ends[state + 1] += ends[state];
        }
        let mut free = ends.clone();
        let mut choices = vec![0; ends[model.states()] as usize];
        for choice in 0..model.choices() {
            for next in successors(model, choice) {
                choices[free[next] as usize] = choice as u32;
                free[next] += 1;
            }
        }
        Self { ends, choices, owners }
    }

    /// The choices that can lead to `state`, as (whose, choice).
    pub fn of(&self, state: usize) -> impl Iterator<Item = (usize, usize)> {
        let choices = &self.choices[self.ends[state] as usize..self.ends[state + 1] as usize];
        choices.iter().map(|&choice| (self.owner(choice as usize), choice as usize))
    }

    /// The state whose choice this is.
    pub fn owner(&self, choice: usize) -> usize {
        self.owners[choice] as usize
    }
}

/// Sets of states that lead to each other. Each comes after all that it leads to.
pub(super) struct StrongComponents {
    /// The number of each state's component; `NONE` where no root leads.
    pub places: Vec<u32>,
    /// The states that roots lead to, component by component. Within one, a state comes after those that it leads to but for
    /// those from which the search came to it.
    pub order: Vec<u32>,
    pub count: usize,
}

impl StrongComponents {
    /// Those of all states that roots lead to (Tarjan 1972), where `follow(state, …)` adds the states that one leads to.
    pub fn new(
        states: usize,
        roots: impl Iterator<Item = usize>,
        follow: impl Fn(usize, &mut Vec<u32>),
    ) -> Self {
        struct Frame {
            state: usize,
            /// Where the states that it leads to begin among those that are pending.
            first: usize,
        }
        // Numbers begin with 1, in the order in which states are found.
        let (mut numbers, mut lowest) = (vec![0u32; states], vec![0u32; states]);
        let mut places = vec![NONE; states];
        let (mut open, mut frames, mut pending) = (Vec::<u32>::new(), Vec::<Frame>::new(), Vec::<u32>::new());
        // States as their successors were all looked at.
        let mut finished = Vec::new();
        let (mut found, mut count) = (0, 0);
        for root in roots {
            if numbers[root] != 0 {
                continue;
            }
            let mut enter = Some(root);
            loop {
                if let Some(state) = enter.take() {
                    found += 1;
                    (numbers[state], lowest[state]) = (found, found);
                    open.push(state as u32);
                    frames.push(Frame { state, first: pending.len() });
                    follow(state, &mut pending);
                }
                let Some(&Frame { state, first }) = frames.last() else { break };
                if pending.len() > first {
                    let Some(next) = pending.pop().map(|next| next as usize) else { break };
                    if numbers[next] == 0 {
                        enter = Some(next);
                    } else if places[next] == NONE {
                        lowest[state] = lowest[state].min(numbers[next]);
                    }
                    continue;
                }
                frames.pop();
                finished.push(state as u32);
                if let Some(parent) = frames.last() {
                    lowest[parent.state] = lowest[parent.state].min(lowest[state]);
                }
                if lowest[state] == numbers[state] {
                    while let Some(member) = open.pop() {
                        places[member as usize] = count;
                        if member as usize == state {
                            break;
                        }
                    }
                    count += 1;
                }
            }
        }
        let count = count as usize;
        let mut free = vec![0u32; count + 1];
        finished.iter().for_each(|state| free[places[*state as usize] as usize + 1] += 1);
        for place in 0..count {
            free[place + 1] += free[place];
        }
        let mut order = vec![0; finished.len()];
        for state in finished {
            let free = &mut free[places[state as usize] as usize];
            order[*free as usize] = state;
            *free += 1;
        }
        Self { places, order, count }
    }
}
