use super::{Universal, narrow};
use crate::error::Result;
use crate::measurement::Estimate;
use crate::state::{Checkpoint, Loader, Saver};

impl Checkpoint for Universal {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.answers.save(to);
        self.replay.save(to);
        to.put(&self.samples);
        to.put(&self.ventures);
        to.put(&self.played);
        to.put_all(&self.sizes);
        to.put(&self.rng);
        self.episode.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        let (dim, count) = (self.sizes.len(), self.episode.world().actions().count());
        let is_action = |action: &[f32]| count.is_none_or(|count| (0.0..count as f32).contains(&action[0]));
        let observations = self.episode.world().observations();
        let is_observation = |row: &[f32]| observations.is_readable(row);
        self.answers.load(from, dim, is_observation)?;
        self.replay.load(from, is_observation, is_action)?;
        self.samples = from.get()?;
        self.ventures = from.get_where("a number of episodes", |count: &u64| *count < u64::MAX / 2)?;
        self.played = from.get_where("an estimate", |played: &Estimate| played.mean().len() == dim)?;
        for size in &mut self.sizes {
            let fits =
                |(sum, count): &(f64, usize)| *sum >= 0.0 && sum.is_finite() && *count < usize::MAX / 2;
            *size = from.get_where("the size of a measurement", fits)?;
        }
        self.rng = from.get()?;
        self.episode.load(from)?;
        narrow(self.episode.observation(), &mut self.observation);
        Ok(())
    }
}
