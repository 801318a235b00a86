use std::sync::Arc;
use std::time::Instant;

use appropo::baseline::solve_occupancy;
use appropo::certificate::Certificate;
use appropo::oracle::Exact;
use appropo::player::{Blackwell, FullyCorrective, Ogd, Player, Steps};
use appropo::policy::{Mixed, TabularPolicy};
use appropo::set::{ConvexSet, SharedSet};
use appropo::solver::{Options, appropo};
use appropo::theory;

use crate::args::Solve;
use crate::problem::{Method, PlayerKind, Problem, Settings};
use crate::report::Report;
use crate::{Failure, Output};

/// δ of Lemma 3.5: how much farther the set may be than its cone, at the default κ.
const DELTA: f64 = 0.5;

/// Finds a mixed policy for a problem and shows the evidence.
pub fn run(arguments: &Solve) -> Result<Output, Failure> {
    let problem = Problem::load(&arguments.problem)?;
    let settings = arguments.settings.apply(&problem.settings);
    if problem.target.constraints().is_empty() {
        let text = format!("{}: no [[constraint]]; add one, or use \"appropo maximize\"", arguments.problem);
        return Err(Failure::Input(text));
    }
    let start = Instant::now();
    let model = problem.world.model.select(problem.target.selection());
    let set = problem.target.set();
    let mut oracle = Exact::new(model.clone(), problem.discounting, settings.planner)?;
    let (mixture, certificate, calls): (Mixed<TabularPolicy>, Certificate, usize) = match settings.method {
        Method::Occupancy => {
            let programme = solve_occupancy(set, &model, &problem.discounting, settings.tolerance)?;
            (Mixed::new([(1.0, programme.policy)]), programme.certificate, 0)
        }
        Method::Appropo => {
            let rounds = rounds(&settings);
            let mut player = player(set, &settings, &oracle, rounds)?;
            let options = Options {
                rounds,
                tolerance: settings.tolerance,
                goal: settings.goal,
                epsilon: settings.tolerance,
            };
            let solution = appropo(set, player.as_mut(), &mut oracle, &options, &mut ())?;
            (solution.mixture, solution.certificate, solution.rounds)
        }
    };
    // What is reported is what holds when computed again.
    let certificate = oracle.recompute(&certificate, set, &mixture)?;
    let report = Report::new(&problem, &settings, &certificate, &mixture, calls, start.elapsed())?;
    report.output(&problem, arguments.settings.json)
}

/// The rounds in force: the corrective player needs few.
pub fn rounds(settings: &Settings) -> usize {
    settings.rounds.unwrap_or(if settings.player == PlayerKind::FullyCorrective { 1000 } else { 20_000 })
}

fn player(
    set: &SharedSet,
    settings: &Settings,
    oracle: &Exact,
    rounds: usize,
) -> Result<Box<dyn Player>, Failure> {
    let momentum = match settings.player {
        PlayerKind::FullyCorrective => return Ok(Box::new(FullyCorrective::new(Arc::clone(set)))),
        PlayerKind::Blackwell => return Ok(Box::new(Blackwell::new(Arc::clone(set)))),
        PlayerKind::Ogd => 0.0,
        PlayerKind::Momentum => 0.9,
    };
    let radius = oracle.measurement_radius()?;
    let kappa = settings.kappa.unwrap_or_else(|| {
        theory::kappa(set.radius().filter(|r| *r > 0.0).unwrap_or(radius), DELTA).max(1e-6)
    });
    // Momentum multiplies a constant gain by 1/(1 − 0.9).
    let gradient_bound = radius.hypot(kappa) / (1.0 - momentum);
    let steps = match (settings.eta, settings.decreasing) {
        (Some(eta), false) => Steps::Constant(eta),
        (Some(eta), true) => Steps::Decreasing(eta),
        (None, false) => Steps::Constant(theory::step_size(gradient_bound, rounds)),
        (None, true) => Steps::Decreasing(1.0 / gradient_bound),
    };
    Ok(Box::new(Ogd::new(Arc::clone(set), kappa, steps, momentum)?))
}
