//! Methods on the same problems: many solves side by side, each a run in a folder of its own.

use std::collections::HashSet;
use std::fmt::Write;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use appropo::certificate::Verdict;
use appropo::options::Table;
use appropo::outcome::Outcome;
use appropo::problem::Direction;
use appropo::registry::Registry;
use appropo_file::{ProblemFile, Reader, printable, written, written_solve};
use appropo_run::about::times;
use appropo_run::page::{Page, is_page, render};
use appropo_run::report::page;
use appropo_run::study::{self, Job, Options, Planned, Progress, State, Study};
use appropo_run::{Directory, result, write_whole};
use serde::Serialize;

use crate::{ExperimentError, Result};

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
    /// Runs that ended without a result.
    pub failed: Vec<FailedRun>,
    /// The pages that compare runs.
    pub pages: Vec<PathBuf>,
    /// Whether runs are missing because it was interrupted.
    pub is_interrupted: bool,
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

/// A solve, as it was asked for.
struct Solve {
    file: ProblemFile,
    planned: Planned,
}

impl Comparison {
    /// Runs what is not there yet, and compares all. Where `watch`, which is told how far it is, does not go on, runs write a
    /// checkpoint and end, and the same call goes on from there. Any number of processes may do the same at the same time.
    pub fn run(
        &self,
        options: &Options,
        watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Compared> {
        let (solves, left_out) = self.solves()?;
        compared(&self.folder, &solves, left_out, options, watch)
    }

    fn solves(&self) -> Result<(Vec<Solve>, Vec<LeftOut>)> {
        let registry = Registry::standard();
        let (mut solves, mut left_out) = (Vec::<Solve>::new(), Vec::new());
        let mut names = HashSet::new();
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
                    let problem = file.problem.name().to_owned();
                    let planned = Planned { problem, method: method.clone(), seed, text };
                    if !names.insert(planned.name()) {
                        return Err(ExperimentError::Twice { path: self.folder.join(planned.name().path()) });
                    }
                    solves.push(Solve { file, planned });
                }
            }
        }
        Ok((solves, left_out))
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
}

/// Runs what is not there yet of all that a folder plans, and compares all, as [`Comparison::run`] does. What refers to
/// environments of another program is left out.
pub fn join(
    folder: &Path,
    options: &Options,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Compared> {
    let (mut solves, mut left_out) = (Vec::new(), Vec::<LeftOut>::new());
    for planned in Study::open(folder)?.planned()? {
        let name = planned.name().to_string();
        match Reader::default().read(&printable(&planned.problem), &name, &planned.text) {
            Ok(file) => solves.push(Solve { file, planned }),
            Err(error) => {
                let Planned { problem, method, .. } = planned;
                if left_out.last().is_none_or(|last| (&last.problem, &last.method) != (&problem, &method)) {
                    left_out.push(LeftOut { problem, method, why: error.to_string() });
                }
            }
        }
    }
    compared(folder, &solves, left_out, options, watch)
}

fn compared(
    folder: &Path,
    solves: &[Solve],
    left_out: Vec<LeftOut>,
    options: &Options,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Compared> {
    let jobs: Vec<Job> = solves.iter().map(Solve::job).collect();
    let study = Study::create(folder)?;
    study::run(&study, &jobs, options, watch)?;
    let (mut ended, mut failed, mut is_interrupted) = (Vec::new(), Vec::new(), false);
    for solve in solves {
        let name = solve.planned.name();
        match study.state(&name)? {
            State::Done => ended.push(Ended { solve, folder: study.place(&name) }),
            State::Failed(error) => failed.push(FailedRun { run: name.to_string(), error }),
            _ => is_interrupted = true,
        }
    }
    Ok(Compared { rows: rows(&ended)?, left_out, failed, pages: pages(folder, &ended)?, is_interrupted })
}

/// A solve whose run is in its place.
struct Ended<'a> {
    solve: &'a Solve,
    folder: PathBuf,
}

fn rows(ended: &[Ended]) -> Result<Vec<Row>> {
    let method = |ended: &Ended| (ended.solve.planned.problem.clone(), ended.solve.planned.method.clone());
    let groups = ended.chunk_by(|a, b| method(a) == method(b));
    groups
        .map(|group| {
            let outcomes = group.iter().map(Ended::outcome).collect::<Result<Vec<_>>>()?;
            Ok(row(group[0].solve, &outcomes))
        })
        .collect()
}

/// One page a problem.
fn pages(folder: &Path, ended: &[Ended]) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for group in ended.chunk_by(|a, b| a.solve.planned.problem == b.solve.planned.problem) {
        let pages = group.iter().map(Ended::page).collect::<Result<Vec<_>>>()?;
        let path = folder.join(format!("{}.html", group[0].solve.planned.name().problem()));
        let is_free = !path.exists() || std::fs::read(&path).is_ok_and(|bytes| is_page(&bytes));
        if !is_free {
            return Err(ExperimentError::Taken { path });
        }
        write_whole(&path, render(&pages).as_bytes())?;
        paths.push(path);
    }
    Ok(paths)
}

