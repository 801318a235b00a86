use serde::{Deserialize, Serialize};

use crate::measurement::{Estimate, Selection};
use crate::policy::Mixed;
use crate::vector;

/// Control variates of a mixed policy's episodes: what is added to the measurement of an episode that was played by a policy
/// π of μ, about Z̄(μ) − Z̄(π).
///
/// Weighted by μ they cancel, so the mean over episodes stays Z̄(μ), however right or wrong they are, as long as they were
/// found without these episodes. What is left of the variance is what episodes of the same policy differ by. A mixture of
/// two policies that do opposite things is then measured about as well as either of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Controls {
    /// A vector for each policy of the mixture; none where nothing is added.
    pub shifts: Vec<Vec<f64>>,
    /// The steps that were taken to find them.
    pub samples: u64,
}

/// Episodes in which policies are measured, shared by weight, and those of each at least.
const EPISODES: f64 = 25.0;
const FEWEST: usize = 2;
/// More policies than this would take too many episodes to measure.
const MOST_POLICIES: usize = 16;
/// The part of the variance of one policy's episodes that policies must differ by for it to be worth a shift.
const WORTHWHILE: f64 = 0.25;
/// How many times the range of a few episodes measurements may differ by.
const UNSEEN: f64 = 3.0;
/// The part of the squares of measurements that rounding makes them differ by.
const ROUNDING: f64 = 1e-20;

impl Controls {
    /// Whether a mixture has several policies, and not too many to be measured one by one.
    pub(crate) fn may_help(mixture: &Mixed) -> bool {
        (2..=MOST_POLICIES).contains(&mixture.parts().len())
    }

    /// In how many episodes a policy of this weight is measured.
    pub(crate) fn episodes(weight: f64) -> usize {
        ((weight * EPISODES).ceil() as usize).max(FEWEST)
    }

    /// From what each policy measures, with its weight.
    pub(crate) fn known(measured: &[(f64, Vec<f64>)]) -> Self {
        let mut mean = vec![0.0; measured.first().map_or(0, |(_, z)| z.len())];
        for (weight, z) in measured {
            vector::add_scaled(&mut mean, *weight, z);
        }
        Self { shifts: measured.iter().map(|(_, z)| vector::difference(&mean, z)).collect(), samples: 0 }
    }

    /// From estimates of what each policy measures, with its weight. Differences that may be noise are made smaller (James
    /// and Stein 1961), and left out where episodes of one policy differ far more.
    pub(crate) fn estimated(measured: &[(f64, Estimate)], samples: u64) -> Self {
        let means: Vec<_> = measured.iter().map(|(weight, e)| (*weight, e.mean().to_vec())).collect();
        let mut controls = Self { samples, ..Self::known(&means) };
        let dim = measured.first().map_or(0, |(_, estimate)| estimate.dim());
        let (mut between, mut within, mut noise) = (vec![0.0; dim], vec![0.0; dim], vec![0.0; dim]);
        for ((weight, estimate), shift) in measured.iter().zip(&controls.shifts) {
            for (i, variance) in estimate.variance().into_iter().enumerate() {
                between[i] += weight * shift[i] * shift[i];
                within[i] += weight * variance;
                noise[i] += weight * variance / estimate.count() as f64;
            }
        }
        let shares: Vec<f64> = (0..dim)
            .map(|i| {
                let size: f64 = means.iter().map(|(weight, z)| weight * z[i] * z[i]).sum();
                let real = between[i] - noise[i];
                if real > WORTHWHILE * within[i] + ROUNDING * size { real / between[i] } else { 0.0 }
            })
            .collect();
        if shares.iter().all(|share| *share == 0.0) {
            controls.shifts.clear();
        }
        for shift in &mut controls.shifts {
            shift.iter_mut().zip(&shares).for_each(|(shift, share)| *shift *= share);
        }
        controls
    }

    /// Adds what belongs to a policy of the mixture.
    pub(crate) fn add(&self, part: usize, sum: &mut [f64]) {
        if let Some(shift) = self.shifts.get(part) {
            vector::add_scaled(sum, 1.0, shift);
        }
    }

    /// The ranges of what is measured once they are added.
    pub(crate) fn widen(
        &self,
        ranges: &[Option<(f64, f64)>],
        selection: &Selection,
    ) -> Vec<Option<(f64, f64)>> {
        let shifts: Vec<Vec<f64>> = self.shifts.iter().map(|shift| selection.apply(shift)).collect();
        let widened = |(entry, range): (usize, &Option<(f64, f64)>)| {
            let of_policies = || shifts.iter().filter_map(|shift| shift.get(entry)).copied();
            let (least, most) = (of_policies().fold(0.0, f64::min), of_policies().fold(0.0, f64::max));
            range.map(|(low, high)| (low + least, high + most))
        };
        ranges.iter().enumerate().map(widened).collect()
    }

    /// Whether nothing is added and no step was taken.
    pub(crate) fn are_none(&self) -> bool {
        self.shifts.is_empty() && self.samples == 0
    }

    /// Whether they are for this mixture, and leave the mean of measurements of `dim` entries as it is.
    pub(crate) fn are_fair(&self, mixture: &Mixed, dim: usize) -> bool {
        if self.shifts.is_empty() {
            return true;
        }
        let fits = self.shifts.len() == mixture.parts().len() && self.shifts.iter().all(|s| s.len() == dim);
        fits && (0..dim).all(|entry| {
            let parts = || mixture.parts().iter().zip(&self.shifts).map(|((w, _), shift)| w * shift[entry]);
            let (sum, size) = (parts().sum::<f64>(), parts().map(f64::abs).sum::<f64>());
            size.is_finite() && sum.abs() <= 1e-12 * (1.0 + size)
        })
    }

