//! Options as Python gives them.

use appropo::options::{Key, Presence, Table, Value};
use appropo::registry::Registry;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyMapping, PySequence, PyString};

use crate::errors::ProblemError;
use crate::world;

/// A value of an option: true or false, a number, a text, a list or a dictionary of them.
pub fn value(given: &Bound<PyAny>) -> PyResult<Value> {
    if given.is_instance_of::<PyBool>() {
        return Ok(Value::Flag(given.extract()?));
    }
    if given.is_instance_of::<PyInt>() {
        return given.extract::<i128>().map(Value::Integer).map_err(|_| refused(given));
    }
    if given.is_instance_of::<PyFloat>() {
        return Ok(Value::Number(given.extract()?));
    }
    if given.is_instance_of::<PyString>() {
        return text(given).map(Value::Text);
    }
    // Numbers and arrays of NumPy.
    if let Ok(plain) = given.call_method0("tolist") {
        return value(&plain);
    }
    if let Ok(mapping) = given.cast::<PyMapping>() {
        let mut table = Table::default();
        for item in mapping.items()?.iter() {
            let (key, inner): (Bound<PyAny>, Bound<PyAny>) = item.extract()?;
            if !key.is_instance_of::<PyString>() {
                let shown = world::shown(&key);
                return Err(ProblemError::new_err(format!(
                    "the name of an option is {shown}; expected a text"
                )));
            }
            table.set(text(&key)?, value(&inner)?);
        }
        return Ok(Value::Table(table));
    }
    if let Ok(items) = given.cast::<PySequence>() {
        return items.try_iter()?.map(|item| value(&item?)).collect::<PyResult<_>>().map(Value::List);
    }
    Err(refused(given))
}

fn text(given: &Bound<PyAny>) -> PyResult<String> {
    given.extract().map_err(|_| {
        let shown = world::shown(given);
        ProblemError::new_err(format!("{shown} is no text that UTF-8 can hold; it can't be in an option"))
    })
}

fn refused(given: &Bound<PyAny>) -> PyErr {
    let shown = world::shown(given);
    ProblemError::new_err(format!("{shown} is no number, text, list or table; it can't be an option"))
}

/// Options by name.
pub fn table(given: &Bound<PyAny>) -> PyResult<Table> {
    match value(given)? {
        Value::Table(table) => Ok(table),
        _ => Err(refused(given)),
    }
}

/// A name, what it is, and its options: name, default as one writes it or None, and what it means.
type Registered = (&'static str, &'static str, Vec<(&'static str, Option<&'static str>, &'static str)>);

/// What problems can name, by kind: "environment", "player", "oracle", "learner", "learned" and "method".
#[pyfunction]
pub fn registered() -> Vec<(&'static str, Registered)> {
    let registry = Registry::standard();
    let keys = |keys: &'static [Key]| {
        let default = |key: &Key| match key.presence {
            Presence::Default(text) => Some(text),
            Presence::Required | Presence::Optional => None,
        };
        keys.iter().map(|key| (key.name, default(key), key.about)).collect::<Vec<_>>()
    };
    let environments =
        registry.environments().iter().map(|e| ("environment", (e.name, e.about, keys(e.keys))));
    let players = registry.players().iter().map(|e| ("player", (e.name, e.about, keys(e.keys))));
    let is_learner = |name: &str| registry.learners().iter().any(|e| e.name == name);
    let oracles = registry.oracles().into_iter().map(|(name, about, of)| {
        (if is_learner(name) { "learner" } else { "oracle" }, (name, about, keys(of)))
    });
    let tables = registry.option_tables().into_iter().filter(|(name, ..)| *name == "learned");
    let learned = tables.map(|(name, about, of)| ("learned", (name, about, keys(of))));
    let tables = registry.option_tables();
    let methods = registry.methods().iter().map(move |entry| {
        let own = tables.iter().find(|(name, ..)| *name == entry.name).map_or(&[][..], |(.., keys)| keys);
        ("method", (entry.name, entry.about, keys(own)))
    });
    environments.chain(players).chain(oracles).chain(learned).chain(methods).collect()
}
