use super::graph::{NONE, Predecessors, StrongComponents, successors};
use crate::env::TabularMdp;

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
        Self::within(model, &Predecessors::new(model), is_inside, is_allowed)
    }

    /// The same where the predecessors are known.
    pub(super) fn within(
        model: &TabularMdp,
        predecessors: &Predecessors,
        is_inside: &[bool],
        is_allowed: impl Fn(usize) -> bool,
    ) -> Self {
        let mut kept = Kept::new(model, predecessors, is_inside, is_allowed);
        loop {
            let roots = (0..model.states()).filter(|&s| kept.states[s]);
            let StrongComponents { places, count, .. } =
                StrongComponents::new(model.states(), roots, |state, open| {
                    for choice in model.choices_of(state).filter(|&choice| kept.choices[choice]) {
                        open.extend(successors(model, choice).map(|next| next as u32));
                    }
                });
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

/// States and choices among which one can go on for ever.
struct Kept<'a> {
    states: Vec<bool>,
    choices: Vec<bool>,
    /// How many choices of each state are kept.
    counts: Vec<u32>,
    predecessors: &'a Predecessors,
}

impl<'a> Kept<'a> {
    /// The most of the states and choices that never lead to others.
    fn new(
        model: &TabularMdp,
        predecessors: &'a Predecessors,
        is_inside: &[bool],
        is_allowed: impl Fn(usize) -> bool,
    ) -> Self {
        let (states, choices) = (is_inside.to_vec(), vec![false; model.choices()]);
        let mut kept = Self { states, choices, counts: vec![0; model.states()], predecessors };
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
            let owner = self.predecessors.owner(choice);
            self.counts[owner] -= 1;
            if self.counts[owner] == 0 {
                stuck.push(owner);
            }
        }
    }

    /// States without a choice drop out, and so do the choices that can lead to them.
    fn drop_states(&mut self, mut stuck: Vec<usize>) {
        let predecessors = self.predecessors;
        while let Some(state) = stuck.pop() {
            self.states[state] = false;
            for (_, choice) in predecessors.of(state) {
                self.drop_choice(choice, &mut stuck);
            }
        }
    }
}
