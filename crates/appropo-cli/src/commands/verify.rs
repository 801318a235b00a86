use std::path::Path;

use appropo_file::{Reader, printable};
use appropo_run::verify::{Verification, verify};
use appropo_run::{Directory, files, front};

use super::problem_of;
use crate::{Failure, Output};

/// The exit status of a claim that does not hold.
const REFUTED: u8 = 5;

/// Computes the claim of a run again from its files alone.
pub fn run(folder: &str, seed: Option<u64>) -> Result<Output, Failure> {
    if front::is_front(Path::new(folder)) {
        return front(folder);
    }
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
    Ok(shown(&lines, outcome))
}

/// The same of a Pareto front.
fn front(folder: &str) -> Result<Output, Failure> {
    let directory = Directory::read_front(Path::new(folder))?;
    let verified = || -> Result<Verification, Failure> {
        let name = printable(&front::problem_name(&directory)?);
        let text = directory.read_text(files::PROBLEM)?;
        let path = directory.file(files::PROBLEM).display().to_string();
        let file = Reader::default().read(&name, &path, &text)?;
        Ok(front::verify(&directory, &file.problem)?)
    };
    Ok(match verified() {
        Err(failure) => shown(&[], Err(failure.to_string())),
        Ok(verification) => shown(&verification.lines, verification.outcome),
    })
}

fn shown(lines: &[String], outcome: Result<String, String>) -> Output {
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
    Output { text, status }
}
