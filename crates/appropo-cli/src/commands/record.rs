use std::path::Path;
use std::sync::Arc;

use appropo::outcome::count;
use appropo::policy::Mixed;
use appropo::problem::Problem;
use appropo::record::{Recording, record};
use appropo_file::Reader;
use appropo_file::dataset::{Format, encode};
use appropo_run::write_whole;

use super::playable;
use crate::args::Record;
use crate::{Failure, Output, interrupts};

/// Logs episodes as a data set.
pub fn run(arguments: &Record) -> Result<Output, Failure> {
    let Record { problem, out, episodes, run, epsilon, seed } = arguments;
    let path = Path::new(out);
    // Before anything is played.
    let format = Format::of(path).map_err(|error| Failure::Input(error.to_string()))?;
    if path.exists() {
        return Err(appropo_run::Error::Taken { path: path.to_owned() }.into());
    }
    interrupts::catch();
    let file = Reader::default().load(problem)?;
    let mixture = run.as_ref().map(|folder| mixture(folder, &file.problem)).transpose()?;
    let recording = Recording::default()
        .episodes(*episodes)
        .epsilon(*epsilon)
        .stop(Some(Arc::new(interrupts::was_interrupted)));
    let dataset = record(&file.problem, mixture.as_ref(), &recording, *seed)?;
    let bytes = encode(&dataset, format).map_err(|error| Failure::Input(format!("{out}{error}")))?;
    write_whole(path, &bytes)?;
    let episodes = count(*episodes, "episode", "episodes");
    let steps = count(dataset.steps(), "step", "steps");
    Ok(Output::of(format!("{out}: {episodes} of {steps}; checksum {}\n", dataset.checksum())))
}

/// The mixture of a run, if it is for the same world.
fn mixture(folder: &str, problem: &Problem) -> Result<Mixed, Failure> {
    let (file, outcome) = playable(folder)?;
    let (found, expected) = (file.problem.env(), problem.env());
    let is_same = (found.observations(), found.actions()) == (expected.observations(), expected.actions());
    match is_same {
        true => Ok(outcome.mixture),
        false => Err(Failure::Input(format!(
            "{folder}: its policies see or do something else than this problem's"
        ))),
    }
}
