use super::{Observer, Round};
use crate::certificate::{Certificate, Evidence, Verdict};
use crate::error::{Error, Result, in_range};
use crate::oracle::{self, Respond, Response};
use crate::player::{Decision, Player, holds};
use crate::policy::{AnyPolicy, Mixed};
use crate::set::{ConvexSet, Errors, SharedSet};
use crate::state::{Loader, Saved, Saver, misfit};
use crate::vector;

/// What to stop at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Goal {
    /// The least distance (Algorithm 2): an infeasible problem goes on until the bounds meet.
    #[default]
    Distance,
    /// Feasibility (Algorithm 4, in the appendix): stop at the first proof that no policy will do.
    Feasibility,
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// T, the most rounds to play.
    pub rounds: usize,
    /// Distances and gaps up to this count as 0.
    pub tolerance: f64,
    /// What to stop at.
    pub goal: Goal,
    /// ε₀ + ε₁, the errors of answers and estimates. An answer that pays λ more than this refutes feasibility, as far as
    /// those errors are known; the verdict is infeasible only where the oracle proves it.
    pub epsilon: f64,
    /// Steps in the world after which no more answers are asked for.
    pub samples: u64,
}

impl Default for Options {
    /// 1,000 rounds, 1e-6, the least distance, errors up to 1e-6, any number of steps.
    fn default() -> Self {
        Self { rounds: 1000, tolerance: 1e-6, goal: Goal::Distance, epsilon: 1e-6, samples: u64::MAX }
    }
}

