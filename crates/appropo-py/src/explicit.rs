//! Models in the files of model checkers, and of arrays.

use std::path::PathBuf;
use std::sync::Arc;

use appropo::env::explicit::{ChoiceLabels, ExplicitModel as Explicit, Label, ModelBuilder, RewardStructure};
use appropo_file::model::{encode, read};
use appropo_run::write_whole;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::{ProblemError, of_files, of_library};

/// A Markov decision process with rewards, labels and names.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct ExplicitModel(pub(crate) Arc<Explicit>);

/// A name, and what is earned in states, by choices and in transitions.
type Rewards<'py> =
    (String, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// The first choice of each state and the end, the first transition of each choice and the end, targets, probabilities.
type Arrays<'py> = (
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<u32>>,
    Bound<'py, PyArray1<f64>>,
);

/// The values of variables in words, the labels, and the choices with their names, probabilities and targets.
type State = (String, Vec<String>, Vec<(Option<String>, Vec<(f64, u32)>)>);

#[pymethods]
impl ExplicitModel {
    /// The model of a file.
    #[staticmethod]
    fn read(py: Python, path: PathBuf) -> PyResult<Self> {
        let found = py.detach(|| read(&path)).map_err(|error| ProblemError::new_err(error.to_string()))?;
        Ok(Self(Arc::new(found)))
    }

    /// A model by compressed rows.
    #[staticmethod]
    #[allow(clippy::too_many_arguments)]
    fn of_arrays(
        is_chain: bool,
        choices: PyReadonlyArray1<u32>,
        rows: PyReadonlyArray1<u32>,
        targets: PyReadonlyArray1<u32>,
        probabilities: PyReadonlyArray1<f64>,
        start: Vec<(usize, f64)>,
        rewards: Vec<Rewards>,
        labels: Vec<(String, Vec<u32>)>,
        choice_labels: Option<(Vec<String>, Vec<u32>)>,
    ) -> PyResult<Self> {
        let states = choices.len()?.saturating_sub(1);
        let parts = (
            choices.as_slice()?.to_vec(),
            rows.as_slice()?.to_vec(),
            targets.as_slice()?.to_vec().into(),
            probabilities.as_slice()?.to_vec().into(),
        );
        let mut structures = Vec::new();
        for (name, of_states, of_choices, of_transitions) in rewards {
            structures.push(RewardStructure {
                name,
                states: of_states.as_slice()?.to_vec(),
                choices: of_choices.as_slice()?.to_vec(),
                transitions: of_transitions.as_slice()?.to_vec().into(),
            });
        }
        let labels = labels.into_iter().map(|(name, states)| Label { name, states }).collect();
        let build = || {
            let along = structures.iter_mut().map(|structure| &mut structure.transitions).collect();
            let mut builder = ModelBuilder::of_rows(is_chain, states, parts, along)?;
            for (state, probability) in start {
                builder.start(state, probability)?;
            }
            if let Some((names, of)) = choice_labels {
                builder.set_choice_labels(ChoiceLabels { names, of })?;
            }
            builder.build(structures, labels, None)
        };
        Ok(Self(Arc::new(build().map_err(|error| of_library(&error))?)))
    }

    /// Writes the model into a file that is not there yet.
    fn write(&self, py: Python, path: PathBuf) -> PyResult<()> {
        if path.exists() {
            return Err(of_files(appropo_run::Error::Taken { path }));
        }
        let name = path.display().to_string();
        let bytes =
            py.detach(|| encode(&self.0, &name)).map_err(|error| ProblemError::new_err(error.to_string()))?;
        write_whole(&path, &bytes).map_err(of_files)
    }

    /// Whether nothing is chosen.
    #[getter]
    fn is_chain(&self) -> bool {
        self.0.is_chain()
    }

    /// Number of states.
    #[getter]
    fn states(&self) -> usize {
        self.0.states()
    }

    /// Number of choices, over all states.
    #[getter]
    fn choices(&self) -> usize {
        self.0.choices()
    }

    /// Number of transitions.
    #[getter]
    fn transitions(&self) -> usize {
        self.0.transitions()
    }

    /// Where episodes start, with probabilities.
    #[getter]
    fn start(&self) -> Vec<(u32, f64)> {
        self.0.start().to_vec()
    }

    /// The measures that the reward structures are.
    #[getter]
    fn rewards(&self) -> Vec<String> {
        self.0.rewards().iter().map(|structure| structure.measure().to_owned()).collect()
    }

    /// The labels, each with its states.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> Vec<(String, Bound<'py, PyArray1<u32>>)> {
        let array = |label: &Label| (label.name.clone(), PyArray1::from_slice(py, &label.states));
        self.0.labels().iter().map(array).collect()
    }

    /// A checksum of all that can be measured.
    #[getter]
    fn checksum(&self) -> String {
        self.0.checksum()
    }

    /// The model by compressed rows.
    fn arrays<'py>(&self, py: Python<'py>) -> Arrays<'py> {
        let model = &self.0;
        let choices = (0..model.states()).map(|state| model.choices_of(state).end as u32);
        let rows = (0..model.choices()).map(|choice| model.transitions_of(choice).end as u32);
        (
            PyArray1::from_iter(py, std::iter::once(0).chain(choices)),
            PyArray1::from_iter(py, std::iter::once(0).chain(rows)),
            PyArray1::from_slice(py, model.targets()),
            PyArray1::from_slice(py, model.probabilities()),
        )
    }

    /// What is known of a state.
    fn state(&self, index: usize) -> PyResult<State> {
        let model = &self.0;
        if index >= model.states() {
            let last = model.states() - 1;
            let message = format!("state {index} does not exist; expected one from 0 to {last}");
            return Err(ProblemError::new_err(message));
        }
        let mut values = String::new();
        model.valuations().into_iter().for_each(|valuations| valuations.write(index, ", ", &mut values));
        let labels =
            model.labels().iter().filter(|label| label.states.binary_search(&(index as u32)).is_ok());
        let labels = labels.map(|label| label.name.clone()).collect();
        let choices = model.choices_of(index).map(|choice| {
            let transitions =
                model.transitions_of(choice).map(|i| (model.probabilities()[i], model.targets()[i]));
            (model.choice_label(choice).map(str::to_owned), transitions.collect())
        });
        Ok((values, labels, choices.collect()))
    }
}
