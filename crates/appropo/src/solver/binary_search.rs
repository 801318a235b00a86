use std::ops::ControlFlow;
use std::sync::Arc;

use super::maximize::{Top, objective_alone, with_objective};
use super::{Goal, Maximum, Observer, Round, Stop, StopRule, appropo};
use crate::certificate::{Certificate, Verdict};
use crate::error::{Error, Result};
use crate::oracle::{Cache, Respond};
use crate::player::FullyCorrective;
use crate::policy::Mixed;
use crate::set::{ConvexSet, SharedSet};
use crate::utility::Criterion;

/// Shows the rounds of many games as those of one search, and remembers whether an observer had seen enough or failed: the
/// games may end for reasons of their own.
struct Watched<'a> {
    observer: &'a mut dyn Observer,
    /// Rounds so far, of all games.
    rounds: usize,
    /// The largest value of the objective so far.
    best: Option<f64>,
    ended: Option<Stop>,
}

impl Observer for Watched<'_> {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        self.rounds += 1;
        let state = || Err(Error::Unsaved { what: "a binary search for a maximum" });
        let shown = Round { round: self.rounds, objective: self.best, state: &state, ..*round };
        let seen = self.observer.round(&shown);
        match &seen {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => self.ended = Some(Stop::Observer),
            Err(error) => self.ended = Some(Stop::Failed(error.clone())),
        }
        seen
    }
}

/// How far what was reached is below a threshold that was not refuted, and the last threshold above it, in tolerances.
const CLOSE: f64 = 0.25;
const LAST: f64 = 0.8;

/// The maximum of [`maximize`](super::maximize) by the paper's binary search (section 3.4): a feasibility problem for
/// each threshold on the objective, all of them with one cache of policies.
pub fn binary_search<O: Respond>(
    set: &SharedSet,
    oracle: &mut Cache<O>,
    rule: &StopRule,
    observer: &mut dyn Observer,
) -> Result<Maximum> {
    let dim = set.dim() + 1;
    let alone = objective_alone(&Criterion::last(), dim);
    let first = oracle.respond(&alone.lam, f64::NEG_INFINITY)?;
    let Some(bound) = first.bound else {
        return Err(Error::Objective("a binary search needs an oracle that bounds the objective".into()));
    };
    let mut top = Top::default();
    top.lower_measure(&alone.lam, 0.0, Some(&bound));
    // Verdicts must be sharper than the search's own tolerance.
    let tolerance = 0.01 * rule.tolerance;
    let inner = StopRule { goal: Goal::Feasibility, tolerance, epsilon: tolerance, ..*rule };
    let mut observer = Watched { observer, rounds: 0, best: None, ended: None };
    // What a threshold gives, and whether the search ends with it.
    let attempt = |at_least: f64, oracle: &mut Cache<O>, observer: &mut Watched| {
        let set = with_objective(set, at_least)?;
        let mut player = FullyCorrective::new(Arc::clone(&set));
        let solution = appropo(&set, &mut player, oracle, &inner, observer)?;
        match (observer.ended.take(), &solution.stop) {
            (None, Stop::Failed(error)) => Err(error.clone()),
            (ended, _) => Ok((solution, ended)),
        }
    };
    let found = |certificate: Certificate, mixture: Mixed, top: Top, (rounds, oracle_calls), stop| {
        let reached = certificate.verdict == Verdict::Feasible;
        let is_infeasible = certificate.verdict == Verdict::Infeasible;
        Maximum {
            value: certificate.z_bar.last().copied().filter(|_| reached),
            upper_bound: if is_infeasible { f64::NEG_INFINITY } else { top.upper_bound },
            ceiling: top.ceiling,
            unit: 1.0,
            mixture,
            certificate,
            rounds,
            oracle_calls,
            samples: 0,
            stop,
        }
    };
    let (mut best, mut ended) = attempt(f64::NEG_INFINITY, oracle, &mut observer)?;
    if best.certificate.verdict != Verdict::Feasible {
        let stop = ended.unwrap_or(best.stop);
        let counts = (observer.rounds, oracle.calls());
        return Ok(found(best.certificate, best.mixture, top, counts, stop));
    }
    let reached = |certificate: &Certificate| certificate.z_bar[dim - 1];
    // Above the ceiling nothing feasible was found; only above the upper bound is that proved.
    let mut ceiling = top.upper_bound;
    // A threshold next to the optimum may be too close to be refuted. Then what is reached comes closer to it, and the last
    // threshold lies beyond it.
    let mut is_last = false;
    while ended.is_none() && !is_last {
        let value = reached(&best.certificate);
        observer.best = Some(value);
        let middle = (ceiling + value) / 2.0;
        // Neighbouring numbers have none between them.
        let enough = if ceiling < top.upper_bound { CLOSE } else { 1.0 } * rule.tolerance;
        is_last = ceiling - value <= enough || middle <= value || middle >= ceiling;
        if is_last && top.upper_bound - value <= rule.tolerance {
            break;
        }
        let middle = if is_last { value + LAST * rule.tolerance } else { middle };
        let solution;
        (solution, ended) = attempt(middle, oracle, &mut observer)?;
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
    let counts = (observer.rounds, oracle.calls());
    Ok(found(best.certificate, best.mixture, top, counts, ended.unwrap_or(Stop::Reached)))
}
