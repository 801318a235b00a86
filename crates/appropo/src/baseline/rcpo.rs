use crate::error::{Result, dimension, finite, in_range};
use crate::options::setters;
use crate::policy::AnyPolicy;
use crate::rl::{EpisodeWindow, Learner};
use crate::vector;

/// The constraint weights·Z̄ ≤ bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// What makes a cost of the measurements.
    pub weights: Vec<f64>,
    /// How much of it is allowed.
    pub bound: f64,
}

/// The settings of [`Rcpo`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RcpoOptions {
    /// What every multiplier starts at, between 0 and `most`.
    pub initial: f64,
    /// η, how far an update moves a multiplier for each unit of violation, 0 or more: the slower time scale.
    pub rate: f64,
    /// The largest multiplier, more than 0.
    pub most: f64,
    /// How many of the last episodes are kept, 1 or more: estimates rest on no more than these.
    pub episodes: usize,
}

impl Default for RcpoOptions {
    /// 0.6 at first, rate 1e-3 (of 1 to 1e-3, what held most often on the rover), 100 at most, 100 episodes.
    fn default() -> Self {
        Self { initial: 0.6, rate: 1e-3, most: 100.0, episodes: 100 }
    }
}

setters!(RcpoOptions { initial: f64, rate: f64, most: f64, episodes: usize });

/// Reward-constrained policy optimisation (Tessler, Mankowitz and Mannor 2019): any learner follows the Lagrangian of
/// "maximise objective·Z̄ subject to costᵢ·Z̄ ≤ boundᵢ" while the multipliers follow it, more slowly, the other way.
///
/// After a batch, with Ĵᵢ the mean of costᵢ·Σ γᵗzₜ over the episodes that ended in it,
///
/// ```text
/// μᵢ ← min(max(μᵢ + η(Ĵᵢ − boundᵢ), 0), most),
/// ```
///
/// and where none ended μᵢ stays. The next batch is for the reward objective·z − Σᵢ μᵢ costᵢ·z.
#[derive(Debug)]
pub struct Rcpo<L> {
    learner: L,
    objective: Vec<f64>,
    constraints: Vec<Cost>,
    options: RcpoOptions,
    multipliers: Vec<f64>,
    window: EpisodeWindow,
    samples: u64,
}

impl<L: Learner> Rcpo<L> {
    /// `learner` under constraints; all weights are for the measurements of its world.
    pub fn new(
        learner: L,
        objective: Vec<f64>,
        constraints: Vec<Cost>,
        options: RcpoOptions,
    ) -> Result<Self> {
        let RcpoOptions { initial, rate, most, episodes } = options;
        in_range("largest multiplier", most, most > 0.0, "more than 0")?;
        in_range(
            "initial multiplier",
            initial,
            (0.0..=most).contains(&initial),
            &format!("between 0 and {most}"),
        )?;
        in_range("rate of the multipliers", rate, rate >= 0.0, "0 or more")?;
        in_range("episodes", episodes as f64, episodes > 0, "1 or more")?;
        finite("objective", &objective)?;
        for cost in &constraints {
            dimension("weights of a cost", cost.weights.len(), objective.len())?;
            finite("weights of a cost", &cost.weights)?;
            finite("bound of a cost", &[cost.bound])?;
        }
        let multipliers = vec![initial; constraints.len()];
        let window = EpisodeWindow::new(episodes, objective.len());
        Ok(Self { learner, objective, constraints, options, multipliers, window, samples: 0 })
    }

    /// Learns from one batch, then moves the multipliers. Returns the steps taken.
    pub fn step(&mut self) -> Result<usize> {
        let before = self.window.episodes();
        let steps = self.learner.learn(&self.reward(), &mut self.window)?;
        self.samples += steps as u64;
        let ended = self.window.episodes() - before;
        if ended > 0 {
            let z_hat = self.window.mean_of_latest(ended);
            for (multiplier, cost) in self.multipliers.iter_mut().zip(&self.constraints) {
                let violation = vector::dot(&cost.weights, &z_hat) - cost.bound;
                *multiplier = (*multiplier + self.options.rate * violation).clamp(0.0, self.options.most);
            }
        }
        Ok(steps)
    }

