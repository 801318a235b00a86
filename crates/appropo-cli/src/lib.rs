//! `appropo`: reinforcement learning under convex constraints from the command line.
//!
//! The program is a library so that its parts can be tested from outside; its interface is the command line.

mod args;
mod commands;
mod ended;
mod figure;
mod judge;
mod picture;
mod problem;
mod progress;
mod quantity;
mod record;
mod report;
mod reproduce;
mod search;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

/// What a command prints on standard output, and its exit status.
struct Output {
    text: String,
    status: u8,
}

/// Why a command failed.
enum Failure {
    /// The user's input: exit status 2.
    Input(String),
    /// Anything else: exit status 1.
    Other(String),
}

impl From<problem::Mistake> for Failure {
    fn from(mistake: problem::Mistake) -> Self {
        Failure::Input(mistake.to_string())
    }
}

impl From<appropo::error::Error> for Failure {
    fn from(error: appropo::error::Error) -> Self {
        use appropo::error::Error;
        match error {
            // What is wrong with the problem as stated shows only when it is solved.
            Error::NeverEnds { .. }
            | Error::NoConicForm { .. }
            | Error::OutOfRange { .. }
            | Error::Unsuitable { .. }
            | Error::UnknownMeasure { .. } => Failure::Input(error.to_string()),
            _ => Failure::Other(error.to_string()),
        }
    }
}

/// Does what the command line says.
pub fn main() -> ExitCode {
    let arguments = args::Arguments::parse();
    match commands::run(&arguments.command) {
        Ok(output) => {
            let mut out = std::io::stdout();
            match out.write_all(output.text.as_bytes()).and_then(|()| out.flush()) {
                // A reader that closed the pipe early has all it wants.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    let _ = writeln!(std::io::stderr(), "error: the result can't be written: {error}");
                    ExitCode::from(1)
                }
                _ => ExitCode::from(output.status),
            }
        }
        Err(failure) => {
            let (text, status) = match failure {
                Failure::Input(text) => (text, 2),
                Failure::Other(text) => (text, 1),
            };
            let _ = writeln!(std::io::stderr(), "error: {text}");
            ExitCode::from(status)
        }
    }
}

/// What is wrong with the text of a problem file, if anything is.
pub fn check_problem(text: &str) -> Result<(), String> {
    problem::Problem::parse(text).map(|_| ()).map_err(|mistake| mistake.to_string())
}
