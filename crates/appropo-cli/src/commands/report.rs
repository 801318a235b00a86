use std::path::Path;

use appropo_run::page::{is_page, render};
use appropo_run::report::page;
use appropo_run::{files, write_whole};

use super::open;
use crate::{Failure, Output};

/// Writes the report of one run, or the comparison of several.
pub fn run(folders: &[String], out: Option<&str>) -> Result<Output, Failure> {
    let mut pages = Vec::new();
    for folder in folders {
        let (directory, file) = open(folder)?;
        let mut page = page(&directory, &file.problem)?;
        if folders.len() > 1 {
            page.name = format!("{} ({folder})", page.name);
        }
        pages.push(page);
    }
    let path = match (out, folders) {
        (Some(out), _) => Path::new(out).to_owned(),
        (None, [folder]) => Path::new(folder).join(files::REPORT),
        (None, _) => Path::new("comparison.html").to_owned(),
    };
    let is_run = path.parent().is_some_and(|folder| folder.join(files::RUN).is_file());
    if is_run && path.file_name().is_none_or(|name| name != files::REPORT) {
        let (shown, report) = (path.display(), files::REPORT);
        return Err(Failure::Input(format!("--out {shown}: in the folder of a run it must be {report}")));
    }
    is_free(&path)?;
    write_whole(&path, render(&pages).as_bytes())?;
    Ok(Output::of(format!("{}\n", path.display())))
}

/// Refuses a path where something else is than a report that may be written anew.
fn is_free(path: &Path) -> Result<(), Failure> {
    let is_report = || path.is_file() && std::fs::read(path).is_ok_and(|bytes| is_page(&bytes));
    if !path.exists() || is_report() {
        return Ok(());
    }
    let shown = path.display();
    Err(Failure::Input(format!(
        "{shown} is there already and no report of appropo; remove it, or choose another name with --out"
    )))
}
