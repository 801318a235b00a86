//! A claim computed again: whether an outcome says what is true of its problem and its mixture.

use crate::certificate::Verdict;
use crate::confidence::{Evaluation, REFUSAL};
use crate::error::{Error, Result};
use crate::evaluate::{certifying, claim, exact_measurement, fresh_sample, judged, rollouts, settings};
use crate::method::{Budget, Method};
use crate::off_policy::OffPolicyEstimate;
use crate::outcome::{Optimum, Outcome};
use crate::policy::Mixed;
use crate::problem::Problem;
use crate::random;
use crate::set::ConvexSet;

/// Differences up to this, relative to the size of the numbers, are rounding.
const ROUNDING: f64 = 1e-7;

fn refuted(problem: impl Into<String>) -> Error {
    Error::Refuted { problem: problem.into() }
}

/// Computes the claim of an outcome again: exactly where the model is known, else by fresh episodes with `seed`, which
/// refuse a true claim at most once in 1,000. Returns what was checked, line by line; what does not hold is
/// [`Error::Refuted`].
pub fn verify(problem: &Problem, outcome: &Outcome, seed: u64) -> Result<Vec<String>> {
    let mut checked = Vec::new();
    match exact_measurement(problem, &outcome.mixture) {
        Some(exact) => in_model(problem, outcome, &exact, &mut checked)?,
        None if outcome.rests_on_logs() => by_logs(problem, outcome)?,
        None => by_episodes(problem, outcome)?,
    }
    objective(problem, outcome, &mut checked)?;
    if let Some(evaluation) = &outcome.evaluation {
        consistent(problem, &outcome.mixture, evaluation)?;
        let rng = &mut random::generator(seed);
        let sample = fresh_sample(problem, &outcome.mixture, &evaluation.controls, evaluation.episodes, rng)?;
        if let Some(problem) = evaluation.quantiles.contradicts(&sample) {
            return Err(refuted(problem));
        }
        let mut apart = rollouts(problem, &Budget::default(), rng)?;
        if !apart.bear_out(&evaluation.controls, &outcome.mixture)? {
            return Err(refuted("the controls of the episodes are larger than what the policies differ by"));
        }
        checked.push(format!(
            "{} fresh episodes with seed {seed} agree with those of the claim (a true claim fails here at most once in {})",
            evaluation.episodes,
            1.0 / REFUSAL
        ));
    }
    Ok(checked)
}

/// What is claimed where the model is known.
fn in_model(problem: &Problem, outcome: &Outcome, exact: &[f64], checked: &mut Vec<String>) -> Result<()> {
    let (certificate, target) = (&outcome.certificate, problem.target());
    let Some(oracle) = certifying(problem, certificate)? else { return Err(refuted("there is no model")) };
    agree("the measurements", &outcome.measurements, exact)?;
    let again = oracle
        .check_for(certificate, target.set(), target.selection().apply(exact))
        .map_err(|error| refuted(error.to_string()))?;
    // A search that was broken off claims nothing, whatever there is to claim.
    let claims_less = outcome.failure().is_some() && certificate.verdict == Verdict::Undecided;
    if again.verdict != certificate.verdict && !claims_less {
        return Err(refuted(format!(
            "the verdict is claimed as {:?}, but what is known says {:?}",
            certificate.verdict, again.verdict
        )));
    }
    agree("the lower bound", &[certificate.lower_bound], &[again.lower_bound])?;
    if let Some(level) = certificate.confidence {
        return Err(refuted(format!("the claim is exact, but a level of confidence of {level} is stated")));
    }
    checked.push(format!(
        "the measurements of the mixture, computed in the model; their distance from the set is {:?}",
        certificate.distance
    ));
    if let Some(separation) = &certificate.separation {
        checked.push(format!(
            "no policy comes closer than {:?}: by a value function of {} entries",
            certificate.lower_bound,
            separation.witness.values.len()
        ));
    }
    Ok(())
}

/// What is claimed of a learnt policy where there is no model.
fn by_episodes(problem: &Problem, outcome: &Outcome) -> Result<()> {
    let Some(evaluation) = &outcome.evaluation else {
        return Err(refuted("the result does not say which episodes it rests on"));
    };
    consistent(problem, &outcome.mixture, evaluation)?;
    if outcome.certificate != claim(problem, evaluation, outcome.certificate.tolerance) {
        return Err(refuted("the certificate is not what the result's episodes allow to claim"));
    }
    agree("the measurements", &outcome.measurements, evaluation.measured.mean())
}

/// What is claimed where there is nothing but logs: nothing beyond what they say.
fn by_logs(problem: &Problem, outcome: &Outcome) -> Result<()> {
    let Some(estimate) = &outcome.off_policy else { return Err(refuted("there are no logs")) };
    let (target, certificate) = (problem.target(), &outcome.certificate);
    let z_bar = target.selection().apply(&estimate.value);
    agree("the measurements of the constraints", &certificate.z_bar, &z_bar)?;
    agree("the distance", &[certificate.distance], &[target.set().distance(&z_bar)])?;
    let is_modest = certificate.verdict == Verdict::Undecided
        && certificate.confidence.is_none()
        && certificate.separation.is_none()
        && certificate.lower_bound == 0.0;
    // What was not estimated is NaN in both.
    let is_unknown = |z: &[f64]| z.iter().map(|value| value.is_nan()).collect::<Vec<_>>();
    if is_unknown(&outcome.measurements) != is_unknown(&estimate.value) {
        return Err(refuted("other measurements are claimed than the logs were asked for"));
    }
    let known = |z: &[f64]| z.iter().copied().filter(|value| !value.is_nan()).collect::<Vec<_>>();
    match is_modest {
        true => agree("the measurements", &known(&outcome.measurements), &known(&estimate.value)),
        false => Err(refuted("logs alone decide nothing, but the certificate claims more than undecided")),
    }
}

