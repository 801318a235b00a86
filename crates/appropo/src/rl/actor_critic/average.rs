use crate::error::Result;
use crate::state::{Loader, Saver};

/// The mean of a policy's latest parameters. Each update moves a policy by what one batch happened to show; their mean is
/// mostly better than the last (Polyak and Juditsky 1992), and it plays with less noise.
///
/// The k-th update counts for (η + 1)/(k + η) of the mean (Shamir and Zhang 2013), which is about that of the last 1/(η + 1)
/// of all updates, however many there are.
#[derive(Debug)]
pub(super) struct Average {
    eta: f64,
    updates: f64,
    parameters: Vec<f32>,
}

impl Average {
    /// Of so many parameters, over this share of the updates; 0 is the last alone.
    pub fn new(share: f64, parameters: usize) -> Self {
        Self { eta: 1.0 / share - 1.0, updates: 0.0, parameters: vec![0.0; parameters] }
    }

    /// Forgets all updates.
    pub fn clear(&mut self) {
        self.updates = 0.0;
    }

    /// Takes the parameters after another update.
    pub fn add(&mut self, parameters: &[f32]) {
        self.updates += 1.0;
        if !self.eta.is_finite() {
            return self.parameters.copy_from_slice(parameters);
        }
        let weight = ((self.eta + 1.0) / (self.updates + self.eta)) as f32;
        for (mean, now) in self.parameters.iter_mut().zip(parameters) {
            *mean += weight * (now - *mean);
        }
    }

    /// The mean; `None` before the first update.
    pub fn mean(&self) -> Option<&[f32]> {
        (self.updates > 0.0).then_some(&self.parameters)
    }

    pub fn save(&self, to: &mut Saver) {
        to.put(&self.updates);
        to.put_all(&self.parameters);
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.updates =
            from.get_where("a number of updates", |updates: &f64| updates.is_finite() && *updates >= 0.0)?;
        from.get_finite("a parameter", &mut self.parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(share: f64, updates: impl IntoIterator<Item = f32>) -> f32 {
        let mut average = Average::new(share, 1);
        assert!(average.mean().is_none());
        updates.into_iter().for_each(|parameter| average.add(&[parameter]));
        average.mean().unwrap()[0]
    }

    #[test]
    fn all_updates_count_the_same_or_the_last_alone() {
        assert!((mean(1.0, [1.0, 2.0, 6.0]) - 3.0).abs() < 1e-6);
        assert_eq!(mean(0.0, [1.0, 2.0, 6.0]), 6.0);
    }

    /// Of updates that drift evenly the mean is as old as half of the share, whatever came before.
    #[test]
    fn it_follows_what_it_averages() {
        for updates in [100, 1000] {
            let late = mean(0.1, (1..=updates).map(|update| update as f32 / updates as f32));
            assert!((0.88..0.93).contains(&late), "{late}");
            let after_a_jump =
                mean(0.1, (1..=updates).map(|update| f32::from(u8::from(2 * update < updates))));
            assert!(after_a_jump < 1e-2, "{after_a_jump}");
        }
    }
}
