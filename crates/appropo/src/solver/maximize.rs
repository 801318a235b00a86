use std::sync::Arc;
use std::time::{Duration, Instant};

use super::appropo::{Game, load};
use super::lead::{LEADING, Lead};
use super::record::Record;
use super::{Goal, Observer, Stop, StopRule};
use crate::certificate::{Bound, Ceiling, Certificate, Separation, Verdict};
use crate::error::{Error, Result};
use crate::oracle::Respond;
use crate::player::{Decision, Player, Pursuit};
use crate::policy::{AnyPolicy, Mixed};
use crate::set::{Bounds, ConvexSet, Product, SharedSet};
use crate::state::{Loader, Saved, Saver};
use crate::utility::Criterion;

/// The largest value of a measurement, or of a concave function of several, subject to others lying in a set.
#[derive(Debug, Clone)]
pub struct Maximum {
    /// The value reached, an estimate where answers are; `None` if no feasible policy was found.
    pub value: Option<f64>,
    /// No feasible policy has more; infinite where nothing is proved.
    pub upper_bound: f64,
    /// The proof of that.
    pub ceiling: Option<Ceiling>,
    /// What the tolerance of the gap counts in: the size of the value, or a millionth of the largest size of the objective among
    /// all answers where that is more; 1 where it is 0 for all.
    pub unit: f64,
    /// The mixed policy that reaches it; the closest one to the set where none is feasible.
    pub mixture: Mixed,
    /// The evidence that it is feasible, or that none is. Its last measurements are the objective's.
    pub certificate: Certificate,
    /// Rounds played.
    pub rounds: usize,
    /// Calls of the oracle, not counting answers out of a cache.
    pub oracle_calls: usize,
    /// Steps taken in the environment.
    pub samples: u64,
    /// Why the search ended. An observer ends all of it, also where a part of it is done.
    pub stop: Stop,
}

/// The set with the objective as a free last entry, as the player and the certificate of a [`Maximum`] see it.
pub fn with_free_objective(set: &SharedSet) -> Result<SharedSet> {
    with_objective(set, f64::NEG_INFINITY)
}

pub(super) fn with_objective(set: &SharedSet, at_least: f64) -> Result<SharedSet> {
    let objective = Bounds::new(vec![at_least], vec![f64::INFINITY])?;
    Ok(Arc::new(Product::new(vec![Arc::clone(set), Arc::new(objective)])))
}

/// The best upper bound so far, with its proof.
pub(super) struct Top {
    pub upper_bound: f64,
    pub ceiling: Option<Ceiling>,
}

impl Default for Top {
    fn default() -> Self {
        Self { upper_bound: f64::INFINITY, ceiling: None }
    }
}

impl Top {
    /// Takes λ = (y, −g) with y·z ≤ offset on the set and the gradient g at a point, and what the oracle proved for it.
    pub fn lower(
        &mut self,
        criterion: &Criterion,
        (lam, offset): (&[f64], f64),
        at: Vec<f64>,
        bound: Option<&Bound>,
    ) {
        let Some(bound) = bound else { return };
        let (lam, offset) = bound.half_space(lam, offset);
        // The price of the objective, where that is one measure, is 1; a step to another λ may have changed it.
        let price = if criterion.is_last() { -lam.last().copied().unwrap_or(-1.0) } else { 1.0 };
        let divide = |v: &[f64]| -> Vec<f64> { v.iter().map(|v| v / price).collect() };
        let (lam, offset, value) = (divide(&lam), offset / price, bound.value / price);
        let tau = -lam.last().copied().unwrap_or(0.0);
        let upper_bound = criterion.upper_bound(&at, tau, offset, value);
        if upper_bound < self.upper_bound {
            self.upper_bound = upper_bound;
            let at = if criterion.is_last() { Vec::new() } else { at };
            let witness = match price == 1.0 {
                true => Arc::clone(&bound.witness),
                false => Arc::new(bound.witness.divided(price)),
            };
            self.ceiling = Some(Ceiling { lam, offset, at, witness });
        }
    }

    /// The same where the objective is one measure: λ = (y, −1).
    pub fn lower_measure(&mut self, lam: &[f64], offset: f64, bound: Option<&Bound>) {
        self.lower(&Criterion::last(), (lam, offset), vec![0.0], bound);
    }

