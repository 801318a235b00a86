//! Data sets: episodes that were logged, to learn from without playing.
//!
//! ```
//! use appropo::dataset::{Dataset, Step};
//! use appropo::env::Space;
//! use appropo::measurement::Measures;
//!
//! # fn main() -> appropo::error::Result<()> {
//! let measures = Measures::new([("cost", 1)]);
//! let mut builder = Dataset::builder(measures, Space::Discrete(2), Space::Discrete(2));
//! let step = Step { episode: 0, step: 0, observation: &[0.0], action: &[1.0], z: &[0.5], ..Step::default() };
//! builder.push(&Step { next_observation: &[1.0], terminated: true, ..step })?;
//! let dataset = builder.build()?;
//! assert_eq!((dataset.episodes().count(), dataset.steps()), (1, 1));
//! # Ok(())
//! # }
//! ```

mod builder;
mod empirical;

pub use builder::{DatasetBuilder, Step};
pub use empirical::Empirical;

use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use super::Space;
use crate::error::{Error, Result, dimension};
use crate::measurement::{Discounting, Measures};

/// Logged episodes: what was seen, what was done, and every measurement of every step.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// What it is called in messages.
    name: String,
    measures: Measures,
    observations: Space,
    actions: Space,
    episodes: Vec<Extent>,
    /// One row a step, and one more at the end of every episode.
    seen: Vec<f64>,
    done: Vec<f64>,
    z: Vec<f64>,
    checksum: OnceLock<String>,
}

/// Where an episode begins, how long it is, and how it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    first: usize,
    steps: usize,
    is_terminated: bool,
}

/// An episode of a data set.
#[derive(Debug, Clone, Copy)]
pub struct LoggedEpisode<'a> {
    /// What was seen before every step and after the last: a row each.
    pub observations: &'a [f64],
    /// What was done: a row a step.
    pub actions: &'a [f64],
    /// What was measured: a row a step.
    pub z: &'a [f64],
    /// Steps.
    pub steps: usize,
    /// Whether it came to an end of its own, and was not cut off.
    pub is_terminated: bool,
}

impl Dataset {
    /// Collects steps.
    pub fn builder(measures: Measures, observations: Space, actions: Space) -> DatasetBuilder {
        DatasetBuilder::new(measures, observations, actions)
    }

    /// The same under a name, such as that of its file, which errors begin with.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// What is measured.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// What is seen.
    pub fn observations(&self) -> &Space {
        &self.observations
    }

    /// What can be done.
    pub fn actions(&self) -> &Space {
        &self.actions
    }

    /// Steps of all episodes.
    pub fn steps(&self) -> usize {
        self.episodes.iter().map(|extent| extent.steps).sum()
    }

    /// The episodes, in order.
    pub fn episodes(&self) -> impl ExactSizeIterator<Item = LoggedEpisode<'_>> {
        let (seen, done, z) = (self.observations.entries(), self.actions.entries(), self.measures.dim());
        self.episodes.iter().enumerate().map(move |(number, extent)| {
            let Extent { first, steps, is_terminated } = *extent;
            let rows = first..first + steps;
            LoggedEpisode {
                // Every episode before this one has a row more than steps.
                observations: &self.seen[(first + number) * seen..(first + number + steps + 1) * seen],
                actions: &self.done[rows.start * done..rows.end * done],
                z: &self.z[rows.start * z..rows.end * z],
                steps,
                is_terminated,
            }
        })
    }

    /// The mean discounted measurement of its episodes: what whoever was logged measures.
    pub fn mean(&self, discounting: &Discounting) -> Vec<f64> {
        let dim = self.measures.dim();
        let mut mean = vec![0.0; dim];
        for episode in self.episodes() {
            let mut weight = 1.0 / self.episodes.len() as f64;
            for z in episode.z.chunks_exact(dim.max(1)).take(discounting.horizon().unwrap_or(usize::MAX)) {
                crate::vector::add_scaled(&mut mean, weight, z);
                weight *= discounting.gamma();
            }
        }
        mean
    }

    /// A checksum of all that was logged, whatever file it is in.
    pub fn checksum(&self) -> &str {
        self.checksum.get_or_init(|| {
            let mut hash = Sha256::new();
            for space in [&self.observations, &self.actions] {
                hash.update(format!("{} {}\n", space.entries(), space.count().is_some()));
            }
            for (name, range) in self.measures.iter() {
                hash.update(format!("{} {name}\n", range.len()));
            }
            for extent in &self.episodes {
                hash.update(format!("{} {}\n", extent.steps, extent.is_terminated));
            }
            for numbers in [&self.seen, &self.done, &self.z] {
                // −0 and 0 are one number, and files may not tell them apart.
                numbers.iter().for_each(|number| hash.update((number + 0.0).to_le_bytes()));
            }
            hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
        })
    }

    /// The same data as those of a world with these measures and spaces: measures in its order, the others left out.
    pub fn fitted_to(
        self: &Arc<Self>,
        measures: &Measures,
        observations: &Space,
        actions: &Space,
    ) -> Result<Arc<Self>> {
        if (&self.measures, &self.observations, &self.actions) == (measures, observations, actions) {
            return Ok(Arc::clone(self));
        }
        let kinds = [("observation", &self.observations, observations), ("action", &self.actions, actions)];
        for (what, found, expected) in kinds {
            if found.count().is_some() != expected.count().is_some() {
                return Err(other_kind(&self.name, what, expected));
            }
            dimension(&format!("the {what} of the data set"), found.entries(), expected.entries())?;
        }
        let mut places = Vec::new();
        for (name, expected) in measures.iter() {
            let known = || self.measures.iter().map(|(name, _)| name.to_owned()).collect();
            let Ok(range) = self.measures.range(name) else {
                return Err(Error::UnloggedMeasure { name: name.into(), known: known() });
            };
            dimension(&format!("the measure \"{name}\" of the data set"), range.len(), expected.len())?;
            places.extend(range);
        }
        let mut fitted =
            Self::builder(measures.clone(), observations.clone(), actions.clone()).named(&*self.name);
        let (seen, done) = (observations.entries(), actions.entries());
        let mut z = vec![0.0; places.len()];
        for (number, episode) in self.episodes().enumerate() {
            for step in 0..episode.steps {
                let measured = &episode.z[step * self.measures.dim()..];
                z.iter_mut().zip(&places).for_each(|(z, place)| *z = measured[*place]);
                let is_last = step + 1 == episode.steps;
                fitted.push(&Step {
                    episode: number as u64,
                    step: step as u64,
                    observation: &episode.observations[step * seen..(step + 1) * seen],
                    action: &episode.actions[step * done..(step + 1) * done],
                    z: &z,
                    next_observation: &episode.observations[(step + 1) * seen..(step + 2) * seen],
                    terminated: is_last && episode.is_terminated,
                    truncated: is_last && !episode.is_terminated,
                })?;
            }
        }
        Ok(Arc::new(fitted.build()?))
    }
}

fn other_kind(name: &str, what: &'static str, expected: &Space) -> Error {
    let (found, expected) = match expected.count() {
        Some(count) => ("made of numbers", format!("one of {count}, as one column \"{what}\"")),
        None => ("counted", format!("{} numbers, as columns \"{what}_0\" and on", expected.entries())),
    };
    let problem = format!("the {what} is {found}; the problem's world has {expected}");
    Error::Dataset { file: name.into(), row: 1, problem }
}
