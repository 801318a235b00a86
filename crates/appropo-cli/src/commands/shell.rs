use std::io;
use std::path::Path;

use appropo_run::write_whole;
use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Arguments;
use crate::{Failure, Output};

/// A script that completes this program's commands and options in a shell.
pub fn completions(shell: Shell) -> Output {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "appropo", &mut script);
    Output::of(String::from_utf8_lossy(&script))
}

/// The manual page of the program, or those of all its commands in a folder.
pub fn manual(folder: Option<&str>) -> Result<Output, Failure> {
    let other = |error: io::Error| Failure::Other(format!("a manual page can't be written: {error}"));
    let mut command = Arguments::command();
    command.build();
    let Some(folder) = folder else {
        return Ok(Output::of(String::from_utf8_lossy(&page(command).map_err(other)?)));
    };
    let input = |error: io::Error| Failure::Input(format!("{folder} can't be made: {error}"));
    std::fs::create_dir_all(folder).map_err(input)?;
    let mut names = String::new();
    let subcommands: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    for one in std::iter::once(command).chain(subcommands.into_iter().filter(|one| one.get_name() != "help"))
    {
        let name = one.get_display_name().unwrap_or(one.get_name()).to_owned();
        let path = Path::new(folder).join(format!("{name}.1"));
        write_whole(&path, &page(one).map_err(other)?)?;
        names += &format!("{}\n", path.display());
    }
    Ok(Output::of(names))
}

fn page(command: clap::Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    Man::new(command).render(&mut text)?;
    Ok(text)
}
