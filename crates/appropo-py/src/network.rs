use std::sync::Arc;

use appropo::nn::{Activation, Inputs, Mlp, Order, Shape};
use appropo::policy::{Actions, NetworkPolicy};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::errors::{ProblemError, of_library};

/// A policy given by a network of Python's: layers with one activation between them, and then an output an action, or
/// the mean of each number of an action.
#[pyclass(frozen, module = "appropo._appropo")]
pub struct Network(pub NetworkPolicy);

/// The bounds of each number of an action, and the logarithms of their deviations.
type Gaussian = (Vec<(f64, f64)>, Vec<f32>);

#[pymethods]
impl Network {
    /// `layers` are pairs of a matrix with one row an output, and biases; the last of them gives the outputs. `counts`
    /// says that observations are counted and stand for one of the first layer's inputs.
    #[new]
    #[pyo3(signature = (layers, activation, counts, gaussian = None))]
    fn new(
        layers: Vec<(PyReadonlyArray2<f32>, Vec<f32>)>,
        activation: &str,
        counts: bool,
        gaussian: Option<Gaussian>,
    ) -> PyResult<Self> {
        let activation = match activation {
            "tanh" => Activation::Tanh,
            "relu" => Activation::Relu,
            other => {
                return Err(ProblemError::new_err(format!("activation is {other}; expected tanh or relu")));
            }
        };
        let [hidden @ .., (last, _)] = layers.as_slice() else {
            return Err(ProblemError::new_err("a network needs a layer"));
        };
        let width = layers[0].0.as_array().ncols();
        let shape = Shape {
            inputs: if counts { Inputs::OneHot(width) } else { Inputs::Vector(width) },
            hidden: hidden.iter().map(|(weights, _)| weights.as_array().nrows()).collect(),
            activation,
            policy: last.as_array().nrows(),
            value: 1,
        };
        let network = Mlp::new(shape).map_err(|error| of_library(&error))?;
        let mut parameters = vec![0.0; network.parameters()];
        // The value head, which comes last, stays 0: no one asks for values here.
        for (layer, (weights, biases)) in network.layers().iter().zip(&layers) {
            let weights = weights.as_array();
            if weights.dim() != (layer.outputs, layer.inputs) || biases.len() != layer.outputs {
                let (found, name) = (weights.shape(), &layer.name);
                return Err(ProblemError::new_err(format!(
                    "layer {name} has shape {found:?}, which does not fit"
                )));
            }
            let places = &mut parameters[layer.weights.clone()];
            for ((output, input), weight) in weights.indexed_iter() {
                let place = match layer.order {
                    Order::ByInput => input * layer.outputs + output,
                    Order::ByOutput => output * layer.inputs + input,
                };
                places[place] = *weight;
            }
            parameters[layer.biases.clone()].copy_from_slice(biases);
        }
        let actions = match gaussian {
            None => Actions::Categorical,
            Some((bounds, deviations)) => {
                parameters.extend(deviations);
                Actions::Gaussian(bounds)
            }
        };
        let policy = NetworkPolicy::new(Arc::new(network), actions, parameters);
        Ok(Self(policy.map_err(|error| of_library(&error))?))
    }
}
