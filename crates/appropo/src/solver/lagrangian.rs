use std::time::{Duration, Instant};

use super::appropo::{CONFIRMING_ERRORS, afresh};
use super::multipliers::{Multipliers, Pace};
use super::record::{code, decode};
use super::{Doubts, Observer, Phase, Progress, Round, Solution, Stop, StopRule};
use crate::certificate::Evidence;
use crate::error::{Error, Result};
use crate::measurement::Spread;
use crate::oracle::{self, Respond};
use crate::policy::Mixed;
use crate::set::{ConvexSet, SharedSet};
use crate::state::{Loader, Saver, misfit};

/// A learner that goes on from where it is while the multipliers of a set follow what it measures.
#[derive(Debug)]
pub(super) struct DualAscent {
    multipliers: Multipliers,
    /// The samples that it takes in all, and those between two answers.
    samples: f64,
    between: f64,
    /// The samples at which the multipliers moved last, and those of the last answer.
    moved: u64,
    answered: u64,
}

impl DualAscent {
    /// For so many samples, with so many answers on the way.
    pub fn new(multipliers: Multipliers, samples: u64, answers: u64) -> Self {
        let samples = samples as f64;
        Self { multipliers, samples, between: samples / answers as f64, moved: 0, answered: 0 }
    }

    /// λ as it is now.
    pub fn lam(&self) -> Vec<f64> {
        self.multipliers.lam()
    }

    /// Whether it has begun to learn.
    fn has_begun(&self) -> bool {
        self.moved > 0
    }

    /// Begins with a policy drawn at random, or goes on, after so many samples of something else.
    pub fn go_on(&mut self, oracle: &mut dyn Respond) -> Result<()> {
        if !self.has_begun() {
            oracle.following().ok_or_else(no_learner)?.start_afresh();
        }
        (self.moved, self.answered) = (oracle.samples(), oracle.samples());
        Ok(())
    }

    /// Learns for a while; λ where an answer to it is due.
    pub fn work(&mut self, oracle: &mut dyn Respond) -> Result<Option<Vec<f64>>> {
        let lam = self.multipliers.lam();
        let Some(measured) = oracle.following().ok_or_else(no_learner)?.follow(&lam)? else {
            return Ok(None);
        };
        let (z, spread) = measured.with_spread();
        self.observe(&z, &spread, oracle.samples());
        let is_due = self.moved.saturating_sub(self.answered) as f64 >= self.between;
        if is_due {
            self.answered = self.moved;
        }
        Ok(is_due.then_some(lam))
    }

    fn observe(&mut self, z: &[f64], spread: &Spread, samples: u64) {
        self.multipliers.observe(z, spread, samples.saturating_sub(self.moved) as f64 / self.samples);
        self.moved = samples;
    }

    pub fn save(&self, to: &mut Saver) {
        self.multipliers.save(to);
        to.put(&self.moved);
        to.put(&self.answered);
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.multipliers.load(from)?;
        self.moved = from.get()?;
        self.answered = from.get_where("a number of samples", |answered| *answered <= self.moved)?;
        Ok(())
    }
}

/// What an oracle says that does not learn.
fn no_learner() -> Error {
    Error::Unsuitable {
        learner: "lagrangian",
        needs: "a learner that goes on while its reward changes",
        instead: "\"ppo\", \"a2c\", \"sac\" or \"q-learning\" as the oracle",
    }
}

/// Answers of a whole search.
const ANSWERS: u64 = 100;

/// What is learnt for.
#[derive(Debug, Clone)]
pub struct LagrangianTarget {
    /// The set, with the objective as a free last entry where there is one.
    pub set: SharedSet,
    /// The set without it.
    pub constraints: SharedSet,
}

impl LagrangianTarget {
    fn has_objective(&self) -> bool {
        self.set.dim() > self.constraints.dim()
    }
}

