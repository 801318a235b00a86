mod episodes;

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use appropo::certificate::{Certificate, Verdict};
use appropo::env::Space;
use appropo::error::Error;
use appropo::nn::Inputs;
use appropo::oracle::Exact;
use appropo::policy::{Actions, AnyPolicy, Mixed, OutsidePolicy};
use appropo_run::{Directory, Log, policies};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::ended::{self, Ended};
use crate::judge::{measure, tables};
use crate::problem::{Problem, Surroundings};
use crate::record::{About, CERTIFICATE, RESULT, RUN};
use crate::report::count;
use crate::search::known;
use crate::{Failure, Output};

/// The exit status of a claim that does not hold.
const REFUTED: u8 = 5;
/// Differences up to this, relative to the size of the numbers, are rounding.
const ROUNDING: f64 = 1e-7;

const SEALED: &str = "run.json, problem.toml, rounds.jsonl, policies.safetensors, manifest.json, certificate.json and result.json";
const UNSEALED: &str = "times.json, report.html and tensorboard";

/// Computes the claim of a run again from its files alone.
pub fn run(folder: &str, seed: Option<u64>, surroundings: &Surroundings) -> Result<Output, Failure> {
    let directory = Directory::read(Path::new(folder))?;
    // Where nothing is claimed yet, nothing is refuted.
    ended::must_have_ended(&directory)?;
    let mut text = String::new();
    match check(&directory, seed, surroundings, &mut text) {
        Ok(verdict) => {
            let _ = writeln!(text, "verified: {verdict}");
            Ok(Output { text, status: 0 })
        }
        Err(failure) => {
            let _ = writeln!(text, "FAILED  {failure}\nnot verified");
            Ok(Output { text, status: REFUTED })
        }
    }
}

fn refuted(problem: impl Into<String>) -> Failure {
    Failure::Other(problem.into())
}

fn check(
    directory: &Directory,
    seed: Option<u64>,
    surroundings: &Surroundings,
    text: &mut String,
) -> Result<String, Failure> {
    let problem = Problem::load_run(directory, surroundings)?;
    let (ended, certificate) = ended::read(directory, &problem)?;
    let rounds = Log::read(directory, &ended.log)?;
    let mixture = load_alive(directory, &problem)?;
    for constraint in problem.constraints() {
        let _ = writeln!(text, "claim   {constraint}");
    }
    let _ = writeln!(text, "claim   distances up to {} count as 0", problem.settings.tolerance);
    let _ = writeln!(
        text,
        "ok      by their checksums {SEALED} are as they were written; {}",
        count(rounds.len(), "round", "rounds")
    );
    let _ = writeln!(text, "-       {UNSEALED} prove nothing and were not looked at");
    let policies = count(mixture.parts().len(), "policy that fits", "policies that fit");
    let _ = writeln!(text, "ok      the mixture: {policies} the world");
    if !rounds.iter().zip(1..).all(|(line, number)| line.round == number)
        || !rounds.is_sorted_by_key(|line| line.samples)
    {
        return Err(refuted("rounds.jsonl does not count its rounds and samples upwards"));
    }
    let last = rounds.last().map_or((0, 0), |line| (line.round, line.samples));
    consistent(directory, &problem, &ended, &certificate, last, mixture.parts().len())?;
    match (problem.world.model(), tables(&mixture)) {
        (Some(_), Some(tables)) => {
            let z = measure(&problem, &tables)?;
            agree("the measurements", &ended.z, &z)?;
            let selected = known(&problem)?.select(problem.target.selection());
            let oracle = Exact::new(selected, problem.discounting, problem.settings.planner)?;
            oracle.check(&certificate, problem.target.set(), &tables).map_err(|e| refuted(e.to_string()))?;
            let again = oracle.recompute(&certificate, problem.target.set(), &tables)?;
            if again.verdict != certificate.verdict {
                return Err(refuted(format!(
                    "the verdict is claimed as {:?}, but what is known says {:?}",
                    certificate.verdict, again.verdict
                )));
            }
            agree("the lower bound", &[certificate.lower_bound], &[again.lower_bound])?;
            if let Some(level) = certificate.confidence {
                return Err(refuted(format!(
                    "the claim is exact, but a level of confidence of {level} is stated"
                )));
            }
            let _ = writeln!(
                text,
                "ok      the measurements of the mixture, computed in the model; their distance from the set is {:?}",
                certificate.distance
            );
            if let Some(separation) = &certificate.separation {
                let _ = writeln!(
                    text,
                    "ok      no policy comes closer than {:?}: by a value function of {} entries",
                    certificate.lower_bound,
                    separation.witness.values.len()
                );
            }
            episodes::beside_the_model(&problem, &mixture, &ended, seed, text)?;
        }
        _ => episodes::by_playing(&problem, &mixture, &ended, &certificate, seed, text)?,
    }
    Ok(match certificate.verdict {
        Verdict::Feasible => "feasible".into(),
        Verdict::Infeasible => format!("infeasible by at least {:?}", certificate.lower_bound),
        Verdict::Undecided => "undecided, as it says".into(),
    })
}

