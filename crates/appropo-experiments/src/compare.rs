//! Methods on the same problems: many solves side by side, each a run in a folder of its own.

use std::collections::HashSet;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use appropo::options::Table;
use appropo::problem::Direction;
use appropo::registry::Registry;
use appropo_file::{ProblemFile, Reader, printable, written, written_solve};
use appropo_run::study::{self, Compared, Job, LeftOut, Options, Planned, Progress, State, Study};

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
    let (mut solves, mut left_out) = (Vec::new(), Vec::new());
    let study = Study::open(folder)?;
    for planned in study.planned()? {
        let name = planned.name();
        let read = Reader::default().read(&printable(&planned.problem), &name.to_string(), &planned.text);
        let why = match read {
            Ok(file) if file.problem.env().is_external() && study.state(&name)? != State::Done => {
                "its world is Python's; its runs are drawn by the program that planned them, with ap.study"
                    .into()
            }
            Ok(file) => {
                solves.push(Solve { file, planned });
                continue;
            }
            Err(error) => error.to_string(),
        };
        let left = LeftOut { problem: planned.problem, method: planned.method, why };
        if !left_out.contains(&left) {
            left_out.push(left);
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
    Ok(study::compare(&study, &jobs, left_out)?)
}

impl Solve {
    fn job(&self) -> Job<'_> {
        let ProblemFile { problem, method, budget, .. } = &self.file;
        let planned = self.planned.clone();
        Job { planned, problem, method: method.as_ref(), budget, explain: &|error| error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use appropo_run::study::Row;

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
