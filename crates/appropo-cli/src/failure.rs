use std::fmt;
use std::io::ErrorKind;

use appropo::error::Error;
use appropo_experiments::ExperimentError;
use appropo_file::Diagnostic;
use appropo_run::Error as FileError;

/// Why something could not be done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// Something is wrong with a problem file.
    Problem(Diagnostic),
    /// Something else that was asked for and can't be had.
    Input(String),
    /// The files of a run.
    Files(FileError),
    /// The library refused.
    Library(Error),
    /// Anything else.
    Other(String),
}

impl Failure {
    /// The exit status: 2 for what the user can mend, else 1.
    pub fn status(&self) -> u8 {
        let is_input = match self {
            Failure::Problem(_) | Failure::Input(_) => true,
            Failure::Files(FileError::Library(error)) | Failure::Library(error) => is_of_problem(error),
            Failure::Files(error) => matches!(
                error,
                FileError::NotEmpty { .. }
                    | FileError::NoRun { .. }
                    | FileError::InUse { .. }
                    | FileError::NotEnded { .. }
                    | FileError::Older { .. }
                    | FileError::Unsuitable { .. }
                    | FileError::Taken { .. }
                    | FileError::Page { .. }
                    | FileError::OtherSettings { .. }
                    | FileError::NoStudy { .. }
            ),
            Failure::Other(_) => false,
        };
        if is_input { 2 } else { 1 }
    }
}

/// What is wrong with the problem as stated shows only when it is solved.
fn is_of_problem(error: &Error) -> bool {
    matches!(
        error,
        Error::NeverEnds { .. }
            | Error::Endless { .. }
            | Error::Infinite { .. }
            | Error::Unbounded { .. }
            | Error::NoOnePolicy
            | Error::NoConicForm { .. }
            | Error::NoFaces { .. }
            | Error::NoHalfSpaces { .. }
            | Error::Objective(_)
            | Error::Option(_)
            | Error::OutOfRange { .. }
            | Error::Unsuitable { .. }
            | Error::UnknownMeasure { .. }
            | Error::Dataset { .. }
            | Error::UnloggedMeasure { .. }
            | Error::OnlyLogged
            | Error::Model(_)
            | Error::UnknownName { .. }
    )
}

/// What to type, where the library only says what to do.
fn command(error: &FileError) -> String {
    match error {
        FileError::NotEmpty { path } => format!(", with \"appropo resume {}\"", path.display()),
        FileError::NotEnded { path, is_in_use: false } => {
            format!(" with \"appropo resume {}\"", path.display())
        }
        FileError::NoStudy { .. } => {
            " with \"appropo compare PROBLEM... --methods NAME,... --out FOLDER\"".into()
        }
        FileError::NoRun { .. } => ", or begin one there with \"appropo solve PROBLEM --run\"".into(),
        FileError::Io { source, is_run, .. }
            if matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) =>
        {
            if *is_run { " (\"appropo resume\")" } else { ": give the same command again" }.into()
        }
        _ => String::new(),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Failure::Problem(diagnostic) => diagnostic.fmt(f),
            Failure::Files(error) => write!(f, "{error}{}", command(error)),
            Failure::Library(error) => error.fmt(f),
            Failure::Input(text) | Failure::Other(text) => f.write_str(text),
        }
    }
}

impl From<Diagnostic> for Failure {
    fn from(diagnostic: Diagnostic) -> Self {
        Failure::Problem(diagnostic)
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Failure::Files(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Library(error)
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        match error {
            ExperimentError::Library(error) => Failure::Library(error),
            ExperimentError::Problem(diagnostic) => Failure::Problem(diagnostic),
            ExperimentError::Run(error) => Failure::Files(error),
            ExperimentError::Folder { .. } | ExperimentError::Twice { .. } => {
                Failure::Input(error.to_string())
            }
            other => Failure::Other(other.to_string()),
        }
    }
}
