mod check;
mod learn;
mod list;
mod optimize;
mod schema;
mod solve;

pub use learn::{Watch, learn};
pub use solve::known;

use crate::args::Command;
use crate::{Failure, Output, reproduce};

/// Runs a command.
pub fn run(command: &Command) -> Result<Output, Failure> {
    match command {
        Command::Solve(arguments) => solve::run(arguments),
        Command::Maximize(arguments) => optimize::run(arguments, 1.0),
        Command::Minimize(arguments) => optimize::run(arguments, -1.0),
        Command::Reproduce(arguments) => reproduce::run(arguments),
        Command::Check { problem, explain } => check::run(problem, *explain),
        Command::Schema => Ok(schema::run()),
        Command::List => Ok(list::run()),
    }
}
