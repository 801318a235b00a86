use std::collections::VecDeque;
use std::sync::Arc;

use super::answers::{Answered, Answers};
use super::{AnyOracle, Follow, MakeOracle, MonteCarlo, OracleContext, Reestimate, Respond, Response, fits};
use crate::env::EnvSpec;
use crate::error::{Result, dimension, in_range};
use crate::measurement::{Estimate, Spread};
use crate::options::{Kind, OptionError, Options, Part, Range, Step, Table, options};
use crate::policy::{AnyPolicy, Mixed};
use crate::random;
use crate::rl::{Episode, EpisodeWindow, Learner, LearnerContext, LearnerStreams, MakeLearner};
use crate::state::{Checkpoint, Loader, Saver, misfit};
use crate::vector;

options! {
    /// How a learner answers λ.
    pub struct LearnedOptions {
        /// n, the number of last episodes whose mean return decides.
        episodes: usize = Kind::Count(2, 1_000_000), defaulted "25";
        /// ε, by how much the return may fall short.
        epsilon: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0";
        /// Episodes played afresh to estimate ẑ where the last n were waited for, which are too good on average; 0 or at least 2, and 0 takes them as they are.
        fresh: usize = Kind::Count(0, 1_000_000), defaulted "25";
        /// Whether the answer is the mixture of the iterates that played the last n episodes rather than the one policy that learning has settled on.
        iterates: bool = Kind::Flag, defaulted "true";
        /// The share of the samples after which an answer that gets no better is given as it is.
        patience: f64 = Kind::Number(Range::UNIT), defaulted "0.05";
    }
}

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
        let batched =
            context.sampling.as_ref().filter(|_| self.learner.is_batched() && context.augmented.is_none());
        let (streams, envs) = match batched {
            Some(sampling) => {
                let (streams, envs) = context.streams(sampling)?;
                (Some(LearnerStreams(streams)), envs)
            }
            None => {
                let copies = 0..env.num_envs();
                (None, copies.map(|copy| context.environment(Some(copy))).collect::<Result<_>>()?)
            }
        };
        let (gamma, limit, horizon) =
            (context.discounting.gamma(), context.limit(), context.discounting.horizon());
        let finite_horizon = context.is_finite_horizon().then_some(horizon);
        let env_alone = context.environment(None)?;
        let rng = random::split(context.rng);
        let (samples, aim, augmented) = (context.samples, context.aim.clone(), context.augmented);
        let learner = self.learner.make(LearnerContext {
            env,
            envs,
            gamma,
            limit,
            finite_horizon,
            samples,
            aim,
            augmented,
            streams,
            rng,
        })?;
        let mut estimator = MonteCarlo::new(Episode::new(env_alone, gamma, limit), context.rng);
        if let Some(sampling) = &context.sampling {
            estimator = estimator.on(sampling.episodes(env.measures().dim(), context.selection.clone()));
        }
        let mut oracle = LearnedOracle::new(learner, estimator, samples, self.options.clone())?;
        if env.observations().count().is_none() {
            oracle = oracle.remembering();
        }
        if env.actions().count().is_none() {
            oracle = oracle.settling();
        }
        Ok(AnyOracle::Responding(Box::new(oracle)))
    }

    fn check(&self, env: &EnvSpec) -> Result<()> {
        if self.options.fresh == 1 {
            let path = [Self::NAME, "fresh"].map(|key| Step::Key(key.into())).to_vec();
            let message =
                "fresh: found 1; expected 0, or 2 or more: one episode says nothing of their spread".into();
            return Err(OptionError { path, part: Part::Value, message }.into());
        }
        self.learner.check(env)
    }

    fn is_following(&self) -> bool {
        true
    }

    fn tables(&self, env: &EnvSpec) -> Vec<(String, Table)> {
        let options = Options::table(&self.options);
        vec![(Self::NAME.into(), options), (self.learner.name().into(), self.learner.table(env))]
    }
}

/// Answers in a row that must bring nothing before a new policy is tried; after half of them the present one explores again.
const RESTART: usize = 6;

/// The share of what was asked last in what is learnt for; once in so many times, while nothing gets better, it has none.
const REMEMBERED: f64 = 0.5;
const ALONE: usize = 3;

/// The part of its steps for which what a call has settled on is played, and the episodes that are played in any case.
const TRIED: u64 = 5;
const FEWEST_TRIED: usize = 5;

/// Episodes that a mixture is played again for where it is not sure enough.
const AGAIN: usize = 25;