/// Computes what logs say of a mixture again, by the method that learnt from them. `None` where it learns from none.
pub fn verify_off_policy(
    problem: &Problem,
    method: &dyn Method,
    outcome: &Outcome,
) -> Result<Option<String>> {
    if outcome.failure().is_some() && outcome.off_policy.is_none() {
        return Ok(None);
    }
    let found = method.off_policy(problem, &outcome.mixture, outcome.seed)?;
    let (claimed, found) = match (&outcome.off_policy, found) {
        (None, None) => return Ok(None),
        (Some(claimed), Some(found)) => (claimed, found),
        _ => return Err(refuted("the method and the result do not agree on whether logs were learnt from")),
    };
    let of = |estimate: &OffPolicyEstimate| {
        let OffPolicyEstimate { checksum, episodes, steps, fitted, resamples, .. } = estimate.clone();
        (checksum, episodes, steps, fitted, resamples)
    };
    if of(claimed) != of(&found) || claimed.level != found.level {
        return Err(refuted(
            "what logs say is claimed of other data, or of another fit, than the problem names",
        ));
    }
    let known =
        |numbers: &[f64]| numbers.iter().map(|v| if v.is_nan() { 0.0 } else { *v }).collect::<Vec<_>>();
    for (what, claimed, found) in [
        ("the fitted values", &claimed.value, &found.value),
        ("the lower ends of intervals", &claimed.lower, &found.lower),
        ("the upper ends of intervals", &claimed.upper, &found.upper),
    ] {
        agree(what, &known(claimed), &known(found))?;
        if claimed.iter().zip(found).any(|(a, b)| a.is_nan() != b.is_nan()) {
            return Err(refuted(format!(
                "{what} are claimed where they are not known, or left out where they are"
            )));
        }
    }
    agree(
        "the share that was not logged",
        &Vec::from_iter(claimed.unlogged),
        &Vec::from_iter(found.unlogged),
    )?;
    Ok(Some(format!(
        "fitted values and intervals, computed again from {} logged episodes with checksum {}; that the logs cover what the \
         policy does, and that it measures the same when it is played, can't be checked from logs",
        found.episodes,
        &found.checksum[..found.checksum.len().min(12)],
    )))
}

/// What is claimed of the objective: its value is one of the measurements, which are checked apart, its interval follows from
/// the episodes, and its bound from the proof.
fn objective(problem: &Problem, outcome: &Outcome, checked: &mut Vec<String>) -> Result<()> {
    let claimed = outcome.objective.as_ref();
    let found = Optimum::of(problem, outcome, claimed.and_then(|claimed| claimed.ceiling.clone()))?;
    let (claimed, found) = match (claimed, found) {
        (None, None) => return Ok(()),
        (Some(claimed), Some(found)) => (claimed, found),
        _ => return Err(refuted("the problem and the result do not agree on whether there is an objective")),
    };
    if (&claimed.measure, claimed.direction) != (&found.measure, found.direction) {
        return Err(refuted("the result is about another objective than the problem"));
    }
    let ends = |interval: Option<(f64, f64)>| interval.map_or(vec![], |(low, high)| vec![low, high]);
    let known = |value: Option<f64>| Vec::from_iter(value);
    let pairs = [
        ("the objective's value", known(claimed.value), known(found.value)),
        ("the objective's interval", ends(claimed.interval), ends(found.interval)),
        ("the objective's bound", known(claimed.bound), known(found.bound)),
    ];
    for (what, claimed, found) in &pairs {
        if claimed.len() != found.len() {
            return Err(refuted(format!("{what} is claimed as {claimed:?}, but it is {found:?}")));
        }
        agree(what, claimed, found)?;
    }
    match (found.value, found.bound) {
        (Some(value), Some(bound)) => checked.push(format!(
            "{} {}: {value:?}, and by a value function no feasible policy passes {bound:?}",
            found.direction.word(),
            found.measure
        )),
        (Some(value), None) => checked.push(format!(
            "{} {}: {value:?}; that it is the best is not claimed",
            found.direction.word(),
            found.measure
        )),
        _ => {}
    }
    Ok(())
}

/// Whether an evaluation says what follows from its episodes.
fn consistent(problem: &Problem, mixture: &Mixed, evaluation: &Evaluation) -> Result<()> {
    let (set, selection) = judged(problem)?;
    match evaluation.inconsistency(mixture, &set, &selection, &settings(0))? {
        Some(problem) => Err(refuted(problem)),
        None => Ok(()),
    }
}

/// Whether numbers are the same but for rounding.
fn agree(what: &str, claimed: &[f64], found: &[f64]) -> Result<()> {
    crate::error::dimension(what, claimed.len(), found.len())?;
    let size = 1.0 + found.iter().filter(|v| !v.is_nan()).map(|v| v * v).sum::<f64>().sqrt();
    // NaN says that something is measured without end; anything else differs from it.
    let differs = |(_, (a, b)): &(usize, (&f64, &f64))| {
        !((*a - *b).abs() <= ROUNDING * size || (a.is_nan() && b.is_nan()))
    };
    match claimed.iter().zip(found).enumerate().find(differs) {
        None => Ok(()),
        Some((i, (claimed, found))) => {
            Err(refuted(format!("entry {i} of {what} is claimed as {claimed:?}, but it is {found:?}")))
        }
    }
}