/// Lagrangian learning: one policy for the reward objective − y·z, whose multipliers y rise while a constraint is violated
/// and fall while it is not. `state` is where to go on from.
///
/// The solution is the last answer whose own episodes hold the constraints, or else the last one; an answer is a mixture of
/// those who played its episodes. Without an objective it ends as soon as fresh episodes confirm one.
pub fn lagrangian(
    target: &LagrangianTarget,
    pace: Pace,
    oracle: &mut dyn Respond,
    rule: &StopRule,
    observer: &mut dyn Observer,
    state: Option<&[u8]>,
) -> Result<Solution> {
    rule.check()?;
    let multipliers = Multipliers::new(&target.constraints, target.has_objective(), pace);
    let ascent = DualAscent::new(multipliers, rule.samples, ANSWERS);
    let mut search = Search { target, oracle, rule, ascent, latest: None, held: None, kept: Kept::default() };
    if let Some(state) = state {
        search.load(state)?;
    }
    let stop = search.run(observer)?;
    search.solution(stop)
}

struct Search<'a> {
    target: &'a LagrangianTarget,
    oracle: &'a mut dyn Respond,
    rule: &'a StopRule,
    ascent: DualAscent,
    latest: Option<Answer>,
    /// The last answer whose episodes held the constraints.
    held: Option<Answer>,
    kept: Kept,
}

/// What else goes on from one round to the next.
#[derive(Default)]
struct Kept {
    rounds: usize,
    doubts: Doubts,
    stop: Option<Stop>,
}

#[derive(Clone)]
struct Answer {
    lam: Vec<f64>,
    z: Vec<f64>,
    policy: Mixed,
}

