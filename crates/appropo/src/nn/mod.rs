//! Small networks, on the processor: a trunk of hidden layers, and on it a policy head and a value head.
//!
//! ```text
//! h₀ = x,   hᵢ = f(hᵢ₋₁ Wᵢ + bᵢ),   policy = hₙ Pᵀ + p,   value = hₙ Vᵀ + v
//! ```
//!
//! The parameters of a network are one flat slice that the caller owns, as are the [`Scratch`] that passes work in and
//! the gradient. Results do not depend on the machine's instruction set, nor on how rows are grouped into batches.
//!
//! # Example
//!
//! ```
//! use appropo::nn::{Activation, Gains, Inputs, Mlp, Optimizer, Rule, Shape};
//!
//! # fn main() -> appropo::error::Result<()> {
//! let (inputs, activation) = (Inputs::Vector(2), Activation::Relu);
//! let mlp = Mlp::new(Shape { inputs, hidden: vec![16], activation, policy: 3, value: 1 })?;
//! let mut parameters = vec![0.0; mlp.parameters()];
//! mlp.initialize(&Gains::default(), &mut parameters, &mut appropo::random::generator(1));
//!
//! // Teach the value head that two rows are worth 1 and -1.
//! let rows = [0.5, 1.0, -1.0, 0.5];
//! let mut scratch = mlp.scratch(2);
//! let mut optimizer = Optimizer::new(Rule::ADAM, 0.01, mlp.parameters())?;
//! for _ in 0..300 {
//!     mlp.forward(&parameters, &rows, &mut scratch);
//!     for (i, worth) in [1.0, -1.0].into_iter().enumerate() {
//!         scratch.value.gradient[i] = scratch.value.output[i] - worth;
//!     }
//!     let mut gradient = vec![0.0; mlp.parameters()];
//!     mlp.backward(&parameters, &rows, &mut scratch, &mut gradient);
//!     optimizer.step(&mut parameters, &gradient);
//! }
//! mlp.forward(&parameters, &rows, &mut scratch);
//! assert!((scratch.value.output[0] - 1.0).abs() < 0.01);
//! # Ok(())
//! # }
//! ```

mod activation;
mod initialize;
mod kernel;
mod mlp;
mod optimizer;
mod scratch;
mod shape;

pub use activation::Activation;
pub(crate) use activation::tanh;
pub use initialize::Gains;
pub use kernel::instructions;
pub use mlp::{Layer, Mlp, Order};
pub use optimizer::{Optimizer, Rule, clip};
pub use scratch::{Head, Scratch};
pub use shape::{Inputs, Shape};
