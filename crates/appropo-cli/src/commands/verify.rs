use std::fmt::Write;
use std::path::Path;

use appropo::certificate::{Certificate, Verdict};
use appropo::confidence::Finding;
use appropo::env::Space;
use appropo::nn::Inputs;
use appropo::oracle::Exact;
use appropo::policy::{Actions, AnyPolicy, Mixed};
use appropo::random;
use appropo_run::{Directory, Log, policies};

use crate::ended::{self, Ended};
use crate::judge::{fresh, measure, tables};
use crate::problem::Problem;
use crate::search::known;
use crate::{Failure, Output};

/// The exit status of a claim that does not hold.
const REFUTED: u8 = 5;
/// Differences up to this, relative to the size of the numbers, are rounding.
const ROUNDING: f64 = 1e-7;

/// Computes the claim of a run again from its files alone.
pub fn run(folder: &str, seed: Option<u64>) -> Result<Output, Failure> {
    let directory = Directory::read(Path::new(folder))?;
    let mut text = String::new();
    match check(&directory, seed, &mut text) {
        Ok(verdict) => {
            let _ = writeln!(text, "verified: {verdict}");
            Ok(Output { text, status: 0 })
        }
        Err(failure) => {
            let (Failure::Input(problem) | Failure::Other(problem)) = failure;
            let _ = writeln!(text, "FAILED  {problem}\nnot verified");
            Ok(Output { text, status: REFUTED })
        }
    }
}

fn refuted(problem: impl Into<String>) -> Failure {
    Failure::Other(problem.into())
}

fn check(directory: &Directory, seed: Option<u64>, text: &mut String) -> Result<String, Failure> {
    let problem = Problem::load_run(directory)?;
    let (ended, certificate) = ended::read(directory)?;
    let rounds = Log::read(directory, &ended.log)?;
    let mixture = load_mixture(directory, &problem)?;
    let _ =
        writeln!(text, "ok      every file is as it was written, by its checksum; {} rounds", rounds.len());
    let _ = writeln!(text, "ok      the mixture: {} policies that fit the world", mixture.parts().len());
    if certificate.verdict != ended.verdict || certificate.distance != ended.distance {
        return Err(refuted("the result claims something else than the certificate"));
    }
    let dim = problem.target.set().dim();
    if certificate.z_bar.len() != dim || ended.z.len() != problem.world.measures().dim() {
        return Err(refuted("the measurements are of another problem"));
    }
    match (problem.world.model(), tables(&mixture)) {
        (Some(_), Some(tables)) => {
            let z = measure(&problem, &tables)?;
            agree("the measurements", &ended.z, &z)?;
            let selected = known(&problem)?.select(problem.target.selection());
            let oracle = Exact::new(selected, problem.discounting, problem.settings.planner)?;
            oracle.check(&certificate, problem.target.set(), &tables).map_err(|e| refuted(e.to_string()))?;
            let _ = writeln!(
                text,
                "ok      the measurements of the mixture, computed in the model; their distance from the set is {}",
                certificate.distance
            );
            if let Some(separation) = &certificate.separation {
                let _ = writeln!(
                    text,
                    "ok      no policy comes closer than {}: by a value function of {} entries",
                    certificate.lower_bound,
                    separation.witness.values.len()
                );
            }
        }
        _ => by_playing(&problem, &mixture, &ended, &certificate, seed, text)?,
    }
    Ok(match certificate.verdict {
        Verdict::Feasible => "feasible".into(),
        Verdict::Infeasible => format!("infeasible by at least {}", certificate.lower_bound),
        Verdict::Undecided => "undecided, as it says".into(),
    })
}

/// The claim of a learnt policy, by episodes that its run never saw.
fn by_playing(
    problem: &Problem,
    mixture: &Mixed<AnyPolicy>,
    ended: &Ended,
    certificate: &Certificate,
    seed: Option<u64>,
    text: &mut String,
) -> Result<(), Failure> {
    let Some(claimed) = &ended.evaluation else {
        return Err(refuted("the result does not say which episodes it rests on"));
    };
    agree("the measurements", &certificate.z_bar, &claimed.mean)?;
    // Another stream of draws than the run's own.
    let seed = seed.unwrap_or(!problem.settings.seed);
    let found = fresh(problem, mixture, &mut random::generator(seed), None)?;
    for i in 0..found.mean.len() {
        let apart = (found.mean[i] - claimed.mean[i]).abs();
        if apart > found.radii[i] + claimed.radii[i].abs() {
            return Err(refuted(format!(
                "entry {i} of the measurements is claimed as {}, but fresh episodes give {} ± {}",
                claimed.mean[i], found.mean[i], found.radii[i]
            )));
        }
    }
    let holds = match certificate.verdict {
        Verdict::Feasible => found.finding == Finding::Inside,
        Verdict::Infeasible => false,
        Verdict::Undecided => true,
    };
    if !holds {
        return Err(refuted(format!(
            "{} fresh episodes do not confirm the verdict: {:?}",
            found.episodes, found.finding
        )));
    }
    let _ = writeln!(
        text,
        "ok      {} fresh episodes with seed {seed} agree at level {}",
        found.episodes, found.confidence
    );
    Ok(())
}

fn agree(what: &str, claimed: &[f64], found: &[f64]) -> Result<(), Failure> {
    let size = 1.0 + found.iter().map(|v| v * v).sum::<f64>().sqrt();
    // Written so that NaN differs.
    let differs = |(_, (a, b)): &(usize, (&f64, &f64))| !((*a - *b).abs() <= ROUNDING * size);
    match claimed.iter().zip(found).enumerate().find(differs) {
        None => Ok(()),
        Some((i, (claimed, found))) => {
            Err(refuted(format!("entry {i} of {what} is claimed as {claimed}, but it is {found}")))
        }
    }
}

/// The mixture of a run, if it can act in the problem's world.
pub fn load_mixture(directory: &Directory, problem: &Problem) -> Result<Mixed<AnyPolicy>, Failure> {
    let mixture = policies::load(directory)?;
    let world = problem.world.play(problem.discounting.horizon());
    let (observations, actions) = (world.observations(), world.actions());
    let fits = |policy: &AnyPolicy| match policy {
        AnyPolicy::Table(policy) => {
            // A model that was learnt has a state of its own for the end.
            observations.count().is_some_and(|count| policy.states() >= count)
                && actions.count() == Some(policy.actions())
        }
        AnyPolicy::Greedy(_) => false,
        AnyPolicy::Network(policy) => {
            let shape = policy.network().shape();
            let sees = match (&shape.inputs, &observations) {
                (Inputs::OneHot(states), Space::Discrete(count)) => states == count,
                (Inputs::Vector(width), Space::Continuous(bounds)) => *width == bounds.len(),
                _ => false,
            };
            let acts = match (policy.actions(), &actions) {
                (Actions::Categorical, Space::Discrete(count)) => shape.policy == *count,
                (Actions::Gaussian(_), Space::Continuous(bounds)) => shape.policy == bounds.len(),
                _ => false,
            };
            sees && acts
        }
    };
    match mixture.parts().iter().position(|(_, policy)| !fits(policy)) {
        None => Ok(mixture),
        Some(i) => Err(Failure::Other(format!("policy {i} is for another world than {}", problem.name))),
    }
}
