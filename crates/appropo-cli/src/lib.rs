//! `appropo`: reinforcement learning under convex constraints from the command line.
//!
//! The program is a library so that other programs can be it; its interface is the command line.

mod args;
mod commands;
mod failure;
mod interrupts;
mod picture;
mod progress;
mod serve;
mod shown;
mod version;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use failure::Failure;

/// What a command prints on standard output, and its exit status.
struct Output {
    text: String,
    status: u8,
}

impl Output {
    /// A text, and that all is well.
    fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), status: 0 }
    }
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
