use std::sync::Arc;

use super::trust_region::{Aim, TrustRegionOptions};
use crate::error::Result;
use crate::measurement::Estimate;
use crate::rl::EpisodeWindow;
use crate::state::{Loader, Saver};
use crate::vector;

/// The trust region of a learner.
#[derive(Debug)]
pub(super) struct Region {
    pub options: TrustRegionOptions,
    pub aim: Arc<dyn Aim>,
    pub discount: f64,
    lean: Option<Lean>,
}

/// Keeps a policy back from the edge that an objective leads it across.
#[derive(Debug)]
struct Lean {
    /// Where a batch ends few episodes, those before it tell what the policy measures as well: steps are short.
    recent: EpisodeWindow,
    /// What measurements count as more than they are. It grows while they lie outside the set and falls while they lie inside:
    /// steps that are expected to end at the edge end outside on average.
    by: Vec<f64>,
}

/// Episodes that tell what a policy measures, at least. By one alone, a policy that measures little most of the time and much
/// at times is mostly inside, whatever it measures on average.
const RECENT: usize = 10;
/// The part of what measurements lie outside that is added each time.
const RATE: f64 = 0.1;
/// Deviations of episodes that are leant by at most. With one, a robot that hopped well stayed a third beyond its bound for good.
const MOST_LEAN: f64 = 3.0;
/// Standard errors that fresh episodes are to keep away from the edge by, which may take this part of the samples.
const MARGIN: f64 = 3.0;
const FRESH: u64 = 10;

impl Region {
    /// Steps go by what the episodes of a batch measured.
    pub fn new(options: TrustRegionOptions, aim: Arc<dyn Aim>, discount: f64) -> Self {
        Self { options, aim, discount, lean: None }
    }

    /// The same for so many measurements, keeping back from the edge.
    pub fn leaning(self, dim: usize) -> Self {
        Self { lean: Some(Lean { recent: EpisodeWindow::new(RECENT, dim), by: vec![0.0; dim] }), ..self }
    }

    /// Forgets a policy.
    pub fn clear(&mut self) {
        self.lean.iter_mut().for_each(Lean::clear);
    }

    /// What the policy counts as measuring after a batch of so many steps, in which the last episodes of a window ended.
    pub fn measured(
        &mut self,
        window: &EpisodeWindow,
        ended: usize,
        steps: usize,
        budget: Option<u64>,
    ) -> Vec<f64> {
        let Some(lean) = &mut self.lean else { return window.mean_of_latest(ended) };
        let fresh =
            budget.map_or(f64::INFINITY, |samples| (samples / FRESH) as f64 * ended as f64 / steps as f64);
        lean.measured(window, ended, MARGIN / fresh.max(1.0).sqrt(), self.aim.as_ref())
    }

    pub fn save(&self, to: &mut Saver) {
        if let Some(Lean { recent, by }) = &self.lean {
            recent.save(to);
            to.put_all(by);
        }
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        let Some(Lean { recent, by }) = &mut self.lean else { return Ok(()) };
        recent.load(from)?;
        from.get_finite("what measurements count as more", by)
    }
}

impl Lean {
    fn clear(&mut self) {
        self.recent.clear();
        self.by.fill(0.0);
    }

    fn measured(&mut self, window: &EpisodeWindow, ended: usize, margin: f64, aim: &dyn Aim) -> Vec<f64> {
        let mut latest = Estimate::new(self.by.len());
        window.latest(ended).for_each(|sum| self.recent.add(sum));
        match ended < RECENT {
            true => self.recent.sums().for_each(|sum| latest.add(sum)),
            false => window.latest(ended).for_each(|sum| latest.add(sum)),
        }
        let (mut z, spread) = latest.with_spread();
        // Of one episode nobody knows how others differ from it.
        let deviations = if latest.count() > 1 { spread.deviations } else { vec![0.0; z.len()] };
        self.adjust(&z, &deviations, margin, aim);
        vector::add_scaled(&mut z, 1.0, &self.by);
        z
    }

