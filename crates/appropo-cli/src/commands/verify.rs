use std::path::Path;

use appropo_run::Directory;
use appropo_run::verify::verify;

use super::problem_of;
use crate::{Failure, Output};

/// The exit status of a claim that does not hold.
const REFUTED: u8 = 5;

/// Computes the claim of a run again from its files alone.
pub fn run(folder: &str, seed: Option<u64>) -> Result<Output, Failure> {
    let directory = Directory::read(Path::new(folder))?;
    // Where nothing is claimed yet, nothing is refuted.
    directory.must_have_ended()?;
    let (lines, outcome) = match problem_of(&directory) {
        Err(failure) => (Vec::new(), Err(failure.to_string())),
        Ok(file) => {
            let verification = verify(
                &directory,
                &file.problem,
                (file.method.as_ref(), &file.budget, file.seed),
                seed,
                None,
            )?;
            (verification.lines, verification.outcome)
        }
    };
    let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let status = match outcome {
        Ok(verdict) => {
            text += &format!("verified: {verdict}\n");
            0
        }
        Err(problem) => {
            text += &format!("FAILED  {problem}\nnot verified\n");
            REFUTED
        }
    };
    Ok(Output { text, status })
}
