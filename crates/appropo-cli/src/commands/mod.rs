mod check;
mod list;
mod optimize;
mod solve;

use crate::args::Command;
use crate::{Failure, Output};

/// Runs a command.
pub fn run(command: &Command) -> Result<Output, Failure> {
    match command {
        Command::Solve(arguments) => solve::run(arguments),
        Command::Maximize(arguments) => optimize::run(arguments, 1.0),
        Command::Minimize(arguments) => optimize::run(arguments, -1.0),
        Command::Check { problem } => check::run(problem),
        Command::List => Ok(list::run()),
    }
}
