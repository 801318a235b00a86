use std::mem::swap;
use std::ops::Range;

use pulp::Arch;

use crate::error::{Result, in_range};
use crate::nn::initialize::orthogonal;
use crate::nn::kernel::{View, add_dots, add_product};
use crate::nn::scratch::first;
use crate::nn::{Gains, Inputs, Scratch, Shape};
use crate::random::Generator;
use crate::state::{Loader, Saved, Saver};

/// Which weights of a matrix lie side by side. Each order lets both passes read contiguous rows where it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Row k holds the weights from input k to all outputs; so in the trunk.
    ByInput,
    /// Row k holds the weights from all inputs to output k; so in the heads, which have few outputs.
    ByOutput,
}

/// Where a layer lies among the parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// `trunk.0`, `trunk.1` and so on, `policy` or `value`.
    pub name: String,
    /// Its number of inputs.
    pub inputs: usize,
    /// Its number of outputs.
    pub outputs: usize,
    /// The order of its weights.
    pub order: Order,
    /// Its `inputs` × `outputs` weights.
    pub weights: Range<usize>,
    /// Its biases, one an output.
    pub biases: Range<usize>,
}

impl Layer {
    pub(crate) fn of<'a>(&self, parameters: &'a [f32]) -> (&'a [f32], &'a [f32]) {
        (&parameters[self.weights.clone()], &parameters[self.biases.clone()])
    }

    pub(crate) fn of_mut<'a>(&self, parameters: &'a mut [f32]) -> (&'a mut [f32], &'a mut [f32]) {
        parameters[self.weights.start..self.biases.end].split_at_mut(self.weights.len())
    }
}

/// A network with two heads, without its parameters.
#[derive(Debug, Clone)]
pub struct Mlp {
    shape: Shape,
    layers: Vec<Layer>,
    arch: Arch,
}

impl Saved for Mlp {
    fn save(&self, to: &mut Saver) {
        to.put(&self.shape);
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        Self::new(from.get()?)
    }
}

impl Mlp {
    /// The network of a shape, if it has a hidden layer and no size is 0.
    pub fn new(shape: Shape) -> Result<Self> {
        let check = |what: &str, size: usize| {
            in_range(what, size as f64, (1..=1 << 24).contains(&size), "between 1 and 16777216")
        };
        check("the network's number of inputs", shape.inputs.width())?;
        let layers = shape.hidden.len();
        in_range(
            "the network's number of hidden layers",
            layers as f64,
            (1..=1000).contains(&layers),
            "between 1 and 1000",
        )?;
        for width in &shape.hidden {
            check("the width of a hidden layer", *width)?;
        }
        // One of the heads may be missing.
        if shape.policy > 0 || shape.value == 0 {
            check("the network's number of policy outputs", shape.policy)?;
        }
        if shape.value > 0 {
            check("the network's number of value outputs", shape.value)?;
        }

        let mut layers = Vec::new();
        let mut end = 0;
        let mut push = |name: String, inputs: usize, outputs: usize, order| {
            let weights = end..end + inputs * outputs;
            let biases = weights.end..weights.end + outputs;
            end = biases.end;
            layers.push(Layer { name, inputs, outputs, order, weights, biases });
        };
        let mut inputs = shape.inputs.width();
        for (i, &width) in shape.hidden.iter().enumerate() {
            push(format!("trunk.{i}"), inputs, width, Order::ByInput);
            inputs = width;
        }
        push("policy".into(), inputs, shape.policy, Order::ByOutput);
        push("value".into(), inputs, shape.value, Order::ByOutput);
        Ok(Mlp { shape, layers, arch: Arch::new() })
    }

    /// The sizes.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The layers in the order of their parameters: the trunk from below, the policy head, the value head.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The last layer of the policy, which has no outputs where there is none.
    pub(crate) fn policy_head(&self) -> &Layer {
        &self.layers[self.layers.len() - 2]
    }

