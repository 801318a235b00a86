use std::sync::Arc;
use std::time::Instant;

use appropo::baseline::solve_occupancy;
use appropo::certificate::Certificate;
use appropo::env::TabularMdp;
use appropo::error::Result as LibraryResult;
use appropo::oracle::Exact;
use appropo::player::{Blackwell, FullyCorrective, Ogd, Player, Steps};
use appropo::policy::{Mixed, TabularPolicy};
use appropo::set::SharedSet;
use appropo::solver::{Options, appropo};

use super::learn;
use crate::args::Solve;
use crate::problem::{Method, OracleKind, PlayerKind, Problem, Settings};
use crate::report::{Found, Report};
use crate::{Failure, Output};

/// Finds a mixed policy for a problem and shows the evidence.
pub fn run(arguments: &Solve) -> Result<Output, Failure> {
    let problem = Problem::load(&arguments.problem)?;
    let settings = arguments.settings.apply(&problem.settings);
    arguments.settings.check(&settings)?;
    if problem.target.constraints().is_empty() {
        let text = format!("{}: no [[constraint]]; add one, or use \"appropo maximize\"", arguments.problem);
        return Err(Failure::Input(text));
    }
    let start = Instant::now();
    let oracle = settings.oracle_for(&problem.world);
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
    settings.most_rounds()
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
        _ => settings.momentum().unwrap_or(0.0),
    };
    let (kappa, eta) = settings.gains(set.as_ref(), radius, rounds);
    let steps = if settings.decreasing { Steps::Decreasing(eta) } else { Steps::Constant(eta) };
    Ok(Box::new(Ogd::new(Arc::clone(set), kappa, steps, momentum)?))
}
