//! A world of ours as a model, so that model checkers can check what we say of it.

use super::{ExplicitModel, Label, RewardStructure};
use crate::env::TabularMdp;
use crate::error::Result;

/// The label of the states that end episodes.
const TERMINAL: &str = "terminal";

impl ExplicitModel {
    /// A world as a model: each entry of its measures is a reward structure, and states that end the episode are called
    /// "terminal" and can't be left.
    pub fn of_world(world: &TabularMdp) -> Result<Self> {
        let mut builder = Self::builder(world.states(), false)?;
        let dim = world.measures().dim();
        let mut earned: Vec<Vec<f64>> = vec![Vec::new(); dim];
        let mut ends = Vec::new();
        for state in 0..world.states() {
            builder.state()?;
            if world.is_terminal(state) {
                ends.push(state as u32);
                builder.choice()?;
                builder.transition(state, 1.0)?;
                earned.iter_mut().for_each(|list| list.push(0.0));
                continue;
            }
            for choice in world.choices_of(state) {
                builder.choice()?;
                for transition in world.outcomes_of(choice) {
                    if !builder.transition(transition.next as usize, transition.probability)? {
                        continue;
                    }
                    earned.iter_mut().for_each(|list| list.push(0.0));
                    let last = builder.transitions() - 1;
                    for &(entry, value) in world.outcome(transition.outcome) {
                        earned[entry as usize][last] = value;
                    }
                }
            }
        }
        for &(state, probability) in world.start() {
            builder.start(state, probability)?;
        }
        let mut rewards = Vec::new();
        for (name, range) in world.measures().iter() {
            for (i, entry) in range.clone().enumerate() {
                let name = if range.len() == 1 { name.to_owned() } else { format!("{name}[{i}]") };
                let transitions = std::mem::take(&mut earned[entry]);
                rewards.push(RewardStructure { name, transitions, ..RewardStructure::default() });
            }
        }
        let terminal = Label { name: TERMINAL.into(), states: ends };
        builder.build(rewards, Vec::from_iter(Some(terminal).filter(|label| !label.states.is_empty())), None)
    }
}
