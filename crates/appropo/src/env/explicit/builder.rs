use std::collections::{HashMap, HashSet};

use super::{Array, ChoiceLabels, ExplicitModel, Label, RewardStructure, START, Valuations};
use crate::error::{Error, Result, dimension, finite, in_range};

/// How far the probabilities of a choice may be from adding up to 1. Files have as few as seven digits.
const DIGITS: f64 = 1e-6;

/// Takes a model in the order of its states. Every mistake is found when it is made.
#[derive(Debug, Clone)]
pub struct ModelBuilder {
    is_chain: bool,
    states: usize,
    start: Vec<(u32, f64)>,
    choices: Vec<u32>,
    rows: Vec<u32>,
    targets: Array<u32>,
    probabilities: Array<f64>,
    /// Of the choice that is open.
    sum: f64,
    choice_names: HashMap<String, u32>,
    choice_labels: ChoiceLabels,
}

impl ExplicitModel {
    /// Begins a model of so many states; in a Markov chain each has one choice.
    pub fn builder(states: usize, is_chain: bool) -> Result<ModelBuilder> {
        let most = u32::MAX as usize;
        in_range("the number of states", states as f64, states > 0 && states < most, "from 1 to 4294967294")?;
        Ok(ModelBuilder {
            is_chain,
            states,
            start: Vec::new(),
            choices: Vec::new(),
            rows: Vec::new(),
            targets: Array::default(),
            probabilities: Array::default(),
            sum: 1.0,
            choice_names: HashMap::new(),
            choice_labels: ChoiceLabels { names: Vec::new(), of: Vec::new() },
        })
    }
}

/// The first choice of each state and the end, the first transition of each choice and the end, and of every transition the
/// state it leads to and its probability.
pub type Rows = (Vec<u32>, Vec<u32>, Array<u32>, Array<f64>);

impl ModelBuilder {
    /// Takes a model by compressed rows. Transitions with probability 0 are left out, also from the lists `along`, each of
    /// which has one entry a transition or is empty.
    pub fn of_rows(is_chain: bool, states: usize, rows: Rows, along: Vec<&mut Array<f64>>) -> Result<Self> {
        let (mut choices, mut rows, mut targets, mut probabilities) = rows;
        let mut builder = ExplicitModel::builder(states, is_chain)?;
        let choice_count = rows.len().saturating_sub(1);
        let is_whole = |bounds: &[u32], count: usize| {
            bounds.first() == Some(&0)
                && bounds.is_sorted()
                && bounds.last().map(|end| *end as usize) == Some(count)
        };
        dimension("the list of first choices", choices.len(), states + 1)?;
        dimension("the list of probabilities", probabilities.len(), targets.len())?;
        if !is_whole(&choices, choice_count) || !is_whole(&rows, targets.len()) {
            return Err(Error::Model("the lists of choices and transitions don't fit together".into()));
        }
        if let Some(target) = targets.iter().find(|target| **target as usize >= states) {
            return Err(Error::Index { what: "state", index: *target as usize, count: states });
        }
        let is_one = |probability: f64| (0.0..=1.0 + DIGITS).contains(&probability);
        if let Some(wrong) = probabilities.iter().find(|probability| !is_one(**probability)) {
            in_range("a probability", *wrong, false, "between 0 and 1")?;
        }
        if probabilities.contains(&0.0) {
            let is_kept = |place: usize| probabilities[place] != 0.0;
            for list in along.into_iter().filter(|list| !list.is_empty()) {
                dimension("a list of transitions", list.len(), probabilities.len())?;
                *list = list.filtered(is_kept)?;
            }
            let mut left = 0u32;
            let mut place = 0;
            for end in &mut rows {
                left += probabilities[place..*end as usize].iter().filter(|p| **p != 0.0).count() as u32;
                place = std::mem::replace(end, left) as usize;
            }
            targets = targets.filtered(is_kept)?;
            probabilities = probabilities.filtered(is_kept)?;
        }
        choices.pop();
        rows.pop();
        for state in 0..states {
            let end = choices.get(state + 1).map_or(choice_count, |end| *end as usize);
            let first = choices[state] as usize;
            if is_chain && end != first + 1 {
                return Err(chain(state, end - first));
            }
            for choice in first..end {
                let last = rows.get(choice + 1).map_or(targets.len(), |last| *last as usize);
                let sum: f64 = probabilities[rows[choice] as usize..last].iter().sum();
                if !((sum - 1.0).abs() <= DIGITS) {
                    return Err(Error::Probabilities { state, action: choice - first, sum });
                }
            }
        }
        (builder.choices, builder.rows, builder.targets, builder.probabilities) =
            (choices, rows, targets, probabilities);
        Ok(builder)
    }

