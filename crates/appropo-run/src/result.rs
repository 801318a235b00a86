//! The end of a run on disk: what came out, as files from which it can be read again.

use std::sync::Arc;

use appropo::certificate::{Ceiling, Certificate, Verdict};
use appropo::confidence::Evaluation;
use appropo::env::{EnvSpec, Space};
use appropo::error::{Error as LibraryError, Result as LibraryResult};
use appropo::nn::Inputs;
use appropo::off_policy::OffPolicyEstimate;
use appropo::outcome::{Optimum, Outcome};
use appropo::policy::{Act, Actions, AnyPolicy, ExternalPolicy, Mixed, Tensor};
use appropo::price::{Nearest, Price};
use appropo::problem::Problem;
use appropo::scalars::scalars;
use appropo::set::ConvexSet;
use appropo::solver::Stop;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::about::About;
use crate::error::{Error, Result};
use crate::log::LogLine;
use crate::{Directory, Log, LogDigest, files, policies, visits};

/// An outcome as one JSON object, in the order that other programs rely on.
#[derive(Debug, Serialize)]
pub struct Summary {
    verdict: Verdict,
    distance: f64,
    lower_bound: f64,
    confidence: Option<f64>,
    #[serde(serialize_with = "in_order")]
    measurements: Vec<(String, Value)>,
    constraints: Vec<ConstraintSummary>,
    oracle_calls: usize,
    policies: usize,
    samples: u64,
    evaluation_samples: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    objective: Option<ObjectiveSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    prices: Vec<PriceSummary>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "nearest")]
    nearest: Option<Nearest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logged: Option<LoggedSummary>,
}

/// What loosening a constraint is worth.
#[derive(Debug, Serialize)]
struct PriceSummary {
    constraint: String,
    loosened: &'static str,
    price: f64,
}

/// The closest that any policy comes, a name and a value each.
fn nearest<S: Serializer>(nearest: &Option<Nearest>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    let values = nearest.iter().flat_map(|nearest| &nearest.values);
    serializer.collect_map(values.map(|(name, value)| (name, value)))
}

/// What an outcome says of logs, for people and other programs.
#[derive(Debug, Serialize)]
struct LoggedSummary {
    checksum: String,
    episodes: usize,
    steps: usize,
    level: f64,
    resamples: usize,
    #[serde(serialize_with = "in_order")]
    intervals: Vec<(String, Value)>,
    unlogged: Option<f64>,
    assumptions: Vec<&'static str>,
}

impl LoggedSummary {
    fn of(problem: &Problem, estimate: &OffPolicyEstimate) -> Self {
        let intervals = problem.measures().iter().filter_map(|(name, range)| {
            let pair = |i: usize| json!([estimate.lower[i], estimate.upper[i]]);
            let is_known = range.clone().all(|i| estimate.lower[i].is_finite());
            is_known.then(|| {
                let value = if range.len() == 1 { pair(range.start) } else { range.map(pair).collect() };
                (name.to_owned(), value)
            })
        });
        Self {
            checksum: estimate.checksum.clone(),
            episodes: estimate.episodes,
            steps: estimate.steps,
            level: estimate.level,
            resamples: estimate.resamples,
            intervals: intervals.collect(),
            unlogged: estimate.unlogged,
            assumptions: estimate.assumptions(),
        }
    }
}

#[derive(Debug, Serialize)]
struct ConstraintSummary {
    name: String,
    holds: bool,
    distance: f64,
}

/// What an outcome says of its objective, but for the proof.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ObjectiveSummary {
    measure: String,
    goal: String,
    value: Option<f64>,
    interval: Option<(f64, f64)>,
    bound: Option<f64>,
}

impl ObjectiveSummary {
    fn of(optimum: &Optimum) -> Self {
        let Optimum { measure, direction, value, interval, bound, .. } = optimum.clone();
        Self { measure, goal: direction.word().into(), value, interval, bound }
    }
}

/// A map with its keys in the order of the measurement vector.
fn in_order<S: Serializer>(
    entries: &[(String, Value)],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|(name, value)| (name, value)))
}

