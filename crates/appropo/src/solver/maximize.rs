use std::sync::Arc;

use super::appropo::{Record, play};
use super::{Goal, Observer, Options, Round, appropo};
use crate::certificate::{Bound, Ceiling, Certificate, Separation, ValueFunction, Verdict};
use crate::error::{Error, Result};
use crate::oracle::{Cache, Respond};
use crate::player::{Decision, FullyCorrective, Player};
use crate::policy::Mixed;
use crate::set::{Bounds, ConvexSet, Product, SharedSet};

/// The largest value of one measurement subject to the others lying in a set.
#[derive(Debug, Clone)]
pub struct Maximum<P> {
    /// The value reached; `None` if no feasible policy was found.
    pub value: Option<f64>,
    /// No feasible policy has more.
    pub upper_bound: f64,
    /// The proof of that.
    pub ceiling: Option<Ceiling>,
    /// The mixed policy that reaches it.
    pub mixture: Mixed<P>,
    /// The evidence that it is feasible, or that none is. Its last measurement is the objective's.
    pub certificate: Certificate,
    /// Calls of the oracle.
    pub oracle_calls: usize,
}

/// The set with the objective as a free last entry, as the certificate of a [`Maximum`] sees it.
pub fn with_free_objective(set: &SharedSet) -> Result<SharedSet> {
    with_objective(set, f64::NEG_INFINITY)
}

fn with_objective(set: &SharedSet, at_least: f64) -> Result<SharedSet> {
    let objective = Bounds::new(vec![at_least], vec![f64::INFINITY])?;
    Ok(Arc::new(Product::new(vec![Arc::clone(set), Arc::new(objective)])))
}

fn none_found<P>(mixture: Mixed<P>, certificate: Certificate, top: Top, oracle_calls: usize) -> Maximum<P> {
    let infeasible = certificate.verdict == Verdict::Infeasible;
    let upper_bound = if infeasible { f64::NEG_INFINITY } else { top.upper_bound };
    Maximum { value: None, upper_bound, ceiling: top.ceiling, mixture, certificate, oracle_calls }
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
pub fn maximize<O: Respond>(
    set: &SharedSet,
    oracle: &mut O,
    options: &Options,
    observer: &mut dyn Observer<O::Policy>,
) -> Result<Maximum<O::Policy>> {
    let dim = set.dim() + 1;
    let set = with_free_objective(set)?;
    let mut player = FullyCorrective::new(Arc::clone(&set));
    let mut record = Record::default();
    let alone = objective_alone(dim);
    options.check()?;
    let response = oracle.respond(&alone.lam, f64::NEG_INFINITY)?;
    let mut top = Top::default();
    top.lower(&alone.lam, 0.0, response.bound.as_ref());
    player.observe(&response.z_hat, response.spread.as_ref())?;
    record.add(&alone, &response, &player);
    let mut distance = set.distance(player.z_bar());
    if distance > options.tolerance {
        let feasibility = Options { goal: Goal::Feasibility, ..*options };
        distance = play(&set, &mut player, oracle, &feasibility, observer, &mut record)?;
        if let Some(error) = record.failure {
            return Err(error);
        }
    }
    if distance > options.tolerance {
        let certificate =
            record.evidence.clone().certificate(player.z_bar().to_vec(), distance, options.tolerance);
        let (mixture, calls) = (record.mixture(player.weights()), record.rounds);
        return Ok(none_found(mixture, certificate, top, calls));
    }
    let (mut hull, mut price) = (player.into_hull(), Vec::new());
    for _ in 0..options.rounds {
        let decision = hull.maximize(&set, &mut price)?;
        let value = hull.point()[dim - 1];
        let feasible = set.contains(hull.point(), options.tolerance);
        if feasible && top.upper_bound - value <= options.tolerance {
            break;
        }
        let response = oracle.respond(&decision.lam, f64::NEG_INFINITY)?;
        top.lower(&decision.lam, decision.offset, response.bound.as_ref());
        let now = Round {
            round: record.rounds + 1,
            lam: &decision.lam,
            z_hat: &response.z_hat,
            z_bar: hull.point(),
            distance: set.distance(hull.point()),
            lower_bound: 0.0,
            samples: oracle.samples(),
            mixture: &|| record.mixture(hull.weights()),
            state: &|| Err(Error::Unsaved { what: "a search for a maximum" }),
        };
        let stop =
            observer.round(&now).is_break() || (feasible && top.upper_bound - value <= options.tolerance);
        if stop {
            record.rounds += 1;
            break;
        }
        hull.add(record.rounds, &response.z_hat, response.spread.clone());
        record.keep(&response);
    }
    let z_bar = hull.point().to_vec();
    let distance = set.distance(&z_bar);
    Ok(Maximum {
        // A point outside the set has no claim to be a maximum.
        value: (distance <= options.tolerance).then_some(z_bar[dim - 1]),
        upper_bound: top.upper_bound,
        ceiling: top.ceiling,
        mixture: record.mixture(hull.weights()),
        certificate: record.evidence.clone().certificate(z_bar, distance, options.tolerance),
        oracle_calls: record.rounds,
    })
}

/// The same maximum by the paper's binary search (section 3.4): a feasibility problem for each threshold on the
/// objective, all of them with one cache of policies.
pub fn binary_search<O: Respond>(
    set: &SharedSet,
    oracle: &mut Cache<O>,
    options: &Options,
    observer: &mut dyn Observer<O::Policy>,
) -> Result<Maximum<O::Policy>> {
    let dim = set.dim() + 1;
    let alone = objective_alone(dim);
    let first = oracle.respond(&alone.lam, f64::NEG_INFINITY)?;
    let Some(bound) = first.bound else {
        return Err(Error::Objective("a binary search needs an oracle that bounds the objective".into()));
    };
    let mut top = Top::default();
    top.lower(&alone.lam, 0.0, Some(&bound));
    // Verdicts must be sharper than the search's own tolerance.
    let tolerance = 0.01 * options.tolerance;
    let inner = Options { goal: Goal::Feasibility, tolerance, epsilon: tolerance, ..*options };
    let mut attempt = |at_least: f64, oracle: &mut Cache<O>| {
        let set = with_objective(set, at_least)?;
        let mut player = FullyCorrective::new(Arc::clone(&set));
        let solution = appropo(&set, &mut player, oracle, &inner, observer)?;
        match solution.failure {
            Some(error) => Err(error),
            None => Ok(solution),
        }
    };
    let mut best = attempt(f64::NEG_INFINITY, oracle)?;
    if best.certificate.verdict != Verdict::Feasible {
        return Ok(none_found(best.mixture, best.certificate, top, oracle.calls()));
    }
    let reached = |certificate: &Certificate| certificate.z_bar[dim - 1];
    // Above the ceiling nothing feasible was found; only above the upper bound is that proved.
    let mut ceiling = top.upper_bound;
    while ceiling - reached(&best.certificate) > options.tolerance {
        let middle = (ceiling + reached(&best.certificate)) / 2.0;
        if middle <= reached(&best.certificate) || middle >= ceiling {
            break; // neighbouring numbers
        }
        let solution = attempt(middle, oracle)?;
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
    })
}
