//! The report of a run: what its page shows.

use std::sync::Arc;

use appropo::evaluate::exact_measurement;
use appropo::outcome::{History, Outcome, RoundLine};
use appropo::policy::{AnyPolicy, Mixed};
use appropo::problem::Problem;
use appropo::scalars::{Scalar, ScalarKind, scalars};

use crate::about::{About, Times, times};
use crate::error::Result;
use crate::page::{Constraint, Grid, Measure, Objective, Page, Part, Rounds, render};
use crate::{Directory, files, outline, result};

/// Points of a curve that a page shows at most.
const POINTS: usize = 1000;
/// Policies whose measurements a page shows at most.
const MEASURED: usize = 200;

/// Writes the report of a run into its folder.
pub(crate) fn write(directory: &Directory, problem: &Problem) -> Result<()> {
    directory.write(files::REPORT, render(&[page(directory, problem)?]).as_bytes())
}

/// What the page of a run shows.
pub fn page(directory: &Directory, problem: &Problem) -> Result<Page> {
    let about: About = directory.read_json(files::RUN)?;
    let outcome = result::read(directory, problem, None)?;
    Ok(page_of(problem, &outcome, &about, &directory.read_text(files::PROBLEM)?, &times(directory)))
}

/// What the page of an outcome shows. `text` states its problem.
pub fn page_of(problem: &Problem, outcome: &Outcome, about: &About, text: &str, times: &Times) -> Page {
    let (certificate, scalars) = (&outcome.certificate, scalars(problem));
    let measures: Vec<_> = scalars.iter().map(|scalar| measure(scalar, problem, outcome)).collect();
    let interval_of = |name: &str| measures.iter().find(|m| m.name == name).and_then(|m| m.interval);
    let visits = problem.measures().range("visits").ok();
    Page {
        name: problem.name().to_owned(),
        group: String::new(),
        verdict: format!("{:?}", certificate.verdict).to_lowercase(),
        sentence: sentence(outcome),
        version: about.version.clone(),
        seed: about.seed,
        command: about.command.clone(),
        problem: text.to_owned(),
        samples: outcome.samples,
        evaluation_samples: outcome.evaluation_samples(),
        oracle_calls: outcome.rounds,
        distance: certificate.distance,
        lower_bound: certificate.lower_bound,
        tolerance: certificate.tolerance,
        confidence: match (&outcome.evaluation, &outcome.off_policy) {
            (Some(evaluation), _) => Some(evaluation.confidence),
            (None, Some(estimate)) => Some(estimate.level),
            (None, None) => None,
        },
        is_logged: outcome.rests_on_logs(),
        objective: outcome.objective.as_ref().map(|found| Objective {
            goal: found.direction.word().into(),
            measure: found.measure.clone(),
            sentence: found.sentence(),
            value: found.value,
            interval: found.interval.map(|(low, high)| [low, high]),
            bound: found.bound,
            prices: outcome.prices(problem).iter().map(|price| price.sentence(problem)).collect(),
        }),
        nearest: outcome.nearest(problem).map_or(String::new(), |nearest| nearest.sentence()),
        constraints: outcome
            .rows(problem)
            .into_iter()
            .map(|row| Constraint {
                interval: interval_of(&row.measure),
                holds: row.holds,
                name: row.name,
                measure: row.measure,
                value: row.value,
                required: row.required,
                slack: row.slack,
            })
            .collect(),
        sets: outline::all(problem, &outcome.history, &certificate.z_bar, &scalars, &measures),
        grid: problem.env().grid().zip(visits).map(|(grid, range)| Grid {
            rows: grid.rows,
            columns: grid.columns,
            cells: grid.cells.iter().collect(),
            visits: outcome.measurements[range].to_vec(),
        }),
        mixture: parts(problem, &outcome.mixture, &scalars),
        rounds: rounds(&outcome.history),
        measures,
        times: parts_of_time(times),
    }
}

/// None where no time is known, as of outcomes that are in no folder: a page with zeros would claim one.
pub(crate) fn parts_of_time(times: &Times) -> Vec<(String, f64)> {
    if times.total() == 0.0 {
        return Vec::new();
    }
    vec![
        ("oracle".into(), times.oracle),
        ("player".into(), times.player),
        ("evaluation".into(), times.evaluation),
        ("writing".into(), times.writing),
    ]
}

