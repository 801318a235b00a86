use crate::error::Result;
use crate::random::{self, Generator};
use crate::state::{Loader, Saved, Saver, misfit};

/// The transitions of all policies, up to a number; then the oldest give way.
#[derive(Debug, Clone)]
pub struct Replay {
    entries: usize,
    width: usize,
    dim: usize,
    capacity: usize,
    added: usize,
    observations: Vec<f32>,
    actions: Vec<f32>,
    gains: Vec<f32>,
    nexts: Vec<f32>,
    steps: Vec<u32>,
    ended: Vec<bool>,
}

/// One transition.
#[derive(Debug, Clone, Copy)]
pub struct Transition<'a> {
    /// The observation before the step.
    pub observation: &'a [f32],
    /// The action: its number, or its numbers.
    pub action: &'a [f32],
    /// z, what the step measured.
    pub gains: &'a [f32],
    /// The observation after it.
    pub next: &'a [f32],
    /// Steps of the episode before this one.
    pub steps: usize,
    /// Whether nothing is measured after it.
    pub ended: bool,
}

impl Transition<'_> {
    /// An action that is counted.
    pub fn counted_action(&self) -> usize {
        self.action[0] as usize
    }
}

impl Replay {
    /// Room for `capacity` transitions between observations of `entries` numbers, by actions of `width`, with `dim`
    /// measurements.
    pub fn new(capacity: usize, (entries, width, dim): (usize, usize, usize)) -> Self {
        Self {
            entries,
            width,
            dim,
            capacity: capacity.max(1),
            added: 0,
            observations: Vec::new(),
            actions: Vec::new(),
            gains: Vec::new(),
            nexts: Vec::new(),
            steps: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Transitions in the memory.
    pub fn len(&self) -> usize {
        self.added.min(self.capacity)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.added == 0
    }

    /// Adds a transition.
    pub fn add(&mut self, transition: &Transition) {
        let place = self.added % self.capacity;
        put(&mut self.observations, place, transition.observation);
        put(&mut self.actions, place, transition.action);
        put(&mut self.gains, place, transition.gains);
        put(&mut self.nexts, place, transition.next);
        put(&mut self.steps, place, &[transition.steps as u32]);
        put(&mut self.ended, place, &[transition.ended]);
        self.added += 1;
    }

    /// The transition at a place below [`len`](Self::len).
    pub fn get(&self, place: usize) -> Transition<'_> {
        Transition {
            observation: &self.observations[place * self.entries..][..self.entries],
            action: &self.actions[place * self.width..][..self.width],
            gains: &self.gains[place * self.dim..][..self.dim],
            next: &self.nexts[place * self.entries..][..self.entries],
            steps: self.steps[place] as usize,
            ended: self.ended[place],
        }
    }

    /// A place drawn at random; there is one.
    pub fn draw(&self, rng: &mut Generator) -> usize {
        random::below(self.len(), rng)
    }

    pub(crate) fn save(&self, to: &mut Saver) {
        to.put(&self.added);
        to.put(&self.observations);
        to.put(&self.actions);
        to.put(&self.gains);
        to.put(&self.nexts);
        to.put(&self.steps);
        to.put(&self.ended);
    }

    /// Takes back what was saved; actions and observations must be ones that there are.
    pub(crate) fn load(
        &mut self,
        from: &mut Loader,
        is_observation: impl Fn(&[f32]) -> bool,
        is_action: impl Fn(&[f32]) -> bool,
    ) -> Result<()> {
        self.added = from.get_count("a number of transitions")?;
        let count = self.len();
        self.observations = numbers(from, count * self.entries)?;
        self.actions = numbers(from, count * self.width)?;
        self.gains = numbers(from, count * self.dim)?;
        self.nexts = numbers(from, count * self.entries)?;
        self.steps = list(from, count)?;
        self.ended = list(from, count)?;
        let mut rows =
            self.observations.chunks_exact(self.entries).chain(self.nexts.chunks_exact(self.entries));
        if !self.actions.chunks_exact(self.width).all(is_action) || !rows.all(is_observation) {
            return Err(misfit("a transition is out of range"));
        }
        Ok(())
    }
}

fn put<T: Copy>(all: &mut Vec<T>, place: usize, values: &[T]) {
    let start = place * values.len();
    if start == all.len() {
        all.extend_from_slice(values);
    } else {
        all[start..start + values.len()].copy_from_slice(values);
    }
}

fn list<T: Saved>(from: &mut Loader, length: usize) -> Result<Vec<T>> {
    from.get_where("the length of a list of transitions", |list: &Vec<T>| list.len() == length)
}

fn numbers(from: &mut Loader, length: usize) -> Result<Vec<f32>> {
    let fits = |list: &Vec<f32>| list.len() == length && list.iter().all(|v| v.is_finite());
    from.get_where("a list of transitions", fits)
}
