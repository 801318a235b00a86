use super::ActorCritic;
use crate::error::Result;
use crate::random;

impl ActorCritic {
    /// Proximal policy optimisation (Schulman et al. 2017): several passes over the batch, in each of which a row
    /// stops pulling once the ratio π(a|s)/π_played(a|s) has moved by `clip` in the advantage's direction.
    pub(super) fn stay_near(&mut self, clip: f32, epochs: usize, minibatch: usize) -> Result<()> {
        if self.options.normalize {
            self.batch.normalize_advantages(&self.order);
        }
        let pull = move |now: f32, before: f32, advantage: f32| {
            // Beyond this a ratio pulls no harder, and it must not overflow.
            let ratio = (now - before).min(10.0).exp();
            let is_far = if advantage > 0.0 { ratio > 1.0 + clip } else { ratio < 1.0 - clip };
            if is_far { 0.0 } else { -advantage * ratio }
        };
        let rows = self.order.len();
        for _ in 0..epochs {
            random::shuffle(&mut self.order, &mut self.rng);
            for start in (0..rows).step_by(minibatch) {
                self.accumulate(start..rows.min(start + minibatch), pull);
                self.step()?;
            }
        }
        Ok(())
    }
}
