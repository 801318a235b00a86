//! One variant a cause, each carrying the values that caused it.

use crate::options::{OptionError, suggestion};

/// Everything that can go wrong. An infeasible or undecided problem is a [`Verdict`](crate::certificate::Verdict), not an error.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    /// A number that must be finite is not.
    #[error("{what} is {value}; expected a finite number")]
    NotFinite { what: String, value: f64 },
    /// A vector has the wrong number of entries.
    #[error("{what} has {found} entries; expected {expected}")]
    Dimension { what: String, found: usize, expected: usize },
    /// An environment is not the same again.
    #[error(
        "an episode that was played again from its seed ended after {steps} steps, and went on before; an environment that \
         workers play must do the same again from the same seed: let reset(seed=...) decide all of its randomness"
    )]
    Unrepeatable { steps: usize },
    /// A number lies outside its range.
    #[error("{what} is {value}; expected {expected}")]
    OutOfRange {
        what: String,
        value: f64,
        /// The range, in words.
        expected: String,
    },
    /// A convex set has no points.
    #[error("{what} is empty: no point satisfies all of it; loosen a bound")]
    EmptySet { what: &'static str },
    /// A projection gave NaN or infinity.
    #[error(
        "the projection onto the target set gave {value} in entry {entry}; a projection must return the nearest point of the set"
    )]
    Projection { entry: usize, value: f64 },
    /// Something is registered under a name that another thing has.
    #[error("the {kind} \"{name}\" can't be registered: the name is taken; choose another")]
    NameTaken {
        /// What was to be registered.
        kind: &'static str,
        name: &'static str,
    },
    /// A measure is named that the world does not have.
    #[error("measure \"{name}\" is not one of {}", known.join(", "))]
    UnknownMeasure { name: String, known: Vec<String> },
    /// A label or a reward structure is named that the model does not have.
    #[error("there is no {what} \"{name}\" in the model; {}", among(name, known))]
    UnknownName { what: &'static str, name: String, known: Vec<String> },
    /// A model that contradicts itself.
    #[error("{0}")]
    Model(String),
    /// A file for what does not fit into memory can't be written.
    #[error(
        "{path}: can't be written ({problem}); the transitions of a model that does not fit into memory are kept there: set TMPDIR to a folder on a disk with room"
    )]
    Scratch { path: String, problem: String },
    /// A state of a model in which nothing can be done.
    #[error("state {state} has no action; give it one, or make it terminal")]
    NoAction { state: usize },
    /// Transition probabilities do not add up to 1.
    #[error("the probabilities of state {state}, action {action} add up to {sum}; expected 1")]
    Probabilities { state: usize, action: usize, sum: f64 },
    /// A state, action or outcome index is too large.
    #[error("{what} {index} does not exist; there are {count}")]
    Index { what: &'static str, index: usize, count: usize },
    /// A map as text is malformed.
    #[error("map, line {line}: {problem}")]
    Map {
        /// Line of the map, from 1.
        line: usize,
        /// What is wrong and what to write.
        problem: String,
    },
    /// A mixture that no single table can stand for.
    #[error(
        "some policies of the mixture stay in some states for ever and others leave them, which no single table can do; keep the mixture"
    )]
    NoOnePolicy,
    /// Undiscounted and without a horizon, every policy goes on for ever and measures something all the while.
    #[error(
        "discount 1 without a horizon: from state {state} every policy may go on for ever, and what is constrained or optimised is measured without end; set a horizon or a discount below 1"
    )]
    Infinite { state: usize },
    /// Undiscounted and without a horizon, something can be measured for ever that nothing bounds.
    #[error(
        "discount 1 without a horizon: \"{measure}\" can grow for ever, because action {action} in state {state} can be repeated without end, and no constraint bounds it that way; bound it, set a horizon or a discount below 1"
    )]
    Endless {
        measure: String,
        /// A state of the endless class.
        state: usize,
        /// An action that stays inside it.
        action: usize,
    },
    /// Undiscounted and without a horizon, a reward grows for ever.
    #[error(
        "discount 1 without a horizon: from state {state} a policy that never ends gains without end; set a horizon or a discount below 1"
    )]
    Unbounded { state: usize },
    /// Undiscounted and without a horizon, yet some policy never ends.
    #[error(
        "discount 1 without a horizon: this method needs every policy to end, but from state {state} action {action} can be repeated for ever; use \"appropo\", or set a horizon or a discount below 1"
    )]
    NeverEnds {
        /// A state of the endless class.
        state: usize,
        /// An action that stays inside it.
        action: usize,
    },
    /// A world gave a number that can't be learnt from.
    #[error(
        "the world gave {value} as entry {entry} of the {what} in step {step} of an episode; expected a finite number of at most 1e15 in size"
    )]
    World {
        /// Observation or measurement.
        what: &'static str,
        entry: usize,
        value: f64,
        /// The step of the episode, 0 for its start.
        step: usize,
    },
    /// A learner was asked to act in a kind of world that it is not made for.
    #[error("{learner} needs {needs}; use {instead} here")]
    Unsuitable { learner: &'static str, needs: &'static str, instead: &'static str },
    /// A method that takes half-spaces only was given another constraint.
    #[error(
        "\"{method}\" takes half-spaces only, and \"{constraint}\" is none; use \"lagrangian\" or \"appropo\""
    )]
    NoHalfSpaces { method: &'static str, constraint: String },
    /// An algorithm that compares entry by entry was given a constraint that has no faces.
    #[error(
        "algorithm = \"{algorithm}\" compares bound by bound, and \"{constraint}\" is neither bounds nor half-spaces; use algorithm = \"projection\""
    )]
    NoFaces { algorithm: &'static str, constraint: String },
    /// A policy that is no table was to be measured in a model.
    #[error(
        "a policy of the mixture can't be written as a table of states and actions, so a model can't measure it"
    )]
    NoTable,
    /// A linear system of policy evaluation did not converge.
    #[error(
        "policy evaluation stopped at a residual of {residual:e}; a smaller discount makes the system easier"
    )]
    Evaluation { residual: f64 },
    /// The set has no conic form, which the named method needs.
    #[error("the target set has no conic form, which {method} needs; use the method \"appropo\" instead")]
    NoConicForm { method: &'static str },
    /// The conic solver gave up.
    #[error("the conic solver stopped with status {status}")]
    ConicSolver {
        /// Its own word.
        status: String,
    },
    /// The objective has no finite optimum or the problem has no feasible point to start from.
    #[error("{0}")]
    Objective(String),
    /// An objective is per step, and there are no steps.
    #[error("the objective is per step, but a policy takes {steps} steps an episode; leave share out")]
    NoSteps {
        /// How many were measured.
        steps: f64,
    },
    /// An option is not what it must be.
    #[error("{0}")]
    Option(Box<OptionError>),
    /// A saved state does not belong to what it is to be taken back into.
    #[error("the saved state can't be used: {problem}; it may be of another problem, or damaged")]
    State { problem: String },
    /// A row of a data set can't be part of one.
    #[error("{file}{}row {row}: {problem}", if file.is_empty() { "" } else { ", " })]
    Dataset {
        /// What the data set is called; empty where it has no name.
        file: String,
        /// From 1.
        row: usize,
        /// What was found and what was expected.
        problem: String,
    },
    /// A data set lacks something that the world measures.
    #[error(
        "the data set does not have the measure \"{name}\" of the world; it has {}",
        known.join(", ")
    )]
    UnloggedMeasure { name: String, known: Vec<String> },
    /// Someone wants to play where there are only logs.
    #[error(
        "the environment is a data set, in which nobody can play; use the method \"batch\", which learns from logs alone"
    )]
    OnlyLogged,
    /// A long-run average was asked for where everything ends.
    #[error(
        "\"{measure}\" is a long-run average: it is taken over all time, and needs discount 1, no horizon and no share of the steps; found {found}"
    )]
    AverageOfSome { measure: String, found: String },
    /// A long-run average was asked of a method that plays episodes or plans for sums.
    #[error(
        "\"{measure}\" is a long-run average, which takes the method \"appropo\" with the oracle \"exact\"; found {found}"
    )]
    AverageBy { measure: String, found: String },
    /// Someone asked to stop.
    #[error("stopped on request")]
    Interrupted,
    /// An episode does not end, and nothing says where to cut it off.
    #[error(
        "an episode has not ended after {steps} steps; give the problem a horizon, which cuts episodes off"
    )]
    Unending { steps: usize },
    /// Something of the calling program went wrong there; that program knows what.
    #[error("{what} failed")]
    External { what: &'static str },
    /// Something of another program is needed here.
    #[error("{what} was given by another program and is not here; use the program that gave it")]
    Missing { what: String },
    /// Something that can't be saved and taken up again.
    #[error("{what} can't be saved and taken up again; run it to its end in one go")]
    Unsaved { what: &'static str },
    /// A claim does not hold when it is computed again.
    #[error("{problem}")]
    Refuted { problem: String },
    /// What a solve whose outcome was read again had run into.
    #[error("{message}")]
    Earlier {
        /// What it said then.
        message: String,
    },
    /// A certificate does not hold when it is computed again.
    #[error("certificate: {claim} is claimed as {claimed}, but {found} was found")]
    Certificate { claim: &'static str, claimed: f64, found: f64 },
}

impl From<OptionError> for Error {
    fn from(error: OptionError) -> Self {
        Error::Option(Box::new(error))
    }
}

/// What to write in the place of a name that is not one of those known.
fn among(name: &str, known: &[String]) -> String {
    match known.is_empty() {
        true => "it has none".into(),
        false => suggestion(name, known.iter().map(String::as_str)),
    }
}

/// A result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Checks that every entry is finite.
pub(crate) fn finite(what: &str, values: &[f64]) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) if values.len() == 1 => Err(Error::NotFinite { what: what.into(), value: values[i] }),
        Some(i) => Err(Error::NotFinite { what: format!("{what}, entry {i},"), value: values[i] }),
    }
}

/// Checks that a vector is not 0 and that its square stays within the range of numbers.
pub(crate) fn moderate(what: &str, values: &[f64]) -> Result<()> {
    let largest = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    in_range(what, largest, (1e-100..=1e100).contains(&largest), "between 1e-100 and 1e100")
}

/// Checks that a product of counts stays within what a table of that many entries may take.
pub(crate) fn not_too_large(what: &str, factors: &[usize], most: usize) -> Result<()> {
    let size: f64 = factors.iter().map(|f| *f as f64).product();
    in_range(what, size, size <= most as f64, &format!("at most {most}, for it to fit into memory"))
}

/// Checks a vector's length.
pub(crate) fn dimension(what: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Dimension { what: what.into(), found, expected }) }
}

/// Checks that a finite number lies in a range described in words.
pub(crate) fn in_range(what: &str, value: f64, holds: bool, expected: &str) -> Result<()> {
    finite(what, &[value])?;
    if holds {
        Ok(())
    } else {
        Err(Error::OutOfRange { what: what.into(), value, expected: expected.into() })
    }
}