impl Summary {
    /// The summary of an outcome, with the time that it took where that is part of it.
    pub fn of(problem: &Problem, outcome: &Outcome, seconds: Option<f64>) -> Self {
        let z = &outcome.measurements;
        let measurements = problem.measures().iter().map(|(name, range)| {
            let value = if range.len() == 1 { json!(z[range.start]) } else { json!(z[range]) };
            (name.to_owned(), value)
        });
        let constraints = outcome.rows(problem).into_iter().map(|row| ConstraintSummary {
            name: row.name,
            holds: row.holds,
            distance: row.distance,
        });
        Self {
            verdict: outcome.certificate.verdict,
            distance: outcome.certificate.distance,
            lower_bound: outcome.certificate.lower_bound,
            confidence: outcome.certificate.confidence,
            measurements: measurements.collect(),
            constraints: constraints.collect(),
            oracle_calls: outcome.rounds,
            policies: outcome.mixture.parts().len(),
            samples: outcome.samples,
            evaluation_samples: outcome.evaluation_samples(),
            seconds,
            seed: outcome.seed,
            objective: outcome.objective.as_ref().map(ObjectiveSummary::of),
            prices: outcome
                .prices(problem)
                .into_iter()
                .map(|Price { constraint, loosened, price }| PriceSummary {
                    constraint,
                    loosened: loosened.word(),
                    price,
                })
                .collect(),
            nearest: outcome.nearest(problem),
            logged: outcome.off_policy.as_ref().map(|estimate| LoggedSummary::of(problem, estimate)),
        }
    }

    /// The object as a line of text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What the result file says besides the summary.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ResultFile {
    #[serde(deserialize_with = "or_unknown")]
    pub z: Vec<f64>,
    pub evaluation: Option<Evaluation>,
    /// What logs say, where they were learnt from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_policy: Option<OffPolicyEstimate>,
    /// Why the search ended.
    pub stop: StopWord,
    /// What went wrong on the way, if anything did.
    pub failure: Option<String>,
    pub log: LogDigest,
    #[serde(skip_serializing, default)]
    pub objective: Option<ObjectiveSummary>,
    #[serde(skip_serializing)]
    pub oracle_calls: usize,
    #[serde(skip_serializing)]
    pub samples: u64,
    #[serde(skip_serializing)]
    pub policies: usize,
    #[serde(skip_serializing)]
    pub evaluation_samples: u64,
}

/// Why a search ended, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StopWord {
    Reached,
    Refuted,
    GaveUp,
    Samples,
    Rounds,
    Observer,
    Failed,
}

impl From<&Stop> for StopWord {
    fn from(stop: &Stop) -> Self {
        match stop {
            Stop::Reached => Self::Reached,
            Stop::Refuted => Self::Refuted,
            Stop::GaveUp => Self::GaveUp,
            Stop::Samples => Self::Samples,
            Stop::Rounds => Self::Rounds,
            Stop::Observer => Self::Observer,
            // The reason itself stands beside it.
            _ => Self::Failed,
        }
    }
}

impl StopWord {
    /// The reason, with what went wrong where something did.
    pub fn stop(self, failure: &str) -> Stop {
        match self {
            StopWord::Reached => Stop::Reached,
            StopWord::Refuted => Stop::Refuted,
            StopWord::GaveUp => Stop::GaveUp,
            StopWord::Samples => Stop::Samples,
            StopWord::Rounds => Stop::Rounds,
            StopWord::Observer => Stop::Observer,
            StopWord::Failed if failure == LibraryError::Interrupted.to_string() => {
                Stop::Failed(LibraryError::Interrupted)
            }
            StopWord::Failed => Stop::Failed(LibraryError::Earlier { message: failure.into() }),
        }
    }
}

/// Numbers of which JSON's `null` is one: NaN, for what was not measured.
fn or_unknown<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Vec<f64>, D::Error> {
    let numbers = Vec::<Option<f64>>::deserialize(from)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}

/// All of the result file.
#[derive(Serialize)]
pub(crate) struct File<'a> {
    #[serde(flatten)]
    pub summary: &'a Summary,
    #[serde(flatten)]
    pub result: &'a ResultFile,
}

