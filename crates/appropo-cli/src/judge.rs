//! What a mixture is worth, judged by what it does and not by what its search thought of it.

use std::sync::Arc;

use appropo::certificate::{Certificate, Evidence, Verdict};
use appropo::confidence::{self, Evaluation, Finding, Sample};
use appropo::oracle::{Exact, MonteCarlo};
use appropo::policy::{AnyPolicy, Mixed, Policy, TabularPolicy};
use appropo::random::Generator;
use appropo::rl::{Episode, Occupancy};
use appropo::set::ConvexSet;

use crate::Failure;
use crate::problem::{Method, OracleKind, Problem, Settings, limit};
use crate::report::Found;
use crate::search::{Solved, known};
use crate::world::whole_world;

/// About the most steps that judging a result takes.
const EVALUATION: usize = 4_000_000;

/// What a search found. Where it planned, everything is computed again; where it learnt, by fresh episodes to a
/// confidence region, and exactly where the model is known, which then decides.
pub fn judge(
    problem: &Problem,
    settings: &Settings,
    solved: &Solved,
    rng: &mut Generator,
) -> Result<Found, Failure> {
    let mut found = Found {
        certificate: solved.certificate.clone(),
        z: Vec::new(),
        oracle_calls: solved.rounds,
        policies: solved.mixture.parts().len(),
        samples: solved.samples,
        evaluation_samples: 0,
        evaluation: None,
    };
    let tables = tables(&solved.mixture);
    if let (true, Some(tables)) = (plans(problem, settings), &tables) {
        let model = known(problem)?;
        let selected = model.select(problem.target.selection());
        let oracle = Exact::new(selected, problem.discounting, settings.planner)?;
        found.certificate = oracle.recompute(&solved.certificate, problem.target.set(), tables)?;
        found.z = measure(problem, tables)?;
        return Ok(found);
    }
    let evaluation = fresh(problem, &solved.mixture, rng)?;
    found.evaluation_samples = evaluation.samples;
    match (problem.world.model(), &tables) {
        (Some(_), Some(tables)) => {
            found.z = measure(problem, tables)?;
            let z_bar = problem.target.selection().apply(&found.z);
            let distance = problem.target.set().distance(&z_bar);
            found.certificate = Evidence::default().certificate(z_bar, distance, settings.tolerance);
        }
        _ => {
            found.z = evaluation.measured.mean().to_vec();
            found.certificate = claim(&evaluation, settings.tolerance);
        }
    }
    found.evaluation = Some(evaluation);
    Ok(found)
}

/// Whether policies come from planning in the model, so that no episode is played.
pub fn plans(problem: &Problem, settings: &Settings) -> bool {
    settings.method == Method::Occupancy || settings.oracle_for(&problem.world) == OracleKind::Exact
}

/// What a search that was broken off thought of its mixture, or what the model says of it: nothing is claimed.
pub fn estimated(problem: &Problem, settings: &Settings, solved: &Solved) -> Found {
    let (selection, mut z_bar) = (problem.target.selection(), solved.certificate.z_bar.clone());
    // What no constraint looks at was not measured.
    let mut z = vec![f64::NAN; problem.world.measures().dim()];
    for ((entry, factor), value) in selection.entries.iter().zip(&z_bar) {
        z[*entry] = value / factor;
    }
    if let Some(Ok(exact)) = tables(&solved.mixture).map(|tables| measure(problem, &tables)) {
        z_bar = selection.apply(&exact);
        z = exact;
    }
    let distance = problem.target.set().distance(&z_bar);
    let certificate = Certificate {
        verdict: Verdict::Undecided,
        tolerance: settings.tolerance,
        z_bar,
        distance,
        lower_bound: 0.0,
        separation: None,
        confidence: None,
    };
    Found {
        certificate,
        z,
        oracle_calls: solved.rounds,
        policies: solved.mixture.parts().len(),
        samples: solved.samples,
        evaluation_samples: 0,
        evaluation: None,
    }
}

/// What fresh episodes allow to claim.
pub fn claim(evaluation: &Evaluation, tolerance: f64) -> Certificate {
    Certificate {
        verdict: match evaluation.finding {
            Finding::Inside => Verdict::Feasible,
            _ => Verdict::Undecided,
        },
        tolerance,
        z_bar: evaluation.mean.clone(),
        distance: evaluation.distance,
        lower_bound: 0.0,
        separation: None,
        confidence: Some(evaluation.confidence),
    }
}

/// How a mixture is looked at.
pub fn looks(problem: &Problem) -> confidence::Options {
    let most = (EVALUATION / limit(problem.discounting.horizon())).clamp(100, 16_000);
    confidence::Options { first: most.min(1000), most, ..confidence::Options::default() }
}

/// Fresh episodes of a mixture until they decide.
fn fresh(problem: &Problem, mixture: &Mixed<AnyPolicy>, rng: &mut Generator) -> Result<Evaluation, Failure> {
    let (target, options) = (&problem.target, looks(problem));
    let mut judge = judge_of_all(problem, rng);
    Ok(confidence::evaluate(mixture, &mut judge, target.set(), target.selection(), &options)?)
}

/// So many fresh episodes of a mixture.
pub fn fresh_sample(
    problem: &Problem,
    mixture: &Mixed<AnyPolicy>,
    rng: &mut Generator,
    episodes: usize,
) -> Result<Sample, Failure> {
    let mut judge = judge_of_all(problem, rng);
    let mut sample = Sample::new(judge.dim() + 1);
    judge.play_each(mixture, episodes, |sum, steps| sample.add(sum, steps))?;
    Ok(sample)
}

fn judge_of_all(problem: &Problem, rng: &mut Generator) -> MonteCarlo {
    let (horizon, gamma) = (problem.discounting.horizon(), problem.discounting.gamma());
    MonteCarlo::new(Episode::new(whole_world(problem), gamma, limit(horizon)), rng)
}

/// The mixture as tables, where all its policies are.
pub fn tables(mixture: &Mixed<AnyPolicy>) -> Option<Mixed<TabularPolicy>> {
    let parts = mixture.parts().iter().map(|(w, part)| Some((*w, Arc::new(part.table()?))));
    parts.collect::<Option<Vec<_>>>().map(Mixed::new)
}

/// The full measurement vector of a mixture in a known model.
pub fn measure(problem: &Problem, tables: &Mixed<TabularPolicy>) -> Result<Vec<f64>, Failure> {
    let model = known(problem)?;
    Ok(Occupancy::of_mixture(model, &problem.discounting, tables)?.measure(model))
}
