use std::collections::VecDeque;
use std::sync::Arc;

use super::{AnyOracle, MakeOracle, MonteCarlo, OracleContext, Reestimate, Respond, Response, fits};
use crate::env::EnvSpec;
use crate::error::{Result, dimension, in_range};
use crate::measurement::{Estimate, Spread};
use crate::options::{Kind, OptionError, Options, Part, Range, Step, Table, options};
use crate::policy::{AnyPolicy, Mixed};
use crate::random;
use crate::rl::{Episode, EpisodeWindow, Learner, LearnerContext, MakeLearner};
use crate::state::{Checkpoint, Loader, Saver};
use crate::vector;

options! {
    /// How a learner answers λ.
    pub struct LearnedOptions {
        /// n, the number of last episodes whose mean return decides.
        episodes: usize = Kind::Count(2, 1_000_000), defaulted "25";
        /// ε, by how much the return may fall short.
        epsilon: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0";
        /// Episodes played afresh to estimate ẑ, 0 or at least 2; 0 takes the last n, which are too good on average because they were waited for. By default 25 where the model is not known, else 0.
        fresh: Option<usize> = Kind::Count(0, 1_000_000), optional "25";
        /// Whether the answer is the mixture of the iterates that played the last n episodes rather than the last iterate.
        iterates: bool = Kind::Flag, defaulted "true";
        /// Whether an answer is given as it is, also if it is not positive, after 20,000 steps and 50 episodes. By default where the model is not known.
        impatient: Option<bool> = Kind::Flag, optional "true";
    }
}

impl LearnedOptions {
    fn in_force(&self, env: &EnvSpec) -> Self {
        // Where no model can tell what an answer is worth, episodes must: those that were waited for are too good.
        let is_unknown = env.model().is_none();
        let fresh = self.fresh.or(Some(if is_unknown { FRESH } else { 0 }));
        let impatient = self.impatient.or(Some(is_unknown));
        Self { fresh, impatient, ..self.clone() }
    }
}

/// Episodes that an answer is measured by where the model is not known.
const FRESH: usize = 25;

/// A learner and how it answers: an oracle.
#[derive(Debug, Clone)]
pub struct Learned {
    /// The learner.
    pub learner: Arc<dyn MakeLearner>,
    /// How it answers.
    pub options: LearnedOptions,
}

impl Learned {
    /// The name of the options of every learnt answer.
    pub const NAME: &'static str = "learned";

    /// A learner with the usual options.
    pub fn by(learner: impl MakeLearner + 'static) -> Self {
        Self { learner: Arc::new(learner), options: LearnedOptions::default() }
    }
}

impl MakeOracle for Learned {
    fn name(&self) -> &str {
        self.learner.name()
    }

    fn make(&self, context: OracleContext) -> Result<AnyOracle> {
        let env = context.env;
        let copies = 0..env.num_envs();
        let envs = copies.map(|copy| context.environment(Some(copy))).collect::<Result<_>>()?;
        let (gamma, limit, horizon) =
            (context.discounting.gamma(), context.limit(), context.discounting.horizon());
        let finite_horizon = context.is_finite_horizon().then_some(horizon);
        let env_alone = context.environment(None)?;
        let rng = random::split(context.rng);
        let learner = self.learner.make(LearnerContext { env, envs, gamma, limit, finite_horizon, rng })?;
        let estimator = MonteCarlo::new(Episode::new(env_alone, gamma, limit), context.rng);
        let options = self.options.in_force(env);
        Ok(AnyOracle::Responding(Box::new(LearnedOracle::new(learner, estimator, context.samples, options)?)))
    }

    fn check(&self, env: &EnvSpec) -> Result<()> {
        if self.options.fresh == Some(1) {
            let path = [Self::NAME, "fresh"].map(|key| Step::Key(key.into())).to_vec();
            let message =
                "fresh: found 1; expected 0, or 2 or more: one episode says nothing of their spread".into();
            return Err(OptionError { path, part: Part::Value, message }.into());
        }
        self.learner.check(env)
    }

