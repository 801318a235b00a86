use std::collections::HashMap;

use crate::env::dataset::Dataset;
use crate::error::{Error, Result, not_too_large};
use crate::measurement::Selection;
use crate::rl::Encoder;

/// Entries of a table of observations and actions at most.
const MOST_ENTRIES: usize = 200_000_000;

/// Logged steps as networks learn from them: each that differs from all others once, with how much it counts.
#[derive(Debug)]
pub(crate) struct LoggedRows {
    encoder: Encoder,
    actions: usize,
    entries: usize,
    /// What was seen and seen then, as networks take it.
    seen: Vec<f32>,
    next: Vec<f32>,
    /// The latter as it is.
    plain_next: Vec<f64>,
    /// Whether each action was logged in each observation, where these are counted; else empty.
    logged: Vec<bool>,
    done: Vec<usize>,
    /// The selected measurements.
    z: Vec<f64>,
    is_end: Vec<bool>,
    /// Which of them each logged step is.
    steps: Vec<u32>,
    /// Steps of every episode, and which of the starts is its own.
    episodes: Vec<(usize, u32)>,
    starts: Vec<f32>,
    plain_starts: Vec<f64>,
    /// Rows of the same observation and action: their groups.
    groups: Vec<u32>,
    weights: Vec<f32>,
    start_weights: Vec<f64>,
}

/// Bits of numbers, which can be looked up.
fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

impl LoggedRows {
    /// The steps of a data set whose actions are counted, measured by some entries.
    pub fn new(dataset: &Dataset, selection: &Selection) -> Result<Self> {
        let Some(actions) = dataset.actions().count() else {
            return Err(Error::Unsuitable {
                learner: "batch",
                needs: "actions that can be counted",
                instead: "\"appropo\", \"lagrangian\" or \"cpo\", which play,",
            });
        };
        let (entries, dim) = (dataset.observations().entries(), dataset.measures().dim());
        let states = dataset.observations().count().unwrap_or(0);
        not_too_large("states times actions", &[states, actions], MOST_ENTRIES)?;
        let mut logged = vec![false; states * actions];
        if states > 0 {
            for episode in dataset.episodes() {
                for (seen, done) in episode.observations.iter().zip(episode.actions) {
                    logged[*seen as usize * actions + *done as usize] = true;
                }
            }
        }
        let mut encoder = Encoder::new(dataset.observations());
        for episode in dataset.episodes() {
            for observation in episode.observations.chunks_exact(entries) {
                let narrow: Vec<f32> = observation.iter().map(|value| *value as f32).collect();
                encoder.add(&narrow);
            }
        }
        let mut rows = Self {
            actions,
            entries,
            seen: Vec::new(),
            next: Vec::new(),
            plain_next: Vec::new(),
            logged,
            done: Vec::new(),
            z: Vec::new(),
            is_end: Vec::new(),
            steps: Vec::new(),
            episodes: Vec::new(),
            starts: Vec::new(),
            plain_starts: Vec::new(),
            groups: Vec::new(),
            weights: Vec::new(),
            start_weights: Vec::new(),
            encoder,
        };
        let (mut known, mut groups, mut starts) = (HashMap::new(), HashMap::new(), HashMap::new());
        for episode in dataset.episodes() {
            let row = |step: usize| &episode.observations[step * entries..(step + 1) * entries];
            let count = starts.len() as u32;
            let start = *starts.entry(bits(row(0))).or_insert_with(|| {
                rows.encoder.push(&narrow(row(0)), &mut rows.starts);
                rows.plain_starts.extend_from_slice(row(0));
                count
            });
            rows.episodes.push((episode.steps, start));
            for step in 0..episode.steps {
                let (seen, next, done) = (row(step), row(step + 1), episode.actions[step] as usize);
                let z = selection.apply(&episode.z[step * dim..(step + 1) * dim]);
                // Where nothing was logged nothing is known of what follows.
                let is_end = episode.is_terminated && step + 1 == episode.steps || rows.is_unknown(next);
                let group = (bits(seen), done);
                let key = (group.clone(), bits(next), bits(&z), is_end);
                let place = *known.entry(key).or_insert_with(|| {
                    rows.encoder.push(&narrow(seen), &mut rows.seen);
                    rows.encoder.push(&narrow(next), &mut rows.next);
                    rows.plain_next.extend_from_slice(next);
                    rows.done.push(done);
                    rows.z.extend_from_slice(&z);
                    rows.is_end.push(is_end);
                    let count = groups.len() as u32;
                    rows.groups.push(*groups.entry(group).or_insert(count));
                    rows.done.len() as u32 - 1
                });
                rows.steps.push(place);
            }
        }
        rows.weigh(|_| 1.0);
        Ok(rows)
    }

