use std::time::{Duration, Instant};

use super::record::Record;
use super::{Doubts, Observer, Phase, Progress, Round};
use crate::certificate::Certificate;
use crate::error::{Error, Result, in_range};
use crate::measurement::{Estimate, Spread};
use crate::options::{setters, words};
use crate::oracle::{Reestimate, Respond, Response, gives_hope, is_sure, least_deviations};
use crate::player::Player;
use crate::policy::Mixed;
use crate::set::{ConvexSet, SharedSet};
use crate::state::{Loader, Saver};
use crate::vector;

words! {
    /// What to stop at.
    pub enum Goal {
        /// go on until the closest point is found (Algorithm 2)
        Distance = "distance",
        /// stop at the first proof that no policy will do (Algorithm 4, in the appendix)
        Feasibility = "feasibility",
    }
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StopRule {
    /// T, the most rounds to play.
    pub rounds: usize,
    /// Distances and gaps up to this count as 0.
    pub tolerance: f64,
    /// What to stop at.
    pub goal: Goal,
    /// ε₀ + ε₁, the errors of answers and estimates. An answer that pays λ more than this refutes feasibility, as far as
    /// those errors are known; the verdict is infeasible only where the oracle proves it.
    pub epsilon: f64,
    /// Steps in the environment after which no more answers are asked for.
    pub samples: u64,
}

impl Default for StopRule {
    /// 1,000 rounds, 1e-6, the least distance, errors up to 1e-6, any number of steps.
    fn default() -> Self {
        Self { rounds: 1000, tolerance: 1e-6, goal: Goal::Distance, epsilon: 1e-6, samples: u64::MAX }
    }
}

setters!(StopRule { rounds: usize, tolerance: f64, goal: Goal, epsilon: f64, samples: u64 });

impl StopRule {
    pub(super) fn check(&self) -> Result<()> {
        in_range("rounds", self.rounds as f64, self.rounds > 0, "1 or more")?;
        in_range("epsilon", self.epsilon, self.epsilon >= 0.0, "0 or more")?;
        in_range("tolerance", self.tolerance, self.tolerance > 0.0, "more than 0")
    }

    fn reached(&self, distance: f64, lower_bound: f64) -> bool {
        let gap = distance - lower_bound;
        let infeasible = lower_bound > self.tolerance;
        distance <= self.tolerance
            || (infeasible && (gap <= self.tolerance || self.goal == Goal::Feasibility))
            || gap <= 0.1 * self.tolerance
    }
}

/// Why a search ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Stop {
    /// What was asked for is found: the mixture lies in the set, or no policy comes closer.
    Reached,
    /// An answer refuted feasibility.
    Refuted,
    /// The oracle's budget ended before it found what was asked for: the problem is empirically infeasible.
    GaveUp,
    /// The steps were used up.
    Samples,
    /// The rounds were used up.
    Rounds,
    /// An observer had seen enough.
    Observer,
    /// Something went wrong after the first round.
    Failed(Error),
}

/// A mixed policy and the evidence for what it is.
#[derive(Debug, Clone)]
pub struct Solution {
    /// μ̄.
    pub mixture: Mixed,
    /// What is claimed of it. Where answers are estimates it claims nothing: fresh episodes decide.
    pub certificate: Certificate,
    /// Rounds played, each with one call of the oracle.
    pub rounds: usize,
    /// Steps taken in the environment.
    pub samples: u64,
    /// What was found before, and was not sure enough.
    pub doubts: Doubts,
    /// Why it ended.
    pub stop: Stop,
}

/// ApproPO: finds a mixed policy whose measurements lie in `set`, or as close to it as any policy's can.
pub fn appropo(
    set: &SharedSet,
    player: &mut dyn Player,
    oracle: &mut dyn Respond,
    rule: &StopRule,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    let mut record = Record::new(set.dim());
    let stop = Game::new(set, player, oracle, rule, &mut record).play(observer)?;
    Ok(record.solution(set, oracle.samples(), stop, rule.tolerance))
}

/// [`appropo()`] from where [`Round::state`] was taken, with a player and an oracle that were made as they were then. The
/// result is bit for bit that of a run that was never interrupted.
pub fn resume(
    set: &SharedSet,
    player: &mut dyn Player,
    oracle: &mut dyn Respond,
    rule: &StopRule,
    observer: &mut dyn Observer,
    state: &[u8],
) -> Result<Solution> {
    let mut loader = Loader::new(state);
    let mut record = load(&mut loader, set, player, oracle)?;
    loader.finish()?;
    let stop = Game::new(set, player, oracle, rule, &mut record).play(observer)?;
    Ok(record.solution(set, oracle.samples(), stop, rule.tolerance))
}

/// Takes back what a player, an oracle and their record were.
pub(super) fn load(
    from: &mut Loader,
    set: &SharedSet,
    player: &mut dyn Player,
    oracle: &mut dyn Respond,
) -> Result<Record> {
    player.load(from)?;
    oracle.load(from)?;
    let record = Record::load(from, set.dim())?;
    record.check(player, oracle)?;
    Ok(record)
}