/// Writes policies, certificate and, last of all, the result.
pub(crate) fn write(
    directory: &Directory,
    problem: &Problem,
    outcome: &Outcome,
    log: LogDigest,
) -> Result<()> {
    policies::save(directory, &outcome.mixture)?;
    visits::save(directory, problem, &outcome.mixture)?;
    directory.write_json(files::CERTIFICATE, &Claim::of(outcome))?;
    // The time it took is no part of the result: the same run has the same result.
    let summary = Summary::of(problem, outcome, None);
    directory.write_json(files::RESULT, &File { summary: &summary, result: &result_file(outcome, log) })
}

/// All of the certificate file: what is claimed of the constraints and, where a bound on the objective is, its proof.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Claim {
    #[serde(flatten)]
    pub certificate: Certificate,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
}

impl Claim {
    pub fn of(outcome: &Outcome) -> Self {
        let ceiling = outcome.objective.as_ref().and_then(|optimum| optimum.ceiling.clone());
        Self { certificate: outcome.certificate.clone(), ceiling }
    }
}

pub(crate) fn result_file(outcome: &Outcome, log: LogDigest) -> ResultFile {
    ResultFile {
        z: outcome.measurements.clone(),
        evaluation: outcome.evaluation.clone(),
        off_policy: outcome.off_policy.clone(),
        stop: (&outcome.stop).into(),
        failure: outcome.failure().map(ToString::to_string),
        log,
        objective: outcome.objective.as_ref().map(ObjectiveSummary::of),
        oracle_calls: outcome.rounds,
        samples: outcome.samples,
        policies: outcome.mixture.parts().len(),
        evaluation_samples: outcome.evaluation_samples(),
    }
}

/// Makes a policy of the calling program act again, of the numbers that it is made of.
pub type Revive = Arc<dyn Fn(&[Tensor]) -> LibraryResult<Act> + Send + Sync>;

/// The outcome of a run that has ended. Policies of the calling program act again where `revive` makes them.
pub fn read(directory: &Directory, problem: &Problem, revive: Option<&Revive>) -> Result<Outcome> {
    outcome(directory, problem, read_files(directory, problem)?, revive)
}

/// The outcome that a run's files make.
pub(crate) fn outcome(
    directory: &Directory,
    problem: &Problem,
    (result, claim): (ResultFile, Claim),
    revive: Option<&Revive>,
) -> Result<Outcome> {
    let Claim { certificate, ceiling } = claim;
    let objective = objective(directory, problem, result.objective.as_ref(), ceiling)?;
    let about: About = directory.read_json(files::RUN)?;
    let lines = Log::read(directory, &result.log)?;
    Ok(Outcome {
        certificate,
        stop: result.stop.stop(result.failure.as_deref().unwrap_or_default()),
        measurements: result.z,
        evaluation: result.evaluation,
        off_policy: result.off_policy,
        mixture: mixture(directory, problem.env(), revive)?,
        rounds: result.oracle_calls,
        samples: result.samples,
        objective,
        history: LogLine::history(lines, &scalars(problem)),
        seed: about.seed,
    })
}

/// What the result says of its objective, if it is that of the problem.
fn objective(
    directory: &Directory,
    problem: &Problem,
    stated: Option<&ObjectiveSummary>,
    ceiling: Option<Ceiling>,
) -> Result<Option<Optimum>> {
    let (stated, objective) = match (stated, problem.objective()) {
        (None, None) => return Ok(None),
        (Some(stated), Some(objective))
            if (stated.measure.as_str(), stated.goal.as_str())
                == (objective.statement().as_str(), objective.direction.word()) =>
        {
            (stated, objective)
        }
        _ => {
            let problem = "it is about another objective than the run's problem".into();
            return Err(Error::Unfit { path: directory.file(files::RESULT), problem });
        }
    };
    let ObjectiveSummary { measure, value, interval, bound, .. } = stated.clone();
    Ok(Some(Optimum { measure, direction: objective.direction, value, interval, bound, ceiling }))
}