impl Options {
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

/// A mixed policy and the evidence for what it is.
#[derive(Debug, Clone)]
pub struct Solution<P> {
    /// μ̄.
    pub mixture: Mixed<P>,
    /// What is claimed of it. Where answers are estimates it claims nothing: fresh episodes decide.
    pub certificate: Certificate,
    /// Rounds played, each with one call of the oracle.
    pub rounds: usize,
    /// The player's regret over these rounds.
    pub regret: f64,
    /// Whether the oracle gave up: the problem is empirically infeasible.
    pub gave_up: bool,
    /// What went wrong after the first round, if anything did; the rest is what had been found by then.
    pub failure: Option<Error>,
}

impl<P: Clone + Into<AnyPolicy>> Solution<P> {
    /// The same solution, its policies told apart only when the program runs.
    pub fn into_any(self) -> Solution<AnyPolicy> {
        Solution {
            mixture: self.mixture.map(|policy| policy.clone().into()),
            certificate: self.certificate,
            rounds: self.rounds,
            regret: self.regret,
            gave_up: self.gave_up,
            failure: self.failure,
        }
    }
}

/// ApproPO: finds a mixed policy whose measurements lie in `set`, or as close to it as any policy's can.
pub fn appropo<O: Respond>(
    set: &SharedSet,
    player: &mut dyn Player,
    oracle: &mut O,
    options: &Options,
    observer: &mut dyn Observer<O::Policy>,
) -> Result<Solution<O::Policy>> {
    let mut record = Record::default();
    let distance = play(set, player, oracle, options, observer, &mut record)?;
    Ok(record.solution(player, distance, options.tolerance))
}

/// [`appropo`] from where [`Round::state`] was taken, with a player and an oracle that were made as they were then. The
/// result is bit for bit that of a run that was never interrupted.
pub fn resume<O: Respond>(
    set: &SharedSet,
    player: &mut dyn Player,
    oracle: &mut O,
    options: &Options,
    observer: &mut dyn Observer<O::Policy>,
    state: &[u8],
) -> Result<Solution<O::Policy>> {
    let mut loader = Loader::new(state);
    player.load(&mut loader)?;
    oracle.load(&mut loader)?;
    let mut record: Record<O::Policy> = loader.get()?;
    loader.finish()?;
    record.check(player, oracle)?;
    let distance = play(set, player, oracle, options, observer, &mut record)?;
    Ok(record.solution(player, distance, options.tolerance))
}

/// The rounds of [`appropo`], from wherever `player` and `record` stand. Returns the distance reached.
pub(super) fn play<O: Respond>(
    set: &SharedSet,
    player: &mut dyn Player,
    oracle: &mut O,
    options: &Options,
    observer: &mut dyn Observer<O::Policy>,
    record: &mut Record<O::Policy>,
) -> Result<f64> {
    options.check()?;
    while record.rounds < options.rounds && !record.is_over {
        let decision = player.decision().clone(); // λₜ
        let response = match oracle.respond(&decision.lam, decision.offset) {
            Ok(response) => response, // πₜ for reward −λₜ·z, with ẑₜ
            Err(error) if record.rounds > 0 => {
                record.failure = Some(error);
                break;
            }
            Err(error) => return Err(error),
        };
        player.observe(&response.z_hat, response.spread.as_ref())?; // λₜ₊₁
        record.add(&decision, &response, player);
        if let Err(error) = record.make_sure(set, player, oracle, options) {
            record.failure = Some(error);
        }
        record.gave_up = response.gave_up;
        let loss = decision.offset - vector::dot(&decision.lam, &response.z_hat); // ℓₜ(λₜ)
        let refuted = options.goal == Goal::Feasibility && loss < -options.epsilon && !player.is_cautious();
        let lower_bound = record.evidence.lower_bound();
        record.is_over =
            record.failure.is_some() || refuted || record.gave_up || oracle.samples() >= options.samples;
        if !record.is_over && options.reached(player.distance(), lower_bound) {
            match record.is_confirmed(set, player, oracle, options.tolerance) {
                Ok(is_confirmed) => record.is_over = is_confirmed,
                Err(error) => (record.failure, record.is_over) = (Some(error), true),
            }
        }
        let now = Round {
            round: record.rounds,
            lam: &decision.lam,
            z_hat: &response.z_hat,
            z_bar: player.z_bar(),
            distance: set.distance(player.z_bar()),
            lower_bound,
            samples: oracle.samples(),
            mixture: &|| record.mixture(player.weights()),
            state: &|| record.state(player, oracle),
        };
        if observer.round(&now).is_break() {
            break;
        }
    }
    Ok(set.distance(player.z_bar()))
}

impl<P: Saved + Send + Sync + 'static> Saved for Record<P> {
    fn save(&self, to: &mut Saver) {
        to.put(&self.policies);
        to.put(&self.evidence);
        to.put(&(self.rounds, self.capacity));
        to.put(&(self.is_estimated, (self.gave_up, self.is_over)));
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let (policies, evidence): (Vec<(usize, Mixed<P>)>, _) = from.get()?;
        let rounds = from.get_count("a number of rounds")?;
        let numbers = policies.iter().map(|(index, _)| *index).chain([rounds]);
        if !numbers.is_sorted_by(|a, b| a < b) {
            return Err(misfit("policies are not in the order of their rounds"));
        }
        let capacity = from.get_where("a capacity", |most| *most <= 64 + 2 * policies.len())?;
        let (is_estimated, (gave_up, is_over)) = from.get()?;
        Ok(Self { policies, evidence, rounds, capacity, is_estimated, gave_up, is_over, failure: None })
    }
}

/// Standard errors by which fresh episodes must keep away from the set's edge to confirm a mixture.
const SURE: f64 = 1.0;

/// How often a mixture is looked at again before another answer is asked for.
const LOOKS: usize = 20;

/// The answers so far: policies by number, and what they prove.
pub(super) struct Record<P> {
    policies: Vec<(usize, Mixed<P>)>,
    pub(super) evidence: Evidence,
    pub(super) rounds: usize,
    /// Whether any answer is an estimate.
    is_estimated: bool,
    pub(super) gave_up: bool,
    pub(super) failure: Option<Error>,
    /// Whether no more rounds are worth playing.
    is_over: bool,
    /// Policies to hold before those without weight are let go.
    capacity: usize,
}

impl<P> Default for Record<P> {
    fn default() -> Self {
        Self {
            policies: Vec::new(),
            evidence: Evidence::default(),
            rounds: 0,
            is_estimated: false,
            gave_up: false,
            failure: None,
            is_over: false,
            capacity: 64,
        }
    }
}

impl<P> Record<P> {
    pub(super) fn add(&mut self, decision: &Decision, response: &Response<P>, player: &dyn Player) {
        // An aim tightened for estimates says nothing of the set itself.
        if let Some(bound) = response.bound.as_ref().filter(|_| !player.is_cautious()) {
            self.evidence.add(&decision.lam, decision.offset, bound);
        }
        self.is_estimated |= response.spread.is_some();
        self.keep(response);
        if self.policies.len() > self.capacity {
            self.policies.retain(|(index, _)| player.keeps(*index));
            self.capacity = 64 + 2 * self.policies.len();
        }
    }

