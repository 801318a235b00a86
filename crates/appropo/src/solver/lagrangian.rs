use std::sync::Arc;
use std::time::{Duration, Instant};

use super::appropo::{CONFIRMING_ERRORS, afresh};
use super::multipliers::{Multipliers, Pace};
use super::record::{code, decode};
use super::{Doubts, Observer, Phase, Progress, Round, Solution, Stop, StopRule};
use crate::certificate::Evidence;
use crate::error::{Error, Result};
use crate::measurement::{Estimate, Spread};
use crate::oracle::{self, Respond, is_sure, least_deviations};
use crate::policy::Mixed;
use crate::set::{ConvexSet, SharedSet};
use crate::state::{Loader, Saver, misfit};
use crate::vector;

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

    /// Leaves out samples that were not learnt from.
    fn skip(&mut self, samples: u64) {
        self.moved += samples;
        self.answered += samples;
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

/// Standard errors by which fresh episodes of one policy must keep away from the set's edge, and its own episodes before that,
/// and the share of the samples after which no more of them are played.
const TRIED_ERRORS: f64 = 3.0;
const LIKELY_ERRORS: f64 = 1.0;
const TRIED_SHARE: f64 = 0.2;

/// What is learnt for.
#[derive(Debug, Clone)]
pub struct LagrangianTarget {
    /// The set, with the objective as a free last entry where there is one.
    pub set: SharedSet,
    /// The set without it.
    pub constraints: SharedSet,
    /// What an answer is.
    pub deployed: Deployed,
}

/// What of Lagrangian learning is to be deployed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Deployed {
    /// The mixture of those who played the last episodes. Beside an objective, the best one of which fresh episodes confirm
    /// that it holds the constraints, or else the last one whose own episodes do.
    Players,
    /// One policy, the last that played. Beside an objective, the best one of which fresh episodes confirm that it holds the
    /// constraints.
    One,
    /// The same of one network for every λ, which it sees, learnt from this share of the samples; where none of its policies
    /// is confirmed, those that were played after that, in turn.
    OneOrAll(f64),
}

impl LagrangianTarget {
    fn has_objective(&self) -> bool {
        self.set.dim() > self.constraints.dim()
    }
}

/// Lagrangian learning: one policy for the reward objective − y·z, whose multipliers y rise while a constraint is violated
/// and fall while it is not. `state` is where to go on from.
///
/// The solution is what is to be [`Deployed`]; where nothing holds the constraints, the last answer. Without an objective it
/// ends as soon as fresh episodes confirm an answer.
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
    let mut search = Search {
        target,
        oracle,
        rule,
        ascent,
        latest: None,
        held: None,
        confirmed: None,
        turns: Vec::new(),
        kept: Kept::default(),
    };
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
    /// The last answer whose own episodes held the constraints, where players are to be deployed.
    held: Option<Answer>,
    /// The best answer of which fresh episodes confirm that it holds them.
    confirmed: Option<Answer>,
    /// Those that would be deployed in turn.
    turns: Vec<Answer>,
    kept: Kept,
}

/// What else goes on from one round to the next.
#[derive(Default)]
struct Kept {
    rounds: usize,
    doubts: Doubts,
    stop: Option<Stop>,
    /// Samples that fresh episodes took.
    confirming: u64,
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
            let (answer, measured) = match self.next(observer) {
                Ok(answered) => answered,
                // What was found before is not lost.
                Err(error) if self.kept.rounds > 0 => return Ok(Stop::Failed(error)),
                Err(error) => return Err(error),
            };
            responding += asked.elapsed();
            if let Err(error) = self.take(answer, &measured) {
                return Ok(Stop::Failed(error));
            }
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