/// What fresh episodes measure.
pub(super) type Fresh = (Vec<f64>, Spread);

/// The repeated game of a player against an oracle, from wherever they stand.
pub(super) struct Game<'a> {
    pub set: &'a SharedSet,
    pub player: &'a mut dyn Player,
    pub oracle: &'a mut dyn Respond,
    pub rule: &'a StopRule,
    pub record: &'a mut Record,
    /// The samples after which a learner answers with what it has.
    pub until: u64,
}

/// Standard errors by which fresh episodes must keep away from the set's edge to confirm a mixture.
pub(super) const CONFIRMING_ERRORS: f64 = 4.0;
/// Episodes before which nothing is confirmed: the budget may end after two.
const FEWEST_CONFIRMING: usize = 10;

impl<'a> Game<'a> {
    pub fn new(
        set: &'a SharedSet,
        player: &'a mut dyn Player,
        oracle: &'a mut dyn Respond,
        rule: &'a StopRule,
        record: &'a mut Record,
    ) -> Self {
        Self { set, player, oracle, rule, record, until: u64::MAX }
    }
}

impl Game<'_> {
    /// One round of Algorithm 2.
    pub fn round(&mut self, rest: &dyn Fn(&mut Saver), observer: &mut dyn Observer) -> Result<Duration> {
        let decision = self.player.decision().clone(); // λₜ
        let asked = Instant::now();
        let response = self.ask(&decision.lam, decision.offset, rest, observer)?; // πₜ for reward −λₜ·z, with ẑₜ
        let taken = asked.elapsed();
        self.player.observe(&response.z_hat, response.spread.as_ref())?; // λₜ₊₁
        self.record.prove(&decision, &response, self.player);
        self.record.add(decision, response, self.player); // μ̄ₜ
        Ok(taken)
    }

    /// The oracle's answer. The observer sees how far it has got, with a state of the game in the middle of the call that is
    /// followed by what `rest` saves.
    pub fn ask(
        &mut self,
        lam: &[f64],
        offset: f64,
        rest: &dyn Fn(&mut Saver),
        observer: &mut dyn Observer,
    ) -> Result<Response> {
        loop {
            if let Some(response) = self.oracle.work(lam, offset)? {
                return Ok(response);
            }
            if self.oracle.samples() >= self.until
                && let Some(learner) = self.oracle.following()
                && learner.players().1.count() > 1
            {
                return Ok(learner.answer(lam));
            }
            self.show_progress(rest, observer)?;
        }
    }

    /// Shows how far the oracle has got with its answer.
    pub fn show_progress(&self, rest: &dyn Fn(&mut Saver), observer: &mut dyn Observer) -> Result<()> {
        let state: &dyn Fn() -> Result<(usize, Vec<u8>)> = &|| self.state(rest);
        observer.progress(&Progress {
            phase: Phase::Learning,
            episodes: 0,
            samples: self.oracle.samples(),
            of: self.rule.samples,
            open: &Vec::new,
            // Before the first round there is nothing to go on from.
            state: (self.record.rounds() > 0).then_some(state),
        })
    }

    /// All that is needed to go on from here, and after how many rounds that is.
    fn state(&self, rest: &dyn Fn(&mut Saver)) -> Result<(usize, Vec<u8>)> {
        let mut saver = Saver::default();
        self.player.save(&mut saver)?;
        self.oracle.save(&mut saver)?;
        self.record.save(&mut saver);
        rest(&mut saver);
        Ok((self.record.rounds(), saver.into_bytes()))
    }

    /// Rounds until there is a reason to stop.
    pub fn play(&mut self, observer: &mut dyn Observer) -> Result<Stop> {
        self.rule.check()?;
        let mut responding = Duration::ZERO;
        while self.record.rounds() < self.rule.rounds {
            if let Some(stop) = self.record.stop.take() {
                return Ok(stop);
            }
            match self.round(&|_| {}, observer) {
                Ok(taken) => responding += taken,
                // What was found before is not lost.
                Err(error) if self.record.rounds() > 0 => return Ok(Stop::Failed(error)),
                Err(error) => return Err(error),
            }
            // Saved with the state: a search that is taken up again ends where this one does.
            self.record.stop =
                self.reason_to_stop(observer).unwrap_or_else(|error| Some(Stop::Failed(error)));
            match self.show(responding, None, &|_| {}, observer) {
                Ok(true) => {}
                Ok(false) => return Ok(self.record.stop.take().unwrap_or(Stop::Observer)),
                Err(error) => return Ok(Stop::Failed(error)),
            }
        }
        Ok(self.record.stop.take().unwrap_or(Stop::Rounds))
    }

    pub fn reason_to_stop(&mut self, observer: &mut dyn Observer) -> Result<Option<Stop>> {
        self.improve_estimates()?;
        let (decision, response) = self.record.latest();
        let loss = decision.offset - vector::dot(&decision.lam, &response.z_hat); // ℓₜ(λₜ)
        let gave_up = response.gave_up;
        let margin = self.player.margin();
        let is_exact = !margin.as_ref().is_some_and(|margin| margin.is_uncertain());
        let distance =
            margin.map_or_else(|| self.set.distance(self.record.z_bar()), |margin| margin.distance());
        Ok(if self.rule.goal == Goal::Feasibility && loss < -self.rule.epsilon && is_exact {
            Some(Stop::Refuted)
        } else if gave_up {
            Some(Stop::GaveUp)
        } else if self.oracle.samples() >= self.rule.samples {
            Some(Stop::Samples)
        } else if self.rule.reached(distance, self.record.evidence.lower_bound())
            && self.is_confirmed(observer)?
        {
            Some(Stop::Reached)
        } else {
            None
        })
    }

    /// Where answers are estimates, takes better ones as the oracle has them. Where the mixture lies in the set, but not by
    /// the player's margin, its policies are played again before.
    fn improve_estimates(&mut self) -> Result<()> {
        let Some(margin) = self.player.margin().filter(|margin| margin.is_uncertain()) else { return Ok(()) };
        let is_certain = margin.distance() <= self.rule.tolerance;
        let is_inside = self.set.contains(self.record.z_bar(), self.rule.tolerance);
        self.look_again(is_inside && !is_certain)?;
        Ok(())
    }

    /// Takes better estimates of the policies that carry weight, after playing them again if so wished. Returns whether
    /// there were any.
    pub fn look_again(&mut self, is_played: bool) -> Result<bool> {
        let (Some(margin), Some(estimates)) = (self.player.margin(), self.oracle.estimates()) else {
            return Ok(false);
        };
        let mut better = Vec::new();
        for (index, weight, policy) in self.record.weighted() {
            if is_played {
                estimates.investigate(policy, weight)?;
            }
            if let Some((z_hat, spread)) = estimates.measure_again(policy) {
                better.push((index, z_hat, spread));
            }
        }
        if better.is_empty() {
            return Ok(false);
        }
        margin.revise(better.clone())?;
        self.record.revise(better, self.player);
        Ok(true)
    }

    /// Whether fresh episodes of the mixture say what its estimates do. If they don't, the player's margin grows.
    fn is_confirmed(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        if !self.record.is_estimated() {
            return Ok(true);
        }
        let is_inside = match observer.judge(&self.record.mixture(), &self.record.doubts)? {
            Some(judgement) => self.record.doubts.take(judgement),
            None => self.play_afresh(CONFIRMING_ERRORS)?.is_none_or(|(holds, _)| holds),
        };
        if !is_inside {
            self.increase_margin()?;
        }
        Ok(is_inside)
    }

    /// What fresh episodes of the mixture measure, and whether that keeps away from the set's edge by so many standard
    /// errors; `None` where they say nothing new.
    pub fn play_afresh(&mut self, errors: f64) -> Result<Option<(bool, Fresh)>> {
        let Some(estimates) = self.oracle.estimates().filter(|_| self.record.is_estimated()) else {
            return Ok(None);
        };
        let mixture = self.record.mixture();
        afresh(estimates, &mixture, self.set, errors, self.rule.tolerance).map(Some)
    }

    /// Keeps further away from the set's edge, where the player can.
    pub fn increase_margin(&mut self) -> Result<bool> {
        let grows = self.player.margin().map_or(Ok(false), |margin| margin.increase_margin())?;
        self.record.weigh(self.player);
        Ok(grows)
    }

    /// Shows a round to the observer; `false` where it has seen enough. Its state is that of the game, followed by what
    /// `rest` saves.
    pub fn show(
        &self,
        responding: Duration,
        objective: Option<f64>,
        rest: &dyn Fn(&mut Saver),
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        let (decision, response) = self.record.latest();
        let now = Round {
            round: self.record.rounds(),
            lam: &decision.lam,
            z_hat: &response.z_hat,
            z_bar: self.record.z_bar(),
            distance: self.set.distance(self.record.z_bar()),
            lower_bound: self.record.evidence.lower_bound(),
            samples: self.oracle.samples(),
            responding,
            objective,
            mixture: &|| self.record.mixture(),
            state: &|| self.state(rest),
        };
        Ok(observer.round(&now)?.is_continue())
    }
}

/// What fresh episodes of a mixture measure, and whether that keeps away from the set's edge by so many standard errors.
pub(super) fn afresh(
    estimates: &mut dyn Reestimate,
    mixture: &Mixed,
    set: &SharedSet,
    errors: f64,
    tolerance: f64,
) -> Result<(bool, Fresh)> {
    let holds = |fresh: &Estimate| {
        fresh.count() >= FEWEST_CONFIRMING && is_sure(fresh, errors, &least_deviations(fresh), set, tolerance)
    };
    let is_enough = |fresh: &Estimate| holds(fresh) || !gives_hope(fresh, set);
    let fresh = estimates.play_afresh(mixture, &is_enough)?;
    Ok((holds(&fresh), fresh.with_spread()))
}