/// Any learner as a positive-response oracle (section 3.4): it learns for the reward −λ·z until the mean return of the
/// last n episodes says λ·ẑ ≤ offset + ε, or its patience ends.
#[derive(Debug)]
pub struct LearnedOracle {
    learner: Box<dyn Learner>,
    estimator: MonteCarlo,
    budget: u64,
    options: LearnedOptions,
    is_remembering: bool,
    is_settling: bool,
    call: Option<Call>,
    window: EpisodeWindow,
    /// Those who played the last n episodes, with how many each of them ended.
    iterates: VecDeque<(usize, Arc<AnyPolicy>)>,
    answers: Answers,
    /// Steps of learning.
    samples: u64,
}

/// A question that is being worked on.
#[derive(Debug, Clone, PartialEq)]
struct Call {
    lam: Vec<f64>,
    offset: f64,
    /// The samples at which it was asked, and at which it is answered in any case.
    asked: u64,
    until: u64,
    /// What it is learnt for.
    lesson: Vec<f64>,
    /// The least that the last n episodes have paid the lesson so far.
    best: f64,
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
        in_range("fresh episodes", options.fresh as f64, options.fresh != 1, "0, or 2 or more")?;
        let window = EpisodeWindow::new(options.episodes, estimator.dim());
        Ok(Self {
            learner,
            estimator,
            budget,
            options,
            is_remembering: false,
            is_settling: false,
            call: None,
            window,
            iterates: VecDeque::new(),
            answers: Answers::default(),
            samples: 0,
        })
    }

    /// The same, keeping in mind what was asked before: for policies that forget, since they generalise over numbers. Where
    /// observations are counted, each has weights of its own.
    pub fn remembering(self) -> Self {
        Self { is_remembering: true, ..self }
    }

    /// The same, answering with what learning has settled on where that serves λ better: without noise in actions that are
    /// numbers it mostly does.
    pub fn settling(self) -> Self {
        Self { is_settling: true, ..self }
    }

    /// The answer of a policy drawn at random, to begin a cache with.
    pub fn random_response(&mut self) -> Result<Response> {
        self.learner.start_afresh();
        self.unlearnt_response()
    }

    /// The answer of the policy as it is.
    fn unlearnt_response(&mut self) -> Result<Response> {
        let policy = Mixed::one(self.learner.policy());
        let mut estimate = Estimate::new(self.estimator.dim());
        self.estimator.play(&policy, self.options.episodes, &mut estimate)?;
        Ok(self.response(&vec![0.0; self.estimator.dim()], policy, estimate, false))
    }

    /// Begins to work on a question, from the policy that serves it best. Where that has not got on lately, it explores
    /// again, and then a new one is tried.
    fn begin(&mut self, lam: &[f64], offset: f64) -> Result<()> {
        self.window.clear();
        self.iterates.clear();
        self.learner.lead(false);
        let failures = self.answers.failures(lam);
        let share = if self.is_remembering && failures % ALONE != 1 { REMEMBERED } else { 0.0 };
        let lesson = self.answers.lesson(lam, share);
        if failures > 0 && failures.is_multiple_of(RESTART) {
            self.learner.start_afresh();
        } else {
            if let Some(policy) = self.answers.best(&lesson).cloned() {
                self.start_from(&policy)?;
            }
            if failures % RESTART == RESTART / 2 {
                self.learner.explore_again();
            }
        }
        let asked = self.samples();
        let until = asked + self.patience();
        self.call = Some(Call { lam: lam.to_vec(), offset, asked, until, lesson, best: f64::INFINITY });
        Ok(())
    }

    /// Steps that may bring nothing.
    fn patience(&self) -> u64 {
        (self.options.patience * self.budget as f64) as u64
    }

    /// Plays episodes of a policy while the budget lasts, and in any case until there are two.
    fn play(&mut self, policy: &Mixed, episodes: usize, estimate: &mut Estimate) -> Result<()> {
        for _ in 0..episodes {
            if estimate.count() > 1 && self.samples() >= self.budget {
                break;
            }
            self.estimator.play(policy, 1, estimate)?;
        }
        Ok(())
    }

    /// What the last episodes paid λ on average, and its standard error.
    fn payoff(&self, lam: &[f64]) -> (f64, f64) {
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
        for payoff in self.window.sums().map(|sum| vector::dot(lam, sum)) {
            count += 1.0;
            let away = payoff - mean;
            mean += away / count;
            squares += away * (payoff - mean);
        }
        (mean, (squares / count).sqrt() / f64::sqrt(count))
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

    /// Plays for a while and learns for −λ·z.
    fn learn(&mut self, lam: &[f64]) -> Result<()> {
        let weights: Vec<f64> = lam.iter().map(|l| -l).collect();
        let player = self.options.iterates.then(|| Arc::new(self.learner.policy()));
        let over = self.window.episodes();
        self.samples = self.samples.saturating_add(self.learner.learn(&weights, &mut self.window)? as u64);
        if let Some(player) = player {
            self.remember(self.window.episodes() - over, player);
        }
        Ok(())
    }

    /// Those who played the last episodes, or the one policy that learning has settled on.
    fn iterates(&self) -> Mixed {
        if self.iterates.is_empty() {
            return Mixed::one(self.learner.settled_policy());
        }
        Mixed::new(self.iterates.iter().map(|(episodes, iterate)| (*episodes as f64, Arc::clone(iterate))))
    }

    /// What a call has found for λ, and what that measures.
    fn found(&mut self, lam: &[f64], asked: u64, is_positive: bool) -> Result<(Mixed, Estimate)> {
        let (iterates, last) = (self.iterates(), self.window.estimate());
        let can_play = self.options.fresh > 0 && self.samples() < self.budget;
        if can_play && self.options.iterates && self.is_settling {
            let settled = Mixed::one(self.learner.settled_policy());
            let taken = self.samples().saturating_sub(asked);
            let fresh = self.tried(&settled, self.samples().saturating_add(taken / TRIED))?;
            if last.count() < 2 || vector::dot(lam, fresh.mean()) < vector::dot(lam, last.mean()) {
                return Ok((settled, fresh));
            }
        }
        // Episodes that were waited for are too good on average, and one policy made of others has not played any.
        let is_played = can_play && (is_positive || !self.options.iterates);
        if is_played || last.count() < 2 {
            let mut fresh = Estimate::new(lam.len());
            self.play(&iterates, self.options.fresh.max(2), &mut fresh)?;
            return Ok((iterates, fresh));
        }
        Ok((iterates, last))
    }

    /// What fresh episodes of a policy measure: not many more of them than end within so many samples, and two where the budget
    /// ends.
    fn tried(&mut self, policy: &Mixed, until: u64) -> Result<Estimate> {
        let mut fresh = Estimate::new(self.estimator.dim());
        while fresh.count() < self.options.fresh {
            let is_spent = self.samples() >= self.budget;
            let are_enough = fresh.count() >= FEWEST_TRIED && self.samples() >= until;
            if fresh.count() > 1 && (is_spent || are_enough) {
                break;
            }
            self.estimator.play(policy, 1, &mut fresh)?;
        }
        Ok(fresh)
    }

    fn response(&mut self, lam: &[f64], policy: Mixed, estimate: Estimate, gave_up: bool) -> Response {
        let (z_hat, spread) = estimate.with_spread();
        let told = estimate.count();
        self.answers.0.push(Answered { lam: lam.to_vec(), policy: policy.clone(), estimate, told });
        Response { policy, z_hat, spread: Some(spread), bound: None, gave_up }
    }
}

