//! What a mixed policy is worth, judged by what it does and not by what its search thought of it.

use std::sync::Arc;

use crate::certificate::{Certificate, Evidence, Verdict};
use crate::confidence::{self, Evaluation, Finding, Sample};
use crate::env::StopSignal;
use crate::error::{Error, Result};
use crate::measurement::Selection;
use crate::method::Budget;
use crate::oracle::{Exact, MonteCarlo, Planner};
use crate::outcome::{History, Outcome};
use crate::policy::{AnyPolicy, Mixed};
use crate::problem::Problem;
use crate::random::Generator;
use crate::rl::{Episode, Occupancy};
use crate::set::{ConvexSet, SharedSet};
use crate::solver::{Solution, Stop, with_free_objective};

/// About the most steps that evaluating a result takes.
const MOST_STEPS: usize = 4_000_000;

/// The outcome of a search. Where it planned, everything is computed again; where it learnt, fresh episodes give a
/// confidence region, and the model decides where it is known. A search that failed claims nothing.
pub(crate) fn conclude(
    problem: &Problem,
    solution: Solution,
    is_planned: bool,
    budget: &Budget,
    rng: &mut Generator,
) -> Result<Outcome> {
    let exact = exact_measurement(problem, &solution.mixture);
    let mut outcome = Outcome {
        certificate: solution.certificate,
        measurements: Vec::new(),
        evaluation: None,
        mixture: solution.mixture,
        rounds: solution.rounds,
        samples: solution.samples,
        stop: solution.stop,
        objective: None,
        history: History::default(),
        seed: 0,
    };
    if outcome.failure().is_some() {
        // What broke the search would break its evaluation, and who wants to stop would have to wait for it.
        unevaluated(problem, budget, exact, &mut outcome);
        return Ok(outcome);
    }
    let target = problem.target();
    if let (true, Some(exact)) = (is_planned, &exact) {
        if let Some(model) = problem.model() {
            let selected = model.select(target.selection());
            let oracle = Exact::new(selected, *problem.discounting(), Planner::PolicyIteration)?;
            outcome.certificate = oracle.recompute(&outcome.certificate, target.set(), &outcome.mixture)?;
        }
        outcome.measurements = exact.clone();
        return Ok(outcome);
    }
    let evaluation = match fresh(problem, &outcome.mixture, budget.stop.clone(), rng) {
        Err(error @ (Error::External { .. } | Error::Interrupted)) => {
            outcome.stop = Stop::Failed(error);
            unevaluated(problem, budget, exact, &mut outcome);
            return Ok(outcome);
        }
        evaluation => evaluation?,
    };
    (outcome.measurements, outcome.certificate) = match exact {
        Some(exact) => {
            let z_bar = target.selection().apply(&exact);
            let distance = target.set().distance(&z_bar);
            (exact, Evidence::default().certificate(z_bar, distance, budget.tolerance))
        }
        None => (evaluation.measured.mean().to_vec(), claim(problem, &evaluation, budget.tolerance)),
    };
    outcome.evaluation = Some(evaluation);
    Ok(outcome)
}

/// What a search that was broken off thought of its mixture, or what the model says of it: nothing is claimed.
fn unevaluated(problem: &Problem, budget: &Budget, exact: Option<Vec<f64>>, outcome: &mut Outcome) {
    let selection = problem.target().selection();
    let mut z_bar = outcome.certificate.z_bar.clone();
    // What no constraint looks at was not measured.
    let mut z = vec![f64::NAN; problem.measures().dim()];
    for ((entry, factor), value) in selection.entries.iter().zip(&z_bar) {
        z[*entry] = value / factor;
    }
    if let Some(exact) = exact {
        z_bar = selection.apply(&exact);
        z = exact;
    }
    outcome.certificate = Certificate {
        verdict: Verdict::Undecided,
        tolerance: budget.tolerance,
        distance: problem.target().set().distance(&z_bar),
        z_bar,
        lower_bound: 0.0,
        separation: None,
        confidence: None,
    };
    outcome.measurements = z;
}

/// What fresh episodes allow to claim.
pub fn claim(problem: &Problem, evaluation: &Evaluation, tolerance: f64) -> Certificate {
    Certificate {
        verdict: match evaluation.finding {
            Finding::Inside => Verdict::Feasible,
            Finding::Outside | Finding::Open => Verdict::Undecided,
        },
        tolerance,
        z_bar: evaluation.mean[..problem.target().set().dim()].to_vec(),
        distance: evaluation.distance,
        lower_bound: 0.0,
        separation: None,
        confidence: Some(evaluation.confidence),
    }
}

/// How many episodes a mixture is looked at for.
pub fn looks(problem: &Problem) -> confidence::Options {
    let most = (MOST_STEPS / problem.limit()).clamp(100, 16_000);
    confidence::Options { first: most.min(1000), most, ..confidence::Options::default() }
}

/// Fresh episodes of a mixture until they decide.
fn fresh(
    problem: &Problem,
    mixture: &Mixed,
    stop: Option<StopSignal>,
    rng: &mut Generator,
) -> Result<Evaluation> {
    let (set, selection) = judged(problem)?;
    let mut estimator = monte_carlo(problem, stop, rng)?;
    confidence::evaluate(mixture, &mut estimator, &set, &selection, &looks(problem))
}

/// What a confidence region is about: the entries that constraints look at and, last, the objective, which is free.
pub fn judged(problem: &Problem) -> Result<(SharedSet, Selection)> {
    let target = problem.target();
    Ok(match problem.objective() {
        Some(objective) => (
            with_free_objective(target.set())?,
            target.selection_with(objective.entry, objective.direction.sign()),
        ),
        None => (Arc::clone(target.set()), target.selection().clone()),
    })
}

/// Plays episodes of the problem, with all measures.
pub fn monte_carlo(problem: &Problem, stop: Option<StopSignal>, rng: &mut Generator) -> Result<MonteCarlo> {
    let env = problem.environment(stop)?;
    Ok(MonteCarlo::new(Episode::new(env, problem.discounting().gamma(), problem.limit()), rng))
}

/// So many fresh episodes of a mixture.
pub fn fresh_sample(
    problem: &Problem,
    mixture: &Mixed,
    episodes: usize,
    rng: &mut Generator,
) -> Result<Sample> {
    let mut estimator = monte_carlo(problem, None, rng)?;
    let mut sample = Sample::new(estimator.dim() + 1);
    estimator.play_each(mixture, episodes, |sum, steps| sample.add(sum, steps))?;
    Ok(sample)
}

/// The full measurement vector of a mixture, where the model is known and its policies are tables.
pub fn exact_measurement(problem: &Problem, mixture: &Mixed) -> Option<Vec<f64>> {
    let model = problem.model()?;
    let is_table =
        |policy: &AnyPolicy| policy.as_table().is_some_and(|table| table.states() >= model.states());
    if !mixture.parts().iter().all(|(_, policy)| is_table(policy)) {
        return None;
    }
    Some(Occupancy::of_mixture(model, problem.discounting(), mixture).ok()?.measure(model))
}
