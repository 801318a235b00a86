use super::critics::Critics;
use super::novelty::Novelty;
use super::{Batch, NetworkOptions, UniversalNetwork};
use crate::error::Result;
use crate::policy::NetworkPolicy;
use crate::random::Generator;
use crate::rl::{Encoder, Replay, Transition};
use crate::state::{Loader, Saver};

/// For actions that can be counted: critics that know them all.
#[derive(Debug)]
pub struct Counted {
    critics: Critics,
    novelty: Novelty,
}

impl Counted {
    /// Knows nothing yet.
    pub fn new(
        encoder: &Encoder,
        actions: usize,
        dim: usize,
        options: &NetworkOptions,
        rng: &mut Generator,
    ) -> Result<Self> {
        let critics = Critics::new(encoder, actions, dim, options, rng)?;
        let NetworkOptions { hidden, learning_rate, batch, .. } = options;
        let novelty = Novelty::new(encoder, actions, hidden, *learning_rate, *batch, rng)?;
        Ok(Self { critics, novelty })
    }
}

impl UniversalNetwork for Counted {
    fn reach_horizon(&mut self, steps: usize) {
        self.critics.reach.horizon(steps);
    }

    fn see(&mut self, encoder: &Encoder, transition: &Transition) {
        self.critics.reach.see(transition.gains);
        self.novelty.count(encoder, transition.observation, transition.counted_action());
    }

    fn direction(&self, lam: &[f64], to: &mut Vec<f32>) {
        self.critics.direction(lam, to);
    }

    fn learn(&mut self, encoder: &Encoder, batch: Batch, _: &mut Generator) -> Result<()> {
        self.critics.learn(encoder, batch);
        self.novelty.learn(encoder, batch.replay, batch.places);
        Ok(())
    }

    fn predict(&mut self, encoder: &Encoder, starts: &[Vec<f32>], lam: &[f32]) -> Vec<f64> {
        self.critics.predict(encoder, starts, lam)
    }

    fn policy(&self, encoder: &Encoder, lam: &[f32]) -> Result<NetworkPolicy> {
        self.critics.policy(encoder, lam)
    }

    fn rescale(&mut self, sizes: &[f32]) {
        self.critics.rescale(sizes);
    }

    fn fits(&self, policy: &NetworkPolicy) -> bool {
        self.critics.fits(policy)
    }

    fn remembered(&self, action: &[f64], to: &mut Vec<f32>) {
        to.clear();
        to.push(action[0] as f32);
    }

    fn venture(
        &mut self,
        encoder: &Encoder,
        observation: &[f32],
        rng: &mut Generator,
        action: &mut [f64],
    ) -> Option<bool> {
        let best = self.novelty.best(encoder, observation, rng)?;
        action[0] = best as f64;
        Some(self.novelty.is_new(observation, best))
    }

    fn is_counting(&self) -> bool {
        self.novelty.is_counted()
    }

    fn ask_for_more(&mut self) {
        self.novelty.ask_for_more();
    }

    fn novelty_updates(&self) -> usize {
        self.novelty.updates()
    }

    fn learn_novelty(&mut self, encoder: &Encoder, replay: &Replay, places: &[usize]) {
        self.novelty.learn(encoder, replay, places);
    }

    fn save(&self, to: &mut Saver) {
        self.critics.save(to);
        self.novelty.save(to);
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.critics.load(from)?;
        self.novelty.load(from)
    }
}
