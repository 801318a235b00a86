//! The claim of a run, computed again from its files alone.

use appropo::certificate::Verdict;
use appropo::error::Error as LibraryError;
use appropo::method::{Budget, Method};
use appropo::outcome::count;
use appropo::problem::Problem;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::about::About;
use crate::error::{Error, Result};
use crate::log::LogLine;
use crate::policies::{self, MANIFEST};
use crate::result::{self, Claim, ResultFile, Revive, Summary, must_act, result_file};
use crate::{Directory, Log, files, visits};

const SEALED: &str = "run.json, problem.toml, rounds.jsonl, policies.safetensors, manifest.json, certificate.json and result.json";
const UNSEALED: &str = "times.json, report.html and tensorboard";

/// What was checked of a run's claim.
#[derive(Debug, Clone)]
pub struct Verification {
    /// What was checked, a line each.
    pub lines: Vec<String>,
    /// The verdict, if the claim holds; else what does not.
    pub outcome: std::result::Result<String, String>,
}

fn refuted(problem: impl Into<String>) -> Error {
    LibraryError::Refuted { problem: problem.into() }.into()
}

/// Computes the claim of a run again. The problem, method, budget and seed are those that its own file states; fresh episodes
/// are drawn from `episodes`, or from another seed than the run's.
pub fn verify(
    directory: &Directory,
    problem: &Problem,
    (method, budget, seed): (&dyn Method, &Budget, u64),
    episodes: Option<u64>,
    revive: Option<&Revive>,
) -> Result<Verification> {
    // Where nothing is claimed yet, nothing is refuted.
    directory.must_have_ended()?;
    let mut lines = Vec::new();
    let outcome = check(directory, problem, (method, budget, seed), episodes, revive, &mut lines);
    Ok(Verification { lines, outcome: outcome.map_err(|error| error.to_string()) })
}

fn check(
    directory: &Directory,
    problem: &Problem,
    (method, budget, seed): (&dyn Method, &Budget, u64),
    episodes: Option<u64>,
    revive: Option<&Revive>,
    lines: &mut Vec<String>,
) -> Result<String> {
    let (stated, claim) = result::read_files(directory, problem)?;
    let (log, counts) = (stated.log.clone(), counts(&stated));
    let outcome = result::outcome(directory, problem, (stated, claim.clone()), revive)?;
    must_act(&outcome.mixture)?;
    let certificate = &claim.certificate;
    let rounds = Log::read(directory, &log)?;
    lines.extend(problem.statements().map(|statement| format!("claim   {statement}")));
    if let Some(objective) = problem.objective() {
        lines.push(format!("claim   {} {}", objective.direction.word(), objective.statement()));
    }
    lines.push(format!("claim   distances up to {} count as 0", budget.tolerance));
    lines.push(format!(
        "ok      by their checksums {SEALED} are as they were written; {}",
        count(rounds.len(), "round", "rounds")
    ));
    lines.push(format!("-       {UNSEALED} prove nothing and were not looked at"));
    let policies = outcome.mixture.parts().len();
    let fitting = count(policies, "policy that fits", "policies that fit");
    lines.push(format!("ok      the mixture: {fitting} the world"));
    counted(&rounds)?;
    let about: About = directory.read_json(files::RUN)?;
    if certificate.tolerance != budget.tolerance || about.seed != seed {
        return Err(refuted("the certificate's tolerance or the run's seed is not that of problem.toml"));
    }
    let last = rounds.last().map_or((0, 0), |line| (line.round, line.samples));
    // What went wrong may have taken steps that no round tells of, and so does a network that is learnt without rounds.
    let is_untold = method.rounds().is_none() && method.is_learning(problem);
    let samples = if outcome.failure().is_some() || is_untold { outcome.samples } else { last.1 };
    let most = budget.rounds.unwrap_or(usize::MAX);
    if outcome.rounds > most {
        return Err(refuted(format!(
            "{} rounds were played, but problem.toml allows for {most}",
            outcome.rounds
        )));
    }
    if outcome.failure().is_some() && (outcome.samples < last.1 || outcome.verdict() != Verdict::Undecided) {
        return Err(refuted(
            "a solve that failed claims nothing, and takes no fewer samples than its rounds",
        ));
    }
    if counts != (last.0, samples, policies, outcome.evaluation_samples()) {
        return Err(refuted(
            "the result counts other rounds, samples, policies or evaluation samples than there are",
        ));
    }
    // What went wrong may have left no time for episodes.
    let is_expected = method.is_learning(problem) && outcome.failure().is_none();
    if outcome.evaluation.is_some() != is_expected {
        return Err(refuted("the result speaks of episodes where none were played, or leaves them out"));
    }
    let (summary, result) = (Summary::of(problem, &outcome, None), result_file(&outcome, log));
    let written = result::File { summary: &summary, result: &result };
    let is_as_written = directory
        .is_as_written(files::CERTIFICATE, &claim)
        .and_then(|()| directory.is_as_written(files::RESULT, &written));
    // What is written as it should be says what it should.
    if is_as_written.is_err() {
        says_nothing_else(directory, &summary, &result, &claim)?;
    }
    let accepted = visits::accept(directory, problem, &outcome.mixture);
    if accepted > 0 {
        let policies = count(accepted, "policy visits", "policies visit");
        lines.push(format!("ok      what {policies}, by what flows into every state and out of it"));
    }
    let checked = appropo::verify::verify(problem, &outcome, episodes.unwrap_or(seed.wrapping_add(1)))?;
    let of_logs = appropo::verify::verify_off_policy(problem, method, &outcome)?;
    lines.extend(checked.into_iter().chain(of_logs).map(|line| format!("ok      {line}")));
    directory.is_as_written(files::RUN, &about)?;
    directory.is_as_written(MANIFEST, &policies::manifest(directory)?)?;
    is_as_written?;
    Ok(match certificate.verdict {
        Verdict::Feasible => "feasible".into(),
        Verdict::Infeasible => format!("infeasible by at least {:?}", certificate.lower_bound),
        Verdict::Undecided => "undecided, as it says".into(),
    })
}

/// What a result counts: rounds, samples, policies and evaluation samples.
fn counts(stated: &ResultFile) -> (usize, u64, usize, u64) {
    (stated.oracle_calls, stated.samples, stated.policies, stated.evaluation_samples)
}

fn counted(rounds: &[LogLine]) -> Result<()> {
    let upwards = rounds.iter().zip(1..).all(|(line, number)| line.round == number);
    if upwards && rounds.is_sorted_by_key(|line| line.samples) {
        return Ok(());
    }
    Err(refuted("rounds.jsonl does not count its rounds and samples upwards"))
}

/// Everything that the result says for people follows from the rest, and nothing else is said.
fn says_nothing_else(
    directory: &Directory,
    summary: &Summary,
    result: &ResultFile,
    claim: &Claim,
) -> Result<()> {
    let mut expected = members(summary)?;
    expected.extend(members(result)?);
    says_only(directory, files::RESULT, &expected)?;
    says_only(directory, files::CERTIFICATE, &members(claim)?)
}

fn members(object: &impl Serialize) -> Result<Map<String, Value>> {
    match serde_json::to_value(object) {
        Ok(Value::Object(members)) => Ok(members),
        _ => Err(refuted("a number is not finite")),
    }
}

/// Whether a file has the expected members, and no other that could be taken for a part of the claim.
fn says_only(directory: &Directory, file: &str, expected: &Map<String, Value>) -> Result<()> {
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