    /// Takes the policy alone.
    pub(super) fn keep(&mut self, response: &Response<P>) {
        self.policies.push((self.rounds, response.policy.clone()));
        self.rounds += 1;
    }

    /// The mixture with these weights.
    pub(super) fn mixture(&self, weights: impl IntoIterator<Item = (usize, f64)>) -> Mixed<P> {
        Mixed::flatten(
            weights.into_iter().filter_map(|(index, weight)| Some((weight, self.policy(index)?.clone()))),
        )
    }

    fn state<O: Respond<Policy = P>>(&self, player: &dyn Player, oracle: &O) -> Result<Vec<u8>>
    where
        P: Saved + Send + Sync + 'static,
    {
        let mut saver = Saver::default();
        player.save(&mut saver)?;
        oracle.save(&mut saver)?;
        saver.put(self);
        Ok(saver.into_bytes())
    }

    /// Whether what was read belongs together.
    fn check<O: Respond<Policy = P>>(&self, player: &dyn Player, oracle: &O) -> Result<()> {
        if !self.policies.iter().all(|(_, policy)| oracle::fits(oracle, policy)) {
            return Err(misfit("a policy is for another world"));
        }
        let weights = player.weights();
        if weights.is_empty() || weights.iter().any(|(index, _)| self.policy(*index).is_none()) {
            return Err(misfit("a policy of the mixture is missing"));
        }
        Ok(())
    }

    fn policy(&self, index: usize) -> Option<&Mixed<P>> {
        let place = self.policies.binary_search_by_key(&index, |(i, _)| *i).ok()?;
        Some(&self.policies[place].1)
    }

    /// Where answers are estimates, takes better ones as the oracle has them. While the mixture lies in the set, but not
    /// as surely as the player wants, its policies are played again.
    fn make_sure<O: Respond<Policy = P>>(
        &self,
        set: &SharedSet,
        player: &mut dyn Player,
        oracle: &mut O,
        options: &Options,
    ) -> Result<()> {
        for _ in 0..LOOKS {
            let is_inside = set.contains(player.z_bar(), options.tolerance);
            let is_sure = player.distance() <= options.tolerance;
            let mut better = Vec::new();
            for (index, weight) in player.doubts() {
                let Some(policy) = self.policy(index) else { continue };
                if is_inside && !is_sure {
                    oracle.investigate(policy, weight)?;
                }
                if let Some((z_hat, spread)) = oracle.measure_again(policy)? {
                    better.push((index, z_hat, spread));
                }
            }
            if better.is_empty() {
                break;
            }
            player.revise(better)?;
        }
        Ok(())
    }

    /// Whether fresh episodes of the mixture say what its estimates do. If they don't, the player takes more care.
    fn is_confirmed<O: Respond<Policy = P>>(
        &self,
        set: &SharedSet,
        player: &mut dyn Player,
        oracle: &mut O,
        tolerance: f64,
    ) -> Result<bool> {
        if !self.is_estimated {
            return Ok(true);
        }
        let Some((mean, spread)) = oracle.play_afresh(&self.mixture(player.weights()))? else {
            return Ok(true);
        };
        let error = |deviation: &f64| SURE * deviation / spread.episodes.sqrt();
        let errors = Errors::Standard(spread.deviations.iter().map(error).collect());
        Ok(holds(set, &mean, &errors, tolerance) || !player.take_more_care()?)
    }

    fn solution(self, player: &dyn Player, distance: f64, tolerance: f64) -> Solution<P> {
        let mixture = self.mixture(player.weights());
        let mut certificate = self.evidence.certificate(player.z_bar().to_vec(), distance, tolerance);
        // What answers were waited for, and what a master chose among them, is too good: fresh episodes decide.
        if self.is_estimated && certificate.verdict == Verdict::Feasible {
            certificate.verdict = Verdict::Undecided;
        }
        Solution {
            mixture,
            certificate,
            rounds: self.rounds,
            regret: player.regret(),
            gave_up: self.gave_up,
            failure: self.failure,
        }
    }
}
