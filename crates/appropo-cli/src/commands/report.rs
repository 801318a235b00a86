mod shadow;

use std::collections::BTreeMap;
use std::path::Path;

use appropo::policy::{AnyPolicy, Mixed};
use appropo_run::page::{Constraint, Grid, Page, Part, Rounds, is_page, render};
use appropo_run::{Directory, Log, RoundLine, write_whole};

use super::verify::load_mixture;
use crate::ended;
use crate::judge::{measure, tables};
use crate::problem::{Problem, Surroundings};
use crate::quantity::{self, Quantity};
use crate::record::{self, About, REPORT};
use crate::report::Report;
use crate::{Failure, Output};

/// Points of a curve that a page shows at most.
const POINTS: usize = 1000;
/// Policies whose measurements a page shows at most.
const MEASURED: usize = 200;

/// Writes the report of one run, or the comparison of several.
pub fn run(folders: &[String], out: Option<&str>, surroundings: &Surroundings) -> Result<Output, Failure> {
    let mut pages = Vec::new();
    for folder in folders {
        let directory = Directory::read(Path::new(folder))?;
        let mut page = page(&directory, surroundings)?;
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
    is_free(&path)?;
    write_whole(&path, render(&pages).as_bytes())?;
    Ok(Output { text: format!("{}\n", path.display()), status: 0 })
}

/// Refuses a path where something else is than a report that may be written anew.
fn is_free(path: &Path) -> Result<(), Failure> {
    let is_report = || path.is_file() && std::fs::read(path).is_ok_and(|bytes| is_page(&bytes));
    if !path.exists() || is_report() {
        return Ok(());
    }
    let shown = path.display();
    Err(Failure::Input(format!(
        "{shown} is there already and no report of appropo; remove it, or choose another name with --out"
    )))
}

/// What the page of a run shows.
pub fn page(directory: &Directory, surroundings: &Surroundings) -> Result<Page, Failure> {
    let problem = Problem::load_run(directory, surroundings)?;
    let about: About = directory.read_json(record::RUN)?;
    let (ended, certificate) = ended::read(directory, &problem)?;
    let log = Log::read(directory, &ended.log)?;
    let mixture = load_mixture(directory, &problem)?;
    let report = ended::report(directory, &problem, &problem.settings)?;
    let times = record::times(directory);
    let quantities = quantity::all(&problem);
    let measures: Vec<_> = quantities.iter().map(|quantity| quantity.measure(&problem, &ended)).collect();
    let rows = report.rows(&problem);
    let interval_of = |name: &str| measures.iter().find(|m| m.name == name).and_then(|m| m.interval);
    let visits = problem.world.measures().range("visits").ok();
    Ok(Page {
        name: problem.name.clone(),
        verdict: format!("{:?}", certificate.verdict).to_lowercase(),
        sentence: sentence(&report),
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
        sets: shadow::all(&problem, &certificate.z_bar, &log, &quantities, &measures),
        grid: problem.world.grid().zip(visits).map(|(grid, range)| Grid {
            rows: grid.rows,
            columns: grid.columns,
            cells: grid.cells.iter().collect(),
            visits: ended.z[range].to_vec(),
        }),
        mixture: parts(&problem, &mixture, &quantities),
        rounds: rounds(log, &quantities),
        measures,
        times: vec![
            ("oracle".into(), times.oracle),
            ("player".into(), times.player),
            ("evaluation".into(), times.evaluation),
            ("writing".into(), times.writing),
        ],
    })
}

/// The verdict and the evidence for it; the verdict's own name stands before it on the page.
fn sentence(report: &Report) -> String {
    let verdict = report.sentence();
    let said = verdict.split_once(": ").map_or(verdict.as_str(), |(_, said)| said);
    let mut letters = said.chars();
    let first = letters.next().map_or(String::new(), |letter| letter.to_uppercase().to_string());
    let evidence = match report.evidence.as_str() {
        "" => String::new(),
        evidence => format!(" {evidence}."),
    };
    format!("{first}{}.{evidence}", letters.as_str())
}

fn rounds(mut log: Vec<RoundLine>, quantities: &[Quantity]) -> Rounds {
    // The first, the last, and evenly many between.
    if log.len() > POINTS {
        let step = (log.len() - 1) as f64 / (POINTS - 1) as f64;
        log = (0..POINTS).map(|i| log[(i as f64 * step).round() as usize].clone()).collect();
    }
    let curve = |of: &dyn Fn(&RoundLine) -> &BTreeMap<String, f64>| -> Vec<Vec<f64>> {
        let value = |line: &RoundLine, name: &str| of(line).get(name).copied().unwrap_or(f64::NAN);
        quantities.iter().map(|q| log.iter().map(|line| value(line, &q.name)).collect()).collect()
    };
    Rounds {
        round: log.iter().map(|line| line.round).collect(),
        samples: log.iter().map(|line| line.samples).collect(),
        distance: log.iter().map(|line| line.distance).collect(),
        lower_bound: log.iter().map(|line| line.lower_bound).collect(),
        z: curve(&|line| &line.mixture),
        lam: curve(&|line| &line.lambda),
    }
}

fn parts(problem: &Problem, mixture: &Mixed<AnyPolicy>, quantities: &[Quantity]) -> Vec<Part> {
    let few = mixture.parts().len() <= MEASURED && problem.world.model().is_some();
    mixture
        .parts()
        .iter()
        .map(|(weight, policy)| {
            let one = tables(&Mixed::one(std::sync::Arc::clone(policy))).filter(|_| few);
            let z = one.and_then(|one| measure(problem, &one).ok());
            let selected = z.map(|z| problem.target.selection().apply(&z));
            let z =
                selected.map_or(Vec::new(), |z| quantities.iter().map(|q| q.value(problem, &z)).collect());
            let kind = match policy.as_ref() {
                AnyPolicy::Network(_) => "network",
                AnyPolicy::Outside(_) => "of another program",
                _ => "table",
            };
            Part { weight: *weight, kind: kind.into(), z }
        })
        .collect()
}