/// What the files say of one another.
fn consistent(
    directory: &Directory,
    problem: &Problem,
    ended: &Ended,
    certificate: &Certificate,
    (rounds, samples): (usize, u64),
    policies: usize,
) -> Result<(), Failure> {
    let about: About = directory.read_json(RUN)?;
    if certificate.tolerance != problem.settings.tolerance || about.seed != problem.settings.seed {
        return Err(refuted("the certificate's tolerance or the run's seed is not that of problem.toml"));
    }
    // What went wrong may have taken steps that no round tells of.
    let samples = if ended.failure.is_some() { ended.samples } else { samples };
    if (ended.oracle_calls, ended.samples, ended.policies) != (rounds, samples, policies) {
        return Err(refuted("the result counts other rounds, samples or policies than there are"));
    }
    // Everything that the result says for people follows from the rest.
    let mut expected = members(&ended::report(directory, problem, &problem.settings)?)?;
    expected.remove("seconds");
    expected.extend(members(ended)?);
    says_only(directory, RESULT, &expected)?;
    says_only(directory, CERTIFICATE, &members(certificate)?)
}

fn members(object: &impl Serialize) -> Result<Map<String, Value>, Failure> {
    match serde_json::to_value(object) {
        Ok(Value::Object(members)) => Ok(members),
        _ => Err(refuted("a number is not finite")),
    }
}

/// Whether a file has the expected members, and no other that could be taken for a part of the claim.
fn says_only(directory: &Directory, file: &str, expected: &Map<String, Value>) -> Result<(), Failure> {
    let mut stated: Map<String, Value> = directory.read_json(file)?;
    stated.retain(|key, _| key != "format" && key != "sha256");
    if let Some(key) = stated.keys().find(|key| !expected.contains_key(*key)) {
        return Err(refuted(format!("{file}: {key:?} does not belong there")));
    }
    match expected.iter().find(|(key, value)| stated.get(*key) != Some(value)) {
        None => Ok(()),
        Some((key, _)) => Err(refuted(format!("{file}: {key} is not what the certificate and z make it"))),
    }
}

fn agree(what: &str, claimed: &[f64], found: &[f64]) -> Result<(), Failure> {
    let size = 1.0 + found.iter().map(|v| v * v).sum::<f64>().sqrt();
    // Written so that NaN differs.
    let differs = |(_, (a, b)): &(usize, (&f64, &f64))| !((*a - *b).abs() <= ROUNDING * size);
    match claimed.iter().zip(found).enumerate().find(differs) {
        None => Ok(()),
        Some((i, (claimed, found))) => {
            Err(refuted(format!("entry {i} of {what} is claimed as {claimed:?}, but it is {found:?}")))
        }
    }
}

/// The mixture of a run, if it can act in the problem's world.
pub fn load_mixture(directory: &Directory, problem: &Problem) -> Result<Mixed<AnyPolicy>, Failure> {
    ended::must_have_ended(directory)?;
    let mixture = revived(policies::load(directory)?, problem)?;
    let world = problem.world.play(problem.discounting.horizon());
    let (observations, actions) = (world.observations(), world.actions());
    let fits = |policy: &AnyPolicy| match policy {
        AnyPolicy::Table(policy) => {
            // A model that was learnt has a state of its own for the end.
            observations.count().is_some_and(|count| policy.states() >= count)
                && actions.count() == Some(policy.actions())
        }
        AnyPolicy::Greedy(_) => false,
        // What it is for only its program knows.
        AnyPolicy::Outside(_) => true,
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

/// The mixture of a run, to be played.
pub fn load_alive(directory: &Directory, problem: &Problem) -> Result<Mixed<AnyPolicy>, Failure> {
    let mixture = load_mixture(directory, problem)?;
    let is_dead = |policy: &AnyPolicy| matches!(policy, AnyPolicy::Outside(policy) if !policy.is_alive());
    match mixture.parts().iter().position(|(_, policy)| is_dead(policy)) {
        Some(i) => Err(Error::Missing { what: format!("what policy {i} acts by") }.into()),
        None => Ok(mixture),
    }
}

/// The mixture with policies of another program made to act again, where that program is there.
fn revived(mixture: Mixed<AnyPolicy>, problem: &Problem) -> Result<Mixed<AnyPolicy>, Failure> {
    let Some(revive) = &problem.surroundings.revive else { return Ok(mixture) };
    let part = |(weight, policy): &(f64, Arc<AnyPolicy>)| match policy.as_ref() {
        AnyPolicy::Outside(policy) => {
            let act = revive(policy.tensors())?;
            let alive = OutsidePolicy::new(policy.tensors().to_vec(), Some(act));
            Ok((*weight, Arc::new(AnyPolicy::Outside(alive))))
        }
        _ => Ok((*weight, Arc::clone(policy))),
    };
    Ok(Mixed::new(mixture.parts().iter().map(part).collect::<Result<Vec<_>, Failure>>()?))
}
