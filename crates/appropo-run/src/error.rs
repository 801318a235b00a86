use std::io;
use std::path::{Path, PathBuf};

use crate::files::RUN;

/// What can go wrong with a run's files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    /// The system refused.
    #[error("{} can't be {action}: {source}{}", path.display(), hint(source, action, *is_run))]
    Io {
        path: PathBuf,
        /// "read", "written" and so on.
        action: &'static str,
        source: io::Error,
        /// Whether it belongs to a run that can be gone on with.
        is_run: bool,
    },
    /// A file is not what was written.
    #[error("{}: {problem}; restore it from a copy, or start the run again in another folder", path.display())]
    Damaged { path: PathBuf, problem: String },
    /// A file of a later version of the program.
    #[error("{} has format {found}, and this program knows formats up to {known}; update appropo", path.display())]
    Newer { path: PathBuf, found: u64, known: u32 },
    /// A run of an earlier version of the program.
    #[error("{} was written by appropo {version}, whose runs this version does not read; use that version for it", path.display())]
    Older {
        path: PathBuf,
        /// The version that wrote it.
        version: String,
    },
    /// The run has no result yet.
    #[error("{}: the run has not ended{}", path.display(), if *is_in_use { ": another process is at it; wait until it is done" } else { "; resume it" })]
    NotEnded {
        path: PathBuf,
        /// Whether another process works on it.
        is_in_use: bool,
    },
    /// Files that do not belong to the problem.
    #[error("{}: {problem}", path.display())]
    Unfit { path: PathBuf, problem: String },
    /// What was asked for can't be had.
    #[error("{}: {problem}", path.display())]
    Unsuitable { path: PathBuf, problem: String },
    /// Something is where a new file is to be.
    #[error("{} is there already; remove it, or choose another name", path.display())]
    Taken { path: PathBuf },
    /// Something else lies where a page is to be written.
    #[error("{} is there already and no report of appropo; remove it, or choose another folder", path.display())]
    Page { path: PathBuf },
    /// The library refused.
    #[error(transparent)]
    Library(#[from] appropo::error::Error),
    /// Another process writes there.
    #[error("{} is in use by another process; wait until it is done, or choose another folder", path.display())]
    InUse { path: PathBuf },
    /// The folder for a new run holds something else.
    #[error("{} is not empty; choose another folder, or resume the run if it holds one", path.display())]
    NotEmpty { path: PathBuf },
    /// A run of a study was begun with other settings.
    #[error("{} is a run with other settings; choose another folder, or remove it", path.display())]
    OtherSettings { path: PathBuf },
    /// There is no study in the folder.
    #[error("{} holds no study: it has no folder .study; name the folder of one, or begin one there", path.display())]
    NoStudy { path: PathBuf },
    /// There is no run in the folder.
    #[error("{} holds no run: it has no file run.json; name the folder of a run", path.display())]
    NoRun { path: PathBuf },
}

/// A result with such an error.
pub type Result<T> = std::result::Result<T, Error>;

fn hint(error: &io::Error, action: &str, is_run: bool) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded if is_run => {
            "; make room and resume the run: what was there before is whole"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; make room and try again",
        io::ErrorKind::PermissionDenied if action == "read" => "; ask its owner to let you read it",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem if is_run => {
            "; the folder of a run must let you write to it: change that, or copy it elsewhere"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; choose a folder that you may write to"
        }
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            "; a file is in the way: choose another path"
        }
        _ => "",
    }
}

pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| {
        let folder = if path.is_dir() { Some(path) } else { path.parent() };
        let is_run = folder.is_some_and(|folder| folder.join(RUN).is_file());
        Error::Io { path: path.to_owned(), action, source, is_run }
    }
}

/// The problem may quote the file: characters that would change how a terminal shows the rest are escaped.
pub(crate) fn damaged(path: &Path, problem: impl Into<String>) -> Error {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    Error::Damaged { path: path.to_owned(), problem: problem.into().chars().map(escaped).collect() }
}
