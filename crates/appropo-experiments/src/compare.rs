//! Methods on the same problems: many solves side by side, each a run in a folder of its own.

use std::fmt::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use appropo::certificate::Verdict;
use appropo::error::Error as LibraryError;
use appropo::options::Table;
use appropo::outcome::Outcome;
use appropo::problem::Direction;
use appropo::registry::Registry;
use appropo_file::{ProblemFile, Reader, written, written_solve};
use appropo_run::about::{About, times};
use appropo_run::page::{Page, is_page, render};
use appropo_run::record::Recorder;
use appropo_run::report::page;
use appropo_run::{Directory, files, result, write_whole};
use rayon::prelude::*;
use serde::Serialize;

use crate::{ExperimentError, Result, bar, pool};

/// Seconds between checkpoints of a run.
const EVERY: Duration = Duration::from_secs(60);

/// Which methods are compared, on what, and where their runs are written.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Problem files, or names of built-in problems.
    pub problems: Vec<String>,
    /// Names of methods; `appropo:ppo` is one with an oracle.
    pub methods: Vec<String>,
    /// The seeds that every method is run with.
    pub seeds: Range<u64>,
    /// What is optimised in every problem, if not what it states itself.
    pub objective: Option<(String, Direction)>,
    /// Settings in place of those of the problems.
    pub settings: Table,
    /// The folder: PROBLEM/METHOD/SEED are runs, PROBLEM.html compares them.
    pub folder: PathBuf,
    /// Runs at a time; 0 for as many as there are processors.
    pub threads: usize,
}

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
#[non_exhaustive]
pub struct LeftOut {
    /// The problem.
    pub problem: String,
    /// The method, as it was asked for.
    pub method: String,
    /// Why it can't.
    pub why: String,
}

/// A comparison that is over, or was interrupted.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Compared {
    /// A row for each problem and method.
    pub rows: Vec<Row>,
    /// What could not be run.
    pub left_out: Vec<LeftOut>,
    /// The pages that compare runs.
    pub pages: Vec<PathBuf>,
    /// Whether runs are missing because it was interrupted.
    pub is_interrupted: bool,
}

/// A solve with its folder.
struct Job {
    file: ProblemFile,
    method: String,
    text: String,
    folder: PathBuf,
}

impl Comparison {
    /// Runs what is not there yet, and compares all. Once `is_interrupted` says so, runs write a checkpoint and end, and the
    /// same call goes on from there.
    pub fn run(&self, is_interrupted: &(dyn Fn() -> bool + Sync)) -> Result<Compared> {
        let (jobs, left_out) = self.jobs()?;
        let shown = bar(jobs.len() as u64, "comparison");
        let solve = |job: &Job| {
            let is_done = job.solve(is_interrupted)?;
            shown.inc(1);
            Ok(is_done)
        };
        let done: Vec<bool> =
            pool(self.threads)?.install(|| jobs.par_iter().map(solve).collect::<Result<_>>())?;
        shown.finish_and_clear();
        let ended: Vec<&Job> =
            jobs.iter().zip(&done).filter(|(_, is_done)| **is_done).map(|(job, _)| job).collect();
        let rows = self.rows(&ended)?;
        let pages = self.pages(&ended)?;
        Ok(Compared { rows, left_out, pages, is_interrupted: ended.len() < jobs.len() })
    }

    fn jobs(&self) -> Result<(Vec<Job>, Vec<LeftOut>)> {
        let registry = Registry::standard();
        let (mut jobs, mut left_out) = (Vec::<Job>::new(), Vec::new());
        for problem in &self.problems {
            // What is wrong with the problem itself is no method's fault.
            Reader::default().load(problem)?;
            for method in &self.methods {
                for seed in self.seeds.clone() {
                    let file = match self.file(problem, method, seed) {
                        Ok(file) => file,
                        Err(error) => {
                            let (problem, method) = (problem.clone(), method.clone());
                            left_out.push(LeftOut { problem, method, why: error.to_string() });
                            break;
                        }
                    };
                    let text = written(&file.problem, &registry)
                        + &written_solve(&file.problem, file.method.as_ref(), &file.budget, seed, &registry)?;
                    let name = method.replace(':', "-");
                    let folder = self.folder.join(file.problem.name()).join(name).join(seed.to_string());
                    if let Some(job) = jobs.iter().find(|job| job.folder == folder) {
                        return Err(ExperimentError::Twice { path: job.folder.clone() });
                    }
                    jobs.push(Job { file, method: method.clone(), text, folder });
                }
            }
        }
        Ok((jobs, left_out))
    }

