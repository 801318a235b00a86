//! What a run says of its episodes, by episodes that it never saw.

use std::fmt::Write;

use appropo::certificate::Certificate;
use appropo::confidence::{Evaluation, REFUSAL};
use appropo::policy::{AnyPolicy, Mixed};
use appropo::random;

use super::{agree, refuted};
use crate::Failure;
use crate::ended::Ended;
use crate::judge::{claim, fresh_sample, looks, plans};
use crate::problem::Problem;

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
    consistent(problem, ended, claimed)?;
    if *certificate != claim(claimed, problem.settings.tolerance) {
        return Err(refuted("the certificate is not what the result's episodes allow to claim"));
    }
    agree("the measurements", &ended.z, claimed.measured.mean())?;
    by_fresh_episodes(problem, mixture, claimed, seed, text)
}

/// What is said of episodes where a model decides: there are none where the policies were planned.
pub fn beside_the_model(
    problem: &Problem,
    mixture: &Mixed<AnyPolicy>,
    ended: &Ended,
    seed: Option<u64>,
    text: &mut String,
) -> Result<(), Failure> {
    // What went wrong may have left no time for episodes.
    let is_expected = !plans(problem, &problem.settings);
    if is_expected != ended.evaluation.is_some() && !(is_expected && ended.failure.is_some()) {
        return Err(refuted("the result speaks of episodes where none were played, or leaves them out"));
    }
    let Some(claimed) = &ended.evaluation else {
        return match ended.evaluation_samples {
            0 => Ok(()),
            stated => Err(refuted(format!("{stated} evaluation samples are stated, but no episodes"))),
        };
    };
    consistent(problem, ended, claimed)?;
    by_fresh_episodes(problem, mixture, claimed, seed, text)
}

/// Whether an evaluation says what follows from its episodes.
fn consistent(problem: &Problem, ended: &Ended, claimed: &Evaluation) -> Result<(), Failure> {
    let (stated, samples) = (ended.evaluation_samples, claimed.samples);
    if stated != samples {
        return Err(refuted(format!(
            "{stated} evaluation samples are stated, but the episodes have {samples}"
        )));
    }
    let target = &problem.target;
    match claimed.inconsistency(target.set(), target.selection(), &looks(problem))? {
        Some(problem) => Err(refuted(problem)),
        None => Ok(()),
    }
}

/// Whether as many episodes with another seed allow for what is claimed.
fn by_fresh_episodes(
    problem: &Problem,
    mixture: &Mixed<AnyPolicy>,
    claimed: &Evaluation,
    seed: Option<u64>,
    text: &mut String,
) -> Result<(), Failure> {
    let seed = seed.unwrap_or(problem.settings.seed.wrapping_add(1));
    let sample = fresh_sample(problem, mixture, &mut random::generator(seed), claimed.episodes)?;
    if let Some(problem) = claimed.quantiles.contradicts(&sample) {
        return Err(refuted(problem));
    }
    let _ = writeln!(
        text,
        "ok      {} fresh episodes with seed {seed} agree with the run's (a true claim fails here at most once in {})",
        claimed.episodes,
        1.0 / REFUSAL
    );
    Ok(())
}
