use super::ROUNDS;
use super::fitted::selected;
use crate::certificate::{Certificate, Verdict};
use crate::error::Result;
use crate::method::Budget;
use crate::method::objective::about_constraints;
use crate::oracle::Respond;
use crate::player::{MakePlayer, PlayerContext};
use crate::problem::Problem;
use crate::set::ConvexSet;
use crate::solver::{
    Doubts, Maximum, Observer, Solution, StopRule, appropo, maximize, resume, resume_maximize,
};

/// The same game with one of the players for any convex set. What answers prove, they prove of the logs' model: it ends the
/// search, and is claimed nowhere.
pub(super) fn played(
    problem: &Problem,
    player: &dyn MakePlayer,
    oracle: &mut dyn Respond,
    budget: &Budget,
    state: Option<&[u8]>,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    let (set, selection) = (problem.target().set(), selected(problem));
    let radius = || Ok(None);
    let rule = StopRule {
        rounds: budget.rounds.unwrap_or(ROUNDS),
        tolerance: budget.tolerance,
        epsilon: budget.tolerance,
        ..StopRule::default()
    };
    let context = PlayerContext {
        measures: problem.measures(),
        selection: &selection,
        radius: &radius,
        rounds: rule.rounds,
        is_learning: false,
        criterion: problem.objective().map(|objective| &objective.criterion),
    };
    let solution = if let Some(criterion) = context.criterion {
        let player = &mut *player.make(&criterion.free(set), &context)?;
        let found = match state {
            None => maximize(set, criterion, player, oracle, &rule, observer)?,
            Some(state) => resume_maximize(set, criterion, player, oracle, &rule, observer, state)?,
        };
        let Maximum { mixture, certificate, rounds, samples, stop, .. } = found;
        Solution { mixture, certificate, rounds, samples, doubts: Doubts::default(), stop }
    } else {
        let player = &mut *player.make(set, &context)?;
        match state {
            None => appropo(set, player, oracle, &rule, observer)?,
            Some(state) => resume(set, player, oracle, &rule, observer, state)?,
        }
    };
    let mut solution = about_constraints(solution, set.dim());
    let Certificate { tolerance, z_bar, distance, .. } = solution.certificate;
    solution.certificate = Certificate {
        verdict: Verdict::Undecided,
        tolerance,
        z_bar,
        distance,
        lower_bound: 0.0,
        separation: None,
        confidence: None,
    };
    Ok(solution)
}
