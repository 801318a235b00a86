//! The end of a run on disk: what was found, and what it was found by.

use std::time::Duration;

use appropo::certificate::Certificate;
use appropo::confidence::Evaluation;
use appropo::policy::{AnyPolicy, Mixed};
use appropo::set::ConvexSet;
use appropo_run::{Directory, LogDigest, policies};
use serde::{Deserialize, Deserializer, Serialize};

use crate::Failure;
use crate::problem::{Problem, Settings};
use crate::record::{CERTIFICATE, RESULT, times};
use crate::report::{Found, Report};

/// What the file of the result says besides the report.
#[derive(Serialize, Deserialize)]
pub struct Ended {
    #[serde(deserialize_with = "or_unknown")]
    pub z: Vec<f64>,
    pub evaluation: Option<Evaluation>,
    /// What went wrong on the way, if anything did.
    pub failure: Option<String>,
    pub log: LogDigest,
    #[serde(skip_serializing)]
    pub oracle_calls: usize,
    #[serde(skip_serializing)]
    pub policies: usize,
    #[serde(skip_serializing)]
    pub samples: u64,
    #[serde(skip_serializing)]
    pub evaluation_samples: u64,
}

/// Numbers of which JSON's `null` is one: NaN, for what was not measured.
fn or_unknown<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let numbers = Vec::<Option<f64>>::deserialize(from)?;
    Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
}

/// Writes policies, certificate and, last of all, the result.
pub fn write(
    directory: &Directory,
    problem: &Problem,
    settings: &Settings,
    mixture: &Mixed<AnyPolicy>,
    found: &Found,
    failure: Option<String>,
    log: LogDigest,
) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct File<'a> {
        #[serde(flatten)]
        report: &'a Report,
        #[serde(flatten)]
        ended: Ended,
    }
    policies::save(directory, mixture)?;
    directory.write_json(CERTIFICATE, &found.certificate)?;
    let ended = Ended {
        z: found.z.clone(),
        evaluation: found.evaluation.clone(),
        failure,
        log,
        oracle_calls: found.oracle_calls,
        policies: found.policies,
        samples: found.samples,
        evaluation_samples: found.evaluation_samples,
    };
    // The time it took is no part of the result: the same run has the same result.
    let report = Report::new(problem, settings, found.clone(), None);
    directory.write_json(RESULT, &File { report: &report, ended })?;
    Ok(())
}

/// The result of a run that has ended, and its certificate.
pub fn read(directory: &Directory, problem: &Problem) -> Result<(Ended, Certificate), Failure> {
    must_have_ended(directory)?;
    let (ended, certificate): (Ended, Certificate) =
        (directory.read_json(RESULT)?, directory.read_json(CERTIFICATE)?);
    let (all, selected) = (problem.world.measures().dim(), problem.target.set().dim());
    let mut lengths =
        vec![(CERTIFICATE, "z_bar", certificate.z_bar.len(), selected), (RESULT, "z", ended.z.len(), all)];
    if let Some(evaluation) = &ended.evaluation {
        lengths.push((RESULT, "evaluation.mean", evaluation.mean.len(), selected));
        lengths.push((RESULT, "evaluation.radii", evaluation.radii.len(), selected));
        lengths.push((RESULT, "evaluation.measured", evaluation.measured.dim(), all));
        lengths.push((RESULT, "evaluation.quantiles", evaluation.quantiles.columns(), all + 1));
    }
    match lengths.into_iter().find(|(.., found, expected)| found != expected) {
        None => Ok((ended, certificate)),
        Some((file, member, found, expected)) => Err(Failure::Other(format!(
            "{}: {member} has {found} entries, but in the run's problem it has {expected}",
            directory.file(file).display()
        ))),
    }
}

pub fn must_have_ended(directory: &Directory) -> Result<(), Failure> {
    if directory.has(RESULT) {
        return Ok(());
    }
    let path = directory.path().display();
    Err(Failure::Input(if directory.is_in_use() {
        format!("{path}: the run has not ended: another process is at it; wait until it is done")
    } else {
        format!("{path}: the run has not ended; go on with \"appropo resume {path}\"")
    }))
}

/// The report of a run that has ended, as it was printed then.
pub fn report(directory: &Directory, problem: &Problem, settings: &Settings) -> Result<Report, Failure> {
    let (ended, certificate) = read(directory, problem)?;
    let found = Found {
        certificate,
        z: ended.z,
        oracle_calls: ended.oracle_calls,
        policies: ended.policies,
        samples: ended.samples,
        evaluation_samples: ended.evaluation_samples,
        evaluation: ended.evaluation,
    };
    let times = times(directory);
    let seconds = times.oracle + times.player + times.evaluation + times.writing;
    let elapsed = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    Ok(Report::new(problem, settings, found, Some(elapsed)))
}