    /// objective − Σᵢ μᵢ costᵢ, the weights of the reward as it is now.
    fn reward(&self) -> Vec<f64> {
        let mut weights = self.objective.clone();
        for (multiplier, cost) in self.multipliers.iter().zip(&self.constraints) {
            vector::add_scaled(&mut weights, -multiplier, &cost.weights);
        }
        weights
    }

    /// μ, one multiplier a constraint.
    pub fn multipliers(&self) -> &[f64] {
        &self.multipliers
    }

    /// A copy of the policy as it is now.
    pub fn policy(&self) -> AnyPolicy {
        self.learner.policy()
    }

    /// Steps taken so far.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The last episodes: their mean is the algorithm's own estimate, of policies that changed meanwhile.
    pub fn window(&self) -> &EpisodeWindow {
        &self.window
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::env::{Environment, Simulator, mars_rover};
    use crate::measurement::{Discounting, Selection};
    use crate::policy::{Policy, TabularPolicy};
    use crate::random;
    use crate::rl::actor_critic::ActorCriticOptions;
    use crate::rl::{ActorCritic, Occupancy};
    use crate::state::Checkpoint;

    /// Plays what it is told and remembers what it was to learn.
    #[derive(Default)]
    struct Script {
        batches: Vec<Vec<[f64; 2]>>,
        rewards: Vec<Vec<f64>>,
    }

    impl Checkpoint for Script {}

    impl Learner for Script {
        fn learn(&mut self, weights: &[f64], window: &mut EpisodeWindow) -> Result<usize> {
            self.rewards.push(weights.to_vec());
            let batch = self.batches.remove(0);
            batch.iter().for_each(|sum| window.add(sum));
            Ok(10)
        }

        fn policy(&self) -> AnyPolicy {
            TabularPolicy::uniform(1, 1).into()
        }

        fn start_from(&mut self, _: &AnyPolicy) -> Result<()> {
            Ok(())
        }

        fn start_afresh(&mut self) {}
    }

    fn cost(weights: [f64; 2], bound: f64) -> Cost {
        Cost { weights: weights.to_vec(), bound }
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert!(vector::distance(found, expected) < 1e-12, "{found:?} instead of {expected:?}");
    }

    /// Up where a constraint is violated, down where it is not, each on its own.
    #[test]
    fn multipliers_rise_under_violation_and_fall_without() {
        let batches = vec![vec![[1.0, -0.5], [0.0, -0.1]], vec![], vec![[0.0, -0.1]]];
        let script = Script { batches, ..Script::default() };
        let constraints = vec![cost([1.0, 0.0], 0.2), cost([0.0, -1.0], 0.5)];
        let options = RcpoOptions { initial: 0.6, rate: 0.1, ..RcpoOptions::default() };
        let mut rcpo = Rcpo::new(script, vec![0.0, 1.0], constraints, options).unwrap();
        assert_eq!(rcpo.step().unwrap(), 10);
        close(rcpo.multipliers(), &[0.6 + 0.1 * (0.5 - 0.2), 0.6 + 0.1 * (0.3 - 0.5)]);
        let before = rcpo.multipliers().to_vec();
        rcpo.step().unwrap();
        assert_eq!(rcpo.multipliers(), before, "no episode ended");
        rcpo.step().unwrap();
        close(rcpo.multipliers(), &[before[0] + 0.1 * (0.0 - 0.2), before[1] + 0.1 * (0.1 - 0.5)]);
        assert_eq!(rcpo.samples(), 30);
        close(&rcpo.window().mean(), &[1.0 / 3.0, -0.7 / 3.0]);
        close(&rcpo.learner.rewards[0], &[-0.6, 1.0 + 0.6]);
        close(&rcpo.learner.rewards[2], &[-before[0], 1.0 + before[1]]);
    }

    #[test]
    fn multipliers_stay_between_0_and_the_most() {
        let batches = vec![vec![[1.0, 0.0]], vec![[1.0, 0.0]], vec![[0.0, 0.0]], vec![[0.0, 0.0]]];
        let script = Script { batches, ..Script::default() };
        let options = RcpoOptions { initial: 0.5, rate: 1.0, most: 1.0, ..RcpoOptions::default() };
        let mut rcpo = Rcpo::new(script, vec![0.0, 1.0], vec![cost([2.0, 0.0], 0.9)], options).unwrap();
        let path: Vec<f64> = (0..4).map(|_| rcpo.step().map(|_| rcpo.multipliers()[0]).unwrap()).collect();
        close(&path, &[1.0, 1.0, 0.1, 0.0]);
    }

    /// A batch of more episodes than are kept is judged by the last of them.
    #[test]
    fn estimates_rest_on_the_episodes_that_are_kept() {
        let script = Script { batches: vec![vec![[9.0, 0.0], [1.0, 0.0], [2.0, 0.0]]], ..Script::default() };
        let options = RcpoOptions { initial: 0.0, rate: 1.0, episodes: 2, ..RcpoOptions::default() };
        let mut rcpo = Rcpo::new(script, vec![0.0, 1.0], vec![cost([1.0, 0.0], 1.0)], options).unwrap();
        rcpo.step().unwrap();
        close(rcpo.multipliers(), &[0.5]);
    }

    #[test]
    fn wrong_settings_are_refused() {
        let with = |options, constraint| {
            Rcpo::new(Script::default(), vec![0.0, 1.0], vec![constraint], options)
                .err()
                .map(|e| e.to_string())
        };
        let (fine, options) = (cost([1.0, 0.0], 0.2), RcpoOptions::default);
        assert_eq!(with(options(), fine.clone()), None);
        let short = Cost { weights: vec![1.0], bound: 0.2 };
        assert_eq!(with(options(), short).unwrap(), "weights of a cost has 1 entries; expected 2");
        let wrong = [
            RcpoOptions { initial: 101.0, ..options() },
            RcpoOptions { initial: f64::NAN, ..options() },
            RcpoOptions { rate: -1.0, ..options() },
            RcpoOptions { most: 0.0, ..options() },
            RcpoOptions { episodes: 0, ..options() },
        ];
        for options in wrong {
            assert!(with(options.clone(), fine.clone()).is_some(), "{options:?}");
        }
    }

    /// A2C learns to keep off the rocks: exactly evaluated, the policy holds both of the paper's constraints.
    #[test]
    fn the_rover_learns_to_be_safe() {
        let world = mars_rover::world("4x4", 0.05).unwrap();
        let model = Arc::new(world.model.select(&Selection { entries: vec![(0, 1.0), (1, 1.0)] }));
        let simulator = || Box::new(Simulator::new(Arc::clone(&model), Some(300))) as Box<dyn Environment>;
        for seed in 0..3 {
            let worlds = (0..8).map(|_| simulator()).collect();
            let learner =
                ActorCritic::new(worlds, 0.99, 300, ActorCriticOptions::a2c(), random::generator(seed))
                    .unwrap();
            let safety = vec![cost([1.0, 0.0], 0.2)];
            let mut rcpo = Rcpo::new(learner, vec![0.0, 1.0], safety, RcpoOptions::default()).unwrap();
            while rcpo.samples() < 15_000 {
                rcpo.step().unwrap();
            }
            let discounting = Discounting::new(0.99, None).unwrap();
            let table = rcpo.policy().table().unwrap();
            let z = Occupancy::of(&model, &discounting, &table).unwrap().measure(&model);
            assert!(z[0] <= 0.2 && z[1] >= -0.17, "{z:?}");
        }
    }
}