    /// Whether they are no larger than what policies may differ by, if this is what a few episodes of each measure. Others
    /// would cancel as well, but for a policy of little weight that is not drawn.
    pub(crate) fn are_plausible(&self, measured: &[(f64, Estimate)]) -> bool {
        let range = |entry: usize| {
            let ranges = || measured.iter().map(|(_, estimate)| estimate.range(entry));
            let least = ranges().fold(f64::INFINITY, |least, range| least.min(range.0));
            ranges().fold(least, |largest, range| largest.max(range.1)) - least
        };
        let fits = |(entry, shift): (usize, &f64)| shift.abs() <= UNSEEN * range(entry);
        self.shifts.iter().all(|shifts| shifts.iter().enumerate().all(fits))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::env::{Simulator, TabularMdp};
    use crate::measurement::Measures;
    use crate::policy::TabularPolicy;
    use crate::random;
    use crate::rl::{Episode, Rollouts};

    fn estimate(samples: impl IntoIterator<Item = f64>) -> Estimate {
        let mut estimate = Estimate::new(1);
        samples.into_iter().for_each(|sample| estimate.add(&[sample]));
        estimate
    }

    /// By hand: policies at 0 and 8, a quarter and three quarters of the time, each within 1 of that. The variance between them
    /// is 12, and that of the mean of four episodes a third.
    #[test]
    fn policies_are_brought_together_as_far_as_they_differ() {
        let around = |middle: f64| estimate([middle - 1.0, middle + 1.0, middle - 1.0, middle + 1.0]);
        let controls = Controls::estimated(&[(0.25, around(0.0)), (0.75, around(8.0))], 8);
        let share = (12.0 - 1.0 / 3.0) / 12.0;
        assert!((controls.shifts[0][0] - 6.0 * share).abs() < 1e-12, "{controls:?}");
        assert!((controls.shifts[1][0] + 2.0 * share).abs() < 1e-12, "{controls:?}");
        let alike = Controls::estimated(&[(0.25, around(0.0)), (0.75, around(0.5))], 8);
        assert!(alike.shifts.is_empty() && !alike.are_none(), "{alike:?}");
    }

    /// Whatever is estimated leaves the mean as it is; what does not, or hides behind a policy that is hardly ever drawn, is found.
    #[test]
    fn controls_cancel_in_the_mixture() {
        let mut rng = random::generator(5);
        let policy = |i: usize| Arc::new(TabularPolicy::uniform(i + 1, 1).into());
        for parts in 2..17 {
            let mixture = Mixed::new((0..parts).map(|i| (random::unit(&mut rng).powi(3), policy(i))));
            let measured: Vec<(f64, Estimate)> = mixture
                .parts()
                .iter()
                .map(|(weight, _)| {
                    let middle = 1e3 * random::unit(&mut rng);
                    (*weight, estimate((0..4).map(|_| middle + random::unit(&mut rng))))
                })
                .collect();
            let controls = Controls::estimated(&measured, 4);
            assert!(controls.are_fair(&mixture, 1) && controls.are_plausible(&measured), "{controls:?}");
            let mut unfair = controls.clone();
            unfair.shifts[0][0] += 1e-3 / mixture.parts()[0].0;
            assert!(!unfair.are_fair(&mixture, 1));
            let mut hidden = controls;
            for (shift, (weight, _)) in hidden.shifts.iter_mut().zip(mixture.parts()).take(2) {
                shift[0] += if shift[0] < 0.0 { -1e4 } else { 1e4 } / weight;
            }
            assert!(!hidden.are_plausible(&measured));
        }
    }

    /// A policy of little weight that fails every other time was seen to fail twice: an honest result was refused where the
    /// two episodes that checked it did not fail.
    #[test]
    fn what_a_policy_does_now_and_then_bears_out_its_controls() {
        let mut builder = TabularMdp::builder(2, 2, Measures::new([("failure", 1)]));
        builder.start(0, 1.0).terminal(1).transition((0, 0), 1.0, 1, &[]);
        builder.transition((0, 1), 0.5, 1, &[]).transition((0, 1), 0.5, 1, &[(0, 1.0)]);
        let model = Arc::new(builder.build().unwrap());
        let policy = |action| Arc::new(TabularPolicy::deterministic(2, 2, vec![action; 2]).unwrap().into());
        let mixture = Mixed::new([(0.96, policy(0)), (0.04, policy(1))]);
        let controls = Controls::known(&[(0.96, vec![0.0]), (0.04, vec![1.0])]);
        let tenfold = Controls::known(&[(0.96, vec![0.0]), (0.04, vec![10.0])]);
        for seed in 0..200 {
            let world = Simulator::new(Arc::clone(&model), Some(1));
            let episode = Episode::new(Box::new(world), 1.0, 1);
            let mut rollouts = Rollouts::new(episode, &mut random::generator(seed));
            assert!(rollouts.bear_out(&controls, &mixture).unwrap(), "{seed}");
            assert!(!rollouts.bear_out(&tenfold, &mixture).unwrap(), "{seed}");
        }
    }
}
