//! What must be remembered to count only the first time that a label is reached.

use super::ExplicitModel;

/// The labels that each state has, and where it must be known whether one was reached before: outside of it, where
/// a way leads there. As bits, one a label.
#[derive(Debug)]
pub struct Memory {
    labels: Vec<u64>,
    /// Empty where nothing needs to be remembered.
    needed: Vec<u64>,
}

/// The most labels that can be asked for.
pub const MOST_LABELS: usize = 63;

impl Memory {
    /// For sets of states, in a model whose episodes end in `ends`.
    pub fn new(model: &ExplicitModel, sets: &[&[u32]], ends: &[bool]) -> Self {
        let mut labels = vec![0u64; if sets.is_empty() { 0 } else { model.states() }];
        for (bit, set) in sets.iter().enumerate() {
            set.iter().for_each(|state| labels[*state as usize] |= 1 << bit);
        }
        let mut memory = Self { labels, needed: Vec::new() };
        let left = memory.left(model, ends);
        if left != 0 {
            let needed = memory.reaching(model, ends, left);
            let is_needed = |(from, to): (usize, usize)| memory.of(from) & !memory.of(to) & needed[to] != 0;
            if edges(model, ends).any(is_needed) {
                memory.needed = needed;
            }
        }
        memory
    }

    /// The labels of a state.
    pub fn of(&self, state: usize) -> u64 {
        self.labels.get(state).copied().unwrap_or(0)
    }

    /// What must be remembered in a state of all that was reached.
    pub fn kept(&self, state: usize, reached: u64) -> u64 {
        reached & self.needed.get(state).copied().unwrap_or(0) & !self.of(state)
    }

    /// Whether anything must be remembered anywhere.
    pub fn is_needed(&self) -> bool {
        !self.needed.is_empty()
    }

    /// The labels whose states some transition leaves.
    fn left(&self, model: &ExplicitModel, ends: &[bool]) -> u64 {
        edges(model, ends).fold(0, |left, (from, to)| left | (self.of(from) & !self.of(to)))
    }

    /// For every state, those of the labels `asked` that a way leads to.
    fn reaching(&self, model: &ExplicitModel, ends: &[bool], asked: u64) -> Vec<u64> {
        let mut reaching: Vec<u64> = self.labels.iter().map(|labels| labels & asked).collect();
        let (first, from) = predecessors(model, ends);
        let mut open: Vec<u32> =
            (0..reaching.len() as u32).filter(|state| reaching[*state as usize] != 0).collect();
        while let Some(state) = open.pop() {
            let state = state as usize;
            for &before in &from[first[state] as usize..first[state + 1] as usize] {
                let known = reaching[before as usize];
                if known | reaching[state] != known {
                    reaching[before as usize] |= reaching[state];
                    open.push(before);
                }
            }
        }
        reaching
    }
}

/// Every transition as (from, to), but for those of states in which episodes end.
fn edges<'a>(model: &'a ExplicitModel, ends: &'a [bool]) -> impl Iterator<Item = (usize, usize)> + 'a {
    (0..model.states()).filter(|state| !ends[*state]).flat_map(|state| {
        let choices = model.choices_of(state);
        let transitions = match choices.is_empty() {
            true => 0..0,
            false => model.rows[choices.start] as usize..model.rows[choices.end] as usize,
        };
        model.targets[transitions].iter().map(move |target| (state, *target as usize))
    })
}

/// The states before each state, by compressed rows.
fn predecessors(model: &ExplicitModel, ends: &[bool]) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0u32; model.states() + 1];
    edges(model, ends).for_each(|(_, to)| first[to + 1] += 1);
    for state in 0..model.states() {
        first[state + 1] += first[state];
    }
    let mut place = first.clone();
    let mut from = vec![0u32; first[model.states()] as usize];
    for (state, to) in edges(model, ends) {
        from[place[to] as usize] = state as u32;
        place[to] += 1;
    }
    (first, from)
}