impl Solve {
    fn job(&self) -> Job<'_> {
        let ProblemFile { problem, method, budget, .. } = &self.file;
        let planned = self.planned.clone();
        Job { planned, problem, method: method.as_ref(), budget, explain: &|error| error.to_string() }
    }
}

impl Ended<'_> {
    fn outcome(&self) -> Result<(Outcome, f64)> {
        let directory = Directory::read(&self.folder)?;
        let outcome = result::read(&directory, &self.solve.file.problem, None)?;
        Ok((outcome, times(&directory).total()))
    }

    fn page(&self) -> Result<Page> {
        let mut page = page(&Directory::read(&self.folder)?, &self.solve.file.problem)?;
        let Planned { method, seed, .. } = &self.solve.planned;
        page.group = method.clone();
        page.name = format!("{}: {method}, seed {seed}", page.name);
        Ok(page)
    }
}

fn row(solve: &Solve, outcomes: &[(Outcome, f64)]) -> Row {
    let tolerance = solve.file.budget.tolerance;
    let feasible: Vec<&Outcome> =
        outcomes.iter().map(|(outcome, _)| outcome).filter(|o| o.verdict() == Verdict::Feasible).collect();
    let mut samples: Vec<u64> = feasible.iter().map(|outcome| outcome.samples).collect();
    samples.sort_unstable();
    let mut seconds: Vec<f64> = outcomes.iter().map(|(_, seconds)| *seconds).collect();
    seconds.sort_unstable_by(f64::total_cmp);
    let values = feasible.iter().filter_map(|outcome| outcome.objective.as_ref()?.value);
    let outside = outcomes.iter().filter_map(|(outcome, _)| outside(outcome, tolerance));
    Row {
        problem: solve.planned.problem.clone(),
        method: solve.planned.method.clone(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(folder: &Path) -> Comparison {
        let named = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        Comparison {
            problems: named(&["mars-rover", "mars-rover-diverse"]),
            methods: named(&["appropo", "rcpo", "appropo:q-learning"]),
            seeds: 3..5,
            objective: None,
            settings: Table::new([("samples", 300_u64)]),
            folder: folder.to_owned(),
        }
    }

    fn on(threads: usize) -> Options {
        Options { threads, ..Options::default() }
    }

    fn go_on(_: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("appropo-compare-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn rounds(folder: &Path) -> Vec<u8> {
        std::fs::read(folder.join("mars-rover/rcpo/4").join("rounds.jsonl")).unwrap()
    }

    /// Any number of threads writes the same runs, and what is done is not done again.
    #[test]
    fn what_is_finished_is_not_run_again() {
        let (one, two) = (folder("one"), folder("two"));
        let first = comparison(&one).run(&on(1), &mut go_on).unwrap();
        let second = comparison(&two).run(&on(2), &mut go_on).unwrap();
        assert_eq!(rounds(&one), rounds(&two));
        let known = |row: &Row| (row.method.clone(), row.feasible, row.samples, row.outside);
        assert!(first.rows.iter().map(known).eq(second.rows.iter().map(known)));
        assert_eq!(first.rows.len(), 5);
        assert_eq!((first.rows[0].feasible, first.rows[0].samples), (2, Some(0)));
        let [left_out] = first.left_out.as_slice() else { panic!("{:?}", first.left_out) };
        assert_eq!((left_out.problem.as_str(), left_out.method.as_str()), ("mars-rover-diverse", "rcpo"));
        assert!(left_out.why.contains("half-spaces only"), "{}", left_out.why);
        // The seconds are those that were measured then.
        assert_eq!(comparison(&one).run(&on(2), &mut go_on).unwrap().rows, first.rows);
        let other = Comparison { settings: Table::new([("samples", 400_u64)]), ..comparison(&one) };
        let refused = other.run(&on(1), &mut go_on);
        assert!(matches!(refused, Err(ExperimentError::Run(appropo_run::Error::OtherSettings { .. }))));
        [one, two].iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
    }

    #[test]
    fn what_was_interrupted_goes_on() {
        let folder = folder("interrupted");
        let stopped = comparison(&folder).run(&on(1), &mut |_| ControlFlow::Break(())).unwrap();
        assert!(stopped.is_interrupted);
        // All that is left is in the folder.
        let joined = join(&folder, &on(1), &mut go_on).unwrap();
        assert!(!joined.is_interrupted && joined.failed.is_empty());
        assert_eq!(joined.rows.len(), 5);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
