use std::collections::VecDeque;
use std::sync::Arc;

use super::{MonteCarlo, Respond, Response};
use crate::error::{Result, dimension, in_range};
use crate::measurement::{Estimate, Spread};
use crate::policy::Mixed;
use crate::rl::{Learner, Trail};
use crate::vector;

/// The settings of a positive-response oracle.
#[derive(Debug, Clone, PartialEq)]
pub struct PositiveOptions {
    /// n, the number of last episodes whose mean return decides.
    pub episodes: usize,
    /// ε, by how much the return may fall short.
    pub epsilon: f64,
    /// Episodes played afresh to estimate ẑ; 0 takes the last n, which are too good on average because they were
    /// waited for.
    pub fresh: usize,
    /// Whether the answer is the mixture of the last n iterates rather than the last one.
    pub iterates: bool,
    /// Steps in all after which the problem is empirically infeasible, unless the answer is positive.
    pub budget: u64,
}

impl Default for PositiveOptions {
    /// n = 20, ε = 0, 20 fresh episodes, the last iterate, a million steps.
    fn default() -> Self {
        Self { episodes: 20, epsilon: 0.0, fresh: 20, iterates: false, budget: 1_000_000 }
    }
}

/// Any learner as a positive-response oracle (section 3.4): it learns for the reward −λ·z until the mean return of the
/// last n episodes says λ·ẑ ≤ offset + ε.
pub struct Positive<L: Learner> {
    learner: L,
    judge: MonteCarlo,
    options: PositiveOptions,
    trail: Trail,
    iterates: VecDeque<Arc<L::Policy>>,
    /// Answers with what is known of them, and how much of it has been told.
    answers: Vec<(Arc<L::Policy>, Estimate, usize)>,
    samples: u64,
}

impl<L: Learner> Positive<L> {
    /// `learner` as an oracle whose estimates come from `judge`.
    pub fn new(learner: L, judge: MonteCarlo, options: PositiveOptions) -> Result<Self> {
        in_range("episodes", options.episodes as f64, options.episodes > 1, "2 or more")?;
        in_range("epsilon", options.epsilon, options.epsilon >= 0.0, "0 or more")?;
        let trail = Trail::new(options.episodes, judge.dim());
        Ok(Self {
            learner,
            judge,
            options,
            trail,
            iterates: VecDeque::new(),
            answers: Vec::new(),
            samples: 0,
        })
    }

    /// The answer of a policy drawn at random, to begin a cache with.
    pub fn random_response(&mut self) -> Result<Response<L::Policy>> {
        self.learner.start_afresh();
        let policy = Arc::new(self.learner.policy());
        let mut estimate = Estimate::new(self.judge.dim());
        self.judge.play(&Mixed::one(Arc::clone(&policy)), self.options.episodes, &mut estimate)?;
        Ok(self.response(policy, estimate, false))
    }

    fn response(&mut self, policy: Arc<L::Policy>, estimate: Estimate, gave_up: bool) -> Response<L::Policy> {
        let (z_hat, spread) = estimate.with_spread();
        let iterates = self.iterates.drain(..).map(|iterate| (1.0, iterate));
        let mixture = if self.options.iterates && iterates.len() > 0 {
            Mixed::new(iterates)
        } else {
            Mixed::one(Arc::clone(&policy))
        };
        let count = estimate.count();
        self.answers.push((policy, estimate, count));
        Response { policy: mixture, z_hat, spread: Some(spread), bound: None, gave_up }
    }
}

impl<L: Learner> Respond for Positive<L> {
    type Policy = L::Policy;

    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response<L::Policy>> {
        dimension("lambda", lam.len(), self.judge.dim())?;
        // Learning rates and entropy bonuses are made for rewards of one size; which policy is best does not depend on it.
        let length = vector::norm(lam).max(f64::MIN_POSITIVE);
        let weights: Vec<f64> = lam.iter().map(|l| -l / length).collect();
        self.trail.clear();
        self.iterates.clear();
        let is_positive = loop {
            self.samples += self.learner.learn(&weights, &mut self.trail)? as u64;
            if self.options.iterates {
                self.iterates.push_back(Arc::new(self.learner.policy()));
                if self.iterates.len() > self.options.episodes {
                    self.iterates.pop_front();
                }
            }
            let mean_payoff = vector::dot(lam, &self.trail.mean());
            if self.trail.is_full() && mean_payoff <= offset + self.options.epsilon {
                break true;
            }
            if self.samples() >= self.options.budget {
                break false;
            }
        };
        let policy = Arc::new(self.learner.policy());
        let mut estimate = self.trail.estimate();
        if self.options.fresh > 1 {
            estimate = Estimate::new(lam.len());
            self.judge.play(&Mixed::one(Arc::clone(&policy)), self.options.fresh, &mut estimate)?;
        }
        Ok(self.response(policy, estimate, !is_positive))
    }

    /// Plays as many episodes again as have been played, where the policy carries more weight than they stand for.
    fn investigate(&mut self, policy: &Mixed<L::Policy>, weight: f64) -> Result<()> {
        let [(_, part)] = policy.parts() else { return Ok(()) };
        let Some(answer) = self.answers.iter_mut().find(|answer| Arc::ptr_eq(&answer.0, part)) else {
            return Ok(());
        };
        let share = (weight * answer.1.count() as f64).ceil() as usize;
        self.judge.play(policy, share, &mut answer.1)
    }

    fn measure_again(&mut self, policy: &Mixed<L::Policy>) -> Result<Option<(Vec<f64>, Spread)>> {
        let [(_, part)] = policy.parts() else { return Ok(None) };
        let found = self.answers.iter_mut().find(|answer| Arc::ptr_eq(&answer.0, part));
        Ok(found.filter(|answer| answer.1.count() > answer.2).map(|answer| {
            answer.2 = answer.1.count();
            answer.1.with_spread()
        }))
    }

    fn start_from(&mut self, policy: &Mixed<L::Policy>) -> Result<()> {
        let heaviest = policy.parts().iter().max_by(|a, b| a.0.total_cmp(&b.0));
        heaviest.map_or(Ok(()), |(_, part)| self.learner.start_from(part))
    }

    fn samples(&self) -> u64 {
        self.samples + self.judge.samples()
    }
}