    /// The number of parameters.
    pub fn parameters(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.biases.end)
    }

    /// Orthogonal weights and biases of 0.
    pub fn initialize(&self, gains: &Gains, parameters: &mut [f32], rng: &mut Generator) {
        let (trunk, [policy, value]) = self.parts();
        trunk.iter().for_each(|layer| orthogonal(layer, gains.trunk, parameters, rng));
        orthogonal(policy, gains.policy, parameters, rng);
        orthogonal(value, gains.value, parameters, rng);
    }

    /// Memory for passes of up to so many rows.
    pub fn scratch(&self, rows: usize) -> Scratch {
        Scratch::new(rows, &self.shape.hidden, self.shape.policy, self.shape.value)
    }

    /// Computes both heads' outputs for rows of inputs.
    ///
    /// # Panics
    ///
    /// If the inputs are not whole rows, an index does not exist, or there are too few parameters.
    pub fn forward(&self, parameters: &[f32], inputs: &[f32], scratch: &mut Scratch) {
        let rows = self.rows(inputs);
        let (trunk, heads) = self.parts();
        for (i, layer) in trunk.iter().enumerate() {
            let (weights, biases) = layer.of(parameters);
            let (below, above) = scratch.hidden.split_at_mut(i);
            let output = first(&mut above[0], rows * layer.outputs);
            output.chunks_exact_mut(layer.outputs).for_each(|row| row.copy_from_slice(biases));
            match (below.last(), self.shape.inputs) {
                (Some(below), _) => {
                    add_product(self.arch, View::new(below, layer.inputs), weights, output, layer.outputs);
                }
                (None, Inputs::Vector(width)) => {
                    add_product(self.arch, View::new(inputs, width), weights, output, layer.outputs);
                }
                (None, Inputs::OneHot(_)) => {
                    for (&index, output) in inputs.iter().zip(output.chunks_exact_mut(layer.outputs)) {
                        add(output, &weights[index as usize * layer.outputs..][..layer.outputs]);
                    }
                }
            }
            self.shape.activation.apply(self.arch, output);
        }
        let Scratch { policy, value, hidden, .. } = scratch;
        for (layer, head) in heads.iter().zip([policy, value]).filter(|(layer, _)| layer.outputs > 0) {
            let (weights, biases) = layer.of(parameters);
            let last = &hidden[hidden.len() - 1][..rows * layer.inputs];
            head.reset(rows, biases);
            add_dots(self.arch, last, weights, &mut head.output, layer.inputs);
        }
    }

    /// Adds to `gradient` that of the loss whose gradients with respect to the heads' outputs stand in `scratch`, by the
    /// forward pass that went before with the same parameters and inputs.
    ///
    /// # Panics
    ///
    /// If the inputs have another number of rows than the forward pass.
    pub fn backward(&self, parameters: &[f32], inputs: &[f32], scratch: &mut Scratch, gradient: &mut [f32]) {
        let rows = self.rows(inputs);
        let (trunk, heads) = self.parts();
        let Scratch { policy, value, hidden, deltas: [delta, below] } = scratch;
        assert_eq!(policy.gradient.len(), rows * self.shape.policy, "the policy head's gradient");
        assert_eq!(value.gradient.len(), rows * self.shape.value, "the value head's gradient");

        first(delta, rows * heads[0].inputs).fill(0.0);
        for (layer, head) in heads.iter().zip([policy, value]).filter(|(layer, _)| layer.outputs > 0) {
            let (weights, biases) = layer.of_mut(gradient);
            let last = &hidden[hidden.len() - 1][..rows * layer.inputs];
            let delta = first(delta, rows * layer.inputs);
            add_product(self.arch, View::ones(), &head.gradient, biases, layer.outputs);
            add_product(
                self.arch,
                View::transposed(&head.gradient, layer.outputs),
                last,
                weights,
                layer.inputs,
            );
            add_product(
                self.arch,
                View::new(&head.gradient, layer.outputs),
                layer.of(parameters).0,
                delta,
                layer.inputs,
            );
        }
        for (i, layer) in trunk.iter().enumerate().rev() {
            let (weights, biases) = layer.of_mut(gradient);
            let output = first(delta, rows * layer.outputs);
            self.shape.activation.pull_back(self.arch, &hidden[i], output);
            add_product(self.arch, View::ones(), output, biases, layer.outputs);
            match (i, self.shape.inputs) {
                (0, Inputs::OneHot(_)) => {
                    for (&index, output) in inputs.iter().zip(output.chunks_exact(layer.outputs)) {
                        add(&mut weights[index as usize * layer.outputs..][..layer.outputs], output);
                    }
                }
                (0, Inputs::Vector(width)) => {
                    add_product(self.arch, View::transposed(inputs, width), output, weights, layer.outputs);
                }
                _ => {
                    let input = View::transposed(&hidden[i - 1], layer.inputs);
                    add_product(self.arch, input, output, weights, layer.outputs);
                    let next = first(below, rows * layer.inputs);
                    next.fill(0.0);
                    add_dots(self.arch, output, layer.of(parameters).0, next, layer.outputs);
                    swap(delta, below);
                }
            }
        }
    }

    /// Writes how the policy head's outputs change along `direction` among the parameters to where their gradient stands in
    /// `scratch`, by the forward pass that went before with the same parameters and inputs.
    ///
    /// # Panics
    ///
    /// If the inputs have another number of rows than the forward pass.
    pub fn tangent(&self, parameters: &[f32], direction: &[f32], inputs: &[f32], scratch: &mut Scratch) {
        let rows = self.rows(inputs);
        let (trunk, [head, _]) = self.parts();
        let Scratch { policy, hidden, deltas: [below, change], .. } = scratch;
        assert_eq!(policy.gradient.len(), rows * self.shape.policy, "the policy head's gradient");
        for (i, layer) in trunk.iter().enumerate() {
            let (turned, shifted) = layer.of(direction);
            let output = first(change, rows * layer.outputs);
            output.chunks_exact_mut(layer.outputs).for_each(|row| row.copy_from_slice(shifted));
            match (i, self.shape.inputs) {
                (0, Inputs::OneHot(_)) => {
                    for (&index, output) in inputs.iter().zip(output.chunks_exact_mut(layer.outputs)) {
                        add(output, &turned[index as usize * layer.outputs..][..layer.outputs]);
                    }
                }
                (0, Inputs::Vector(width)) => {
                    add_product(self.arch, View::new(inputs, width), turned, output, layer.outputs);
                }
                _ => {
                    let weights = layer.of(parameters).0;
                    add_product(
                        self.arch,
                        View::new(&hidden[i - 1], layer.inputs),
                        turned,
                        output,
                        layer.outputs,
                    );
                    add_product(self.arch, View::new(below, layer.inputs), weights, output, layer.outputs);
                }
            }
            self.shape.activation.pull_back(self.arch, &hidden[i], output);
            swap(below, change);
        }
        let (turned, shifted) = head.of(direction);
        let last = &hidden[hidden.len() - 1][..rows * head.inputs];
        policy.gradient.chunks_exact_mut(head.outputs).for_each(|row| row.copy_from_slice(shifted));
        add_dots(self.arch, last, turned, &mut policy.gradient, head.inputs);
        add_dots(
            self.arch,
            &below[..rows * head.inputs],
            head.of(parameters).0,
            &mut policy.gradient,
            head.inputs,
        );
    }

    /// Adds to `gradient` the same loss's gradient with respect to the inputs, which are rows of numbers, and leaves the
    /// parameters' aside.
    ///
    /// # Panics
    ///
    /// If `gradient` has another number of rows than the forward pass.
    pub fn backward_to_inputs(&self, parameters: &[f32], scratch: &mut Scratch, gradient: &mut [f32]) {
        let rows = gradient.len() / self.shape.inputs.width();
        let (trunk, heads) = self.parts();
        let Scratch { policy, value, hidden, deltas: [delta, below] } = scratch;
        first(delta, rows * heads[0].inputs).fill(0.0);
        for (layer, head) in heads.iter().zip([policy, value]).filter(|(layer, _)| layer.outputs > 0) {
            assert_eq!(head.gradient.len(), rows * layer.outputs, "the gradient of the {} head", layer.name);
            let (by_output, weights) = (View::new(&head.gradient, layer.outputs), layer.of(parameters).0);
            add_product(self.arch, by_output, weights, first(delta, rows * layer.inputs), layer.inputs);
        }
        for (i, layer) in trunk.iter().enumerate().rev() {
            let output = first(delta, rows * layer.outputs);
            self.shape.activation.pull_back(self.arch, &hidden[i], output);
            if i == 0 {
                add_dots(self.arch, output, layer.of(parameters).0, gradient, layer.outputs);
            } else {
                let next = first(below, rows * layer.inputs);
                next.fill(0.0);
                add_dots(self.arch, output, layer.of(parameters).0, next, layer.outputs);
                swap(delta, below);
            }
        }
    }

    fn rows(&self, inputs: &[f32]) -> usize {
        let row = self.shape.inputs.row();
        assert_eq!(inputs.len() % row, 0, "the inputs are rows of {row}");
        inputs.len() / row
    }

    fn parts(&self) -> (&[Layer], &[Layer; 2]) {
        self.layers.split_last_chunk().expect("a network has two heads")
    }
}

