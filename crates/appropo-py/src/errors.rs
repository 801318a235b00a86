use appropo::error::Error;
use appropo_cli::Failure;
use appropo_run::Error as FileError;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(appropo, AppropoError, PyException, "Anything that appropo refuses or can't do.");
create_exception!(
    appropo,
    ProblemError,
    AppropoError,
    "The problem as stated has a mistake, or an argument is not what is expected there."
);
create_exception!(
    appropo,
    RunError,
    AppropoError,
    "The files of a run can't be read or written, or are not as they were written."
);
create_exception!(appropo, WorldError, AppropoError, "The environment gave what can't be learnt from.");
create_exception!(appropo, SetError, AppropoError, "A set can't be made, or its projection is no point.");

/// The exception for an error of the library.
pub fn of_library(error: &Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Missing { what } => WorldError::new_err(format!(
            "{what} is Python's and not here; load the run with all it needs: ap.load(folder, problem, oracle)"
        )),
        Error::World { .. } | Error::Outside { .. } | Error::Unending { .. } => WorldError::new_err(text),
        Error::Projection { .. } | Error::EmptySet { .. } => SetError::new_err(text),
        Error::Index { what: "observation", .. } => WorldError::new_err(text),
        Error::State { .. } | Error::Unsaved { .. } => RunError::new_err(text),
        Error::NeverEnds { .. }
        | Error::NoConicForm { .. }
        | Error::OutOfRange { .. }
        | Error::Dimension { .. }
        | Error::NotFinite { .. }
        | Error::Unsuitable { .. }
        | Error::UnknownMeasure { .. } => ProblemError::new_err(text),
        _ => AppropoError::new_err(text),
    }
}

/// The exception for anything that the command line refuses.
pub fn of_failure(failure: Failure) -> PyErr {
    match &failure {
        Failure::Library(error) => of_library(error),
        Failure::Problem(_) | Failure::Input(_) => ProblemError::new_err(failure.to_string()),
        Failure::Files(error) => RunError::new_err(of_files(error)),
        Failure::Other(_) => AppropoError::new_err(failure.to_string()),
    }
}

/// What an error of files says; where that speaks of commands, the same in the words of Python.
fn of_files(error: &FileError) -> String {
    match error {
        FileError::NotEmpty { path } => {
            let path = path.display();
            format!(
                "{path} is not empty; choose another folder, or use ap.load or ap.resume if it holds a run"
            )
        }
        FileError::NoRun { path } => {
            format!("{} holds no run: it has no file run.json; name the folder of a run", path.display())
        }
        _ => error.to_string(),
    }
}
