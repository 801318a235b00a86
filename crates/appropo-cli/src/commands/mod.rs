mod check;
mod evaluate;
mod export;
mod list;
mod optimize;
mod play;
mod report;
mod schema;
mod solve;
mod verify;

pub use evaluate::run as evaluate;
pub use export::run as export;
pub use optimize::optimum;
pub use report::page;
pub use verify::{load_alive, load_mixture, run as verify};

use crate::args::Command;
use crate::problem::Surroundings;
use crate::{Failure, Output, reproduce};

/// Runs a command.
pub fn run(command: &Command) -> Result<Output, Failure> {
    let nothing = &Surroundings::default();
    match command {
        Command::Solve(arguments) => solve::run(arguments),
        Command::Resume { folder, checkpoint_every, json, quiet } => {
            solve::resume(folder, *checkpoint_every, *json, *quiet)
        }
        Command::Verify { folder, seed } => verify::run(folder, *seed, nothing),
        Command::Evaluate { folder, episodes, seed, json } => {
            evaluate::run(folder, *episodes, *seed, *json, nothing)
        }
        Command::Play { folder, seed, delay } => play::run(folder, *seed, *delay),
        Command::Export { folder, onnx } => export::run(folder, onnx, nothing),
        Command::Report { folders, out } => report::run(folders, out.as_deref(), nothing),
        Command::Maximize(arguments) => optimize::run(arguments, 1.0),
        Command::Minimize(arguments) => optimize::run(arguments, -1.0),
        Command::Reproduce(arguments) => reproduce::run(arguments),
        Command::Check { problem, explain } => check::run(problem, *explain),
        Command::Schema => Ok(schema::run()),
        Command::List => Ok(list::run()),
    }
}
