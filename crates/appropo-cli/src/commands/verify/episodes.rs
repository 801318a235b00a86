//! What a run says of its episodes, by episodes that it never saw.

use std::fmt::Write;

use appropo::certificate::{Certificate, Verdict};
use appropo::confidence::{Evaluation, Finding, find};
use appropo::policy::{AnyPolicy, Mixed};
use appropo::random::{self, Generator};

use super::{agree, refuted};
use crate::Failure;
use crate::ended::Ended;
use crate::judge::{all_measures, claim, fresh, looks, plans};
use crate::problem::Problem;

/// Episodes that are enough where they decide nothing.
const FEW: usize = 1000;
/// Radii may be this much smaller than those of fresh episodes: how far a sample varies is seen only roughly.
const SMALLER: f64 = 0.25;

/// The claim of a learnt policy where there is no model.
pub fn by_playing(
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
    if *certificate != claim(claimed, problem.settings.tolerance) {
        return Err(refuted("the certificate is not what the result's episodes allow to claim"));
    }
    let (seed, mut rng) = draws(problem, seed);
    let found = fresh(problem, mixture, &mut rng, None)?;
    plausible(problem, claimed, &found)?;
    // The other half measured everything.
    usual(ended.evaluation_samples.saturating_sub(claimed.samples), claimed.episodes, &found)?;
    near(&claimed.mean, &found.mean, &found.radii)?;
    let (mean, radii) = all_measures(problem, mixture, found.episodes, &mut rng)?;
    near(&ended.z, &mean, &radii)?;
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

/// What is said of episodes where a model decides: there are none where the policies were planned.
pub fn beside_the_model(
    problem: &Problem,
    mixture: &Mixed<AnyPolicy>,
    ended: &Ended,
    exact: &[f64],
    seed: Option<u64>,
    text: &mut String,
) -> Result<(), Failure> {
    // What went wrong may have left no time for episodes.
    let is_expected = !plans(problem, &problem.settings);
    if is_expected != ended.evaluation.is_some() && !(is_expected && ended.failure.is_some()) {
        return Err(refuted("the result speaks of episodes where none were played, or leaves them out"));
    }
    let samples = ended.evaluation.as_ref().map_or(0, |claimed| claimed.samples);
    if ended.evaluation_samples != samples {
        let stated = ended.evaluation_samples;
        return Err(refuted(format!(
            "{stated} evaluation samples are stated, but the episodes have {samples}"
        )));
    }
    let Some(claimed) = &ended.evaluation else { return Ok(()) };
    let (seed, mut rng) = draws(problem, seed);
    let found = fresh(problem, mixture, &mut rng, Some(FEW))?;
    plausible(problem, claimed, &found)?;
    near(&claimed.mean, exact, &claimed.radii)?;
    let _ = writeln!(text, "ok      what is said of episodes, by {FEW} fresh ones with seed {seed}");
    Ok(())
}

/// Another stream of draws than the run's own.
fn draws(problem: &Problem, seed: Option<u64>) -> (u64, Generator) {
    let seed = seed.unwrap_or(problem.settings.seed.wrapping_add(1));
    (seed, random::generator(seed))
}

/// Whether an evaluation says what follows from its mean and radii, and is of a kind with a fresh one.
fn plausible(problem: &Problem, claimed: &Evaluation, found: &Evaluation) -> Result<(), Failure> {
    if claimed.confidence != found.confidence {
        return Err(refuted(format!("the level is {}, expected {}", claimed.confidence, found.confidence)));
    }
    let (first, most) = looks(problem);
    let mut counts = std::iter::successors(Some(first), |n| (*n < most).then(|| (2 * n).min(most)));
    if !counts.any(|count| count == claimed.episodes) {
        return Err(refuted(format!("no evaluation ends after {} episodes", claimed.episodes)));
    }
    usual(claimed.samples, claimed.episodes, found)?;
    // Radii shrink with the number of episodes at most.
    let share = (found.episodes as f64 / claimed.episodes as f64).min(1.0);
    for (i, (claimed, found)) in claimed.radii.iter().zip(&found.radii).enumerate() {
        // Written so that NaN is too small.
        if !(*claimed >= SMALLER * share * found) {
            return Err(refuted(format!(
                "entry {i} of the radii is claimed as {claimed:?}, but fresh episodes give {found:?}"
            )));
        }
    }
    let (finding, distance) = find(problem.target.set(), &claimed.mean, &claimed.radii)?;
    if finding != claimed.finding {
        return Err(refuted(format!(
            "the finding is claimed as {:?}, but mean and radii give {finding:?}",
            claimed.finding
        )));
    }
    agree("the distance", &[claimed.distance], &[distance])
}

/// Whether so many steps are about what so many episodes take.
fn usual(steps: u64, episodes: usize, found: &Evaluation) -> Result<(), Failure> {
    let expected = found.samples as f64 * episodes as f64 / found.episodes as f64;
    if (0.5 * expected..=2.0 * expected).contains(&(steps as f64)) {
        return Ok(());
    }
    Err(refuted(format!("{episodes} episodes are said to take {steps} steps, but take about {expected:.0}")))
}

/// Two means of as many episodes are at most two radii apart.
fn near(claimed: &[f64], found: &[f64], radii: &[f64]) -> Result<(), Failure> {
    for i in 0..found.len() {
        // Written so that NaN is far.
        if !((found[i] - claimed[i]).abs() <= 2.0 * radii[i]) {
            return Err(refuted(format!(
                "entry {i} of the measurements is claimed as {:?}, but fresh episodes give {:?} ± {:?}",
                claimed[i], found[i], radii[i]
            )));
        }
    }
    Ok(())
}