/// The verdict and the evidence for it; the verdict's own name stands before it on the page.
fn sentence(outcome: &Outcome) -> String {
    let verdict = outcome.sentence();
    let said = verdict.split_once(": ").map_or(verdict.as_str(), |(_, said)| said);
    let mut letters = said.chars();
    let first = letters.next().map_or(String::new(), |letter| letter.to_uppercase().to_string());
    let evidence = match outcome.evidence().as_str() {
        "" => String::new(),
        evidence => format!(" {evidence}."),
    };
    format!("{first}{}.{evidence}", letters.as_str())
}

pub(crate) fn rounds(history: &History) -> Rounds {
    let all = &history.lines;
    // The first, the last, and evenly many between.
    let lines: Vec<&RoundLine> = if all.len() > POINTS {
        let step = (all.len() - 1) as f64 / (POINTS - 1) as f64;
        (0..POINTS).map(|i| &all[(i as f64 * step).round() as usize]).collect()
    } else {
        all.iter().collect()
    };
    let curve = |of: &dyn Fn(&RoundLine) -> &[f64]| -> Vec<Vec<f64>> {
        let one = |i: usize| lines.iter().map(|line| of(line).get(i).copied().unwrap_or(f64::NAN)).collect();
        (0..history.names.len()).map(one).collect()
    };
    Rounds {
        round: lines.iter().map(|line| line.round).collect(),
        samples: lines.iter().map(|line| line.samples).collect(),
        distance: lines.iter().map(|line| line.distance).collect(),
        lower_bound: lines.iter().map(|line| line.lower_bound).collect(),
        objective: match lines.iter().any(|line| line.objective.is_some()) {
            true => lines.iter().map(|line| line.objective).collect(),
            false => Vec::new(),
        },
        z: curve(&|line| &line.mixture),
        lam: curve(&|line| &line.lam),
    }
}

fn parts(problem: &Problem, mixture: &Mixed, scalars: &[Scalar]) -> Vec<Part> {
    let few = mixture.parts().len() <= MEASURED && problem.env().model().is_some();
    mixture
        .parts()
        .iter()
        .map(|(weight, policy)| {
            let one = few.then(|| Mixed::shared(Arc::clone(policy)));
            let z = one.and_then(|one| exact_measurement(problem, &one));
            let selected = z.map(|z| problem.target().selection().apply(&z));
            let z = selected.map_or(Vec::new(), |z| scalars.iter().map(|q| q.value(problem, &z)).collect());
            let kind = match policy.as_ref() {
                AnyPolicy::Network(_) => "network",
                AnyPolicy::External(_) => "of another program",
                _ => "table",
            };
            Part { weight: *weight, kind: kind.into(), z }
        })
        .collect()
}

/// The value of a scalar at the end, and the range that the constraints leave it.
fn measure(scalar: &Scalar, problem: &Problem, outcome: &Outcome) -> Measure {
    let selected = problem.target().selection().apply(&outcome.measurements);
    let interval = match (&scalar.kind, &outcome.evaluation, &outcome.off_policy) {
        (ScalarKind::Entry(held), Some(evaluation), _) => held.first().map(|(place, factor)| {
            let (mean, radius) = (evaluation.mean[*place], evaluation.radii[*place]);
            [(mean - radius) / factor, (mean + radius) / factor]
        }),
        (ScalarKind::Entry(held), None, Some(estimate)) => held.first().map(|(place, _)| {
            let entry = problem.target().selection().entries[*place].0;
            [estimate.lower[entry], estimate.upper[entry]]
        }),
        _ => None,
    };
    measure_of(scalar, problem, scalar.value(problem, &selected), interval)
}

/// A scalar that has this value.
pub(crate) fn measure_of(
    scalar: &Scalar,
    problem: &Problem,
    value: f64,
    interval: Option<[f64; 2]>,
) -> Measure {
    let (lower, upper) = scalar.range(problem);
    let price = match scalar.kind {
        ScalarKind::Entry(_) => scalar.name.clone(),
        ScalarKind::Slack(k) => format!("{} (norm)", problem.target().constraints()[k].name),
    };
    let known = |bound: f64| bound.is_finite().then_some(bound);
    Measure { name: scalar.name.clone(), price, value, interval, lower: known(lower), upper: known(upper) }
}
