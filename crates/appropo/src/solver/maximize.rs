use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::appropo::Game;
use super::record::Record;
use super::{Goal, Observer, Round, Stop, StopRule, appropo};
use crate::certificate::{Bound, Ceiling, Certificate, Separation, ValueFunction, Verdict};
use crate::error::{Error, Result};
use crate::oracle::{Cache, Respond};
use crate::player::{Decision, FullyCorrective, Player, Weights};
use crate::policy::Mixed;
use crate::set::{Bounds, ConvexSet, Product, SharedSet};

/// The largest value of one measurement subject to the others lying in a set.
#[derive(Debug, Clone)]
pub struct Maximum {
    /// The value reached; `None` if no feasible policy was found.
    pub value: Option<f64>,
    /// No feasible policy has more.
    pub upper_bound: f64,
    /// The proof of that.
    pub ceiling: Option<Ceiling>,
    /// The mixed policy that reaches it.
    pub mixture: Mixed,
    /// The evidence that it is feasible, or that none is. Its last measurement is the objective's.
    pub certificate: Certificate,
    /// Calls of the oracle.
    pub oracle_calls: usize,
    /// Why the search ended. An observer ends all of it, also where a part of it is done.
    pub stop: Stop,
}

/// The set with the objective as a free last entry, as the certificate of a [`Maximum`] sees it.
pub fn with_free_objective(set: &SharedSet) -> Result<SharedSet> {
    with_objective(set, f64::NEG_INFINITY)
}

fn with_objective(set: &SharedSet, at_least: f64) -> Result<SharedSet> {
    let objective = Bounds::new(vec![at_least], vec![f64::INFINITY])?;
    Ok(Arc::new(Product::new(vec![Arc::clone(set), Arc::new(objective)])))
}

fn none_found(
    mixture: Mixed,
    certificate: Certificate,
    top: Top,
    oracle_calls: usize,
    stop: Stop,
) -> Maximum {
    let infeasible = certificate.verdict == Verdict::Infeasible;
    let upper_bound = if infeasible { f64::NEG_INFINITY } else { top.upper_bound };
    Maximum { value: None, upper_bound, ceiling: top.ceiling, mixture, certificate, oracle_calls, stop }
}

/// Remembers whether an observer had seen enough or failed: the games of a search may end for reasons of their own.
struct Watched<'a> {
    observer: &'a mut dyn Observer,
    ended: Option<Stop>,
}

impl Observer for Watched<'_> {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        let seen = self.observer.round(round);
        match &seen {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => self.ended = Some(Stop::Observer),
            Err(error) => self.ended = Some(Stop::Failed(error.clone())),
        }
        seen
    }
}

/// The best upper bound so far, with its proof.
struct Top {
    upper_bound: f64,
    ceiling: Option<Ceiling>,
}

impl Default for Top {
    fn default() -> Self {
        Self { upper_bound: f64::INFINITY, ceiling: None }
    }
}

impl Top {
    /// Takes λ = (y, −1) with y·z ≤ offset on the set, and what the oracle proved for it.
    fn lower(&mut self, lam: &[f64], offset: f64, bound: Option<&Bound>) {
        if let Some(bound) = bound.filter(|bound| offset - bound.value < self.upper_bound) {
            self.upper_bound = offset - bound.value;
            self.ceiling = Some(Ceiling { lam: lam.to_vec(), offset, witness: Arc::clone(&bound.witness) });
        }
    }

    /// Takes the proof that no feasible policy reaches `threshold`: divided by the objective's price, it is a ceiling.
    fn refute(&mut self, threshold: f64, separation: Option<&Separation>) {
        let Some((separation, price)) = separation.and_then(|s| Some((s, -s.lam.last()?))) else { return };
        if threshold < self.upper_bound && price > 0.0 {
            let divide = |v: &[f64]| -> Vec<f64> { v.iter().map(|v| v / price).collect() };
            let witness =
                ValueFunction { values: divide(&separation.witness.values), ..(*separation.witness).clone() };
            self.upper_bound = threshold;
            self.ceiling = Some(Ceiling {
                lam: divide(&separation.lam),
                offset: (separation.offset + price * threshold) / price,
                witness: Arc::new(witness),
            });
        }
    }
}