    /// Names all choices.
    pub fn set_choice_labels(&mut self, labels: ChoiceLabels) -> Result<()> {
        dimension("the list of choice labels", labels.of.len(), self.rows.len())?;
        let count = labels.names.len();
        match labels.of.iter().find(|name| **name as usize >= count) {
            Some(name) => Err(Error::Index { what: "choice label", index: *name as usize, count }),
            None => {
                self.choice_labels = labels;
                Ok(())
            }
        }
    }

    /// How many states there are to be.
    pub fn states(&self) -> usize {
        self.states
    }

    /// How many states have begun.
    pub fn begun(&self) -> usize {
        self.choices.len()
    }

    /// How many choices have begun.
    pub fn choices(&self) -> usize {
        self.rows.len()
    }

    /// How many transitions there are.
    pub fn transitions(&self) -> usize {
        self.targets.len()
    }

    /// Begins the next state.
    pub fn state(&mut self) -> Result<()> {
        self.close_state()?;
        if self.choices.len() == self.states {
            return Err(Error::Index { what: "state", index: self.states, count: self.states });
        }
        self.choices.push(self.rows.len() as u32);
        Ok(())
    }

    /// Begins the next choice of the state.
    pub fn choice(&mut self) -> Result<()> {
        self.close_choice()?;
        let most = u32::MAX as usize;
        in_range(
            "the number of choices",
            self.rows.len() as f64,
            self.rows.len() < most,
            "at most 4294967294",
        )?;
        self.rows.push(self.targets.len() as u32);
        self.sum = 0.0;
        Ok(())
    }

    /// Names the choice; an empty name is none.
    pub fn choice_label(&mut self, name: &str) {
        let labels = &mut self.choice_labels;
        // Whoever has no name before the first that has.
        if labels.of.len() + 1 < self.rows.len() {
            let none = labels.name("", &mut self.choice_names);
            labels.of.resize(self.rows.len() - 1, none);
        }
        let same = labels.of.last().filter(|last| labels.names[**last as usize] == name).copied();
        let index = same.unwrap_or_else(|| labels.name(name, &mut self.choice_names));
        labels.of.truncate(self.rows.len().saturating_sub(1));
        labels.of.push(index);
    }

    /// Takes back what choices are called.
    pub fn forget_choice_labels(&mut self) {
        self.choice_names.clear();
        self.choice_labels = ChoiceLabels { names: Vec::new(), of: Vec::new() };
    }

    /// Adds a transition to the choice. Those with probability 0 are left out.
    pub fn transition(&mut self, target: usize, probability: f64) -> Result<bool> {
        if target >= self.states {
            return Err(Error::Index { what: "state", index: target, count: self.states });
        }
        let is_one = (0.0..=1.0 + DIGITS).contains(&probability);
        in_range("a probability", probability, is_one, "between 0 and 1")?;
        if probability == 0.0 {
            return Ok(false);
        }
        let most = u32::MAX as usize;
        let count = self.targets.len();
        in_range("the number of transitions", count as f64, count < most, "at most 4294967294")?;
        self.targets.push(target as u32);
        self.probabilities.push(probability);
        self.sum += probability;
        Ok(true)
    }

