use crate::error::{Result, in_range};
use crate::measurement::Estimate;
use crate::policy::{Memory, Mixed};
use crate::random::{self, Generator};
use crate::rl::workers::SampledEpisodes;
use crate::rl::{Episode, play_episode};
use crate::state::{Loader, Saver};

/// Estimates measurements by playing: the paper's estimation oracle.
#[derive(Debug)]
pub struct MonteCarlo {
    episode: Episode,
    /// Where others play.
    sampled: Option<SampledEpisodes>,
    memory: Memory,
    action: Vec<f64>,
    samples: u64,
    rng: Generator,
}

impl MonteCarlo {
    /// An estimator that plays in `episode`.
    pub fn new(episode: Episode, rng: &mut Generator) -> Self {
        let action = vec![0.0; episode.world().actions().entries()];
        Self {
            episode,
            sampled: None,
            memory: Memory::default(),
            action,
            samples: 0,
            rng: random::split(rng),
        }
    }

    /// The same, in streams: every episode has a seed of its own.
    pub(crate) fn on(self, sampled: SampledEpisodes) -> Self {
        Self { sampled: Some(sampled), ..self }
    }

    /// Adds this many episodes of a mixed policy to `estimate`.
    pub fn play(&mut self, mixture: &Mixed, episodes: usize, estimate: &mut Estimate) -> Result<()> {
        self.play_each(mixture, episodes, |sum, _| estimate.add(sum))
    }

    /// Plays this many episodes of a mixed policy and hands over Σ γⁱ zᵢ and the number of steps of each.
    pub fn play_each(
        &mut self,
        mixture: &Mixed,
        episodes: usize,
        mut observe: impl FnMut(&[f64], usize),
    ) -> Result<()> {
        in_range("policies", mixture.parts().len() as f64, !mixture.parts().is_empty(), "1 or more")?;
        if let Some(sampled) = self.sampled.as_mut().filter(|_| SampledEpisodes::can_play(mixture)) {
            for played in 0..episodes {
                let (sum, steps) = sampled.next(mixture, episodes - played, &mut self.rng)?;
                self.samples = self.samples.saturating_add(steps as u64);
                observe(&sum, steps);
            }
            return Ok(());
        }
        for _ in 0..episodes {
            let Some(policy) = mixture.draw(&mut self.rng) else { break };
            play_episode(&mut self.episode, policy, &mut self.memory, &mut self.action, &mut self.rng)?;
            self.samples = self.samples.saturating_add(self.episode.steps() as u64);
            observe(self.episode.sum(), self.episode.steps());
        }
        Ok(())
    }

    /// Entries of a measurement.
    pub fn dim(&self) -> usize {
        self.episode.z().len()
    }

    /// Steps taken so far.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Writes what is needed to go on later.
    pub fn save(&self, to: &mut Saver) -> Result<()> {
        to.put(&self.samples);
        to.put(&self.rng);
        self.episode.save(to)
    }

    /// Takes it back, into an estimator for the same world.
    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.samples = from.get()?;
        self.rng = from.get()?;
        self.episode.load(from)
    }
}