    /// by ← ρ(w − Γ(w)) with w = z + by/ρ, for a set whose edge is a margin nearer: max(by + ρ(z + margin − bound), 0) for a
    /// bound. It is at most a few times what episodes vary by: what lies far outside would be leant against long after it is back.
    fn adjust(&mut self, z: &[f64], deviations: &[f64], margin: f64, aim: &dyn Aim) {
        let mut w: Vec<f64> = z.iter().zip(&self.by).map(|(z, by)| z + by / RATE).collect();
        let outside = aim.outside(&w);
        let length = vector::norm(&outside);
        if !(length > 0.0) {
            self.by.fill(0.0);
            return;
        }
        let along = |(outside, deviation): (&f64, &f64)| (outside * deviation / length).powi(2);
        let deviation = outside.iter().zip(deviations).map(along).sum::<f64>().sqrt();
        vector::add_scaled(&mut w, margin * deviation / length, &outside);
        self.by = aim.outside(&w);
        let length = vector::norm(&self.by);
        vector::scale(&mut self.by, RATE.min(MOST_LEAN * deviation / length));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first measurement is to be at most 5.
    #[derive(Debug)]
    struct AtMostFive;

    impl Aim for AtMostFive {
        fn step(&self, _: &[f64], rows: &[Vec<f64>], _: f64) -> Result<Vec<f64>> {
            Ok(vec![0.0; rows.len()])
        }

        fn is_kept(&self, _: &[f64], _: &[f64]) -> bool {
            true
        }

        fn outside(&self, z: &[f64]) -> Vec<f64> {
            vec![(z[0] - 5.0).max(0.0), 0.0]
        }
    }

    fn region() -> Region {
        Region::new(TrustRegionOptions::default(), Arc::new(AtMostFive), 1.0).leaning(2)
    }

    fn by(region: &Region) -> f64 {
        region.lean.as_ref().unwrap().by[0]
    }

    /// Takes one episode after another, each of them a batch.
    fn measured(region: &mut Region, costs: impl IntoIterator<Item = f64>, budget: Option<u64>) -> Vec<f64> {
        let mut window = EpisodeWindow::new(25, 2);
        let mut last = Vec::new();
        for cost in costs {
            window.add(&[cost, 7.0]);
            last = region.measured(&window, 1, 100, budget);
        }
        last
    }

    /// A robot that was too fast in one episode of ten, by much, went on for ever: nine of ten batches said that all was well.
    #[test]
    fn what_is_rare_counts_while_it_is_not_seen() {
        let z = measured(&mut region(), (0..30).map(|i| if i % 10 == 0 { 100.0 } else { 0.0 }), None);
        assert!(z[0] > 10.0, "{z:?}");
        assert_eq!(z[1], 7.0);
    }

    #[test]
    fn what_stays_outside_counts_ever_more_until_it_is_inside() {
        let mut region = region();
        for (costs, expected) in [(vec![7.0, 9.0], 0.3), (vec![8.0], 0.6)] {
            measured(&mut region, costs, None);
            assert!((by(&region) - expected).abs() < 1e-9, "{} instead of {expected}", by(&region));
        }
        // For ever outside, it is no more than a few times what episodes vary by.
        measured(&mut region, [7.0, 9.0].repeat(20), None);
        let deviation = (10.0_f64 / 9.0).sqrt();
        assert!((by(&region) - MOST_LEAN * deviation).abs() < 1e-9, "{}", by(&region));
        assert_eq!(measured(&mut region, [0.0; 30], None), [0.0, 7.0]);
    }

    /// Fresh episodes are to confirm what is found. Here a tenth of the samples is 400 of them, so the errors of a deviation of 1
    /// are 0.15, and measurements of 5 ± 1 count as outside by that.
    #[test]
    fn a_margin_is_kept_for_fresh_episodes() {
        let mut region = region();
        let mut window = EpisodeWindow::new(25, 2);
        [6.0, 4.0].repeat(10).iter().for_each(|cost| window.add(&[*cost, 7.0]));
        region.lean.as_mut().unwrap().by = vec![1.0, 0.0];
        let z = region.measured(&window, 20, 2000, Some(400_000));
        let deviation = (20.0_f64 / 19.0).sqrt();
        let expected = 5.0 + 1.0 + RATE * MARGIN * deviation / 20.0;
        assert!((z[0] - expected).abs() < 1e-9, "{z:?}, {expected}");
        assert_eq!(z[1], 7.0);
    }
}
