use std::collections::VecDeque;
use std::sync::Arc;

use super::{MonteCarlo, Respond, Response, fits};
use crate::error::{Result, dimension, in_range};
use crate::measurement::{Estimate, Spread};
use crate::policy::Mixed;
use crate::rl::{Learner, Trail};
use crate::state::{Loader, Saver};
use crate::vector;

/// The settings of a positive-response oracle.
#[derive(Debug, Clone, PartialEq)]
pub struct PositiveOptions {
    /// n, the number of last episodes whose mean return decides.
    pub episodes: usize,
    /// ε, by how much the return may fall short.
    pub epsilon: f64,
    /// Episodes played afresh to estimate ẑ, 0 or at least 2. 0 takes the last n and leaves it at that: they are too
    /// good on average because they were waited for, but every step is then one of learning.
    pub fresh: usize,
    /// Whether the answer is the mixture of the iterates that played the last n episodes rather than the last iterate.
    pub iterates: bool,
    /// Steps in all after which the problem is empirically infeasible, unless the answer is positive.
    pub budget: u64,
    /// Whether an answer is given as it is, also if it is not positive, once it has had 20,000 steps and 50 episodes to get
    /// better: what is asked for may be out of reach.
    pub is_impatient: bool,
}

impl Default for PositiveOptions {
    /// n = 25, ε = 0, no fresh episodes, the iterates, a million steps: what took the fewest samples on the rover.
    fn default() -> Self {
        Self { episodes: 25, epsilon: 0.0, fresh: 0, iterates: true, budget: 1_000_000, is_impatient: false }
    }
}

/// Steps that an answer may take before it is given as it is.
const PATIENT_STEPS: u64 = 20_000;

/// Episodes that it may take at least.
const PATIENT_EPISODES: usize = 50;

/// Larger returns than this are scaled down to it: a critic that starts at 0 takes long to get to hundreds.
const LARGEST_RETURN: f64 = 3.0;

/// Episodes that confirm a mixture at most.
const MOST_AFRESH: usize = 400;

/// Episodes that a mixture is played again for where it is not sure enough.
const AGAIN: usize = 40;

/// Any learner as a positive-response oracle (section 3.4): it learns for the reward −λ·z until the mean return of the
/// last n episodes says λ·ẑ ≤ offset + ε.
pub struct Positive<L: Learner> {
    learner: L,
    judge: MonteCarlo,
    options: PositiveOptions,
    trail: Trail,
    /// Those who played the last n episodes, with how many each of them ended.
    iterates: VecDeque<(usize, Arc<L::Policy>)>,
    /// Answers with what is known of them, and how much of it has been told.
    answers: Vec<(Mixed<L::Policy>, Estimate, usize)>,
    samples: u64,
}

impl<L: Learner> Positive<L> {
    /// `learner` as an oracle whose estimates come from `judge`.
    pub fn new(learner: L, judge: MonteCarlo, options: PositiveOptions) -> Result<Self> {
        in_range("episodes", options.episodes as f64, options.episodes > 1, "2 or more")?;
        in_range("epsilon", options.epsilon, options.epsilon >= 0.0, "0 or more")?;
        in_range("fresh episodes", options.fresh as f64, options.fresh != 1, "0, or 2 or more")?;
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
        let policy = Mixed::one(Arc::new(self.learner.policy()));
        let mut estimate = Estimate::new(self.judge.dim());
        self.judge.play(&policy, self.options.episodes, &mut estimate)?;
        Ok(self.response(policy, estimate, false))
    }

    /// Adds an iterate that ended so many episodes, and lets go of those who played before the last n.
    fn remember(&mut self, episodes: usize, iterate: Arc<L::Policy>) {
        if episodes > 0 {
            self.iterates.push_back((episodes, iterate));
        }
        let remembered: usize = self.iterates.iter().map(|(episodes, _)| episodes).sum();
        let mut excess = remembered.saturating_sub(self.options.episodes);
        while excess > 0 {
            let first = &mut self.iterates[0].0;
            let dropped = excess.min(*first);
            *first -= dropped;
            excess -= dropped;
            if *first == 0 {
                self.iterates.pop_front();
            }
        }
    }

    /// How large the returns of the last episodes were at rewards of length 1, each measurement counted on its own.
    fn size(&self, lam: &[f64]) -> f64 {
        let squares = |sum: &[f64]| sum.iter().zip(lam).map(|(z, l)| (l * z) * (l * z)).sum::<f64>();
        let count = self.trail.sums().count().max(1) as f64;
        let mean = self.trail.sums().map(squares).sum::<f64>() / count;
        mean.sqrt() / vector::norm(lam).max(f64::MIN_POSITIVE)
    }

    fn response(
        &mut self,
        policy: Mixed<L::Policy>,
        estimate: Estimate,
        gave_up: bool,
    ) -> Response<L::Policy> {
        let (z_hat, spread) = estimate.with_spread();
        let count = estimate.count();
        // Without fresh episodes no answer is ever known better.
        if self.options.fresh > 0 {
            self.answers.push((policy.clone(), estimate, count));
        }
        Response { policy, z_hat, spread: Some(spread), bound: None, gave_up }
    }
}