    /// Takes the proof that no feasible policy reaches `threshold`: divided by the objective's price, it is a ceiling.
    pub fn refute(&mut self, threshold: f64, separation: Option<&Separation>) {
        let Some((separation, price)) = separation.and_then(|s| Some((s, -s.lam.last()?))) else { return };
        if threshold < self.upper_bound && price > 0.0 {
            let divide = |v: &[f64]| -> Vec<f64> { v.iter().map(|v| v / price).collect() };
            let witness = separation.witness.divided(price);
            self.upper_bound = threshold;
            self.ceiling = Some(Ceiling {
                lam: divide(&separation.lam),
                offset: (separation.offset + price * threshold) / price,
                at: Vec::new(),
                witness: Arc::new(witness),
            });
        }
    }

    pub fn save(&self, to: &mut Saver) {
        to.put(&self.upper_bound);
        to.put(&self.ceiling);
    }

    pub fn load(from: &mut Loader) -> Result<Self> {
        let upper_bound = from.get_where("an upper bound", |bound: &f64| !bound.is_nan())?;
        Ok(Self { upper_bound, ceiling: from.get()? })
    }
}

/// The first question, before there is any answer: what the objective rises with where nothing is measured.
pub(super) fn objective_alone(criterion: &Criterion, dim: usize) -> Decision {
    let lam = criterion.prices(&vec![0.0; dim - criterion.dim()], &nothing(criterion), 0.0);
    // Any policy will do at first.
    Decision { lam, offset: f64::INFINITY }
}

fn nothing(criterion: &Criterion) -> Vec<f64> {
    vec![0.0; criterion.function().dim()]
}

/// Maximises what `criterion` says of the oracle's last measurements subject to the others lying in `set`, with the
/// objective inside the master problem of `player`, who plays for [`Criterion::free`].
///
/// First the hull of answers is brought to the set as in [`appropo`](super::appropo). Then each round moves to the best
/// point of hull ∩ set, and asks the oracle for the policy that the set's multiplier y and the objective's gradient g there
/// price highest, max over π of g·u − y·z for Z̄(π) = (z, u). Where the oracle proves its answers, this bounds the maximum
/// from above.
///
/// Where answers are estimates, nothing is proved: the constraints are held by the player's margin, fresh episodes confirm
/// what looks better than anything before, and the best mixture so confirmed is the answer once the steps are used up.
pub fn maximize(
    set: &SharedSet,
    criterion: &Criterion,
    player: &mut dyn Player,
    oracle: &mut dyn Respond,
    rule: &StopRule,
    observer: &mut dyn Observer,
) -> Result<Maximum> {
    let (constraints, set) = (set, criterion.free(set));
    let rule = StopRule { goal: Goal::Feasibility, ..*rule };
    let mut record = Record::new(set.dim());
    let game = Game::new(&set, player, oracle, &rule, &mut record);
    let lead = Lead::new(constraints, &rule);
    Search {
        game,
        criterion,
        top: Top::default(),
        best: None,
        step: 0.0,
        ended: 0,
        asking: None,
        largest: 0.0,
        lead,
    }
    .run(observer)
}

/// [`maximize`] from where [`Round::state`](super::Round::state) was taken, with a player and an oracle that were made as
/// they were then. The result is bit for bit that of a search that was never interrupted.
pub fn resume_maximize(
    set: &SharedSet,
    criterion: &Criterion,
    player: &mut dyn Player,
    oracle: &mut dyn Respond,
    rule: &StopRule,
    observer: &mut dyn Observer,
    state: &[u8],
) -> Result<Maximum> {
    let (constraints, set) = (set, criterion.free(set));
    let rule = StopRule { goal: Goal::Feasibility, ..*rule };
    let mut loader = Loader::new(state);
    let mut record = load(&mut loader, &set, player, oracle)?;
    let top = Top::load(&mut loader)?;
    let best = Confirmed::load(&mut loader, set.dim(), &|policy| oracle.fits(policy))?;
    let step = loader.get_where("a step", |step: &f64| (0.0..=f64::MAX).contains(step))?;
    let (ended, asking) = (loader.get()?, loader.get()?);
    let largest = loader.get_where("the size of an objective", |size: &f64| *size >= 0.0)?;
    let mut lead = Lead::new(constraints, &rule);
    lead.load(&mut loader, set.dim())?;
    loader.finish()?;
    let game = Game::new(&set, player, oracle, &rule, &mut record);
    Search { game, criterion, top, best, step, ended, asking, largest, lead }.run(observer)
}

