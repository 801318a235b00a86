use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use rand::Rng;

use super::workers::{SampledEpisodes, Workers};
use super::{Controls, Episode, play_episode};
use crate::error::{Result, in_range};
use crate::measurement::Estimate;
use crate::policy::{Memory, Mixed};
use crate::random::{self, Generator};

/// Episodes that are worth a thread.
const SHARE: usize = 8;

/// Plays whole episodes of mixed policies, side by side in as many copies of a world as it has.
///
/// Every episode has a generator of its own, and episodes are handed over in order: the result is the same for any number
/// of copies.
#[derive(Debug)]
pub struct Rollouts {
    copies: Vec<Copy>,
    /// Where others play.
    sampled: Option<SampledEpisodes>,
    controls: Controls,
    samples: u64,
    rng: Generator,
}

#[derive(Debug)]
struct Copy {
    episode: Episode,
    memory: Memory,
    action: Vec<f64>,
}

impl Copy {
    fn play(&mut self, mixture: &Mixed, seed: u64) -> Result<()> {
        let rng = &mut random::generator(seed);
        let Some(policy) = mixture.draw(rng) else { return Ok(()) };
        play_episode(&mut self.episode, policy, &mut self.memory, &mut self.action, rng)
    }
}

impl Rollouts {
    /// Plays in one copy of a world.
    pub fn new(episode: Episode, rng: &mut Generator) -> Self {
        let (controls, rng) = (Controls::default(), random::split(rng));
        Self { copies: Vec::new(), sampled: None, controls, samples: 0, rng }.and(episode)
    }

    /// The same with one more copy of the world.
    pub fn and(mut self, episode: Episode) -> Self {
        let action = vec![0.0; episode.world().actions().entries()];
        self.copies.push(Copy { episode, memory: Memory::default(), action });
        self
    }

    /// The same episodes, played by workers.
    pub fn on(mut self, workers: Arc<dyn Workers>) -> Self {
        self.sampled = Some(SampledEpisodes::new(workers, self.dim(), None));
        self
    }

    /// The same episodes, of the mixture that these controls are for: they are added to what each of them measures.
    pub fn controlled(self, controls: Controls) -> Self {
        Self { controls, ..self }
    }

    /// The same with controls that are found by playing each policy of the mixture alone, a few episodes of each.
    pub fn finding_controls(mut self, mixture: &Mixed) -> Result<Self> {
        self.controls = Controls::default();
        if !Controls::may_help(mixture) {
            return Ok(self);
        }
        let before = self.samples;
        let measured = self.play_apart(mixture, 1)?;
        let samples = self.samples - before;
        Ok(self.controlled(Controls::estimated(&measured, samples)))
    }

    /// Whether the policies of a mixture differ as much as controls say. What a policy seldom does may not be in a few episodes
    /// of it, so many more are played before the answer is no.
    pub(crate) fn bear_out(&mut self, controls: &Controls, mixture: &Mixed) -> Result<bool> {
        for times in [1, 4, 16, 64] {
            if controls.shifts.is_empty() || controls.are_plausible(&self.play_apart(mixture, times)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What a few episodes of each policy of a mixture measure, or some times as many, with its weight.
    fn play_apart(&mut self, mixture: &Mixed, times: usize) -> Result<Vec<(f64, Estimate)>> {
        let mut measured = Vec::with_capacity(mixture.parts().len());
        for (weight, policy) in mixture.parts() {
            let (alone, episodes) = (Mixed::shared(Arc::clone(policy)), times * Controls::episodes(*weight));
            let mut estimate = Estimate::new(self.dim());
            self.play_seeds(&alone, episodes, |_, sum, _| {
                estimate.add(&sum);
                Ok(())
            })?;
            measured.push((*weight, estimate));
        }
        Ok(measured)
    }

    /// What is added to what episodes measure.
    pub fn controls(&self) -> &Controls {
        &self.controls
    }

    /// Plays this many episodes and hands over Σ γⁱ zᵢ and the number of steps of each.
    pub fn play(
        &mut self,
        mixture: &Mixed,
        episodes: usize,
        mut observe: impl FnMut(&[f64], usize) -> Result<()>,
    ) -> Result<()> {
        let controls = self.controls.clone();
        // The policy is the first thing that is drawn for an episode.
        let observe = |seed: u64, mut sum: Vec<f64>, steps: usize| {
            controls.add(mixture.draw_part(&mut random::generator(seed)), &mut sum);
            observe(&sum, steps)
        };
        self.play_seeds(mixture, episodes, observe)
    }

    fn play_seeds(
        &mut self,
        mixture: &Mixed,
        episodes: usize,
        mut observe: impl FnMut(u64, Vec<f64>, usize) -> Result<()>,
    ) -> Result<()> {
        in_range("policies", mixture.parts().len() as f64, !mixture.parts().is_empty(), "1 or more")?;
        if let Some(sampled) = self.sampled.as_mut().filter(|_| SampledEpisodes::can_play(mixture)) {
            for played in 0..episodes {
                let seed = self.rng.clone().next_u64();
                let (sum, steps) = sampled.next(mixture, episodes - played, &mut self.rng)?;
                self.samples += steps as u64;
                observe(seed, sum, steps)?;
            }
            return Ok(());
        }
        let seeds: Vec<u64> = (0..episodes).map(|_| self.rng.next_u64()).collect();
        let threads = self.copies.len().min(episodes.div_ceil(SHARE));
        if threads <= 1 {
            let copy = &mut self.copies[0];
            for seed in seeds {
                copy.play(mixture, seed)?;
                self.samples += copy.episode.steps() as u64;
                observe(seed, copy.episode.sum().to_vec(), copy.episode.steps())?;
            }
            return Ok(());
        }
        let shares = seeds.chunks(episodes.div_ceil(threads)).zip(&mut self.copies);
        let played: Vec<Result<Vec<(u64, Vec<f64>, usize)>>> = thread::scope(|scope| {
            let share = |(seeds, copy): (&[u64], &mut Copy)| -> Result<Vec<_>> {
                let play = |seed: &u64| {
                    copy.play(mixture, *seed)?;
                    Ok((*seed, copy.episode.sum().to_vec(), copy.episode.steps()))
                };
                seeds.iter().map(play).collect()
            };
            let threads: Vec<_> = shares.map(|part| scope.spawn(move || share(part))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        for part in played {
            for (seed, sum, steps) in part? {
                self.samples += steps as u64;
                observe(seed, sum, steps)?;
            }
        }
        Ok(())
    }

    /// Entries of a measurement.
    pub fn dim(&self) -> usize {
        self.copies[0].episode.z().len()
    }

    /// Steps taken so far.
    pub fn samples(&self) -> u64 {
        self.samples
    }
}
