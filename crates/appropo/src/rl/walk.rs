use super::graph::{NONE, StrongComponents};
use crate::env::TabularMdp;

/// The states that a policy comes by from the start, in the order of their strongly connected components: each after those that
/// it leads to.
pub(super) struct Walk {
    components: StrongComponents,
    /// Whether the policy leaves a component.
    is_left: Vec<bool>,
}

impl Walk {
    /// The walk of a policy that takes the choices `chosen(state)`, with probabilities above 0.
    pub fn new<I: Iterator<Item = (usize, f64)>>(
        model: &TabularMdp,
        decisions: &[bool],
        chosen: impl Fn(usize) -> I,
    ) -> Self {
        let successors = |state: usize| {
            let rows = chosen(state).flat_map(|(choice, _)| model.outcomes_of(choice).successors());
            rows.filter(|(probability, _)| *probability > 0.0).map(|(_, next)| next)
        };
        let roots = model.start().iter().map(|(state, _)| *state).filter(|&state| decisions[state]);
        let components = StrongComponents::new(model.states(), roots, |state, open| {
            open.extend(successors(state).filter(|&next| decisions[next]).map(|next| next as u32));
        });
        let mut is_left = vec![false; components.count];
        for state in components.order.iter().map(|s| *s as usize) {
            let place = components.places[state];
            is_left[place as usize] |= successors(state).any(|next| components.places[next] != place);
        }
        Self { components, is_left }
    }

    /// The component of a state that the policy comes by.
    pub fn component(&self, state: usize) -> u32 {
        self.components.places[state]
    }

    /// Whether the policy comes by a state and goes on from its component.
    pub fn passes(&self, state: usize) -> bool {
        let place = self.components.places[state];
        place != NONE && self.is_left[place as usize]
    }

    /// The states that it passes.
    pub fn passed(&self) -> impl Iterator<Item = usize> + Clone {
        self.components.order.iter().map(|s| *s as usize).filter(|&state| self.passes(state))
    }

    /// Whether it always ends.
    pub fn ends(&self) -> bool {
        !self.is_left.contains(&false)
    }

    /// Gives every state of a component that is never left the visits that enter it, of which there are more and more. Returns
    /// the states of those that are entered.
    pub fn stay<I: Iterator<Item = (usize, f64)>>(
        &self,
        model: &TabularMdp,
        visits: &mut [f64],
        chosen: impl Fn(usize) -> I,
    ) -> Vec<u32> {
        let mut entered = vec![0.0; self.is_left.len()];
        let class = |state: usize| match self.components.places[state] {
            place if place == NONE || self.is_left[place as usize] => None,
            place => Some(place as usize),
        };
        for &(state, probability) in model.start() {
            class(state).into_iter().for_each(|class| entered[class] += probability);
        }
        for state in self.passed().filter(|&s| visits[s] > 0.0) {
            for (choice, probability) in chosen(state) {
                for (p, next) in model.outcomes_of(choice).successors() {
                    let mass = visits[state] * probability * p;
                    class(next).into_iter().for_each(|class| entered[class] += mass);
                }
            }
        }
        let mut staying = Vec::new();
        for &state in &self.components.order {
            let mass = class(state as usize).map_or(0.0, |class| entered[class]);
            if mass > 0.0 {
                visits[state as usize] = mass;
                staying.push(state);
            }
        }
        staying
    }
}