fn objective_alone(dim: usize) -> Decision {
    let mut lam = vec![0.0; dim];
    lam[dim - 1] = -1.0;
    Decision { lam, offset: f64::INFINITY }
}

/// Maximises the oracle's last measurement subject to the others lying in `set`, with the objective inside the
/// corrective player's master problem.
///
/// First the hull of answers is brought to the set as in [`appropo`]. Then each round moves to the best point
/// of hull ∩ set, and asks the oracle for the policy that the set's multiplier y prices highest,
/// max over π of (objective − y·Z̄), which also bounds the maximum from above.
pub fn maximize(
    set: &SharedSet,
    oracle: &mut dyn Respond,
    rule: &StopRule,
    observer: &mut dyn Observer,
) -> Result<Maximum> {
    let dim = set.dim() + 1;
    let set = with_free_objective(set)?;
    let mut player = FullyCorrective::new(Arc::clone(&set));
    let mut record = Record::new(dim);
    let mut observer = Watched { observer, ended: None };
    let alone = objective_alone(dim);
    rule.check()?;
    let response = oracle.respond(&alone.lam, f64::NEG_INFINITY)?;
    let mut top = Top::default();
    top.lower(&alone.lam, 0.0, response.bound.as_ref());
    player.observe(&response.z_hat, response.spread.as_ref())?;
    record.add(alone, response, &mut player);
    let mut stop = Stop::Reached;
    if set.distance(record.z_bar()) > rule.tolerance {
        let feasibility = StopRule { goal: Goal::Feasibility, ..*rule };
        let (player, record) = (&mut player, &mut record);
        let played = Game { set: &set, player, oracle, rule: &feasibility, record }.play(&mut observer)?;
        stop = match (observer.ended.take(), played) {
            (Some(ended), _) => ended,
            (None, Stop::Failed(error)) => return Err(error),
            (None, played) => played,
        };
    }
    let distance = set.distance(record.z_bar());
    if distance > rule.tolerance {
        let certificate =
            record.evidence.clone().certificate(record.z_bar().to_vec(), distance, rule.tolerance);
        return Ok(none_found(record.mixture(), certificate, top, record.rounds(), stop));
    }
    let is_ended = matches!(stop, Stop::Observer | Stop::Failed(_));
    let (mut hull, mut price) = (player.into_hull(), Vec::new());
    stop = if is_ended { stop } else { Stop::Rounds };
    for _ in 0..if is_ended { 0 } else { rule.rounds } {
        let decision = hull.maximize(&set, &mut price)?;
        record.mix(Weights::Listed(hull.weights().collect()));
        let value = hull.point()[dim - 1];
        let feasible = set.contains(hull.point(), rule.tolerance);
        if feasible && top.upper_bound - value <= rule.tolerance {
            stop = Stop::Reached;
            break;
        }
        let response = oracle.respond(&decision.lam, f64::NEG_INFINITY)?;
        top.lower(&decision.lam, decision.offset, response.bound.as_ref());
        hull.add(record.rounds(), &response.z_hat, response.spread.clone());
        record.keep(decision, response);
        record.mix(Weights::Listed(hull.weights().collect()));
        let is_over = feasible && top.upper_bound - value <= rule.tolerance;
        // What an observer breaks or fails at is remembered.
        let _ = show(&record, &set, oracle, &mut observer);
        if let Some(ended) = observer.ended.take().or(is_over.then_some(Stop::Reached)) {
            stop = ended;
            break;
        }
    }
    let z_bar = record.z_bar().to_vec();
    let distance = set.distance(&z_bar);
    Ok(Maximum {
        // A point outside the set has no claim to be a maximum.
        value: (distance <= rule.tolerance).then_some(z_bar[dim - 1]),
        upper_bound: top.upper_bound,
        ceiling: top.ceiling,
        mixture: record.mixture(),
        certificate: record.evidence.clone().certificate(z_bar, distance, rule.tolerance),
        oracle_calls: record.rounds(),
        stop,
    })
}

