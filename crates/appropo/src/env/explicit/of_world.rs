//! A world of ours as a model, so that model checkers can check what we say of it.

use super::{ExplicitModel, Label, RewardStructure};
use crate::env::TabularMdp;
use crate::error::{Result, not_too_large};

/// The label of the states that end episodes.
const TERMINAL: &str = "terminal";

/// The most entries of a measure that becomes reward structures, one an entry. Visits to the cells of a large map do not.
const MOST_ENTRIES: usize = 100;

/// The most rewards of transitions.
const MOST_REWARDS: usize = 500_000_000;

impl ExplicitModel {
    /// A world as a model: each entry of its measures is a reward structure, unless the measure has more than 100, and
    /// states that end the episode are called "terminal" and can't be left.
    pub fn of_world(world: &TabularMdp) -> Result<Self> {
        let mut builder = Self::builder(world.states(), false)?;
        let mut kept = vec![None; world.measures().dim()];
        let mut names = Vec::new();
        for (name, range) in world.measures().iter().filter(|(_, range)| range.len() <= MOST_ENTRIES) {
            for (i, entry) in range.clone().enumerate() {
                kept[entry] = Some(names.len());
                names.push(if range.len() == 1 { name.to_owned() } else { format!("{name}[{i}]") });
            }
        }
        not_too_large("the rewards of the model", &[names.len(), world.transitions()], MOST_REWARDS)?;
        let mut earned: Vec<Vec<f64>> = vec![Vec::new(); names.len()];
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
                        kept[entry as usize].into_iter().for_each(|place: usize| earned[place][last] = value);
                    }
                }
            }
        }
        for &(state, probability) in world.start() {
            builder.start(state, probability)?;
        }
        let rewards = names.into_iter().zip(earned).map(|(name, transitions)| RewardStructure {
            name,
            transitions: transitions.into(),
            ..RewardStructure::default()
        });
        let terminal = Label { name: TERMINAL.into(), states: ends };
        builder.build(
            rewards.collect(),
            Vec::from_iter(Some(terminal).filter(|label| !label.states.is_empty())),
            None,
        )
    }

    /// The same model with one more state, in which episodes start and whose only choice draws where they did before.
    /// Measured with a discount, all comes one step later.
    pub fn with_drawn_start(&self) -> Result<Self> {
        let states = self.states();
        let mut builder = Self::builder(states + 1, self.is_chain)?;
        for state in 0..states {
            builder.state()?;
            for choice in self.choices_of(state) {
                builder.choice()?;
                if self.choice_labels.is_some() {
                    builder.choice_label(self.choice_label(choice).unwrap_or_default());
                }
                for transition in self.transitions_of(choice) {
                    builder.transition(self.targets[transition] as usize, self.probabilities[transition])?;
                }
            }
        }
        builder.state()?;
        builder.choice()?;
        let mut drawn = 0;
        for &(state, probability) in &self.start {
            drawn += usize::from(builder.transition(state as usize, probability)?);
        }
        builder.start(states, 1.0)?;
        let longer = |list: &[f64], more: usize| match list.is_empty() {
            true => Vec::new(),
            false => list.iter().copied().chain(std::iter::repeat_n(0.0, more)).collect(),
        };
        let rewards = self.rewards.iter().map(|structure| RewardStructure {
            name: structure.name.clone(),
            states: longer(&structure.states, 1),
            choices: longer(&structure.choices, 1),
            transitions: longer(&structure.transitions, drawn).into(),
        });
        // The values of variables in the new state are unknown.
        let valuations = self.valuations.clone().map(|valuations| valuations.with_unknown_state());
        builder.build(rewards.collect(), self.labels.clone(), valuations)
    }
}
