use std::fmt::Write;
use std::path::Path;

use appropo::confidence::{Options, radii};
use appropo::measurement::Estimate;
use appropo::oracle::MonteCarlo;
use appropo::random;
use appropo::rl::Episode;
use appropo_run::Directory;
use serde_json::json;

use super::verify::load_alive;
use crate::problem::{Problem, Surroundings, limit};
use crate::report::number;
use crate::world::whole_world;
use crate::{Failure, Output};

/// Plays the mixture of a run afresh and says what it measures.
pub fn run(
    folder: &str,
    episodes: usize,
    seed: u64,
    as_json: bool,
    surroundings: &Surroundings,
) -> Result<Output, Failure> {
    let directory = Directory::read(Path::new(folder))?;
    let problem = Problem::load_run(&directory, surroundings)?;
    let mixture = load_alive(&directory, &problem)?;
    let (horizon, gamma) = (problem.discounting.horizon(), problem.discounting.gamma());
    let episode = Episode::new(whole_world(&problem), gamma, limit(horizon));
    let mut judge = MonteCarlo::new(episode, &mut random::generator(seed));
    let mut estimate = Estimate::new(judge.dim());
    judge.play(&mixture, episodes, &mut estimate)?;
    let confidence = Options::default().confidence;
    let radii = radii(&estimate, &[], 1.0 - confidence)?;
    let measures = problem.world.measures();
    let entries = measures.iter().flat_map(|(name, range)| {
        let is_single = range.len() == 1;
        range
            .clone()
            .map(move |i| (if is_single { name.into() } else { format!("{name}[{}]", i - range.start) }, i))
    });
    let errors = estimate.standard_error();
    let rows: Vec<(String, f64, f64, f64)> =
        entries.map(|(name, i)| (name, estimate.mean()[i], errors[i], radii[i])).collect();
    if as_json {
        let measurements: Vec<_> = rows
            .iter()
            .map(|(name, mean, error, radius)| {
                json!({ "measure": name, "mean": mean, "standard_error": error, "low": mean - radius, "high": mean + radius })
            })
            .collect();
        let object = json!({
            "episodes": episodes, "samples": judge.samples(), "seed": seed, "confidence": confidence,
            "measurements": measurements,
        });
        return Ok(Output { text: format!("{object}\n"), status: 0 });
    }
    let mut text = format!(
        "{}: {episodes} fresh episodes, {} steps, seed {seed}\n\n{:<16} {:>12} {:>14}   {} at level {confidence}\n",
        problem.name,
        judge.samples(),
        "measure",
        "mean",
        "standard error",
        "interval"
    );
    for (name, mean, error, radius) in rows {
        let (low, high) = (number(mean - radius), number(mean + radius));
        let _ = writeln!(text, "{name:<16} {:>12} {:>14}   [{low}, {high}]", number(mean), number(error));
    }
    text += "\nThe intervals hold together; they rest on the range of what was seen.\n";
    Ok(Output { text, status: 0 })
}