struct Search<'a> {
    game: Game<'a>,
    criterion: &'a Criterion,
    top: Top,
    /// The best mixture that fresh episodes put inside the constraints; `None` while answers are exact.
    best: Option<Confirmed>,
    /// By how much the next answer is to improve the objective, where answers are estimates.
    step: f64,
    /// The samples at which the last round ended.
    ended: u64,
    /// The samples until which an open question may take.
    asking: Option<u64>,
    /// The largest size of the objective among all answers.
    largest: f64,
    lead: Lead,
}

/// The share of the samples after which nothing new is asked for: the policies that carry weight are played again, so that
/// their mixture needs less of a margin, and after every such share it is confirmed.
const SETTLING: f64 = 0.8;
const SETTLED: f64 = 0.05;
/// Standard errors by which fresh episodes must keep away from the set's edge: more than for feasibility, since a maximum
/// lies at the edge and the best of several is taken.
const SURE: f64 = 2.0;

/// The least unit of the objective, in parts of its largest answer: a value of 0 has no size.
const SMALL: f64 = 1e-6;
/// Gains up to this, in units of the objective, are rounding.
const ROUNDING: f64 = 1e-13;

/// The first improvement that is asked for, in deviations of an episode, and how it changes once it was found or not.
const FIRST_STEP: f64 = 0.1;
const MORE: f64 = 1.5;
const LESS: f64 = 0.5;

