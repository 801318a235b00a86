//! Data sets: logged episodes, in files and arrays.

use std::path::PathBuf;
use std::sync::Arc;

use appropo::dataset::{Dataset as Logged, Step};
use appropo::env::Space;
use appropo::measurement::{Discounting, Measures};
use appropo_file::dataset::{Format, encode, read};
use appropo_run::write_whole;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::{ProblemError, RunError, of_files, of_library};

/// A number of elements, or the bounds of each number.
#[derive(FromPyObject)]
pub enum Size {
    Count(usize),
    Bounds(Vec<(f64, f64)>),
}

impl From<Size> for Space {
    fn from(size: Size) -> Self {
        match size {
            Size::Count(count) => Space::Discrete(count),
            Size::Bounds(bounds) => Space::Continuous(bounds),
        }
    }
}

/// Logged episodes.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct Dataset(pub(crate) Arc<Logged>);

#[pymethods]
impl Dataset {
    /// The data set of a file.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        let found = read(&path).map_err(|error| ProblemError::new_err(error.to_string()))?;
        Ok(Self(Arc::new(found.named(path.display().to_string()))))
    }

    /// Episodes of these lengths: observations have a row more than steps in each.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn of_arrays(
        measures: Vec<(String, usize)>,
        observations: Size,
        actions: Size,
        lengths: Vec<usize>,
        terminated: Vec<bool>,
        seen: PyReadonlyArray1<f64>,
        done: PyReadonlyArray1<f64>,
        z: PyReadonlyArray1<f64>,
    ) -> PyResult<Self> {
        let measures = Measures::new(measures.iter().map(|(name, count)| (name.as_str(), *count)));
        let (seen, done, z) = (seen.as_slice()?, done.as_slice()?, z.as_slice()?);
        let (observations, actions): (Space, Space) = (observations.into(), actions.into());
        let widths = [observations.entries(), actions.entries(), measures.dim()];
        let mut builder = Logged::builder(measures, observations, actions);
        let row = |numbers: &'_ [f64], width: usize, row: usize| -> PyResult<Vec<f64>> {
            let found = numbers.get(row * width..(row + 1) * width);
            found.map(<[f64]>::to_vec).ok_or_else(|| ProblemError::new_err("the arrays have too few rows"))
        };
        let mut first = 0;
        for (number, (steps, is_terminated)) in lengths.into_iter().zip(terminated).enumerate() {
            for step in 0..steps {
                let is_last = step + 1 == steps;
                let taken = Step {
                    episode: number as u64,
                    step: step as u64,
                    observation: &row(seen, widths[0], first + number + step)?,
                    action: &row(done, widths[1], first + step)?,
                    z: &row(z, widths[2], first + step)?,
                    next_observation: &row(seen, widths[0], first + number + step + 1)?,
                    terminated: is_last && is_terminated,
                    truncated: is_last && !is_terminated,
                };
                builder.push(&taken).map_err(|error| of_library(&error))?;
            }
            first += steps;
        }
        Ok(Self(Arc::new(builder.build().map_err(|error| of_library(&error))?)))
    }

    /// Writes a file that is not there yet.
    fn write(&self, path: PathBuf) -> PyResult<()> {
        let format = Format::of(&path).map_err(|error| ProblemError::new_err(error.to_string()))?;
        if path.exists() {
            return Err(of_files(appropo_run::Error::Taken { path }));
        }
        let bytes = encode(&self.0, format);
        let bytes = bytes.map_err(|error| RunError::new_err(format!("{}{error}", path.display())))?;
        write_whole(&path, &bytes).map_err(of_files)
    }

    /// How many episodes there are.
    #[getter]
    fn episodes(&self) -> usize {
        self.0.episodes().len()
    }

    /// Steps of all episodes.
    #[getter]
    fn steps(&self) -> usize {
        self.0.steps()
    }

    /// Names and numbers of entries of the measures.
    #[getter]
    fn measures(&self) -> Vec<(String, usize)> {
        self.0.measures().iter().map(|(name, range)| (name.to_owned(), range.len())).collect()
    }

    /// A checksum of all that was logged.
    #[getter]
    fn checksum(&self) -> String {
        self.0.checksum().into()
    }

    /// The mean discounted measurement of its episodes.
    fn mean<'py>(
        &self,
        py: Python<'py>,
        discount: f64,
        horizon: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let discounting = Discounting::new(discount, horizon).map_err(|error| of_library(&error))?;
        Ok(PyArray1::from_vec(py, self.0.mean(&discounting)))
    }

    /// The same with other numbers of observations and actions, or bounds.
    fn with_spaces(&self, observations: Option<Size>, actions: Option<Size>) -> PyResult<Self> {
        let observations = observations.map_or_else(|| self.0.observations().clone(), Into::into);
        let actions = actions.map_or_else(|| self.0.actions().clone(), Into::into);
        let fitted = self.0.fitted_to(self.0.measures(), &observations, &actions);
        Ok(Self(fitted.map_err(|error| of_library(&error))?))
    }
}
