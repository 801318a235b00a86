use pulp::Arch;
use serde::{Deserialize, Serialize};

use crate::options::words;
use crate::vector::elementwise;

words! {
    /// What the hidden layers bend their sums with.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Activation {
        /// the hyperbolic tangent
        Tanh = "tanh",
        /// max(x, 0)
        Relu = "relu",
    }
}

impl Activation {
    pub(super) fn apply(self, arch: Arch, values: &mut [f32]) {
        let arch = elementwise(arch);
        match self {
            // Not `max`, which would hide NaN, nor a comparison, which becomes slow masked stores.
            Activation::Relu => arch.dispatch(|| values.iter_mut().for_each(|x| *x = 0.5 * (*x + x.abs()))),
            Activation::Tanh => arch.dispatch(|| values.iter_mut().for_each(|x| *x = tanh(*x))),
        }
    }

    /// Multiplies gradients of the outputs by the derivative, which both functions have in terms of their output.
    pub(super) fn pull_back(self, arch: Arch, outputs: &[f32], gradient: &mut [f32]) {
        let arch = elementwise(arch);
        let pairs = gradient.iter_mut().zip(outputs);
        match self {
            Activation::Relu => {
                arch.dispatch(|| pairs.for_each(|(g, y)| *g *= f32::from(u8::from(*y > 0.0))))
            }
            Activation::Tanh => arch.dispatch(|| pairs.for_each(|(g, y)| *g *= y.mul_add(-y, 1.0))),
        }
    }
}

/// The rational function of degree 13/6 that Eigen uses, exact to a few units in the last place. The standard library's
/// is twenty times slower and not the same on every machine.
#[inline(always)]
#[allow(clippy::excessive_precision)]
pub(crate) fn tanh(x: f32) -> f32 {
    const ODD: [f32; 7] = [
        -2.76076847742355e-16,
        2.00018790482477e-13,
        -8.60467152213735e-11,
        5.12229709037114e-08,
        1.48572235717979e-05,
        6.37261928875436e-04,
        4.89352455891786e-03,
    ];
    const EVEN: [f32; 4] =
        [1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03];
    // Beyond this the quotient would leave [-1, 1].
    let x = x.clamp(-7.90531110763549805, 7.90531110763549805);
    let square = x * x;
    let polynomial = |c: &[f32]| c.iter().fold(0.0, |sum: f32, c| sum.mul_add(square, *c));
    x * polynomial(&ODD) / polynomial(&EVEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tanh_is_close_to_the_exact_one() {
        for i in -100_000..=100_000 {
            let x = i as f32 * 1e-4;
            let exact = f64::from(x).tanh();
            assert!((f64::from(tanh(x)) - exact).abs() <= 5e-7 * exact.abs(), "{x}: {} {exact}", tanh(x));
            assert!(tanh(x).abs() <= 1.0);
        }
        assert!(tanh(f32::NAN).is_nan());
    }

    #[test]
    fn not_a_number_is_not_hidden() {
        for activation in [Activation::Relu, Activation::Tanh] {
            let mut values = [f32::NAN; 20];
            activation.apply(Arch::new(), &mut values);
            assert!(values.iter().all(|x| x.is_nan()));
        }
    }
}
