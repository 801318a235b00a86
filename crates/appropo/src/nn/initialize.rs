use std::f64::consts::SQRT_2;

use crate::nn::{Layer, Order};
use crate::random::{Generator, normal};
use crate::vector::{add_scaled, dot, norm, scale};

/// The factors that the orthogonal weights of a new network are multiplied by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gains {
    /// Of the hidden layers; √2 by default, which keeps the variance behind a ReLU.
    pub trunk: f64,
    /// Of the policy head; 0.01 by default, so that the first policy is nearly uniform.
    pub policy: f64,
    /// Of the value head; 1 by default.
    pub value: f64,
}

impl Default for Gains {
    fn default() -> Self {
        Gains { trunk: SQRT_2, policy: 0.01, value: 1.0 }
    }
}

/// Fills a layer with `gain` times a random matrix with orthonormal rows or columns, whichever are fewer, and biases 0.
pub(super) fn orthogonal(layer: &Layer, gain: f64, parameters: &mut [f32], rng: &mut Generator) {
    let (rows, columns) = match layer.order {
        Order::ByInput => (layer.inputs, layer.outputs),
        Order::ByOutput => (layer.outputs, layer.inputs),
    };
    let basis = orthonormal(rows.min(columns), rows.max(columns), rng);
    let weights = &mut parameters[layer.weights.clone()];
    for row in 0..rows {
        for column in 0..columns {
            let entry = if rows <= columns { basis[row][column] } else { basis[column][row] };
            weights[row * columns + column] = (gain * entry) as f32;
        }
    }
    parameters[layer.biases.clone()].fill(0.0);
}

/// Gram and Schmidt's vectors from normal ones, so that every rotation is equally likely.
fn orthonormal(count: usize, length: usize, rng: &mut Generator) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(count);
    while basis.len() < count {
        let mut vector: Vec<f64> = (0..length).map(|_| normal(rng)).collect();
        for other in &basis {
            let along = dot(&vector, other);
            add_scaled(&mut vector, -along, other);
        }
        let length = norm(&vector);
        // A vector almost within the others' span would keep little but rounding errors; draw another.
        if length > 1e-6 {
            scale(&mut vector, 1.0 / length);
            basis.push(vector);
        }
    }
    basis
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Activation, Inputs, Mlp, Shape};
    use crate::random::generator;

    #[test]
    fn weights_are_orthogonal_with_their_gain() {
        let shape = Shape {
            inputs: Inputs::Vector(20),
            hidden: vec![32, 24],
            activation: Activation::Tanh,
            policy: 4,
            value: 30,
        };
        let mlp = Mlp::new(shape).unwrap();
        let mut parameters = vec![1.0; mlp.parameters()];
        mlp.initialize(&Gains::default(), &mut parameters, &mut generator(1));
        for (layer, gain) in mlp.layers().iter().zip([SQRT_2, SQRT_2, 0.01, 1.0]) {
            assert!(parameters[layer.biases.clone()].iter().all(|b| *b == 0.0));
            let weights = &parameters[layer.weights.clone()];
            let columns = if layer.order == Order::ByInput { layer.outputs } else { layer.inputs };
            let rows = weights.len() / columns;
            let (count, along, across) =
                if rows <= columns { (rows, columns, 1) } else { (columns, 1, columns) };
            for i in 0..count {
                for j in 0..count {
                    let product: f64 = (0..rows.max(columns))
                        .map(|k| {
                            f64::from(weights[i * along + k * across])
                                * f64::from(weights[j * along + k * across])
                        })
                        .sum();
                    let expected = if i == j { gain * gain } else { 0.0 };
                    assert!((product - expected).abs() < 1e-6 * gain * gain, "{}: {product}", layer.name);
                }
            }
        }
    }

    #[test]
    fn normal_has_mean_0_and_variance_1() {
        let mut rng = generator(2);
        let draws: Vec<f64> = (0..100_000).map(|_| normal(&mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }
}