    /// Ends the choice that is open, whose probabilities must add up to 1.
    pub fn close_choice(&mut self) -> Result<()> {
        let sum = std::mem::replace(&mut self.sum, 1.0);
        if (sum - 1.0).abs() <= DIGITS {
            return Ok(());
        }
        let state = self.choices.len().saturating_sub(1);
        let first = self.choices.last().map_or(0, |first| *first as usize);
        Err(Error::Probabilities { state, action: (self.rows.len() - 1).saturating_sub(first), sum })
    }

    fn close_state(&mut self) -> Result<()> {
        self.close_choice()?;
        match self.choices.last() {
            Some(first) if self.is_chain && self.rows.len() != *first as usize + 1 => {
                let (state, choices) = (self.choices.len() - 1, self.rows.len() - *first as usize);
                Err(chain(state, choices))
            }
            _ => Ok(()),
        }
    }

    /// Episodes start in a state with this probability.
    pub fn start(&mut self, state: usize, probability: f64) -> Result<()> {
        if state >= self.states {
            return Err(Error::Index { what: "start state", index: state, count: self.states });
        }
        in_range("a probability", probability, (0.0..=1.0).contains(&probability), "between 0 and 1")?;
        self.start.push((state as u32, probability));
        Ok(())
    }

    /// Episodes start in one of these states, each as likely as the others, however often it is named.
    pub fn start_evenly(&mut self, states: &[u32]) -> Result<()> {
        let mut states = states.to_vec();
        states.sort_unstable();
        states.dedup();
        states.iter().try_for_each(|state| self.start(*state as usize, 1.0 / states.len() as f64))
    }

    /// The model with all that belongs to its states, choices and transitions.
    pub fn build(
        mut self,
        rewards: Vec<RewardStructure>,
        labels: Vec<Label>,
        valuations: Option<Valuations>,
    ) -> Result<ExplicitModel> {
        self.close_state()?;
        if self.choices.len() != self.states {
            let (found, expected) = (self.choices.len(), self.states);
            return Err(Error::Model(format!("the model has {found} states; expected {expected}")));
        }
        self.choices.push(self.rows.len() as u32);
        self.rows.push(self.targets.len() as u32);
        self.start.sort_by_key(|(state, _)| *state);
        self.start.dedup_by(|b, a| {
            let is_same = a.0 == b.0;
            if is_same {
                a.1 += b.1;
            }
            is_same
        });
        let sum: f64 = self.start.iter().map(|(_, probability)| probability).sum();
        if self.start.is_empty() {
            return Err(Error::Model("no state is initial; say where episodes start".into()));
        }
        in_range("the sum of the start probabilities", sum, (sum - 1.0).abs() < 1e-9, "1")?;
        let model = ExplicitModel {
            is_chain: self.is_chain,
            start: self.start,
            choices: self.choices,
            rows: self.rows,
            targets: self.targets,
            probabilities: self.probabilities,
            rewards: Vec::new(),
            labels: Vec::new(),
            choice_labels: None,
            valuations: None,
        };
        let mut labels_of_choices = self.choice_labels;
        let has_labels = labels_of_choices.names.iter().any(|name| !name.is_empty());
        if has_labels && labels_of_choices.of.len() < model.choices() {
            let none = labels_of_choices.name("", &mut self.choice_names);
            labels_of_choices.of.resize(model.choices(), none);
        }
        let choice_labels = has_labels.then(|| labels_of_choices.in_order());
        model.annotated(rewards, labels, valuations).map(|model| ExplicitModel { choice_labels, ..model })
    }
}

fn chain(state: usize, choices: usize) -> Error {
    Error::Model(format!("state {state} of a Markov chain has {choices} choices; expected 1"))
}