impl Respond for LearnedOracle {
    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response> {
        loop {
            if let Some(response) = self.work(lam, offset)? {
                return Ok(response);
            }
        }
    }

    fn work(&mut self, lam: &[f64], offset: f64) -> Result<Option<Response>> {
        dimension("lambda", lam.len(), self.estimator.dim())?;
        if vector::norm(lam) == 0.0 {
            // Every policy is as good: there is nothing to learn for.
            return self.unlearnt_response().map(Some);
        }
        if self.call.as_ref().is_none_or(|call| call.lam != lam || call.offset != offset) {
            self.begin(lam, offset)?;
        }
        let Some(call) = &self.call else { return Ok(None) };
        let lesson = call.lesson.clone();
        self.learn(&lesson)?;
        let is_spent = self.samples() >= self.budget;
        let mut is_positive = false;
        if self.window.is_full() {
            let (payoff, error) = self.payoff(lam);
            // What is positive by luck is no use where it will be looked at again.
            let luck = if self.options.fresh > 0 { error } else { 0.0 };
            is_positive = payoff + luck <= offset + self.options.epsilon;
            let (learnt, error) = self.payoff(&lesson);
            let (now, patience) = (self.samples(), self.patience());
            let Some(call) = &mut self.call else { return Ok(None) };
            if learnt < call.best - error {
                (call.best, call.until) = (learnt, now + patience);
            }
            let had_time = now >= call.until;
            if !is_positive && !is_spent && !had_time {
                return Ok(None);
            }
        } else if !is_spent {
            return Ok(None);
        }
        let asked = self.call.take().map_or(0, |call| call.asked);
        let (policy, estimate) = self.found(lam, asked, is_positive)?;
        Ok(Some(self.response(lam, policy, estimate, !is_positive && is_spent)))
    }

    fn estimates(&mut self) -> Option<&mut dyn Reestimate> {
        if self.options.fresh > 0 { Some(self) } else { None }
    }

