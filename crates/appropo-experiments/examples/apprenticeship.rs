//! What apprentices are worth in Abbeel and Ng's gridworld, as a table and, where a file is named, as a figure.
//!
//! `cargo run --release --package appropo-experiments --example apprenticeship -- docs/apprenticeship.svg`

use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let found = appropo_experiments::apprenticeship(2000..2010, 300)?;
    print!("{}", found.table());
    if let Some(file) = std::env::args().nth(1) {
        std::fs::write(file, found.figure())?;
    }
    Ok(if found.is_as_proved() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
