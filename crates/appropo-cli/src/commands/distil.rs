use std::path::{Path, PathBuf};
use std::time::Duration;

use appropo::method::Method;
use appropo::registry::Registry;
use appropo::solver::Observers;
use appropo_file::{ProblemFile, Reader, written, written_solve};
use appropo_run::about::About;
use appropo_run::files;
use appropo_run::record::Recorder;

use super::{open, playable, solve};
use crate::args::Distil;
use crate::progress::Progress;
use crate::{Failure, Output};

/// Makes one policy of the mixture of a run, and writes it as a run.
pub fn run(arguments: &Distil) -> Result<Output, Failure> {
    let Distil { folder, out, quiet, json, .. } = arguments;
    let (file, outcome) = playable(folder)?;
    let problem = &file.problem;
    let (method, budget, seed) =
        Reader::default().distil(problem, (&outcome, &file.budget), &arguments.table())?;
    // Before there is a folder.
    method.check(problem)?;
    let to = out.as_ref().map_or_else(|| beside(folder), PathBuf::from);
    let registry = Registry::standard();
    let text = written(problem, &registry) + &written_solve(problem, &method, &budget, seed, &registry)?;
    let about = About {
        version: env!("CARGO_PKG_VERSION").into(),
        problem: problem.name().into(),
        seed,
        command: format!("appropo distil {folder} --samples {} --seed {seed}", budget.samples),
    };
    // There are no rounds, and so no checkpoints.
    let mut recorder = Recorder::begin(&to, &about, problem, &text, Duration::MAX)?;
    let mut progress = Progress::new(problem, budget.samples, *quiet || *json);
    let mut observers = Observers(vec![&mut progress, &mut recorder]);
    let distilled = problem.solve(&method, &budget, seed, &mut observers);
    drop(progress);
    recorder.take_failure()?;
    recorder.finish(&distilled?)?;
    let (_, file): (_, ProblemFile) = open(&to.to_string_lossy())?;
    let mut output = solve::shown(&to, &file, *json)?;
    if !json {
        output.text += &format!("run: {}, with {}\n", to.display(), files::REPORT);
    }
    Ok(output)
}

/// The run's folder with "-distilled" after its name.
fn beside(folder: &str) -> PathBuf {
    let path = Path::new(folder);
    // A name such as "." has none to add to.
    let path = path.canonicalize().ok().filter(|_| path.file_name().is_none()).unwrap_or(path.to_owned());
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push("-distilled");
    path.with_file_name(name)
}
