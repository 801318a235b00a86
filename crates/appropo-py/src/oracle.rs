//! Oracles that are Python objects, and the policies that they find.

use std::sync::Arc;

use appropo::error::Error;
use appropo::oracle::{Answer, ExternalOracle, MakeOracle};
use appropo::policy::{Act, AnyPolicy, ExternalPolicy, Tensor};
use appropo_run::result::Revive;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyWeakrefMethods, PyWeakrefReference};

use crate::errors::ProblemError;
use crate::network::Network;
use crate::{Raised, world};

/// What Python raised is kept; the library only learns that something did.
fn kept<T>(found: PyResult<T>, raised: &Raised) -> Result<T, Error> {
    found.map_err(|error| {
        raised.keep(error);
        Error::External { what: "the oracle" }
    })
}

/// `oracle.respond(lam, offset)` returns a policy, rows of measurements, and the steps taken so far. The caller keeps the
/// oracle alive: what refers to itself through it can then be collected.
pub fn external(oracle: &Bound<PyAny>, raised: Raised) -> PyResult<Arc<dyn MakeOracle>> {
    let oracle = PyWeakrefReference::new(oracle)?.unbind();
    Ok(Arc::new(ExternalOracle::new(move |lam, offset| {
        let found = Python::attach(|py| {
            let Some(oracle) = oracle.bind(py).upgrade() else {
                return Err(ProblemError::new_err("the oracle is gone; pass it again"));
            };
            let answer = oracle.call_method1("respond", (PyArray1::from_slice(py, lam), offset))?;
            let (policy, rows, samples): (Bound<PyAny>, PyReadonlyArray2<f64>, u64) = answer.extract()?;
            let episodes = rows.as_array().rows().into_iter().map(|row| row.to_vec()).collect();
            let policy = match policy.cast::<Network>() {
                Ok(network) => AnyPolicy::Network(network.get().0.clone()),
                Err(_) => AnyPolicy::External(of_python(&policy, raised.clone())?),
            };
            Ok(Answer { policy, episodes, samples })
        });
        kept(found, &raised)
    })))
}

/// `oracle.revive(tensors)` returns the policy that was made of them.
pub fn revives(oracle: &Bound<PyAny>, raised: Raised) -> Revive {
    let oracle = oracle.clone().unbind();
    Arc::new(move |tensors| {
        let found = Python::attach(|py| {
            let arrays = PyDict::new(py);
            for Tensor { name, shape, values } in tensors {
                arrays.set_item(name, PyArray1::from_slice(py, values).reshape(shape.clone())?)?;
            }
            let policy = oracle.call_method1(py, "revive", (arrays,))?;
            Ok(acts(policy.bind(py), raised.clone()))
        });
        kept(found, &raised)
    })
}

/// A policy of Python's: `policy.tensors()` are the arrays that it is made of.
fn of_python(policy: &Bound<PyAny>, raised: Raised) -> PyResult<ExternalPolicy> {
    let mut tensors = Vec::new();
    for (name, array) in policy.call_method0("tensors")?.cast::<PyDict>()? {
        let array: PyReadonlyArrayDyn<f32> = array.extract()?;
        let (shape, values) = (array.shape().to_vec(), array.as_array().iter().copied().collect());
        tensors.push(Tensor { name: name.extract()?, shape, values });
    }
    Ok(ExternalPolicy::new(tensors, Some(acts(policy, raised))))
}

/// `policy.act(observation, step, seed)` returns the action.
fn acts(policy: &Bound<PyAny>, raised: Raised) -> Act {
    let policy = policy.clone().unbind();
    Arc::new(move |observation, step, seed, action| {
        let found = Python::attach(|py| {
            let seen = PyArray1::from_slice(py, observation);
            let done = policy.call_method1(py, "act", (seen, step, seed))?;
            world::read("action", done.bind(py), action)
        });
        if let Err(error) = found {
            raised.keep(error);
            action.fill(f64::NAN);
        }
    })
}
