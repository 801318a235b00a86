use crate::error::Result;
use crate::state::{Loader, Saver};

/// What policies can measure at most, by what single steps did.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    gamma: f32,
    horizon: Option<usize>,
    /// The least and the largest that a step measured, and 0.
    ranges: Vec<(f32, f32)>,
}

impl Reach {
    pub fn new(gamma: f64, dim: usize) -> Self {
        Self { gamma: gamma as f32, horizon: None, ranges: vec![(0.0, 0.0); dim] }
    }

    /// γ after a step, 0 where nothing comes after it.
    pub fn gamma(&self, ended: bool) -> f32 {
        if ended { 0.0 } else { self.gamma }
    }

    pub fn horizon(&mut self, steps: usize) {
        self.horizon = self.horizon.max(Some(steps));
    }

    /// Takes note of what a step measured.
    pub fn see(&mut self, gains: &[f32]) {
        for ((least, largest), gain) in self.ranges.iter_mut().zip(gains) {
            (*least, *largest) = (least.min(*gain), largest.max(*gain));
        }
    }

    /// Steps that count at most.
    pub fn steps(&self) -> f32 {
        let long = 1.0 / (1.0 - self.gamma);
        self.horizon.map_or(long, |horizon| (horizon as f32).min(long))
    }

    /// The part of what can still be measured after so many steps of an episode.
    pub fn left(&self, steps: usize) -> f32 {
        self.horizon.map_or(1.0, |horizon| crate::rl::actor_critic::part_left(horizon, steps, self.gamma))
    }

    /// No policy measures more in the long run than the largest of a step in every one.
    pub fn clamp(&self, psi: &mut [f32], scale: &[f32]) {
        let steps = self.steps();
        for ((psi, (least, largest)), scale) in psi.iter_mut().zip(&self.ranges).zip(scale) {
            let bound = |gain: f32| if gain == 0.0 { 0.0 } else { gain * steps / scale };
            *psi = psi.clamp(bound(*least), bound(*largest));
        }
    }

    pub fn save(&self, to: &mut Saver) {
        to.put(&self.horizon);
        to.put_all(&self.ranges);
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.horizon = from.get()?;
        for range in &mut self.ranges {
            let fits = |(least, largest): &(f32, f32)| {
                *least <= 0.0 && *largest >= 0.0 && least.is_finite() && largest.is_finite()
            };
            *range = from.get_where("the range of a measurement", fits)?;
        }
        Ok(())
    }
}