impl ChoiceLabels {
    /// The same with names in the order in which they come up, and no others.
    fn in_order(self) -> Self {
        let mut places = vec![u32::MAX; self.names.len()];
        let (mut names, mut of) = (Vec::new(), self.of);
        for index in &mut of {
            let old = *index as usize;
            if places[old] == u32::MAX {
                places[old] = names.len() as u32;
                names.push(self.names[old].clone());
            }
            *index = places[old];
        }
        Self { names, of }
    }

    fn name(&mut self, name: &str, known: &mut HashMap<String, u32>) -> u32 {
        *known.entry(name.to_owned()).or_insert_with(|| {
            self.names.push(name.to_owned());
            self.names.len() as u32 - 1
        })
    }
}

impl ExplicitModel {
    /// The model with other rewards, labels and valuations.
    pub fn annotated(
        self,
        mut rewards: Vec<RewardStructure>,
        mut labels: Vec<Label>,
        valuations: Option<Valuations>,
    ) -> Result<Self> {
        let mut names = HashSet::new();
        for structure in &mut rewards {
            self.check_rewards(structure)?;
            if !names.insert(structure.measure().to_owned()) {
                let name = structure.measure();
                return Err(Error::Model(format!("there are two reward structures \"{name}\"; rename one")));
            }
        }
        // Formats keep them in orders of their own.
        rewards.sort_by(|a, b| a.name.cmp(&b.name));
        names.clear();
        for label in &mut labels {
            if label.name == START || !names.insert(label.name.clone()) {
                return Err(Error::Model(format!("there are two labels \"{}\"; rename one", label.name)));
            }
            label.states.sort_unstable();
            label.states.dedup();
            if let Some(state) = label.states.last().filter(|state| **state as usize >= self.states()) {
                return Err(Error::Index { what: "state", index: *state as usize, count: self.states() });
            }
        }
        labels.sort_by(|a, b| a.name.cmp(&b.name));
        for variable in valuations.iter().flat_map(|valuations| &valuations.variables) {
            let what = format!("the variable \"{}\"", variable.name);
            dimension(&what, variable.values.len(), self.states())?;
        }
        let valuations = valuations.filter(|valuations| !valuations.variables.is_empty());
        Ok(Self { rewards, labels, valuations, ..self })
    }

    /// Refuses lists of other lengths than the model's, and moves rewards to where they take the least room.
    fn check_rewards(&self, structure: &mut RewardStructure) -> Result<()> {
        let of = |what: &str| format!("the {what} rewards \"{}\"", structure.measure());
        let lists = [
            ("state", structure.states.as_slice(), self.states()),
            ("choice", &structure.choices, self.choices()),
            ("transition", &structure.transitions, self.transitions()),
        ];
        for (what, list, expected) in lists {
            if !list.is_empty() {
                dimension(&of(what), list.len(), expected)?;
                finite(&of(what), list)?;
            }
        }
        // What a choice earns whatever happens then is a choice's.
        let each = |choice: usize| &structure.transitions[self.transitions_of(choice)];
        let is_even = |choice: usize| each(choice).iter().all(|value| *value == each(choice)[0]);
        if !structure.transitions.is_empty() && (0..self.choices()).all(is_even) {
            let first = |choice: usize| each(choice).first().copied().unwrap_or(0.0);
            let moved: Vec<f64> = (0..self.choices()).map(first).collect();
            match structure.choices.is_empty() {
                true => structure.choices = moved,
                false => structure.choices.iter_mut().zip(moved).for_each(|(to, from)| *to += from),
            }
            structure.transitions = Array::default();
        }
        for list in [&mut structure.states, &mut structure.choices] {
            if list.iter().all(|value| *value == 0.0) {
                *list = Vec::new();
            }
        }
        if structure.transitions.iter().all(|value| *value == 0.0) {
            structure.transitions = Array::default();
        }
        Ok(())
    }
}