/// `x += y`
fn add(x: &mut [f32], y: &[f32]) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Activation;
    use crate::random::{below, generator, unit};

    fn shapes() -> Vec<Shape> {
        let mut shapes = Vec::new();
        for inputs in [Inputs::OneHot(7), Inputs::Vector(5), Inputs::Vector(70)] {
            for hidden in [vec![9], vec![48], vec![37, 150], vec![16, 20, 8]] {
                for activation in [Activation::Relu, Activation::Tanh] {
                    shapes.push(Shape { inputs, hidden: hidden.clone(), activation, policy: 4, value: 3 });
                }
            }
        }
        shapes
    }

    fn wide(values: &[f32]) -> Vec<f64> {
        values.iter().map(|value| f64::from(*value)).collect()
    }

    fn draw(rng: &mut Generator) -> f32 {
        unit(rng) as f32 - 0.5
    }

    /// A network with parameters, biases among them, and rows of inputs.
    fn network(shape: &Shape, rows: usize) -> (Mlp, Vec<f32>, Vec<f32>) {
        let mut rng = generator(3);
        let mlp = Mlp::new(shape.clone()).unwrap();
        let parameters = (0..mlp.parameters()).map(|_| draw(&mut rng)).collect();
        let inputs = (0..rows * shape.inputs.row())
            .map(|_| match shape.inputs {
                Inputs::OneHot(width) => below(width, &mut rng) as f32,
                Inputs::Vector(_) => draw(&mut rng),
            })
            .collect();
        (mlp, parameters, inputs)
    }

    /// Both heads' outputs for one row, by the formulas and in double precision.
    fn reference(mlp: &Mlp, parameters: &[f64], row: &[f64]) -> Vec<f64> {
        let affine = |layer: &Layer, x: &[f64]| -> Vec<f64> {
            let weight = |i: usize, o: usize| match layer.order {
                Order::ByInput => parameters[layer.weights.start + i * layer.outputs + o],
                Order::ByOutput => parameters[layer.weights.start + o * layer.inputs + i],
            };
            let bias = &parameters[layer.biases.clone()];
            (0..layer.outputs)
                .map(|o| bias[o] + (0..x.len()).map(|i| x[i] * weight(i, o)).sum::<f64>())
                .collect()
        };
        let (trunk, [policy, value]) = mlp.parts();
        let mut x: Vec<f64> = match mlp.shape.inputs {
            Inputs::OneHot(width) => (0..width).map(|i| f64::from(i == row[0] as usize)).collect(),
            Inputs::Vector(_) => row.to_vec(),
        };
        for layer in trunk {
            x = affine(layer, &x);
            x.iter_mut().for_each(|x| match mlp.shape.activation {
                Activation::Relu => *x = x.max(0.0),
                Activation::Tanh => *x = x.tanh(),
            });
        }
        [affine(policy, &x), affine(value, &x)].concat()
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        const ROWS: usize = 6;
        for shape in shapes() {
            let (mlp, parameters, inputs) = network(&shape, ROWS);
            let mut scratch = mlp.scratch(ROWS);
            mlp.forward(&parameters, &inputs, &mut scratch);
            let mut rng = generator(4);
            scratch.policy.gradient.iter_mut().for_each(|g| *g = draw(&mut rng));
            scratch.value.gradient.iter_mut().for_each(|g| *g = draw(&mut rng));
            let mut gradient = vec![1.0; mlp.parameters()];
            mlp.backward(&parameters, &inputs, &mut scratch, &mut gradient);

            // The loss is the product of the outputs and their gradients.
            let loss = |parameters: &[f64]| -> f64 {
                let rows = inputs
                    .chunks_exact(shape.inputs.row())
                    .map(|row| reference(&mlp, parameters, &wide(row)));
                let heads =
                    scratch.policy.gradient.chunks_exact(4).zip(scratch.value.gradient.chunks_exact(3));
                rows.zip(heads)
                    .flat_map(|(y, (p, v))| y.into_iter().zip([p, v].concat()))
                    .map(|(y, g)| y * f64::from(g))
                    .sum()
            };
            let mut double = wide(&parameters);
            // A prime stride visits every layer without visiting every parameter.
            for i in (0..double.len()).rev().step_by(if double.len() > 1000 { 97 } else { 1 }) {
                let here = double[i];
                double[i] = here + 1e-6;
                let above = loss(&double);
                double[i] = here - 1e-6;
                let slope = (above - loss(&double)) / 2e-6;
                double[i] = here;
                let found = f64::from(gradient[i]) - 1.0;
                assert!((found - slope).abs() < 1e-5 * (1.0 + slope.abs()), "{shape:?} {i}: {found} {slope}");
            }
        }
    }

    #[test]
    fn tangents_are_those_of_finite_differences() {
        for shape in shapes() {
            let (mlp, parameters, inputs) = network(&shape, 5);
            let mut rng = generator(6);
            let direction: Vec<f32> = parameters.iter().map(|_| draw(&mut rng)).collect();
            let mut scratch = mlp.scratch(5);
            mlp.forward(&parameters, &inputs, &mut scratch);
            mlp.tangent(&parameters, &direction, &inputs, &mut scratch);
            let moved = |by: f64| -> Vec<f64> {
                parameters.iter().zip(&direction).map(|(p, d)| f64::from(*p) + by * f64::from(*d)).collect()
            };
            for (row, found) in
                inputs.chunks_exact(shape.inputs.row()).zip(scratch.policy.gradient.chunks_exact(4))
            {
                let (above, under) = (moved(1e-6), moved(-1e-6));
                let (above, under) =
                    (reference(&mlp, &above, &wide(row)), reference(&mlp, &under, &wide(row)));
                for (found, (above, under)) in found.iter().zip(above.iter().zip(&under)) {
                    let slope = (above - under) / 2e-6;
                    assert!(
                        (f64::from(*found) - slope).abs() < 1e-4 * (1.0 + slope.abs()),
                        "{shape:?}: {found} {slope}"
                    );
                }
            }
        }
    }

    #[test]
    fn gradients_of_inputs_are_those_of_finite_differences() {
        for shape in shapes().into_iter().filter(|shape| matches!(shape.inputs, Inputs::Vector(_))) {
            let (mlp, parameters, inputs) = network(&shape, 4);
            let mut scratch = mlp.scratch(4);
            mlp.forward(&parameters, &inputs, &mut scratch);
            let mut rng = generator(4);
            let heads = [&mut scratch.policy, &mut scratch.value];
            heads.into_iter().flat_map(|head| &mut head.gradient).for_each(|g| *g = draw(&mut rng));
            let mut gradient = vec![1.0; inputs.len()];
            mlp.backward_to_inputs(&parameters, &mut scratch, &mut gradient);

            let double = wide(&parameters);
            let width = shape.inputs.width();
            for i in 0..inputs.len() {
                let row = i / width;
                let (policy, value) =
                    (&scratch.policy.gradient[row * 4..][..4], &scratch.value.gradient[row * 3..][..3]);
                let loss = |by: f64| -> f64 {
                    let mut inputs = wide(&inputs[row * width..(row + 1) * width]);
                    inputs[i % width] += by;
                    let pulls = wide(&[policy, value].concat());
                    reference(&mlp, &double, &inputs).iter().zip(pulls).map(|(y, g)| y * g).sum()
                };
                let (slope, found) = ((loss(1e-6) - loss(-1e-6)) / 2e-6, f64::from(gradient[i]) - 1.0);
                assert!((found - slope).abs() < 1e-4 * (1.0 + slope.abs()), "{shape:?} {i}: {found} {slope}");
            }
        }
    }

    #[test]
    fn outputs_are_those_of_the_formulas() {
        for shape in shapes() {
            let (mlp, parameters, inputs) = network(&shape, 5);
            let mut scratch = mlp.scratch(5);
            mlp.forward(&parameters, &inputs, &mut scratch);
            let double: Vec<f64> = parameters.iter().map(|x| f64::from(*x)).collect();
            for (i, row) in inputs.chunks_exact(shape.inputs.row()).enumerate() {
                let found =
                    [&scratch.policy.output[4 * i..][..4], &scratch.value.output[3 * i..][..3]].concat();
                for (found, exact) in found.into_iter().zip(reference(&mlp, &double, &wide(row))) {
                    assert!(
                        (f64::from(found) - exact).abs() < 1e-5 * (1.0 + exact.abs()),
                        "{shape:?}: {found} {exact}"
                    );
                }
            }
        }
    }

    /// Every bit of the outputs and of the gradient.
    fn bits(mlp: &Mlp, parameters: &[f32], inputs: &[f32]) -> Vec<u32> {
        let mut scratch = mlp.scratch(1);
        mlp.forward(parameters, inputs, &mut scratch);
        scratch.policy.gradient.fill(0.3);
        scratch.value.gradient.fill(-0.7);
        let mut gradient = vec![0.0; mlp.parameters()];
        mlp.backward(parameters, inputs, &mut scratch, &mut gradient);
        [scratch.policy.output, scratch.value.output, gradient].concat().iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn a_row_alone_gives_the_same_bits_as_in_a_batch() {
        for shape in shapes() {
            let (mlp, parameters, inputs) = network(&shape, 11);
            let (mut batch, mut alone) = (mlp.scratch(11), mlp.scratch(1));
            mlp.forward(&parameters, &inputs, &mut batch);
            for (i, row) in inputs.chunks_exact(shape.inputs.row()).enumerate() {
                mlp.forward(&parameters, row, &mut alone);
                assert_eq!(alone.policy.output, batch.policy.output[4 * i..][..4], "{shape:?}");
                assert_eq!(alone.value.output, batch.value.output[3 * i..][..3], "{shape:?}");
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        #[cfg(target_arch = "x86_64")]
        let others = [Some(Arch::Scalar), pulp::x86::V3::try_new().map(Arch::V3)];
        #[cfg(not(target_arch = "x86_64"))]
        let others = [Some(Arch::Scalar)];
        for shape in shapes() {
            let (mlp, parameters, inputs) = network(&shape, 70);
            let expected = bits(&mlp, &parameters, &inputs);
            for arch in others.into_iter().flatten() {
                assert_eq!(
                    bits(&Mlp { arch, ..mlp.clone() }, &parameters, &inputs),
                    expected,
                    "{shape:?} {arch:?}"
                );
            }
        }
    }

    #[test]
    fn an_index_gives_the_same_bits_as_its_unit_vector() {
        for shape in shapes() {
            let Inputs::OneHot(width) = shape.inputs else { continue };
            let (mlp, parameters, indices) = network(&shape, 10);
            let dense = Mlp::new(Shape { inputs: Inputs::Vector(width), ..shape }).unwrap();
            let vectors: Vec<f32> = indices
                .iter()
                .flat_map(|index| (0..width).map(|i| f32::from(u8::from(i == *index as usize))))
                .collect();
            assert_eq!(bits(&mlp, &parameters, &indices), bits(&dense, &parameters, &vectors));
        }
    }

    #[test]
    fn layers_fill_the_parameters_without_gaps() {
        let mlp = Mlp::new(shapes()[4].clone()).unwrap();
        let mut end = 0;
        for layer in mlp.layers() {
            assert_eq!((layer.weights.start, layer.weights.end), (end, layer.biases.start));
            assert_eq!(
                (layer.weights.len(), layer.biases.len()),
                (layer.inputs * layer.outputs, layer.outputs)
            );
            end = layer.biases.end;
        }
        assert_eq!(end, mlp.parameters());
        assert!(mlp.layers().iter().map(|l| l.name.as_str()).eq(["trunk.0", "trunk.1", "policy", "value"]));
    }

    /// A network with one head gives what the same one with both does.
    #[test]
    fn a_head_may_be_missing() {
        let both = Shape { hidden: vec![9], ..shapes()[8].clone() };
        let (mlp, parameters, inputs) = network(&both, 3);
        let alone = Mlp::new(Shape { value: 0, ..both }).unwrap();
        let (mut all, mut one) = (mlp.scratch(3), alone.scratch(3));
        mlp.forward(&parameters, &inputs, &mut all);
        alone.forward(&parameters[..alone.parameters()], &inputs, &mut one);
        assert_eq!(one.policy.output, all.policy.output);
        all.policy.gradient.fill(1.0);
        one.policy.gradient.fill(1.0);
        let (mut with, mut without) = (vec![0.0; mlp.parameters()], vec![0.0; alone.parameters()]);
        mlp.backward(&parameters, &inputs, &mut all, &mut with);
        alone.backward(&parameters[..alone.parameters()], &inputs, &mut one, &mut without);
        assert_eq!(without, with[..alone.parameters()]);
    }

    #[test]
    fn sizes_of_0_are_refused() {
        let shape = shapes()[0].clone();
        for bad in [
            Shape { inputs: Inputs::OneHot(0), ..shape.clone() },
            Shape { hidden: vec![], ..shape.clone() },
            Shape { hidden: vec![8, 0], ..shape.clone() },
            Shape { policy: 0, value: 0, ..shape.clone() },
        ] {
            assert!(Mlp::new(bad).is_err());
        }
    }
}