impl Search<'_> {
    fn run(&mut self, observer: &mut dyn Observer) -> Result<Maximum> {
        self.game.rule.check()?;
        self.pursuit()?;
        let mut responding = Duration::ZERO;
        while self.game.record.rounds() < self.game.rule.rounds {
            if let Some(stop) = self.game.record.stop.take() {
                return Ok(self.maximum(stop));
            }
            let gain = match self.round(observer) {
                Ok((gain, taken)) => {
                    responding += taken;
                    let size = self.criterion.value(&self.game.record.latest().1.z_hat).abs();
                    self.largest = self.largest.max(size);
                    gain
                }
                // What was found before is not lost.
                Err(error) if self.game.record.rounds() > 0 => return Ok(self.maximum(Stop::Failed(error))),
                Err(error) => return Err(error),
            };
            // Saved with the state: a search that is taken up again ends where this one does.
            let stop = self.reason_to_stop(gain).unwrap_or_else(|error| Some(Stop::Failed(error)));
            self.game.record.stop = stop;
            self.ended = self.game.oracle.samples();
            match self.show(responding, observer) {
                Ok(true) => {}
                Ok(false) => {
                    let stop = self.game.record.stop.take().unwrap_or(Stop::Observer);
                    return Ok(self.maximum(stop));
                }
                Err(error) => return Ok(self.maximum(Stop::Failed(error))),
            }
        }
        let stop = self.game.record.stop.take().unwrap_or(Stop::Rounds);
        Ok(self.maximum(stop))
    }

    /// One round: of the game while the hull is outside the set, then of column generation. Returns by how much the answer
    /// is better than the mixture at the prices in force.
    fn round(&mut self, observer: &mut dyn Observer) -> Result<(f64, Duration)> {
        if self.asking.is_none()
            && self.is_leading()
            && let Some(taken) = self.follow(observer)?
        {
            return Ok((0.0, taken));
        }
        let is_first = self.game.record.rounds() == 0;
        let until = self.asking.unwrap_or_else(|| self.until(is_first));
        self.asking = Some(until);
        self.game.until = until;
        let answered = self.question(is_first, observer)?;
        self.asking = None;
        Ok(answered)
    }

    /// The samples until which a question that is asked now may take: those at which something else begins.
    fn until(&self, is_first: bool) -> u64 {
        let (samples, rule) = (self.game.oracle.samples(), self.game.rule);
        let ends = [LEADING.start, SETTLING].map(|end| share(end, rule));
        ends.into_iter().find(|end| samples < *end && !is_first).unwrap_or(u64::MAX)
    }

    fn question(&mut self, is_first: bool, observer: &mut dyn Observer) -> Result<(f64, Duration)> {
        let is_pursuing = self.pursuit()?.is_pursuing();
        let Self { game, criterion, top, best, step, ended, asking, largest, lead } = self;
        let rest = |to: &mut Saver| save(top, best, (*step, *ended, *asking, *largest), lead, to);
        if !is_first && !is_pursuing {
            return Ok((0.0, game.round(&rest, observer)?));
        }
        let alone = objective_alone(criterion, game.set.dim());
        let decision = if is_first { alone } else { game.player.decision().clone() }; // λ = (y, −g)
        let now = game.record.z_bar().to_vec();
        let wanted = criterion.level(&decision.lam, &now) + *step * criterion.steps(&now);
        let asked = Instant::now();
        let response = game.ask(&decision.lam, decision.offset - wanted, &rest, observer)?;
        let taken = asked.elapsed();
        let gain = criterion.gain(&decision.lam, decision.offset, &now, &response.z_hat);
        // y·z ≤ 0 on the set for y = 0. An aim tightened for estimates bounds nothing.
        let (offset, at) =
            if is_first { (0.0, nothing(criterion)) } else { (decision.offset, criterion.argument(&now)) };
        if response.spread.is_none() {
            top.lower(criterion, (&decision.lam, offset), at, response.bound.as_ref());
        }
        game.player.observe(&response.z_hat, response.spread.as_ref())?;
        game.record.add(decision, response, game.player);
        Ok((gain, taken))
    }

    fn is_leading(&mut self) -> bool {
        // Multipliers and trust regions go for one measure.
        if !self.criterion.is_last() {
            return false;
        }
        let samples = self.game.oracle.samples();
        let is_time =
            (share(LEADING.start, self.game.rule)..share(LEADING.end, self.game.rule)).contains(&samples);
        is_time && self.game.oracle.following().is_some()
    }

    /// Takes the learner's next answer while it goes on by itself; `None` where the samples for that end before there is one.
    fn follow(&mut self, observer: &mut dyn Observer) -> Result<Option<Duration>> {
        let asked = Instant::now();
        let lam = self.game.player.decision().lam.clone();
        let ascent = self.lead.turn(&lam, self.game.oracle, self.game.rule)?;
        let lam = loop {
            if let Some(lam) = self.lead.ascents[ascent].work(self.game.oracle)? {
                break lam;
            }
            if !self.is_leading() {
                break self.lead.ascents[ascent].lam();
            }
            self.game.show_progress(&|to| self.save(to), observer)?;
        };
        self.lead.is_open = false;
        let game = &mut self.game;
        let Some(learner) = game.oracle.following().filter(|learner| learner.players().1.count() > 1) else {
            return Ok(None);
        };
        let response = learner.answer(&lam);
        self.lead.last[ascent] = Some(response.z_hat.clone());
        game.player.observe(&response.z_hat, response.spread.as_ref())?;
        game.record.add(Decision { lam, offset: f64::INFINITY }, response, game.player);
        Ok(Some(asked.elapsed()))
    }

    fn save(&self, to: &mut Saver) {
        save(&self.top, &self.best, (self.step, self.ended, self.asking, self.largest), &self.lead, to);
    }

    fn reason_to_stop(&mut self, gain: f64) -> Result<Option<Stop>> {
        if self.is_leading() {
            return Ok(None);
        }
        if !self.pursuit()?.is_pursuing() {
            // What is judged is the optimum.
            let stop = self.game.reason_to_stop(&mut ())?;
            let is_inside = self.game.set.contains(self.game.record.z_bar(), self.game.rule.tolerance);
            if stop != Some(Stop::Reached) || !is_inside {
                return Ok(stop);
            }
            self.begin()?;
            return Ok(self.is_at_the_top().then_some(Stop::Reached));
        }
        if self.game.record.is_estimated() {
            return self.improve(gain);
        }
        let has_bound = self.game.record.latest().1.bound.is_some();
        let is_done = self.is_at_the_top()
            || self.has_nothing_to_gain(gain)
            || !has_bound && gain <= self.game.rule.tolerance * self.unit();
        Ok(is_done.then_some(Stop::Reached))
    }

    /// The mixture is feasible: from here on it is to be the best.
    fn begin(&mut self) -> Result<()> {
        let record = &self.game.record;
        if record.is_estimated() {
            let z_bar = record.z_bar();
            let spread = record.latest().1.spread.as_ref();
            let deviation = spread.map_or(0.0, |spread| self.criterion.deviation(z_bar, &spread.deviations));
            self.step = FIRST_STEP * deviation;
            self.best = Some(Confirmed { mixture: record.mixture(), z: record.z_bar().to_vec(), error: 0.0 });
        }
        self.pursuit()?.pursue()?;
        self.game.record.weigh(self.game.player);
        Ok(())
    }

    /// Learns more of the policies that carry weight, for half as many steps as the last answer took, and confirms a mixture
    /// that looks better than any before. The master problem takes up whoever looks too good: there is always more to learn.
    fn improve(&mut self, gain: f64) -> Result<Option<Stop>> {
        self.step *= if gain >= self.step { MORE } else { LESS };
        let taken = self.game.oracle.samples().saturating_sub(self.ended);
        self.look_again(taken / 2)?;
        loop {
            let is_spent =
                self.game.record.latest().1.gave_up || self.game.oracle.samples() >= self.game.rule.samples;
            let is_settling = self.game.oracle.samples() >= share(SETTLING, self.game.rule);
            if self.is_promising(is_settling) {
                self.confirm()?;
            }
            if is_spent {
                return Ok(Some(Stop::Samples));
            }
            // What plays nothing again goes on with what is new.
            if !is_settling || !self.look_again(share(SETTLED, self.game.rule))? {
                return Ok(None);
            }
        }
    }

    /// Plays the policies that carry weight again for so many steps; `false` where they can't be.
    fn look_again(&mut self, steps: u64) -> Result<bool> {
        let until = self.game.oracle.samples().saturating_add(steps).min(self.game.rule.samples);
        loop {
            let before = self.game.oracle.samples();
            let is_known_better = self.game.look_again(true)?;
            let now = self.game.oracle.samples();
            if !is_known_better || now == before || now >= until {
                return Ok(now > before);
            }
        }
    }

    fn is_promising(&mut self, is_settling: bool) -> bool {
        let value = self.criterion.value(self.game.record.z_bar());
        let needed =
            |best: &Confirmed| self.criterion.value(&best.z) + if is_settling { 0.0 } else { best.error };
        let is_inside =
            self.game.player.margin().is_none_or(|margin| margin.distance() <= self.game.rule.tolerance);
        is_inside && self.best.as_ref().is_none_or(|best| value > needed(best))
    }

    /// Plays the mixture afresh, and keeps it if it holds the constraints and is the best so far. If it does not hold them,
    /// the margin grows.
    fn confirm(&mut self) -> Result<()> {
        let afresh = self.game.play_afresh(SURE)?;
        let mixture = self.game.record.mixture();
        let confirmed = match afresh {
            Some((false, _)) => return self.game.increase_margin().map(drop),
            Some((true, (z, spread))) => {
                let error = self.criterion.deviation(&z, &spread.deviations) / spread.episodes.sqrt();
                Confirmed { mixture, z, error }
            }
            // An oracle that plays nothing again: its estimates are all there is.
            None => Confirmed { mixture, z: self.game.record.z_bar().to_vec(), error: 0.0 },
        };
        let value = |confirmed: &Confirmed| self.criterion.value(&confirmed.z);
        if self.best.as_ref().is_none_or(|best| value(&confirmed) > value(best)) {
            self.best = Some(confirmed);
        }
        Ok(())
    }

    /// Whether the mixture is feasible, and no better one can be.
    fn is_at_the_top(&self) -> bool {
        let (z_bar, tolerance) = (self.game.record.z_bar(), self.game.rule.tolerance);
        let gap = self.top.upper_bound - self.criterion.value(z_bar);
        self.game.set.contains(z_bar, tolerance) && gap <= tolerance * self.unit()
    }

    /// What the tolerance counts in for the objective, so that its own unit makes no difference.
    fn unit(&self) -> f64 {
        let size = self.criterion.value(self.game.record.z_bar()).abs().max(SMALL * self.largest);
        if size > 0.0 { size } else { 1.0 }
    }

    /// Whether the best policy at the prices in force is no better than the mixture: what is left of the gap is the rounding of
    /// its proof.
    fn has_nothing_to_gain(&self, gain: f64) -> bool {
        gain <= ROUNDING * self.unit()
            && self.game.set.contains(self.game.record.z_bar(), self.game.rule.tolerance)
    }

    /// The measurements of the best mixture with the constraints held.
    fn best_z(&self) -> Option<&[f64]> {
        let (record, rule) = (&self.game.record, self.game.rule);
        let is_exact = !record.is_estimated() && self.game.set.contains(record.z_bar(), rule.tolerance);
        // A point outside the set has no claim to be a maximum.
        self.best.as_ref().map(|best| best.z.as_slice()).or(is_exact.then_some(record.z_bar()))
    }

    fn show(&self, responding: Duration, observer: &mut dyn Observer) -> Result<bool> {
        let value = self.best_z().map(|z| self.criterion.value(z));
        self.game.show(responding, value, &|to| self.save(to), observer)
    }

    fn pursuit(&mut self) -> Result<&mut dyn Pursuit> {
        self.game.player.pursuit().ok_or_else(no_pursuit)
    }

    fn maximum(&mut self, stop: Stop) -> Maximum {
        let value = self.best_z().map(|z| self.criterion.value(z));
        let (record, rule) = (&self.game.record, self.game.rule);
        let (mixture, z_bar) = match self.best.take() {
            Some(best) => (best.mixture, best.z),
            None => (record.mixture(), record.z_bar().to_vec()),
        };
        let distance = self.game.set.distance(&z_bar);
        let mut certificate = record.evidence.clone().certificate(z_bar, distance, rule.tolerance);
        if record.is_estimated() && certificate.verdict == Verdict::Feasible {
            certificate.verdict = Verdict::Undecided;
        }
        let is_infeasible = certificate.verdict == Verdict::Infeasible;
        Maximum {
            value,
            upper_bound: if is_infeasible { f64::NEG_INFINITY } else { self.top.upper_bound },
            ceiling: self.top.ceiling.take(),
            unit: self.unit(),
            mixture,
            certificate,
            rounds: record.rounds(),
            oracle_calls: record.rounds(),
            samples: self.game.oracle.samples(),
            stop,
        }
    }
}

