use std::collections::BTreeMap;
use std::path::Path;

use appropo::policy::{AnyPolicy, Mixed};
use appropo::set::ConvexSet;
use appropo_run::page::{Constraint, Grid, Measure, Page, Part, Rounds, Shadow, render};
use appropo_run::{Directory, Log, RoundLine};

use super::verify::load_mixture;
use crate::ended::{self, Ended};
use crate::judge::{measure, tables};
use crate::problem::Problem;
use crate::record::{self, About, REPORT, single_entries};
use crate::{Failure, Output};

/// Points of a curve that a page shows at most.
const POINTS: usize = 1000;
/// Policies whose measurements a page shows at most.
const MEASURED: usize = 200;
/// Directions in which the outline of a set is looked for.
const DIRECTIONS: usize = 180;

/// Writes the report of one run, or the comparison of several.
pub fn run(folders: &[String], out: Option<&str>) -> Result<Output, Failure> {
    let mut pages = Vec::new();
    for folder in folders {
        let directory = Directory::read(Path::new(folder))?;
        let mut page = page(&directory)?;
        if folders.len() > 1 {
            page.name = format!("{} ({folder})", page.name);
        }
        pages.push(page);
    }
    let path = match (out, folders) {
        (Some(out), _) => Path::new(out).to_owned(),
        (None, [folder]) => Path::new(folder).join(REPORT),
        (None, _) => Path::new("comparison.html").to_owned(),
    };
    let is_run = path.parent().is_some_and(|folder| folder.join(record::RUN).is_file());
    if is_run && path.file_name().is_none_or(|name| name != REPORT) {
        let shown = path.display();
        return Err(Failure::Input(format!("--out {shown}: in the folder of a run it must be {REPORT}")));
    }
    std::fs::write(&path, render(&pages))
        .map_err(|error| Failure::Other(format!("{} can't be written: {error}", path.display())))?;
    Ok(Output { text: format!("{}\n", path.display()), status: 0 })
}

/// What the page of a run shows.
pub fn page(directory: &Directory) -> Result<Page, Failure> {
    let problem = Problem::load_run(directory)?;
    let about: About = directory.read_json(record::RUN)?;
    let (ended, certificate) = ended::read(directory)?;
    let log = Log::read(directory, &ended.log)?;
    let mixture = load_mixture(directory, &problem)?;
    let report = ended::report(directory, &problem)?;
    let times = record::times(directory);
    let singles = single_entries(&problem);
    let measures = singles.iter().map(|single| measured(&problem, &ended, single)).collect::<Vec<_>>();
    let rows = report.rows(&problem);
    let interval_of = |name: &str| measures.iter().find(|m| m.name == name).and_then(|m| m.interval);
    let visits = problem.world.measures().range("visits").ok();
    Ok(Page {
        name: problem.name.clone(),
        verdict: format!("{:?}", certificate.verdict).to_lowercase(),
        sentence: report.sentence(),
        version: about.version,
        seed: about.seed,
        command: about.command,
        problem: directory.read_text(record::PROBLEM)?,
        samples: ended.samples,
        evaluation_samples: ended.evaluation_samples,
        oracle_calls: ended.oracle_calls,
        distance: certificate.distance,
        lower_bound: certificate.lower_bound,
        tolerance: certificate.tolerance,
        confidence: ended.evaluation.as_ref().map(|evaluation| evaluation.confidence),
        constraints: rows
            .into_iter()
            .map(|[name, measure, value, required, slack, holds]| Constraint {
                interval: interval_of(&measure),
                holds: holds == "holds",
                name,
                measure,
                value,
                required,
                slack,
            })
            .collect(),
        rounds: rounds(&log, &singles),
        sets: shadows(&problem, &certificate.z_bar, &log, &singles),
        grid: problem.world.grid().zip(visits).map(|(grid, range)| Grid {
            rows: grid.rows,
            columns: grid.columns,
            cells: grid.cells.iter().collect(),
            visits: ended.z[range].to_vec(),
        }),
        mixture: parts(&problem, &mixture, &measures),
        measures,
        times: vec![
            ("oracle".into(), times.oracle),
            ("player".into(), times.player),
            ("evaluation".into(), times.evaluation),
            ("writing".into(), times.writing),
        ],
    })
}

/// A measure with the range that its constraints leave it.
fn measured(problem: &Problem, ended: &Ended, (name, entry, factor): &(String, usize, f64)) -> Measure {
    let at = problem.target.selection().entries[*entry].0;
    let (lower, upper) = shadow_of_one(problem, *entry);
    let interval = ended.evaluation.as_ref().map(|evaluation| {
        let (mean, radius) = (evaluation.mean[*entry], evaluation.radii[*entry]);
        [(mean - radius) / factor, (mean + radius) / factor]
    });
    let known = |bound: f64| bound.is_finite().then_some(bound / factor);
    Measure { name: name.clone(), value: ended.z[at], interval, lower: known(lower), upper: known(upper) }
}