    /// Lets every episode count for so much.
    ///
    /// The rows of one observation and action count among themselves as often as they were logged, and all together by the
    /// root of that: what is seldom seen is learnt more slowly otherwise, and no more exactly.
    pub fn weigh(&mut self, weight: impl Fn(usize) -> f64) {
        let count = self.done.len();
        let mut weights = vec![0.0; count];
        let starts = self.episodes.iter().map(|(_, start)| *start as usize + 1).max().unwrap_or(0);
        self.start_weights = vec![0.0; starts];
        let (mut first, mut total) = (0, 0.0);
        for (episode, (steps, start)) in self.episodes.iter().enumerate() {
            let weight = weight(episode);
            self.steps[first..first + steps].iter().for_each(|row| weights[*row as usize] += weight);
            self.start_weights[*start as usize] += weight;
            (first, total) = (first + steps, total + weight);
        }
        self.start_weights.iter_mut().for_each(|weight| *weight /= total);
        let groups = self.groups.iter().map(|group| *group as usize + 1).max().unwrap_or(0);
        let mut totals = vec![0.0; groups];
        self.groups.iter().zip(&weights).for_each(|(group, weight)| totals[*group as usize] += weight);
        let flattened: Vec<f64> = self
            .groups
            .iter()
            .zip(&weights)
            .map(|(group, weight)| weight / totals[*group as usize].sqrt())
            .collect();
        let mean = flattened.iter().sum::<f64>() / count.max(1) as f64;
        self.weights = flattened.iter().map(|weight| (weight / mean) as f32).collect();
    }

    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    pub fn actions(&self) -> usize {
        self.actions
    }

    /// Numbers of an observation.
    pub fn entries(&self) -> usize {
        self.entries
    }

    pub fn len(&self) -> usize {
        self.done.len()
    }

    pub fn seen(&self) -> &[f32] {
        &self.seen
    }

    pub fn next(&self) -> &[f32] {
        &self.next
    }

    pub fn plain_next(&self) -> &[f64] {
        &self.plain_next
    }

    pub fn done(&self) -> &[usize] {
        &self.done
    }

    /// The selected measurements, row by row.
    pub fn z(&self) -> &[f64] {
        &self.z
    }

    /// Whether each action was logged in each observation, `[observation * actions + action]`; `None` where these are numbers.
    pub fn logged(&self) -> Option<&[bool]> {
        (!self.logged.is_empty()).then_some(&self.logged)
    }

    fn is_unknown(&self, observation: &[f64]) -> bool {
        let actions = self.actions;
        self.logged().is_some_and(|logged| {
            let state = observation[0] as usize;
            !logged[state * actions..(state + 1) * actions].contains(&true)
        })
    }

    /// Whether an action can be taken after a row: where observations are counted, if it was logged there.
    pub fn can_follow(&self, row: usize, action: usize) -> bool {
        let state = || self.plain_next[row * self.entries] as usize;
        self.logged().is_none_or(|logged| logged[state() * self.actions + action])
    }

    /// Whether nothing is measured after a row, as far as is known.
    pub fn is_end(&self, row: usize) -> bool {
        self.is_end[row]
    }

    /// Of mean 1.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Where episodes begin, and how often.
    pub fn starts(&self) -> (&[f32], &[f64]) {
        (&self.starts, &self.start_weights)
    }

    pub fn plain_starts(&self) -> &[f64] {
        &self.plain_starts
    }
}

fn narrow(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|number| *number as f32).collect()
}
