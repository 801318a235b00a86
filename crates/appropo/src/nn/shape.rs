use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::nn::Activation;
use crate::state::{Loader, Saved, Saver};

/// What a row of inputs is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inputs {
    /// One of so many things: a row is one number, its index, and the first layer a look-up.
    OneHot(usize),
    /// So many numbers.
    Vector(usize),
}

impl Inputs {
    /// Numbers in a row.
    pub fn row(self) -> usize {
        match self {
            Inputs::OneHot(_) => 1,
            Inputs::Vector(length) => length,
        }
    }

    /// Inputs of the first layer.
    pub fn width(self) -> usize {
        match self {
            Inputs::OneHot(width) | Inputs::Vector(width) => width,
        }
    }
}

/// The sizes of a network. Each is between 1 and 2²⁴, above which an index would not be exact; one of the heads may
/// have no outputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// What goes in.
    pub inputs: Inputs,
    /// The widths of the hidden layers, one or more. Multiples of 16 are fastest.
    pub hidden: Vec<usize>,
    /// The function behind every hidden layer.
    pub activation: Activation,
    /// Outputs of the policy head.
    pub policy: usize,
    /// Outputs of the value head.
    pub value: usize,
}

impl Saved for Shape {
    fn save(&self, to: &mut Saver) {
        to.put(&(matches!(self.inputs, Inputs::OneHot(_)), self.inputs.width()));
        to.put(&self.hidden);
        to.put(&(self.activation == Activation::Relu));
        to.put(&(self.policy, self.value));
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let (is_one_hot, width): (bool, usize) = from.get()?;
        let inputs = if is_one_hot { Inputs::OneHot(width) } else { Inputs::Vector(width) };
        let hidden = from.get()?;
        let activation = if from.get()? { Activation::Relu } else { Activation::Tanh };
        let (policy, value) = from.get()?;
        Ok(Self { inputs, hidden, activation, policy, value })
    }
}
