//! The runs of a study beside one another: a table, and a page a problem.

use std::fmt::Write;
use std::path::PathBuf;

use appropo::certificate::Verdict;
use appropo::outcome::Outcome;
use serde::Serialize;

use super::{Job, Planned, State, Study};
use crate::about::times;
use crate::directory::write_shared;
use crate::error::{Error, Result};
use crate::page::{Page, is_page, render};
use crate::report::page;
use crate::{Directory, result};

/// What the runs of a method on a problem came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// The problem's name.
    pub problem: String,
    /// The method, as it was asked for.
    pub method: String,
    /// Runs.
    pub runs: usize,
    /// Those that ended feasible.
    pub feasible: usize,
    /// The median of the samples of those.
    pub samples: Option<u64>,
    /// The mean of the objective over them.
    pub value: Option<f64>,
    /// The mean share of the samples during which the mixture, as it was measured, lay outside.
    pub outside: Option<f64>,
    /// The median of the seconds of all runs.
    pub seconds: f64,
}

/// A method that can't solve a problem.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOut {
    /// The problem.
    pub problem: String,
    /// The method, as it was asked for.
    pub method: String,
    /// Why it can't.
    pub why: String,
}

/// A run that ended without a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FailedRun {
    /// Its name: PROBLEM/METHOD/SEED.
    pub run: String,
    /// What went wrong.
    pub error: String,
}

/// A study that is over, or was interrupted.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Compared {
    /// A row for each problem and method.
    pub rows: Vec<Row>,
    /// What could not be run.
    pub left_out: Vec<LeftOut>,
    /// Runs that ended without a result.
    pub failed: Vec<FailedRun>,
    /// The pages that compare runs.
    pub pages: Vec<PathBuf>,
    /// Whether runs are missing because it was interrupted.
    pub is_interrupted: bool,
}

/// Compares the runs of these solves that have ended, and writes the pages.
pub fn compare(study: &Study, jobs: &[Job], left_out: Vec<LeftOut>) -> Result<Compared> {
    let (mut ended, mut failed, mut is_interrupted) = (Vec::new(), Vec::new(), false);
    for job in jobs {
        let name = job.planned.name();
        match study.state(&name)? {
            State::Done => ended.push(Ended { job, folder: study.place(&name) }),
            State::Failed(error) => failed.push(FailedRun { run: name.to_string(), error }),
            _ => is_interrupted = true,
        }
    }
    Ok(Compared { rows: rows(&ended)?, left_out, failed, pages: pages(study, &ended)?, is_interrupted })
}

/// A solve whose run is in its place.
struct Ended<'a> {
    job: &'a Job<'a>,
    folder: PathBuf,
}

fn rows(ended: &[Ended]) -> Result<Vec<Row>> {
    let method = |ended: &Ended| (ended.job.planned.problem.clone(), ended.job.planned.method.clone());
    let groups = ended.chunk_by(|a, b| method(a) == method(b));
    groups
        .map(|group| {
            let outcomes = group.iter().map(Ended::outcome).collect::<Result<Vec<_>>>()?;
            Ok(row(group[0].job, &outcomes))
        })
        .collect()
}

/// One page a problem.
fn pages(study: &Study, ended: &[Ended]) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for group in ended.chunk_by(|a, b| a.job.planned.problem == b.job.planned.problem) {
        let pages = group.iter().map(Ended::page).collect::<Result<Vec<_>>>()?;
        let path = study.folder().join(format!("{}.html", group[0].job.planned.name().problem()));
        let is_free = !path.exists() || std::fs::read(&path).is_ok_and(|bytes| is_page(&bytes));
        if !is_free {
            return Err(Error::Page { path });
        }
        write_shared(&path, render(&pages).as_bytes())?;
        paths.push(path);
    }
    Ok(paths)
}

impl Ended<'_> {
    fn outcome(&self) -> Result<(Outcome, f64)> {
        let directory = Directory::read(&self.folder)?;
        let outcome = result::read(&directory, self.job.problem, None)?;
        Ok((outcome, times(&directory).total()))
    }

    fn page(&self) -> Result<Page> {
        let mut page = page(&Directory::read(&self.folder)?, self.job.problem)?;
        let Planned { method, seed, .. } = &self.job.planned;
        page.group = method.clone();
        page.name = format!("{}: {method}, seed {seed}", page.name);
        Ok(page)
    }
}

fn row(job: &Job, outcomes: &[(Outcome, f64)]) -> Row {
    let tolerance = job.budget.tolerance;
    let feasible: Vec<&Outcome> =
        outcomes.iter().map(|(outcome, _)| outcome).filter(|o| o.verdict() == Verdict::Feasible).collect();
    let mut samples: Vec<u64> = feasible.iter().map(|outcome| outcome.samples).collect();
    samples.sort_unstable();
    let mut seconds: Vec<f64> = outcomes.iter().map(|(_, seconds)| *seconds).collect();
    seconds.sort_unstable_by(f64::total_cmp);
    let values = feasible.iter().filter_map(|outcome| outcome.objective.as_ref()?.value);
    let outside = outcomes.iter().filter_map(|(outcome, _)| outside(outcome, tolerance));
    Row {
        problem: job.planned.problem.clone(),
        method: job.planned.method.clone(),
        runs: outcomes.len(),
        feasible: feasible.len(),
        samples: samples.get(samples.len() / 2).copied(),
        value: mean(values),
        outside: mean(outside),
        seconds: seconds[seconds.len() / 2],
    }
}

/// The share of the samples after which the mixture was measured to lie outside; `None` where nothing was sampled.
fn outside(outcome: &Outcome, tolerance: f64) -> Option<f64> {
    let (mut before, mut out) = (0, 0);
    for line in &outcome.history.lines {
        let taken = line.samples.saturating_sub(before);
        out += if line.distance > tolerance { taken } else { 0 };
        before = line.samples;
    }
    (before > 0).then(|| out as f64 / before as f64)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

impl Compared {
    /// The table, what was left out and why, and where the pages are.
    pub fn text(&self) -> String {
        let head = ["problem", "method", "feasible", "samples", "value", "outside", "time"];
        let mut lines = vec![head.map(String::from)];
        lines.extend(self.rows.iter().map(|row| {
            [
                row.problem.clone(),
                row.method.clone(),
                format!("{} of {}", row.feasible, row.runs),
                row.samples.map_or("-".into(), |samples| samples.to_string()),
                row.value.map_or("-".into(), |value| format!("{value:.4}")),
                row.outside.map_or("-".into(), |share| format!("{:.0}%", 100.0 * share)),
                format!("{:.1} s", row.seconds),
            ]
        }));
        let mut text = String::new();
        for line in lines.iter().filter(|_| !self.rows.is_empty()) {
            let widths =
                (0..head.len()).map(|i| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0));
            let cells = line.iter().zip(widths).enumerate().map(|(i, (cell, width))| {
                if i < 2 || i + 1 == head.len() {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
            let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        for LeftOut { problem, method, why } in &self.left_out {
            let _ = writeln!(text, "\n{problem}, {method}: {why}");
        }
        for FailedRun { run, error } in &self.failed {
            let _ = writeln!(text, "\n{run}: {error}");
        }
        for path in &self.pages {
            let _ = writeln!(text, "\n{}", path.display());
        }
        text
    }

    /// One JSON object.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