/// What a search goes on from besides its game.
fn save(
    top: &Top,
    best: &Option<Confirmed>,
    (step, ended, asking, largest): (f64, u64, Option<u64>, f64),
    lead: &Lead,
    to: &mut Saver,
) {
    top.save(to);
    to.put(best);
    to.put(&step);
    to.put(&ended);
    to.put(&asking);
    to.put(&largest);
    lead.save(to);
}

pub(super) fn share(of: f64, rule: &StopRule) -> u64 {
    (of * rule.samples as f64) as u64
}

/// What a player says who goes for no objective.
fn no_pursuit() -> Error {
    Error::Objective(
        "an objective goes into the master problem of the player \"fully-corrective\"; no other player has one".into(),
    )
}

/// A mixture that was played afresh and held the constraints.
#[derive(Clone)]
pub(super) struct Confirmed {
    pub mixture: Mixed,
    pub z: Vec<f64>,
    /// The standard error of its objective.
    pub error: f64,
}

impl Confirmed {
    fn fits(&self, dim: usize, fits: &dyn Fn(&AnyPolicy) -> bool) -> bool {
        self.z.len() == dim && self.mixture.parts().iter().all(|(_, policy)| fits(policy))
    }

    /// Takes it back, if its policies fit and it measures `dim` entries.
    pub fn load(from: &mut Loader, dim: usize, fits: &dyn Fn(&AnyPolicy) -> bool) -> Result<Option<Self>> {
        from.get_where("a confirmed mixture", |best: &Option<Self>| {
            best.as_ref().is_none_or(|best| best.fits(dim, fits))
        })
    }

    /// The same of several.
    pub fn load_all(from: &mut Loader, dim: usize, fits: &dyn Fn(&AnyPolicy) -> bool) -> Result<Vec<Self>> {
        from.get_where("a confirmed mixture", |all: &Vec<Self>| all.iter().all(|one| one.fits(dim, fits)))
    }
}

impl Saved for Confirmed {
    fn save(&self, to: &mut Saver) {
        to.put(&self.mixture);
        to.put(&(self.z.clone(), self.error));
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let mixture = from.get()?;
        let is_known = |(z, error): &(Vec<f64>, f64)| z.iter().all(|v| v.is_finite()) && *error >= 0.0;
        let (z, error) = from.get_where("a measurement", is_known)?;
        Ok(Self { mixture, z, error })
    }
}