    fn following(&mut self) -> Option<&mut dyn Follow> {
        Some(self)
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

impl Follow for LearnedOracle {
    fn follow(&mut self, lam: &[f64]) -> Result<Option<Estimate>> {
        dimension("lambda", lam.len(), self.estimator.dim())?;
        self.call = None;
        // As soon as there are enough episodes they are told.
        if self.window.is_full() {
            self.window.clear();
            self.iterates.clear();
        }
        self.learn(lam)?;
        Ok(self.window.is_full().then(|| self.window.estimate()))
    }

    fn start_afresh(&mut self) {
        self.window.clear();
        self.iterates.clear();
        self.learner.start_afresh();
    }

    fn lead(&mut self, is_leading: bool) -> bool {
        self.window.clear();
        self.iterates.clear();
        self.learner.lead(is_leading)
    }

    fn players(&self) -> (Mixed, Estimate) {
        (self.iterates(), self.window.estimate())
    }

    fn answer(&mut self, lam: &[f64]) -> Response {
        self.call = None;
        let (policy, estimate) = self.players();
        self.response(lam, policy, estimate, false)
    }
}

impl Reestimate for LearnedOracle {
    /// Plays the policy again, the more the more weight it carries.
    fn investigate(&mut self, policy: &Mixed, weight: f64) -> Result<()> {
        let episodes = (weight * AGAIN as f64).ceil() as usize;
        let Some(place) = self.answers.place(policy) else { return Ok(()) };
        let mut estimate = self.answers.0[place].estimate.clone();
        let played = self.play(policy, episodes, &mut estimate);
        self.answers.0[place].estimate = estimate;
        played
    }

    fn measure_again(&mut self, policy: &Mixed) -> Option<(Vec<f64>, Spread)> {
        let place = self.answers.place(policy)?;
        self.answers.0[place].news()
    }

    /// As many episodes as a tenth of the budget is enough for, within bounds; few where the budget itself ends.
    fn play_afresh(&mut self, mixture: &Mixed, is_enough: &dyn Fn(&Estimate) -> bool) -> Result<Estimate> {
        let (mut estimate, before) = (Estimate::new(self.estimator.dim()), self.estimator.samples());
        loop {
            self.estimator.play(mixture, 1, &mut estimate)?;
            let is_share_spent = self.estimator.samples() - before >= self.budget / 10;
            let are_enough = estimate.count() >= self.options.episodes;
            let is_all_spent = self.samples() >= self.budget && estimate.count() > 1;
            if is_all_spent || are_enough && (is_share_spent || is_enough(&estimate)) {
                break;
            }
        }
        Ok(estimate)
    }
}

impl Checkpoint for LearnedOracle {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put(&self.samples);
        to.put(&self.answers.0.len());
        for Answered { lam, policy, estimate, told } in &self.answers.0 {
            to.put(lam);
            to.put(policy);
            to.put(estimate);
            to.put(told);
        }
        let saved = |call: &Call| {
            ((call.lam.clone(), call.offset), ((call.asked, (call.until, call.best)), call.lesson.clone()))
        };
        to.put(&self.call.as_ref().map(saved));
        self.window.save(to);
        to.put(&self.iterates.len());
        for (episodes, iterate) in &self.iterates {
            to.put(episodes);
            to.put_shared(iterate);
        }
        self.estimator.save(to)?;
        self.learner.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.samples = from.get()?;
        self.answers.0.clear();
        let dim = self.estimator.dim();
        for _ in 0..from.get_length()? {
            let lam = from.get_where("λ", |lam: &Vec<f64>| lam.len() == dim)?;
            let policy = from.get_where("a policy", |policy| fits(self, policy))?;
            let estimate =
                from.get_where("an estimate", |estimate: &Estimate| estimate.mean().len() == dim)?;
            self.answers.0.push(Answered { lam, policy, estimate, told: from.get()? });
        }
        type Asked = Option<((Vec<f64>, f64), ((u64, (u64, f64)), Vec<f64>))>;
        let fits_call = |asked: &Asked| {
            asked.as_ref().is_none_or(|((lam, _), (_, lesson))| lam.len() == dim && lesson.len() == dim)
        };
        let call = from.get_where("a question", fits_call)?;
        self.call = call.map(|((lam, offset), ((asked, (until, best)), lesson))| Call {
            lam,
            offset,
            asked,
            until,
            lesson,
            best,
        });
        self.window.load(from)?;
        self.iterates.clear();
        for _ in 0..from.get_length()? {
            let episodes = from.get_count("a number of episodes")?;
            let iterate = from.get_shared::<AnyPolicy>()?;
            if !self.learner.fits(&iterate) {
                return Err(misfit("a policy is not one of the learner's"));
            }
            self.iterates.push_back((episodes, iterate));
        }
        self.estimator.load(from)?;
        self.learner.load(from)
    }
}