impl Search<'_> {
    fn run(&mut self, observer: &mut dyn Observer) -> Result<Stop> {
        let mut responding = Duration::ZERO;
        while self.kept.rounds < self.rule.rounds {
            if let Some(stop) = self.kept.stop.take() {
                return Ok(stop);
            }
            let asked = Instant::now();
            let answer = match self.next(observer) {
                Ok(answer) => answer,
                // What was found before is not lost.
                Err(error) if self.kept.rounds > 0 => return Ok(Stop::Failed(error)),
                Err(error) => return Err(error),
            };
            responding += asked.elapsed();
            self.take(answer);
            // Saved with the state: a search that is taken up again ends where this one does.
            self.kept.stop = self.reason_to_stop(observer).unwrap_or_else(|error| Some(Stop::Failed(error)));
            match self.show(responding, observer) {
                Ok(true) => {}
                Ok(false) => return Ok(self.kept.stop.take().unwrap_or(Stop::Observer)),
                Err(error) => return Ok(Stop::Failed(error)),
            }
        }
        Ok(self.kept.stop.take().unwrap_or(Stop::Rounds))
    }

    /// Learns until the next answer.
    fn next(&mut self, observer: &mut dyn Observer) -> Result<Answer> {
        if self.kept.rounds == 0 && !self.target.has_objective() {
            // Without an objective there is nothing to learn for before something is violated.
            let lam = vec![0.0; self.target.set.dim()];
            let response = self.oracle.respond(&lam, f64::INFINITY)?;
            let spread = response.spread.ok_or_else(no_learner)?;
            self.ascent.observe(&response.z_hat, &spread, self.oracle.samples());
            return Ok(Answer { lam, z: response.z_hat, policy: response.policy });
        }
        loop {
            let due = self.ascent.work(self.oracle)?;
            let is_spent = self.oracle.samples() >= self.rule.samples;
            if due.is_some() || is_spent {
                let lam = due.unwrap_or_else(|| self.ascent.multipliers.lam());
                let (policy, measured) = self.oracle.following().ok_or_else(no_learner)?.players();
                if let Some(latest) = self.latest.as_ref().filter(|_| measured.count() < 2) {
                    // Of who came after it nothing is known.
                    return Ok(latest.clone());
                }
                return Ok(Answer { lam, z: measured.mean().to_vec(), policy });
            }
            let state: &dyn Fn() -> Result<(usize, Vec<u8>)> = &|| self.state();
            observer.progress(&Progress {
                phase: Phase::Learning,
                episodes: 0,
                samples: self.oracle.samples(),
                of: self.rule.samples,
                open: &Vec::new,
                // Before the first round there is nothing to go on from.
                state: (self.kept.rounds > 0).then_some(state),
            })?;
        }
    }

    fn take(&mut self, answer: Answer) {
        self.kept.rounds += 1;
        if self.target.set.contains(&answer.z, self.rule.tolerance) {
            self.held = Some(answer.clone());
        }
        self.latest = Some(answer);
    }

    fn reason_to_stop(&mut self, observer: &mut dyn Observer) -> Result<Option<Stop>> {
        if !self.target.has_objective() && self.is_confirmed(observer)? {
            return Ok(Some(Stop::Reached));
        }
        Ok((self.oracle.samples() >= self.rule.samples).then_some(Stop::Samples))
    }

    /// Whether fresh episodes say what those of the latest answer do.
    fn is_confirmed(&mut self, observer: &mut dyn Observer) -> Result<bool> {
        let Some(answer) = &self.latest else { return Ok(false) };
        if !self.target.set.contains(&answer.z, self.rule.tolerance) {
            return Ok(false);
        }
        Ok(match observer.judge(&answer.policy, &self.kept.doubts)? {
            Some(judgement) => self.kept.doubts.take(judgement),
            None => match self.oracle.estimates() {
                Some(estimates) => {
                    let (set, tolerance) = (&self.target.set, self.rule.tolerance);
                    afresh(estimates, &answer.policy, set, CONFIRMING_ERRORS, tolerance)?.0
                }
                None => true,
            },
        })
    }

    fn show(&self, responding: Duration, observer: &mut dyn Observer) -> Result<bool> {
        let Some(answer) = &self.latest else { return Ok(true) };
        let objective = self.held.as_ref().filter(|_| self.target.has_objective());
        let now = Round {
            round: self.kept.rounds,
            lam: &answer.lam,
            z_hat: &answer.z,
            z_bar: &answer.z,
            distance: self.target.set.distance(&answer.z),
            lower_bound: 0.0,
            samples: self.oracle.samples(),
            responding,
            objective: objective.and_then(|held| held.z.last().copied()),
            mixture: &|| answer.policy.clone(),
            state: &|| self.state(),
        };
        Ok(observer.round(&now)?.is_continue())
    }

    fn state(&self) -> Result<(usize, Vec<u8>)> {
        let mut saver = Saver::default();
        self.oracle.save(&mut saver)?;
        self.ascent.save(&mut saver);
        for answer in [&self.latest, &self.held] {
            let saved = |answer: &Answer| ((answer.lam.clone(), answer.z.clone()), answer.policy.clone());
            saver.put(&answer.as_ref().map(saved));
        }
        let Kept { rounds, doubts, stop } = &self.kept;
        saver.put(rounds);
        doubts.save(&mut saver);
        saver.put(&stop.as_ref().and_then(code));
        Ok((*rounds, saver.into_bytes()))
    }

    fn load(&mut self, state: &[u8]) -> Result<()> {
        let mut loader = Loader::new(state);
        self.oracle.load(&mut loader)?;
        self.ascent.load(&mut loader)?;
        let dim = self.target.set.dim();
        for place in [&mut self.latest, &mut self.held] {
            let saved: Option<((Vec<f64>, Vec<f64>), Mixed)> = loader.get()?;
            *place = saved.map(|((lam, z), policy)| Answer { lam, z, policy });
            let is_number = |numbers: &[f64]| numbers.len() == dim && numbers.iter().all(|v| v.is_finite());
            let fits = |answer: &Answer| {
                is_number(&answer.lam) && is_number(&answer.z) && oracle::fits(self.oracle, &answer.policy)
            };
            if !place.as_ref().is_none_or(fits) {
                return Err(misfit("an answer is for another problem"));
            }
        }
        let rounds = loader.get_count("a number of rounds")?;
        let doubts = Doubts::load(&mut loader)?;
        let stop = loader.get::<Option<u8>>()?.map(decode).transpose()?;
        self.kept = Kept { rounds, doubts, stop };
        loader.finish()?;
        if self.latest.is_none() {
            return Err(misfit("there is no answer to go on from"));
        }
        Ok(())
    }

    fn solution(self, stop: Stop) -> Result<Solution> {
        let (rounds, doubts, samples) = (self.kept.rounds, self.kept.doubts, self.oracle.samples());
        // What was confirmed is the latest.
        let answer = if stop == Stop::Reached { self.latest } else { self.held.or(self.latest) };
        let Some(Answer { z, policy, .. }) = answer else { return Err(misfit("there is no answer")) };
        let distance = self.target.set.distance(&z);
        let mut certificate = Evidence::default().certificate(z, distance, self.rule.tolerance);
        // Fresh episodes decide.
        certificate.verdict = crate::certificate::Verdict::Undecided;
        Ok(Solution { mixture: policy, certificate, rounds, samples, doubts, stop })
    }
}
