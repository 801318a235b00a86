use std::sync::Arc;
use std::time::Instant;

use appropo::baseline::solve_occupancy;
use appropo::certificate::Certificate;
use appropo::env::TabularMdp;
use appropo::error::Result as LibraryResult;
use appropo::oracle::Exact;
use appropo::player::{Blackwell, FullyCorrective, Ogd, Player, Steps};
use appropo::policy::{Mixed, TabularPolicy};
use appropo::set::{ConvexSet, SharedSet};
use appropo::solver::{Options, appropo};
use appropo::theory;

use super::learn;
use crate::args::Solve;
use crate::problem::{Method, OracleKind, PlayerKind, Problem, Settings};
use crate::report::{Found, Report};
use crate::{Failure, Output};

/// δ of Lemma 3.5: how much farther the set may be than its cone, at the default κ.
const DELTA: f64 = 0.5;
/// κ of the paper's experiments, for worlds whose measurements have no known bound.
const PAPER_KAPPA: f64 = 20.0;

/// Finds a mixed policy for a problem and shows the evidence.
pub fn run(arguments: &Solve) -> Result<Output, Failure> {
    let problem = Problem::load(&arguments.problem)?;
    let settings = arguments.settings.apply(&problem.settings);
    if problem.target.constraints().is_empty() {
        let text = format!("{}: no [[constraint]]; add one, or use \"appropo maximize\"", arguments.problem);
        return Err(Failure::Input(text));
    }
    let start = Instant::now();
    let default = if problem.world.model().is_some() { OracleKind::Exact } else { OracleKind::Ppo };
    let oracle = settings.oracle.unwrap_or(default);
    let (found, failure) = match (settings.method, oracle) {
        (Method::Appropo, OracleKind::Exact) | (Method::Occupancy, _) => (plan(&problem, &settings)?, None),
        _ => learn::run(&problem, &settings, oracle)?,
    };
    let report = Report::new(&problem, &settings, found, start.elapsed());
    let mut output = report.output(&problem, arguments.settings.json)?;
    if let Some(error) = failure {
        eprintln!("error: {error}; the result is what had been found by then");
        output.status = 1;
    }
    Ok(output)
}

/// The model of a problem that has one.
pub fn known(problem: &Problem) -> Result<&Arc<TabularMdp>, Failure> {
    problem.world.model().ok_or_else(|| {
        Failure::Input(
            "this world has no model to plan in; only \"appropo solve\" with --oracle ppo or a2c works here"
                .into(),
        )
    })
}

fn plan(problem: &Problem, settings: &Settings) -> Result<Found, Failure> {
    let model = known(problem)?.select(problem.target.selection());
    let set = problem.target.set();
    let mut oracle = Exact::new(model.clone(), problem.discounting, settings.planner)?;
    let (mixture, certificate, calls): (Mixed<TabularPolicy>, Certificate, usize) = match settings.method {
        Method::Occupancy => {
            let programme = solve_occupancy(set, &model, &problem.discounting, settings.tolerance)?;
            (Mixed::new([(1.0, programme.policy)]), programme.certificate, 0)
        }
        Method::Appropo => {
            let rounds = rounds(settings);
            let radius = match settings.player {
                PlayerKind::Ogd | PlayerKind::Momentum => Some(oracle.measurement_radius()?),
                _ => None,
            };
            let mut player = player(set, settings, radius, rounds)?;
            let options = Options {
                rounds,
                tolerance: settings.tolerance,
                goal: settings.goal,
                epsilon: settings.tolerance,
                samples: settings.samples,
            };
            let solution = appropo(set, player.as_mut(), &mut oracle, &options, &mut ())?;
            if let Some(error) = solution.failure {
                return Err(error.into());
            }
            (solution.mixture, solution.certificate, solution.rounds)
        }
    };
    // What is reported is what holds when computed again.
    let certificate = oracle.recompute(&certificate, set, &mixture)?;
    Found::planned(problem, certificate, &mixture, calls)
}

/// The rounds in force: the corrective player needs few.
pub fn rounds(settings: &Settings) -> usize {
    settings.rounds.unwrap_or(if settings.player == PlayerKind::FullyCorrective { 1000 } else { 20_000 })
}

/// The player of a run. `radius` bounds the measurements of all policies, where that is known.
pub fn player(
    set: &SharedSet,
    settings: &Settings,
    radius: Option<f64>,
    rounds: usize,
) -> LibraryResult<Box<dyn Player>> {
    let momentum = match settings.player {
        PlayerKind::FullyCorrective => {
            return Ok(Box::new(FullyCorrective::new(Arc::clone(set)).with_caution(settings.caution)));
        }
        PlayerKind::Blackwell => return Ok(Box::new(Blackwell::new(Arc::clone(set)))),
        PlayerKind::Ogd => 0.0,
        PlayerKind::Momentum => 0.9,
    };
    let kappa = settings.kappa.unwrap_or_else(|| match set.radius().filter(|r| *r > 0.0).or(radius) {
        Some(radius) => theory::kappa(radius, DELTA).max(1e-6),
        None => PAPER_KAPPA,
    });
    // Momentum multiplies a constant gain by 1/(1 − 0.9).
    let gradient_bound = radius.unwrap_or(kappa).hypot(kappa) / (1.0 - momentum);
    let steps = match (settings.eta, settings.decreasing) {
        (Some(eta), false) => Steps::Constant(eta),
        (Some(eta), true) => Steps::Decreasing(eta),
        (None, false) => Steps::Constant(theory::step_size(gradient_bound, rounds)),
        (None, true) => Steps::Decreasing(1.0 / gradient_bound),
    };
    Ok(Box::new(Ogd::new(Arc::clone(set), kappa, steps, momentum)?))
}
