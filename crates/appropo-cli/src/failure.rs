use std::fmt;

use appropo::error::Error;
use appropo_run::Error as FileError;

use crate::problem::Mistake;

/// Why something could not be done.
#[derive(Debug)]
pub enum Failure {
    /// A mistake in a problem file.
    Problem(Mistake),
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
    pub(crate) fn status(&self) -> u8 {
        let is_input = match self {
            Failure::Problem(_) | Failure::Input(_) => true,
            Failure::Files(error) => {
                matches!(
                    error,
                    FileError::NotEmpty { .. } | FileError::NoRun { .. } | FileError::InUse { .. }
                )
            }
            // What is wrong with the problem as stated shows only when it is solved.
            Failure::Library(error) => matches!(
                error,
                Error::NeverEnds { .. }
                    | Error::NoConicForm { .. }
                    | Error::OutOfRange { .. }
                    | Error::Unsuitable { .. }
                    | Error::UnknownMeasure { .. }
            ),
            Failure::Other(_) => false,
        };
        if is_input { 2 } else { 1 }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Failure::Problem(mistake) => mistake.fmt(f),
            Failure::Files(error) => error.fmt(f),
            Failure::Library(error) => error.fmt(f),
            Failure::Input(text) | Failure::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Mistake> for Failure {
    fn from(mistake: Mistake) -> Self {
        Failure::Problem(mistake)
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