    /// A problem as a method solves it.
    fn file(&self, problem: &str, method: &str, seed: u64) -> Result<ProblemFile> {
        let mut settings = self.settings.clone();
        let (method, oracle) = method.split_once(':').map_or((method, None), |(name, of)| (name, Some(of)));
        settings.set("method", method);
        settings.set("seed", seed);
        oracle.into_iter().for_each(|oracle| settings.set("oracle", oracle));
        let objective = self.objective.as_ref().map(|(measure, direction)| (measure.into(), *direction));
        let file = Reader { settings, objective, ..Reader::default() }.load(problem)?;
        file.method.check(&file.problem)?;
        Ok(file)
    }

    fn rows(&self, ended: &[&Job]) -> Result<Vec<Row>> {
        groups(ended)
            .map(|group| {
                let outcomes = group.iter().map(|job| job.outcome()).collect::<Result<Vec<_>>>()?;
                Ok(row(group, &outcomes))
            })
            .collect()
    }

    /// One page a problem.
    fn pages(&self, ended: &[&Job]) -> Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for group in ended.chunk_by(|a, b| a.file.problem.name() == b.file.problem.name()) {
            let pages = group.iter().map(|job| job.page()).collect::<Result<Vec<_>>>()?;
            let path = self.folder.join(format!("{}.html", group[0].file.problem.name()));
            let is_free = !path.exists() || std::fs::read(&path).is_ok_and(|bytes| is_page(&bytes));
            if !is_free {
                return Err(ExperimentError::Taken { path });
            }
            write_whole(&path, render(&pages).as_bytes())?;
            paths.push(path);
        }
        Ok(paths)
    }
}

impl Job {
    /// Solves into the folder, goes on there, or does nothing where it is done. Returns whether it is.
    fn solve(&self, is_interrupted: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        if is_interrupted() {
            return Ok(self.folder.join(files::RESULT).is_file());
        }
        let ProblemFile { problem, method, budget, seed, .. } = &self.file;
        let (recorder, from) = if self.folder.join(files::RUN).is_file() {
            let directory = Directory::open(&self.folder)?;
            if !directory.read_text(files::PROBLEM)?.starts_with(&self.text) {
                return Err(ExperimentError::Other { path: self.folder.clone() });
            }
            if directory.has(files::RESULT) {
                return Ok(true);
            }
            Recorder::resume(directory, problem, EVERY)?
        } else {
            let about = About {
                version: env!("CARGO_PKG_VERSION").into(),
                problem: problem.name().into(),
                seed: *seed,
                command: format!("appropo solve {}", files::PROBLEM),
            };
            let made = self.folder.parent().map_or(Ok(()), std::fs::create_dir_all);
            made.map_err(|source| ExperimentError::Folder { path: self.folder.clone(), source })?;
            (Recorder::begin(&self.folder, &about, problem, &self.text, EVERY)?, None)
        };
        let mut recorder = recorder.interrupted_by(is_interrupted);
        let outcome = match from {
            Some(from) => problem.resume(method.as_ref(), budget, *seed, from, &mut recorder),
            None => problem.solve(method.as_ref(), budget, *seed, &mut recorder),
        };
        recorder.take_failure()?;
        match outcome {
            Err(LibraryError::Interrupted) => Ok(false),
            Ok(outcome) if matches!(outcome.failure(), Some(LibraryError::Interrupted)) => Ok(false),
            outcome => {
                recorder.finish(&outcome?)?;
                Ok(true)
            }
        }
    }