    fn tables(&self, env: &EnvSpec) -> Vec<(String, Table)> {
        let options = Options::table(&self.options.in_force(env));
        vec![(Self::NAME.into(), options), (self.learner.name().into(), self.learner.table(env))]
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
#[derive(Debug)]
pub struct LearnedOracle {
    learner: Box<dyn Learner>,
    estimator: MonteCarlo,
    budget: u64,
    fresh: usize,
    is_impatient: bool,
    options: LearnedOptions,
    window: EpisodeWindow,
    /// Those who played the last n episodes, with how many each of them ended.
    iterates: VecDeque<(usize, Arc<AnyPolicy>)>,
    /// Answers with what is known of them, and how much of it has been told.
    answers: Vec<(Mixed, Estimate, usize)>,
    samples: u64,
}

impl LearnedOracle {
    /// `learner` as an oracle whose estimates come from `estimator`. After `budget` steps in all the problem is empirically
    /// infeasible, unless the answer is positive.
    pub fn new(
        learner: Box<dyn Learner>,
        estimator: MonteCarlo,
        budget: u64,
        options: LearnedOptions,
    ) -> Result<Self> {
        in_range("episodes", options.episodes as f64, options.episodes > 1, "2 or more")?;
        in_range("epsilon", options.epsilon, options.epsilon >= 0.0, "0 or more")?;
        let (fresh, is_impatient) = (options.fresh.unwrap_or(0), options.impatient.unwrap_or(false));
        in_range("fresh episodes", fresh as f64, fresh != 1, "0, or 2 or more")?;
        let window = EpisodeWindow::new(options.episodes, estimator.dim());
        Ok(Self {
            learner,
            estimator,
            budget,
            fresh,
            is_impatient,
            options,
            window,
            iterates: VecDeque::new(),
            answers: Vec::new(),
            samples: 0,
        })
    }

    /// The answer of a policy drawn at random, to begin a cache with.
    pub fn random_response(&mut self) -> Result<Response> {
        self.learner.start_afresh();
        let policy = Mixed::one(self.learner.policy());
        let mut estimate = Estimate::new(self.estimator.dim());
        self.estimator.play(&policy, self.options.episodes, &mut estimate)?;
        Ok(self.response(policy, estimate, false))
    }

    /// Adds an iterate that ended so many episodes, and lets go of those who played before the last n.
    fn remember(&mut self, episodes: usize, iterate: Arc<AnyPolicy>) {
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
        let count = self.window.sums().count().max(1) as f64;
        let mean = self.window.sums().map(squares).sum::<f64>() / count;
        mean.sqrt() / vector::norm(lam).max(f64::MIN_POSITIVE)
    }

    fn response(&mut self, policy: Mixed, estimate: Estimate, gave_up: bool) -> Response {
        let (z_hat, spread) = estimate.with_spread();
        let count = estimate.count();
        // Without fresh episodes no answer is ever known better.
        if self.fresh > 0 {
            self.answers.push((policy.clone(), estimate, count));
        }
        Response { policy, z_hat, spread: Some(spread), bound: None, gave_up }
    }
}

impl Respond for LearnedOracle {
    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response> {
        dimension("lambda", lam.len(), self.estimator.dim())?;
        // Learning rates and entropy bonuses are made for rewards and returns of one size; which policy is best does not
        // depend on it.
        let length = vector::norm(lam).max(f64::MIN_POSITIVE) * (self.size(lam) / LARGEST_RETURN).max(1.0);
        let weights: Vec<f64> = lam.iter().map(|l| -l / length).collect();
        self.window.clear();
        self.iterates.clear();
        let before = self.samples;
        let gave_up = loop {
            let player = self.options.iterates.then(|| Arc::new(self.learner.policy()));
            let over = self.window.episodes();
            self.samples =
                self.samples.saturating_add(self.learner.learn(&weights, &mut self.window)? as u64);
            if let Some(player) = player {
                self.remember(self.window.episodes() - over, player);
            }
            let mean_payoff = vector::dot(lam, &self.window.mean());
            if self.window.is_full() && mean_payoff <= offset + self.options.epsilon {
                break false;
            }
            if self.samples() >= self.budget {
                break true;
            }
            let had_time =
                self.samples - before >= PATIENT_STEPS && self.window.episodes() >= PATIENT_EPISODES;
            if self.is_impatient && had_time {
                break false;
            }
        };
        let policy = if self.iterates.is_empty() {
            Mixed::one(self.learner.policy())
        } else {
            Mixed::new(self.iterates.drain(..).map(|(episodes, iterate)| (episodes as f64, iterate)))
        };
        let mut estimate = self.window.estimate();
        if self.fresh > 0 || estimate.count() < 2 {
            estimate = Estimate::new(lam.len());
            self.estimator.play(&policy, self.fresh.max(2), &mut estimate)?;
        }
        Ok(self.response(policy, estimate, gave_up))
    }

    fn estimates(&mut self) -> Option<&mut dyn Reestimate> {
        if self.fresh > 0 { Some(self) } else { None }
    }

    fn start_from(&mut self, policy: &Mixed) -> Result<()> {
        let heaviest = policy.parts().iter().max_by(|a, b| a.0.total_cmp(&b.0));
        heaviest.map_or(Ok(()), |(_, part)| self.learner.start_from(part))
    }

    fn samples(&self) -> u64 {
        self.samples.saturating_add(self.estimator.samples())
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        self.learner.fits(policy)
    }
}

impl Reestimate for LearnedOracle {
    /// Plays the policy again, the more the more weight it carries.
    fn investigate(&mut self, policy: &Mixed, weight: f64) -> Result<()> {
        if self.samples() >= self.budget {
            return Ok(());
        }
        let answer = self.answers.iter_mut().find(|answer| answer.0.is_same(policy));
        let episodes = (weight * AGAIN as f64).ceil() as usize;
        answer.map_or(Ok(()), |answer| self.estimator.play(policy, episodes, &mut answer.1))
    }

    fn measure_again(&mut self, policy: &Mixed) -> Option<(Vec<f64>, Spread)> {
        let found = self.answers.iter_mut().find(|answer| answer.0.is_same(policy));
        found.filter(|answer| answer.1.count() > answer.2).map(|answer| {
            answer.2 = answer.1.count();
            answer.1.with_spread()
        })
    }

    /// As many episodes as a tenth of the budget is enough for, within bounds.
    fn play_afresh(&mut self, mixture: &Mixed) -> Result<(Vec<f64>, Spread)> {
        let (mut estimate, before) = (Estimate::new(self.estimator.dim()), self.estimator.samples());
        while estimate.count() < MOST_AFRESH {
            self.estimator.play(mixture, 1, &mut estimate)?;
            let taken = self.estimator.samples() - before;
            if estimate.count() >= self.options.episodes && taken >= self.budget / 10 {
                break;
            }
        }
        Ok(estimate.with_spread())
    }
}

impl Checkpoint for LearnedOracle {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put(&self.samples);
        to.put(&self.answers.len());
        for (policy, estimate, told) in &self.answers {
            to.put(policy);
            to.put(estimate);
            to.put(told);
        }
        // The next answer goes by how large the returns of this one were.
        self.window.save(to);
        self.estimator.save(to)?;
        self.learner.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.samples = from.get()?;
        self.answers.clear();
        let dim = self.estimator.dim();
        for _ in 0..from.get_length()? {
            let policy = from.get_where("a policy", |policy| fits(self, policy))?;
            let estimate =
                from.get_where("an estimate", |estimate: &Estimate| estimate.mean().len() == dim)?;
            self.answers.push((policy, estimate, from.get()?));
        }
        self.window.load(from)?;
        self.estimator.load(from)?;
        self.learner.load(from)
    }
}
