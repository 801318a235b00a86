mod check;
mod compare;
mod distil;
mod evaluate;
mod export;
mod list;
mod model;
mod pareto;
mod play;
mod record;
mod report;
mod shell;
mod solve;
mod verify;
mod watch;

use std::path::Path;

use appropo::outcome::Outcome;
use appropo::problem::Direction;
use appropo::registry::Registry;
use appropo_experiments::reproduce;
use appropo_file::{ProblemFile, Reader, printable, schema};
use appropo_run::about::About;
use appropo_run::result::must_act;
use appropo_run::{Directory, files, result};

use crate::args::Command;
use crate::{Failure, Output};

/// Runs a command.
pub fn run(command: &Command) -> Result<Output, Failure> {
    match command {
        Command::Solve(arguments) => solve::run(arguments),
        Command::Resume { folder, checkpoint_every, json, quiet } => {
            solve::resume(folder, *checkpoint_every, *json, *quiet)
        }
        Command::Verify { folder, seed } => verify::run(folder, *seed),
        Command::Evaluate { folder, episodes, seed, json } => evaluate::run(folder, *episodes, *seed, *json),
        Command::Play { folder, seed, delay } => play::run(folder, *seed, *delay),
        Command::Export { folder, onnx } => export::run(folder, onnx),
        Command::Model { file, states, out } => model::run(file, states, out.as_deref()),
        Command::Record(arguments) => record::run(arguments),
        Command::Distil(arguments) => distil::run(arguments),
        Command::Watch { folders, port, control } => watch::run(folders, *port, *control),
        Command::Report { folders, out } => report::run(folders, out.as_deref()),
        Command::Maximize(arguments) => solve::optimize(arguments, Direction::Maximize),
        Command::Minimize(arguments) => solve::optimize(arguments, Direction::Minimize),
        Command::Pareto(arguments) => pareto::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Study(arguments) => compare::join(arguments),
        Command::Reproduce(arguments) => {
            let threads = arguments.threads.unwrap_or(0).into();
            Ok(Output::of(reproduce(Path::new(&arguments.out), arguments.quick, threads)?))
        }
        Command::Check { problem, explain, overrides } => check::run(problem, *explain, overrides),
        Command::Schema => Ok(Output::of(format!("{:#}\n", schema(&Registry::standard())))),
        Command::List => Ok(Output::of(list::run(&Registry::standard()))),
        Command::Completions { shell } => Ok(shell::completions(*shell)),
        Command::Man { out } => shell::manual(out.as_deref()),
    }
}

/// The folder of a run, with the problem that it is of and the settings that it was begun with.
fn open(folder: &str) -> Result<(Directory, ProblemFile), Failure> {
    let directory = Directory::read(Path::new(folder))?;
    let file = problem_of(&directory)?;
    Ok((directory, file))
}

fn problem_of(directory: &Directory) -> Result<ProblemFile, Failure> {
    read_problem(directory, &Reader::default())
}

fn read_problem(directory: &Directory, reader: &Reader) -> Result<ProblemFile, Failure> {
    let about: About = directory.read_json(files::RUN)?;
    let text = directory.read_text(files::PROBLEM)?;
    let path = directory.file(files::PROBLEM).display().to_string();
    Ok(reader.read(&printable(&about.problem), &path, &text)?)
}

/// The outcome of a run, to be played.
fn playable(folder: &str) -> Result<(ProblemFile, Outcome), Failure> {
    let (directory, file) = open(folder)?;
    let outcome = result::read(&directory, &file.problem, None)?;
    must_act(&outcome.mixture)?;
    Ok((file, outcome))
}