pub(crate) fn read_files(directory: &Directory, problem: &Problem) -> Result<(ResultFile, Claim)> {
    directory.must_have_ended()?;
    let (result, claim): (ResultFile, Claim) =
        (directory.read_json(files::RESULT)?, directory.read_json(files::CERTIFICATE)?);
    let (all, constrained) = (problem.measures().dim(), problem.target().set().dim());
    // Episodes judge the objective besides.
    let selected = constrained + problem.objective().map_or(0, |objective| objective.entries.len());
    let mut lengths = vec![
        (files::CERTIFICATE, "z_bar", claim.certificate.z_bar.len(), constrained),
        (files::RESULT, "z", result.z.len(), all),
    ];
    if let Some(evaluation) = &result.evaluation {
        lengths.push((files::RESULT, "evaluation.mean", evaluation.mean.len(), selected));
        lengths.push((files::RESULT, "evaluation.radii", evaluation.radii.len(), selected));
        lengths.push((files::RESULT, "evaluation.measured", evaluation.measured.dim(), all));
        lengths.push((files::RESULT, "evaluation.quantiles", evaluation.quantiles.columns(), all + 1));
    }
    if let Some(estimate) = &result.off_policy {
        lengths.push((files::RESULT, "off_policy.value", estimate.value.len(), all));
        lengths.push((files::RESULT, "off_policy.lower", estimate.lower.len(), all));
        lengths.push((files::RESULT, "off_policy.upper", estimate.upper.len(), all));
    }
    match lengths.into_iter().find(|(.., found, expected)| found != expected) {
        None => Ok((result, claim)),
        Some((file, member, found, expected)) => Err(Error::Unfit {
            path: directory.file(file),
            problem: format!("{member} has {found} entries, but in the run's problem it has {expected}"),
        }),
    }
}

/// The mixture of a run that has ended, if it can act in the environment.
pub fn mixture(directory: &Directory, env: &EnvSpec, revive: Option<&Revive>) -> Result<Mixed> {
    directory.must_have_ended()?;
    let mixture = revived(policies::load(directory)?, revive)?;
    match mixture.parts().iter().position(|(_, policy)| !fits(policy, env)) {
        None => Ok(mixture),
        Some(i) => Err(Error::Unfit {
            path: directory.path().to_owned(),
            problem: format!("policy {i} is for another world than the run's problem"),
        }),
    }
}

/// Refuses a mixture with policies of the calling program that can't act.
pub fn must_act(mixture: &Mixed) -> Result<()> {
    let is_dead = |policy: &AnyPolicy| matches!(policy, AnyPolicy::External(policy) if !policy.is_alive());
    match mixture.parts().iter().position(|(_, policy)| is_dead(policy)) {
        Some(i) => Err(LibraryError::Missing { what: format!("what policy {i} acts by") }.into()),
        None => Ok(()),
    }
}

fn fits(policy: &AnyPolicy, env: &EnvSpec) -> bool {
    let (observations, actions) = (env.observations(), env.actions());
    match policy {
        AnyPolicy::Table(policy) => {
            // A model that was learnt has a state of its own for the end.
            observations.count().is_some_and(|count| policy.states() >= count)
                && actions.count() == Some(policy.actions())
        }
        AnyPolicy::Greedy(_) => false,
        // What it is for only its program knows.
        AnyPolicy::External(_) => true,
        AnyPolicy::Network(policy) => {
            let shape = policy.network().shape();
            let sees = match (&shape.inputs, observations) {
                (Inputs::OneHot(states), Space::Discrete(count)) => states == count,
                (Inputs::Vector(width), Space::Continuous(bounds)) => *width == bounds.len(),
                _ => false,
            };
            let acts = match (policy.actions(), actions) {
                (Actions::Categorical, Space::Discrete(count)) => shape.policy == *count,
                (acts @ (Actions::Gaussian(_) | Actions::Squashed(_)), Space::Continuous(bounds)) => {
                    shape.policy == acts.outputs(bounds.len())
                }
                _ => false,
            };
            sees && acts
        }
    }
}

/// The mixture with policies of the calling program made to act again, where that program is there.
fn revived(mixture: Mixed, revive: Option<&Revive>) -> Result<Mixed> {
    let Some(revive) = revive else { return Ok(mixture) };
    let part = |(weight, policy): &(f64, Arc<AnyPolicy>)| match policy.as_ref() {
        AnyPolicy::External(policy) => {
            let act = revive(policy.tensors())?;
            let alive = ExternalPolicy::new(policy.tensors().to_vec(), Some(act));
            Ok((*weight, Arc::new(AnyPolicy::External(alive))))
        }
        _ => Ok((*weight, Arc::clone(policy))),
    };
    Ok(Mixed::new(mixture.parts().iter().map(part).collect::<Result<Vec<_>>>()?))
}
