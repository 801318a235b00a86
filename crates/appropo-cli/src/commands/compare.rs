use std::path::PathBuf;

use appropo::problem::Direction;
use appropo_experiments::Comparison;

use crate::args::Compare;
use crate::{Failure, Output, interrupts};

/// Runs methods on problems and shows one table.
pub fn run(arguments: &Compare) -> Result<Output, Failure> {
    interrupts::catch();
    let named = |measure: &Option<String>, direction| measure.clone().map(|measure| (measure, direction));
    let comparison = Comparison {
        problems: arguments.problems.clone(),
        methods: arguments.methods.clone(),
        seeds: arguments.seed..arguments.seed + arguments.seeds,
        objective: named(&arguments.maximize, Direction::Maximize)
            .or_else(|| named(&arguments.minimize, Direction::Minimize)),
        settings: arguments.table(),
        folder: PathBuf::from(&arguments.out),
        threads: arguments.threads.unwrap_or(0).into(),
    };
    let compared = comparison.run(&interrupts::was_interrupted)?;
    if compared.rows.is_empty() && !compared.is_interrupted {
        return Err(Failure::Input(compared.text().trim().into()));
    }
    let mut output = Output::of(if arguments.json { compared.to_json() } else { compared.text() });
    if compared.is_interrupted {
        eprintln!("stopped; the same command goes on");
        output.status = 130;
    }
    Ok(output)
}