    fn outcome(&self) -> Result<(Outcome, f64)> {
        let directory = Directory::read(&self.folder)?;
        let outcome = result::read(&directory, &self.file.problem, None)?;
        Ok((outcome, times(&directory).total()))
    }

    fn page(&self) -> Result<Page> {
        let mut page = page(&Directory::read(&self.folder)?, &self.file.problem)?;
        page.group = self.method.clone();
        page.name = format!("{}: {}, seed {}", page.name, self.method, self.file.seed);
        Ok(page)
    }
}

/// The runs of one method on one problem after another.
fn groups<'a, 'b>(jobs: &'a [&'b Job]) -> impl Iterator<Item = &'a [&'b Job]> {
    jobs.chunk_by(|a, b| (a.file.problem.name(), &a.method) == (b.file.problem.name(), &b.method))
}

fn row(jobs: &[&Job], outcomes: &[(Outcome, f64)]) -> Row {
    let tolerance = jobs[0].file.budget.tolerance;
    let feasible: Vec<&Outcome> =
        outcomes.iter().map(|(outcome, _)| outcome).filter(|o| o.verdict() == Verdict::Feasible).collect();
    let mut samples: Vec<u64> = feasible.iter().map(|outcome| outcome.samples).collect();
    samples.sort_unstable();
    let mut seconds: Vec<f64> = outcomes.iter().map(|(_, seconds)| *seconds).collect();
    seconds.sort_unstable_by(f64::total_cmp);
    let values = feasible.iter().filter_map(|outcome| outcome.objective.as_ref()?.value);
    let outside = outcomes.iter().filter_map(|(outcome, _)| outside(outcome, tolerance));
    Row {
        problem: jobs[0].file.problem.name().into(),
        method: jobs[0].method.clone(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(folder: &std::path::Path, threads: usize) -> Comparison {
        let named = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        Comparison {
            problems: named(&["mars-rover", "mars-rover-diverse"]),
            methods: named(&["appropo", "rcpo", "appropo:q-learning"]),
            seeds: 3..5,
            objective: None,
            settings: Table::new([("samples", 300_u64)]),
            folder: folder.to_owned(),
            threads,
        }
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("appropo-compare-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn rounds(folder: &std::path::Path) -> Vec<u8> {
        std::fs::read(folder.join("mars-rover/rcpo/4").join("rounds.jsonl")).unwrap()
    }

    /// Any number of threads writes the same runs, and what is done is not done again.
    #[test]
    fn what_is_finished_is_not_run_again() {
        let (one, two) = (folder("one"), folder("two"));
        let first = comparison(&one, 1).run(&|| false).unwrap();
        let second = comparison(&two, 2).run(&|| false).unwrap();
        assert_eq!(rounds(&one), rounds(&two));
        let known = |row: &Row| (row.method.clone(), row.feasible, row.samples, row.outside);
        assert!(first.rows.iter().map(known).eq(second.rows.iter().map(known)));
        assert_eq!(first.rows.len(), 5);
        assert_eq!((first.rows[0].feasible, first.rows[0].samples), (2, Some(0)));
        let [left_out] = first.left_out.as_slice() else { panic!("{:?}", first.left_out) };
        assert_eq!((left_out.problem.as_str(), left_out.method.as_str()), ("mars-rover-diverse", "rcpo"));
        assert!(left_out.why.contains("half-spaces only"), "{}", left_out.why);
        // The seconds are those that were measured then.
        assert_eq!(comparison(&one, 2).run(&|| false).unwrap().rows, first.rows);
        let other = Comparison { settings: Table::new([("samples", 400_u64)]), ..comparison(&one, 1) };
        assert!(matches!(other.run(&|| false), Err(ExperimentError::Other { .. })));
        [one, two].iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
    }

    #[test]
    fn what_was_interrupted_goes_on() {
        let folder = folder("interrupted");
        let stopped = comparison(&folder, 1).run(&|| true).unwrap();
        assert!(stopped.is_interrupted && stopped.rows.is_empty());
        assert!(!comparison(&folder, 1).run(&|| false).unwrap().is_interrupted);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