fn show(
    record: &Record,
    set: &SharedSet,
    oracle: &dyn Respond,
    observer: &mut dyn Observer,
) -> Result<ControlFlow<()>> {
    let (decision, response) = record.latest();
    observer.round(&Round {
        round: record.rounds(),
        lam: &decision.lam,
        z_hat: &response.z_hat,
        z_bar: record.z_bar(),
        distance: set.distance(record.z_bar()),
        lower_bound: 0.0,
        samples: oracle.samples(),
        responding: Duration::ZERO,
        mixture: &|| record.mixture(),
        state: &|| Err(Error::Unsaved { what: "a search for a maximum" }),
    })
}

/// The same maximum by the paper's binary search (section 3.4): a feasibility problem for each threshold on the
/// objective, all of them with one cache of policies.
pub fn binary_search<O: Respond>(
    set: &SharedSet,
    oracle: &mut Cache<O>,
    rule: &StopRule,
    observer: &mut dyn Observer,
) -> Result<Maximum> {
    let dim = set.dim() + 1;
    let alone = objective_alone(dim);
    let first = oracle.respond(&alone.lam, f64::NEG_INFINITY)?;
    let Some(bound) = first.bound else {
        return Err(Error::Objective("a binary search needs an oracle that bounds the objective".into()));
    };
    let mut top = Top::default();
    top.lower(&alone.lam, 0.0, Some(&bound));
    // Verdicts must be sharper than the search's own tolerance.
    let tolerance = 0.01 * rule.tolerance;
    let inner = StopRule { goal: Goal::Feasibility, tolerance, epsilon: tolerance, ..*rule };
    let mut observer = Watched { observer, ended: None };
    // What a threshold gives, and whether the search ends with it.
    let mut attempt = |at_least: f64, oracle: &mut Cache<O>| {
        let set = with_objective(set, at_least)?;
        let mut player = FullyCorrective::new(Arc::clone(&set));
        let solution = appropo(&set, &mut player, oracle, &inner, &mut observer)?;
        match (observer.ended.take(), &solution.stop) {
            (None, Stop::Failed(error)) => Err(error.clone()),
            (ended, _) => Ok((solution, ended)),
        }
    };
    let (mut best, mut ended) = attempt(f64::NEG_INFINITY, oracle)?;
    if best.certificate.verdict != Verdict::Feasible {
        let stop = ended.unwrap_or(best.stop);
        return Ok(none_found(best.mixture, best.certificate, top, oracle.calls(), stop));
    }
    let reached = |certificate: &Certificate| certificate.z_bar[dim - 1];
    // Above the ceiling nothing feasible was found; only above the upper bound is that proved.
    let mut ceiling = top.upper_bound;
    while ended.is_none() && ceiling - reached(&best.certificate) > rule.tolerance {
        let middle = (ceiling + reached(&best.certificate)) / 2.0;
        if middle <= reached(&best.certificate) || middle >= ceiling {
            break; // neighbouring numbers
        }
        let solution;
        (solution, ended) = attempt(middle, oracle)?;
        match solution.certificate.verdict {
            Verdict::Feasible if reached(&solution.certificate) > reached(&best.certificate) => {
                best = solution
            }
            Verdict::Infeasible => {
                ceiling = middle;
                top.refute(middle, solution.certificate.separation.as_ref());
            }
            _ => ceiling = middle,
        }
    }
    Ok(Maximum {
        value: Some(reached(&best.certificate)),
        upper_bound: top.upper_bound,
        ceiling: top.ceiling,
        mixture: best.mixture,
        certificate: best.certificate,
        oracle_calls: oracle.calls(),
        stop: ended.unwrap_or(Stop::Reached),
    })
}
