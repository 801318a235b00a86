use std::fmt::Write;

use appropo::outcome::number;
use appropo_run::evaluation::{MeasureEstimate, evaluate};

use super::playable;
use crate::{Failure, Output};

/// Plays the mixture of a run afresh and says what it measures.
pub fn run(folder: &str, episodes: usize, seed: u64, as_json: bool) -> Result<Output, Failure> {
    let (file, outcome) = playable(folder)?;
    let found = evaluate(&file.problem, &outcome.mixture, episodes, seed)?;
    if as_json {
        return Ok(Output::of(found.to_json() + "\n"));
    }
    let mut text = format!(
        "{}: {episodes} fresh episodes, {} steps, seed {seed}\n\n{:<16} {:>12} {:>14}   {} at level {}\n",
        file.problem.name(),
        found.samples,
        "measure",
        "mean",
        "standard error",
        "interval",
        found.confidence
    );
    for MeasureEstimate { measure, mean, standard_error, low, high } in &found.measurements {
        let (mean, error) = (number(*mean), number(*standard_error));
        let (low, high) = (number(*low), number(*high));
        let _ = writeln!(text, "{measure:<16} {mean:>12} {error:>14}   [{low}, {high}]");
    }
    text += "\nThe intervals hold together; they rest on the range of what was seen.\n";
    Ok(Output::of(text))
}
