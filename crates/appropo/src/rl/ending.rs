use std::collections::VecDeque;

use super::graph::{Predecessors, successors};
use crate::env::TabularMdp;

/// From where some policy ends with probability 1, and how.
pub(super) struct Ending {
    pub ends: Vec<bool>,
    pub actions: Vec<u32>,
}

impl Ending {
    pub fn new(model: &TabularMdp, predecessors: &Predecessors, decisions: &[bool]) -> Self {
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

    /// The choices, as state and action, after which some policy is sure to end, and where those of each state begin.
    pub fn kept(&self, model: &TabularMdp) -> (Vec<u32>, Vec<(u32, u32)>) {
        let is_safe =
            |choice: usize| successors(model, choice).all(|next| self.ends[next] || model.is_terminal(next));
        let (mut first, mut kept) = (vec![0], Vec::new());
        for state in 0..model.states() {
            if self.ends[state] {
                let safe = model.choices_of(state).zip(0u32..).filter(|(choice, _)| is_safe(*choice));
                kept.extend(safe.map(|(_, action)| (state as u32, action)));
            }
            first.push(kept.len() as u32);
        }
        (first, kept)
    }
}