    /// Learns until the next answer, and returns what its own episodes measured with it.
    fn next(&mut self, observer: &mut dyn Observer) -> Result<(Answer, Estimate)> {
        if self.kept.rounds == 0 && !self.target.has_objective() {
            // Without an objective there is nothing to learn for before something is violated.
            let lam = vec![0.0; self.target.set.dim()];
            let response = self.oracle.respond(&lam, f64::INFINITY)?;
            let spread = response.spread.ok_or_else(no_learner)?;
            self.ascent.observe(&response.z_hat, &spread, self.oracle.samples());
            let unmeasured = Estimate::new(lam.len());
            return Ok((Answer { lam, z: response.z_hat, policy: response.policy }, unmeasured));
        }
        loop {
            let due = self.ascent.work(self.oracle)?;
            let is_spent = self.oracle.samples() >= self.rule.samples;
            if due.is_some() || is_spent {
                let lam = due.unwrap_or_else(|| self.ascent.multipliers.lam());
                let (mut policy, measured) = self.oracle.following().ok_or_else(no_learner)?.players();
                if self.target.deployed != Deployed::Players
                    && let Some((_, last)) = policy.parts().last()
                {
                    policy = Mixed::shared(Arc::clone(last));
                }
                if let Some(latest) = self.latest.as_ref().filter(|_| measured.count() < 2) {
                    // Of who came after it nothing is known.
                    return Ok((latest.clone(), measured));
                }
                return Ok((Answer { lam, z: measured.mean().to_vec(), policy }, measured));
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

    fn take(&mut self, answer: Answer, measured: &Estimate) -> Result<()> {
        self.kept.rounds += 1;
        self.latest = Some(answer.clone());
        if matches!(self.target.deployed, Deployed::OneOrAll(_)) && self.is_learnt() {
            self.turns.push(answer.clone());
        }
        if !self.target.set.contains(&answer.z, self.rule.tolerance) {
            return Ok(());
        }
        if self.target.deployed == Deployed::Players {
            self.held = Some(answer.clone());
        }
        if self.target.has_objective() && self.is_worth_a_try(&answer, measured) {
            let (before, mut answer) = (self.oracle.samples(), answer);
            let estimates = self.oracle.estimates().ok_or_else(no_learner)?;
            let (set, tolerance) = (&self.target.set, self.rule.tolerance);
            let (holds, (z, _)) = afresh(estimates, &answer.policy, set, TRIED_ERRORS, tolerance)?;
            answer.z = z;
            let taken = self.oracle.samples() - before;
            self.kept.confirming += taken;
            self.ascent.skip(taken);
            if holds && is_better(&answer, self.confirmed.as_ref()) {
                self.confirmed = Some(answer);
            }
        }
        Ok(())
    }

    /// Whether all is learnt that is, and only multipliers move.
    fn is_learnt(&self) -> bool {
        let learning = match self.target.deployed {
            Deployed::OneOrAll(share) => share * self.rule.samples as f64,
            Deployed::Players | Deployed::One => 0.0,
        };
        (self.oracle.samples() - self.kept.confirming) as f64 >= learning
    }

    /// What would be deployed: what is confirmed, or else the last one that held.
    fn best(&self) -> Option<&Answer> {
        self.confirmed.as_ref().or(self.held.as_ref())
    }

    /// Whether an answer looks better than what is confirmed and likely to be confirmed, and fresh episodes have not taken too
    /// many samples by now. Those of an answer at the edge decide nothing, however many there are.
    fn is_worth_a_try(&self, answer: &Answer, measured: &Estimate) -> bool {
        let samples = self.oracle.samples();
        let has_room = self.kept.confirming as f64 <= TRIED_SHARE * samples as f64;
        let (set, tolerance) = (&self.target.set, self.rule.tolerance);
        let is_likely = || is_sure(measured, LIKELY_ERRORS, &least_deviations(measured), set, tolerance);
        is_better(answer, self.confirmed.as_ref()) && samples < self.rule.samples && has_room && is_likely()
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
        let objective = self.best().filter(|_| self.target.has_objective());
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
        let saved = |answer: &Answer| ((answer.lam.clone(), answer.z.clone()), answer.policy.clone());
        for answer in [&self.latest, &self.held, &self.confirmed] {
            saver.put(&answer.as_ref().map(saved));
        }
        saver.put(&self.turns.iter().map(saved).collect::<Vec<_>>());
        let Kept { rounds, doubts, stop, confirming } = &self.kept;
        saver.put(confirming);
        saver.put(rounds);
        doubts.save(&mut saver);
        saver.put(&stop.as_ref().and_then(code));
        Ok((*rounds, saver.into_bytes()))
    }

    fn load(&mut self, state: &[u8]) -> Result<()> {
        let mut loader = Loader::new(state);
        self.oracle.load(&mut loader)?;
        self.ascent.load(&mut loader)?;
        type SavedAnswer = ((Vec<f64>, Vec<f64>), Mixed);
        let dim = self.target.set.dim();
        let restored = |((lam, z), policy): SavedAnswer| {
            let is_number = |numbers: &[f64]| numbers.len() == dim && numbers.iter().all(|v| v.is_finite());
            if is_number(&lam) && is_number(&z) && oracle::fits(self.oracle, &policy) {
                Ok(Answer { lam, z, policy })
            } else {
                Err(misfit("an answer is for another problem"))
            }
        };
        for place in [&mut self.latest, &mut self.held, &mut self.confirmed] {
            *place = loader.get::<Option<SavedAnswer>>()?.map(restored).transpose()?;
        }
        self.turns = loader.get::<Vec<SavedAnswer>>()?.into_iter().map(restored).collect::<Result<_>>()?;
        let confirming = loader.get_where("a number of samples", |count| *count <= self.oracle.samples())?;
        let rounds = loader.get_count("a number of rounds")?;
        let doubts = Doubts::load(&mut loader)?;
        let stop = loader.get::<Option<u8>>()?.map(decode).transpose()?;
        self.kept = Kept { rounds, doubts, stop, confirming };
        loader.finish()?;
        if self.latest.is_none() {
            return Err(misfit("there is no answer to go on from"));
        }
        Ok(())
    }

    fn solution(self, stop: Stop) -> Result<Solution> {
        let (rounds, doubts, samples) = (self.kept.rounds, self.kept.doubts, self.oracle.samples());
        let (best, turns) = (self.best().cloned(), in_turn(&self.turns));
        // What was confirmed is the latest.
        let answer = if stop == Stop::Reached { self.latest } else { best.or(turns).or(self.latest) };
        let Some(Answer { z, policy, .. }) = answer else { return Err(misfit("there is no answer")) };
        let distance = self.target.set.distance(&z);
        let mut certificate = Evidence::default().certificate(z, distance, self.rule.tolerance);
        // Fresh episodes decide.
        certificate.verdict = crate::certificate::Verdict::Undecided;
        Ok(Solution { mixture: policy, certificate, rounds, samples, doubts, stop })
    }
}

/// Whether an answer has more of the objective than another, if there is one.
fn is_better(answer: &Answer, than: Option<&Answer>) -> bool {
    than.is_none_or(|than| answer.z.last() > than.z.last())
}

/// Those answers in turn: what they measure is the mean.
fn in_turn(answers: &[Answer]) -> Option<Answer> {
    let Answer { lam, z, .. } = answers.last()?;
    let share = 1.0 / answers.len() as f64;
    let mut mean = vec![0.0; z.len()];
    answers.iter().for_each(|answer| vector::add_scaled(&mut mean, share, &answer.z));
    let policy = Mixed::flatten(answers.iter().map(|answer| (share, answer.policy.clone())));
    Some(Answer { lam: lam.clone(), z: mean, policy })
}
