use appropo::error::Error;
use appropo_file::Diagnostic;
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
create_exception!(appropo, WorkerError, AppropoError, "Workers can't be had, or are lost again and again.");
create_exception!(appropo, SetError, AppropoError, "A set can't be made, or its projection is no point.");

/// The exception for an error of the library.
pub fn of_library(error: &Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Missing { what } => WorldError::new_err(format!(
            "{what} is Python's and not here; load the run with all it needs: ap.load(folder, problem, oracle)"
        )),
        Error::World { .. }
        | Error::External { .. }
        | Error::Unending { .. }
        | Error::Unrepeatable { .. } => WorldError::new_err(text),
        Error::Projection { .. } | Error::EmptySet { .. } => SetError::new_err(text),
        Error::Index { what: "observation", .. } => WorldError::new_err(text),
        Error::State { .. } | Error::Unsaved { .. } => RunError::new_err(text),
        Error::NeverEnds { .. }
        | Error::Endless { .. }
        | Error::Infinite { .. }
        | Error::AverageOfSome { .. }
        | Error::AverageBy { .. }
        | Error::Unbounded { .. }
        | Error::NoOnePolicy
        | Error::Objective(_)
        | Error::Option(_)
        | Error::NoConicForm { .. }
        | Error::NoFaces { .. }
        | Error::NoHalfSpaces { .. }
        | Error::OutOfRange { .. }
        | Error::Dimension { .. }
        | Error::NotFinite { .. }
        | Error::Unsuitable { .. }
        | Error::Dataset { .. }
        | Error::UnloggedMeasure { .. }
        | Error::OnlyLogged
        | Error::Model(_)
        | Error::UnknownName { .. }
        | Error::UnknownMeasure { .. } => ProblemError::new_err(text),
        _ => AppropoError::new_err(text),
    }
}

/// The exception for a problem that can't be read.
pub fn of_problem(diagnostic: Diagnostic) -> PyErr {
    ProblemError::new_err(diagnostic.to_string())
}

/// The exception for the files of a run; where they speak of what to do, in the words of Python.
pub fn of_files(error: FileError) -> PyErr {
    match &error {
        FileError::Library(error) => of_library(error),
        FileError::NotEmpty { path } => {
            let path = path.display();
            RunError::new_err(format!(
                "{path} is not empty; choose another folder, or use ap.load or ap.resume if it holds a run"
            ))
        }
        FileError::NotEnded { path, is_in_use: false } => RunError::new_err(format!(
            "{} holds no run that has ended; go on with it by ap.resume if it was killed",
            path.display()
        )),
        FileError::NoStudy { path } => RunError::new_err(format!(
            "{} holds no study: it has no folder .study; begin one there with ap.study(problems, methods, seeds, folder)",
            path.display()
        )),
        _ => RunError::new_err(error.to_string()),
    }
}
