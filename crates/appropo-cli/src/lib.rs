//! `appropo`: reinforcement learning under convex constraints from the command line.
//!
//! The program is a library so that its parts can be tested from outside; its interface is the command line.

mod args;
mod commands;
mod ended;
mod failure;
mod figure;
mod judge;
mod picture;
mod problem;
mod progress;
mod quantity;
mod record;
mod report;
mod reproduce;
mod run;
mod search;
pub mod session;
mod world;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

pub use failure::Failure;

/// What a command prints on standard output, and its exit status.
struct Output {
    text: String,
    status: u8,
}

/// Does what the command line says.
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os()))
}

/// Does what these arguments say, the first of which is the program's name. Returns the exit status.
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    let arguments = match args::Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return error.exit_code() as u8;
        }
    };
    match commands::run(&arguments.command) {
        Ok(output) => {
            let mut out = std::io::stdout();
            match out.write_all(output.text.as_bytes()).and_then(|()| out.flush()) {
                // A reader that closed the pipe early has all it wants.
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                    let _ = writeln!(std::io::stderr(), "error: the result can't be written: {error}");
                    1
                }
                _ => output.status,
            }
        }
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "error: {failure}");
            failure.status()
        }
    }
}

/// What is wrong with the text of a problem file, if anything is.
pub fn check_problem(text: &str) -> Result<(), String> {
    problem::Problem::parse("problem", text, &problem::Surroundings::default())
        .map(|_| ())
        .map_err(|mistake| mistake.to_string())
}