/// Far beyond anything measured, to find where a set ends.
const FAR: f64 = 1e7;

/// The least and largest value that an entry can have in the set; infinite where it has no end.
fn shadow_of_one(problem: &Problem, entry: usize) -> (f64, f64) {
    let set = problem.target.set();
    let mut nearest = vec![0.0; set.dim()];
    let mut end = |sign: f64| {
        let mut far = vec![0.0; set.dim()];
        far[entry] = sign * FAR;
        set.project(&far, &mut nearest);
        let found = nearest[entry];
        if found * sign > 0.5 * FAR || !found.is_finite() { sign * f64::INFINITY } else { found }
    };
    (end(-1.0), end(1.0))
}

fn rounds(log: &[RoundLine], singles: &[(String, usize, f64)]) -> Rounds {
    // The first, the last, and evenly many between.
    let step = log.len().saturating_sub(1) as f64 / (POINTS - 1) as f64;
    let mut places: Vec<usize> = match log.len() {
        0..=POINTS => (0..log.len()).collect(),
        _ => (0..POINTS).map(|i| (i as f64 * step).round() as usize).collect(),
    };
    places.dedup();
    let lines: Vec<&RoundLine> = places.iter().map(|place| &log[*place]).collect();
    let curve = |of: &dyn Fn(&RoundLine) -> &BTreeMap<String, f64>| -> Vec<Vec<f64>> {
        let value = |line: &RoundLine, name: &str| of(line).get(name).copied().unwrap_or(f64::NAN);
        singles.iter().map(|(name, ..)| lines.iter().map(|line| value(line, name)).collect()).collect()
    };
    Rounds {
        round: lines.iter().map(|line| line.round).collect(),
        samples: lines.iter().map(|line| line.samples).collect(),
        distance: lines.iter().map(|line| line.distance).collect(),
        lower_bound: lines.iter().map(|line| line.lower_bound).collect(),
        z: curve(&|line| &line.mixture),
        lam: curve(&|line| &line.lambda),
    }
}

/// The outline of the set in the plane of each two measures, clipped to what the run saw and some room round it.
fn shadows(
    problem: &Problem,
    z_bar: &[f64],
    log: &[RoundLine],
    singles: &[(String, usize, f64)],
) -> Vec<Shadow> {
    let set = problem.target.set();
    let window = |(name, entry, factor): &(String, usize, f64)| {
        let seen = log.iter().filter_map(|line| line.mixture.get(name)).map(|value| value * factor);
        let ends = shadow_of_one(problem, *entry);
        let all = seen.chain([ends.0, ends.1, z_bar[*entry]]).filter(|value| value.is_finite());
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let room = 0.15 * (high - low).max(1e-3 * (1.0 + high.abs()));
        (low - room, high + room)
    };
    let mut shadows = Vec::new();
    let mut nearest = vec![0.0; set.dim()];
    for x in 0..singles.len() {
        for y in x + 1..singles.len() {
            let ((a, fx), (b, fy)) = ((singles[x].1, singles[x].2), (singles[y].1, singles[y].2));
            let (across, up) = (window(&singles[x]), window(&singles[y]));
            // From far outside in every direction, the nearest point of the set lies on its outline.
            let mut outline: Vec<[f64; 2]> = (0..DIRECTIONS)
                .map(|k| {
                    let angle = std::f64::consts::TAU * k as f64 / DIRECTIONS as f64;
                    let mut far = z_bar.to_vec();
                    far[a] += FAR * angle.cos() * (across.1 - across.0);
                    far[b] += FAR * angle.sin() * (up.1 - up.0);
                    set.project(&far, &mut nearest);
                    let cut = |v: f64, (low, high): (f64, f64)| {
                        if v.is_finite() { v.clamp(low, high) } else { low }
                    };
                    [cut(nearest[a], across) / fx, cut(nearest[b], up) / fy]
                })
                .collect();
            outline.dedup();
            shadows.push(Shadow { x, y, outline });
        }
    }
    shadows
}

fn parts(problem: &Problem, mixture: &Mixed<AnyPolicy>, measures: &[Measure]) -> Vec<Part> {
    let all = problem.world.measures();
    let few = mixture.parts().len() <= MEASURED && problem.world.model().is_some();
    mixture
        .parts()
        .iter()
        .map(|(weight, policy)| {
            let one = tables(&Mixed::one(std::sync::Arc::clone(policy))).filter(|_| few);
            let z = one.and_then(|one| measure(problem, &one).ok());
            let z = z.map_or(Vec::new(), |z| {
                measures.iter().filter_map(|m| all.range(&m.name).ok()).map(|range| z[range.start]).collect()
            });
            let kind = if matches!(policy.as_ref(), AnyPolicy::Network(_)) { "network" } else { "table" };
            Part { weight: *weight, kind: kind.into(), z }
        })
        .collect()
}
