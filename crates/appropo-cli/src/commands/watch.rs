use std::io::Write;
use std::path::Path;

use appropo_file::{Externals, Reader};
use appropo_run::Directory;
use appropo_run::live::Watched;

use super::read_problem;
use crate::serve::{Server, random_digits};
use crate::{Failure, Output};

/// Serves a page that follows runs, until the program is ended.
pub fn run(folders: &[String], port: u16, control: bool) -> Result<Output, Failure> {
    let mut runs = Vec::new();
    // Sets of a calling program are not here; what the log says of them is.
    let externals = Externals { is_partial: true, ..Externals::default() };
    let reader = Reader { externals, ..Reader::default() };
    for (number, folder) in folders.iter().enumerate() {
        let directory = Directory::read(Path::new(folder))?;
        let file = read_problem(&directory, &reader)?;
        let name = match folders.len() {
            1 => file.problem.name().to_owned(),
            _ => format!("{} ({folder})", file.problem.name()),
        };
        runs.push((name, Watched::new(number, directory, file.problem, file.budget.tolerance)?));
    }
    let other = |what: &str, error: std::io::Error| Failure::Other(format!("{what}: {error}"));
    let token = control.then(random_digits).transpose();
    let token = token.map_err(|error| other("a token can't be made", error))?;
    let server = Server::new(runs, port, token.clone()).map_err(|error| {
        Failure::Input(format!(
            "--port {port}: the loopback address can't be used: {error}; choose another port"
        ))
    })?;
    let token = token.map_or(String::new(), |token| format!("#token={token}"));
    // Whoever reads the address through a pipe waits for it.
    let mut out = std::io::stdout();
    let _ = writeln!(out, "http://127.0.0.1:{}/{token}", server.port()).and_then(|()| out.flush());
    eprintln!("Open this address in a browser on this machine; Ctrl-C ends the view, not the run.");
    server.serve().map_err(|error| other("the runs can't be served", error))?;
    Ok(Output::of(""))
}
