//! What methods share about objectives.

use std::sync::Arc;

use crate::certificate::Ceiling;
use crate::env::TabularMdp;
use crate::error::{Error, Result};
use crate::outcome::{Optimum, Outcome};
use crate::problem::Problem;
use crate::solver::{Solution, Stop};

/// A solution whose certificate is about the `dim` entries of the constraints alone, without the objective after them.
pub(super) fn about_constraints(mut solution: Solution, dim: usize) -> Solution {
    solution.certificate.z_bar.truncate(dim);
    // The objective is free while the hull is brought to the set: its entry of λ is 0.
    solution.certificate.separation.iter_mut().for_each(|separation| separation.lam.truncate(dim));
    solution
}

/// The outcome of an objective: whether the value and its bound met is known once both are computed again. The tolerance of
/// their gap counts in `unit`.
pub(super) fn conclude_objective(
    problem: &Problem,
    outcome: &mut Outcome,
    ceiling: Option<Ceiling>,
    unit: f64,
) -> Result<()> {
    outcome.objective = Optimum::of(problem, outcome, ceiling)?;
    let Some(Optimum { value, bound, direction, .. }) = &outcome.objective else { return Ok(()) };
    let is_planned = outcome.evaluation.is_none() && outcome.samples == 0;
    if is_planned && !matches!(outcome.stop, Stop::Observer | Stop::Failed(_)) {
        let gap = value.zip(*bound).map_or(0.0, |(value, bound)| direction.sign() * (bound - value));
        // Where nothing was left to gain, the gap is what rounding takes off the proof.
        let unit = if outcome.stop == Stop::Reached { unit.max(1.0) } else { unit };
        outcome.stop = if gap > outcome.certificate.tolerance * unit { Stop::Rounds } else { Stop::Reached };
    }
    Ok(())
}

/// The model of a problem that is to be planned in.
pub(super) fn plannable(problem: &Problem) -> Result<&Arc<TabularMdp>> {
    problem.model().ok_or_else(|| {
        Error::Objective(
            "this way of solving plans, and the environment has no model to plan in; leave \"method\" and \"search\" out \
             to learn by playing"
                .into(),
        )
    })
}

/// Refuses objectives that are more than one measure.
pub(super) fn one_measure(problem: &Problem, method: &str) -> Result<()> {
    problem.objective().map_or(Ok(()), |objective| objective.one_measure(&format!("\"{method}\"")))
}
