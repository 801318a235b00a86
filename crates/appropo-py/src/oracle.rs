//! Oracles that are Python objects, and the policies that they find.

use std::sync::Arc;

use appropo::error::Error;
use appropo::policy::{Act, AnyPolicy, OutsidePolicy, Tensor};
use appropo_cli::session::{Answer, Oracle, Revive};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::network::Network;
use crate::{Raised, world};

/// What Python raised is kept; the library only learns that something did.
fn kept<T>(found: PyResult<T>, raised: &Raised) -> Result<T, Error> {
    found.map_err(|error| {
        raised.keep(error);
        Error::Outside { what: "the oracle" }
    })
}

/// `oracle.respond(lam, offset)` returns a policy, rows of measurements, and the steps taken so far.
pub fn answers(oracle: &Bound<PyAny>, raised: Raised) -> Oracle {
    let oracle = oracle.clone().unbind();
    Arc::new(move |lam, offset| {
        let found = Python::attach(|py| {
            let answer = oracle.call_method1(py, "respond", (PyArray1::from_slice(py, lam), offset))?;
            let (policy, rows, samples): (Bound<PyAny>, PyReadonlyArray2<f64>, u64) = answer.extract(py)?;
            let episodes = rows.as_array().rows().into_iter().map(|row| row.to_vec()).collect();
            let policy = match policy.cast::<Network>() {
                Ok(network) => AnyPolicy::Network(network.get().0.clone()),
                Err(_) => AnyPolicy::Outside(outside(&policy, raised.clone())?),
            };
            Ok(Answer { policy, episodes, samples })
        });
        kept(found, &raised)
    })
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
fn outside(policy: &Bound<PyAny>, raised: Raised) -> PyResult<OutsidePolicy> {
    let mut tensors = Vec::new();
    for (name, array) in policy.call_method0("tensors")?.cast::<PyDict>()? {
        let array: PyReadonlyArrayDyn<f32> = array.extract()?;
        let (shape, values) = (array.shape().to_vec(), array.as_array().iter().copied().collect());
        tensors.push(Tensor { name: name.extract()?, shape, values });
    }
    Ok(OutsidePolicy::new(tensors, Some(acts(policy, raised))))
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