impl<L: Learner> Respond for Positive<L> {
    type Policy = L::Policy;

    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response<L::Policy>> {
        dimension("lambda", lam.len(), self.judge.dim())?;
        // Learning rates and entropy bonuses are made for rewards and returns of one size; which policy is best does not
        // depend on it.
        let length = vector::norm(lam).max(f64::MIN_POSITIVE) * (self.size(lam) / LARGEST_RETURN).max(1.0);
        let weights: Vec<f64> = lam.iter().map(|l| -l / length).collect();
        self.trail.clear();
        self.iterates.clear();
        let before = self.samples;
        let gave_up = loop {
            let player = self.options.iterates.then(|| Arc::new(self.learner.policy()));
            let over = self.trail.episodes();
            self.samples = self.samples.saturating_add(self.learner.learn(&weights, &mut self.trail)? as u64);
            if let Some(player) = player {
                self.remember(self.trail.episodes() - over, player);
            }
            let mean_payoff = vector::dot(lam, &self.trail.mean());
            if self.trail.is_full() && mean_payoff <= offset + self.options.epsilon {
                break false;
            }
            if self.samples() >= self.options.budget {
                break true;
            }
            let had_time =
                self.samples - before >= PATIENT_STEPS && self.trail.episodes() >= PATIENT_EPISODES;
            if self.options.is_impatient && had_time {
                break false;
            }
        };
        let policy = if self.iterates.is_empty() {
            Mixed::one(Arc::new(self.learner.policy()))
        } else {
            Mixed::new(self.iterates.drain(..).map(|(episodes, iterate)| (episodes as f64, iterate)))
        };
        let mut estimate = self.trail.estimate();
        if self.options.fresh > 0 || estimate.count() < 2 {
            estimate = Estimate::new(lam.len());
            self.judge.play(&policy, self.options.fresh.max(2), &mut estimate)?;
        }
        Ok(self.response(policy, estimate, gave_up))
    }

    /// Plays the policy again, the more the more weight it carries.
    fn investigate(&mut self, policy: &Mixed<L::Policy>, weight: f64) -> Result<()> {
        if self.options.fresh == 0 || self.samples() >= self.options.budget {
            return Ok(());
        }
        let answer = self.answers.iter_mut().find(|answer| answer.0.is_same(policy));
        let episodes = (weight * AGAIN as f64).ceil() as usize;
        answer.map_or(Ok(()), |answer| self.judge.play(policy, episodes, &mut answer.1))
    }

    fn measure_again(&mut self, policy: &Mixed<L::Policy>) -> Result<Option<(Vec<f64>, Spread)>> {
        let found = self.answers.iter_mut().find(|answer| answer.0.is_same(policy));
        Ok(found.filter(|answer| answer.1.count() > answer.2).map(|answer| {
            answer.2 = answer.1.count();
            answer.1.with_spread()
        }))
    }

    /// As many episodes as a tenth of the budget is enough for, within bounds.
    fn play_afresh(&mut self, mixture: &Mixed<L::Policy>) -> Result<Option<(Vec<f64>, Spread)>> {
        if self.options.fresh == 0 {
            return Ok(None);
        }
        let (mut estimate, before) = (Estimate::new(self.judge.dim()), self.judge.samples());
        while estimate.count() < MOST_AFRESH {
            self.judge.play(mixture, 1, &mut estimate)?;
            let taken = self.judge.samples() - before;
            if estimate.count() >= self.options.episodes && taken >= self.options.budget / 10 {
                break;
            }
        }
        Ok(Some(estimate.with_spread()))
    }

    fn start_from(&mut self, policy: &Mixed<L::Policy>) -> Result<()> {
        let heaviest = policy.parts().iter().max_by(|a, b| a.0.total_cmp(&b.0));
        heaviest.map_or(Ok(()), |(_, part)| self.learner.start_from(part))
    }

    fn samples(&self) -> u64 {
        self.samples.saturating_add(self.judge.samples())
    }

    fn fits(&self, policy: &L::Policy) -> bool {
        self.learner.fits(policy)
    }

    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put(&self.samples);
        to.put(&self.answers.len());
        for (policy, estimate, told) in &self.answers {
            to.put(policy);
            to.put(estimate);
            to.put(told);
        }
        // The next answer goes by how large the returns of this one were.
        self.trail.save(to);
        self.judge.save(to)?;
        self.learner.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.samples = from.get()?;
        self.answers.clear();
        let dim = self.judge.dim();
        for _ in 0..from.get_length()? {
            let policy = from.get_where("a policy", |policy| fits(self, policy))?;
            let estimate =
                from.get_where("an estimate", |estimate: &Estimate| estimate.mean().len() == dim)?;
            self.answers.push((policy, estimate, from.get()?));
        }
        self.trail.load(from)?;
        self.judge.load(from)?;
        self.learner.load(from)
    }
}
