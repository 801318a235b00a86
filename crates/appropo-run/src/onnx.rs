//! Networks as ONNX models.

use std::mem::take;
use std::path::{Path, PathBuf};

use appropo::nn::{Activation, Inputs, Layer, Order};
use appropo::policy::{Actions, AnyPolicy, Mixed, NetworkPolicy};
use serde_json::json;

use Dimension::{Batch, Fixed};

use crate::error::{Error, Result};
use crate::protobuf::Message;
use crate::write_whole;

const IR_VERSION: u64 = 8;
const OPSET: u64 = 17;

/// The policy's network as an ONNX model, the same bytes for the same policy.
///
/// The input `observation` is a float32 tensor of batch × n, or, where the network takes one-hot inputs, an int64 tensor
/// of one index a row. The outputs are float32:
///
/// - for categorical actions `logits` and `probabilities`, batch × actions;
/// - for Gaussian actions `mean` and `action`, batch × m, the latter cut to the bounds, and `log_std`, m numbers for all
///   rows;
/// - for squashed actions the same, batch × m, where `action` is the tangent of `mean`, stretched to the bounds;
/// - `value`, batch × measurements.
pub fn onnx(policy: &NetworkPolicy) -> Vec<u8> {
    let (network, parameters) = (policy.network(), policy.parameters());
    let shape = network.shape();
    let mut graph = Graph::default();
    match shape.inputs {
        Inputs::OneHot(_) => graph.declare(Graph::INPUT, "observation", INT64, &[Batch]),
        Inputs::Vector(width) => graph.declare(Graph::INPUT, "observation", FLOAT, &[Batch, Fixed(width)]),
    }

    let (trunk, heads) = network.layers().split_at(shape.hidden.len());
    let mut below = "observation".to_owned();
    for (i, layer) in trunk.iter().enumerate() {
        let affine = format!("{}.affine", layer.name);
        graph.parameters(layer, parameters);
        match shape.inputs {
            Inputs::OneHot(_) if i == 0 => graph.look_up(layer, &below, &affine),
            _ => graph.affine(layer, &below, &affine),
        }
        let function = match shape.activation {
            Activation::Relu => "Relu",
            Activation::Tanh => "Tanh",
        };
        graph.node(function, &[&affine], &layer.name);
        below.clone_from(&layer.name);
    }

    let [policy_head, value_head] = heads else { return graph.into_model() };
    match policy.actions() {
        Actions::Categorical => {
            let row = [Batch, Fixed(shape.policy)];
            graph.parameters(policy_head, parameters);
            graph.affine(policy_head, &below, "logits");
            graph.node("Softmax", &["logits"], "probabilities");
            graph.declare(Graph::OUTPUT, "logits", FLOAT, &row);
            graph.declare(Graph::OUTPUT, "probabilities", FLOAT, &row);
        }
        Actions::Gaussian(bounds) => {
            let (width, row) = ([bounds.len()], [Batch, Fixed(bounds.len())]);
            graph.parameters(policy_head, parameters);
            graph.affine(policy_head, &below, "mean");
            graph.initializer("policy.log_std", &width, &parameters[network.parameters()..]);
            graph.node("Identity", &["policy.log_std"], "log_std");
            graph.clip("mean", &inside(bounds), "action");
            graph.declare(Graph::OUTPUT, "mean", FLOAT, &row);
            graph.declare(Graph::OUTPUT, "log_std", FLOAT, &[Fixed(bounds.len())]);
            graph.declare(Graph::OUTPUT, "action", FLOAT, &row);
        }
        Actions::Squashed(bounds) => {
            let (width, row) = ([bounds.len()], [Batch, Fixed(bounds.len())]);
            let [mean, log_std] = halves(policy_head);
            for (half, output) in [(&mean, "mean"), (&log_std, "policy.log_std")] {
                graph.parameters(half, parameters);
                graph.affine(half, &below, output);
            }
            let (least, most) = Actions::LOG_DEVIATIONS;
            graph.clip("policy.log_std", &(vec![least], vec![most]), "log_std");
            let half: Vec<f32> = bounds.iter().map(|(low, high)| (0.5 * (high - low)) as f32).collect();
            let middle: Vec<f32> = bounds.iter().map(|(low, high)| (0.5 * (low + high)) as f32).collect();
            graph.initializer("policy.half", &width, &half);
            graph.initializer("policy.middle", &width, &middle);
            graph.node("Tanh", &["mean"], "policy.tanh");
            graph.node("Mul", &["policy.tanh", "policy.half"], "policy.stretched");
            graph.node("Add", &["policy.stretched", "policy.middle"], "policy.moved");
            graph.clip("policy.moved", &inside(bounds), "action");
            for output in ["mean", "log_std", "action"] {
                graph.declare(Graph::OUTPUT, output, FLOAT, &row);
            }
        }
    }
    if shape.value > 0 {
        graph.parameters(value_head, parameters);
        graph.affine(value_head, &below, "value");
    }
    if shape.value > 0 {
        graph.declare(Graph::OUTPUT, "value", FLOAT, &[Batch, Fixed(shape.value)]);
    }
    graph.into_model()
}

/// A head whose outputs are two of each kind as two heads.
fn halves(head: &Layer) -> [Layer; 2] {
    let outputs = head.outputs / 2;
    let half = |name: &str, first: usize| {
        let weights = head.weights.start + first * head.inputs;
        let biases = head.biases.start + first;
        Layer {
            name: format!("{}.{name}", head.name),
            outputs,
            weights: weights..weights + outputs * head.inputs,
            biases: biases..biases + outputs,
            ..head.clone()
        }
    };
    [half("mean", 0), half("log_std", outputs)]
}

/// The tightest bounds in single precision: the nearest ones might lie outside of what the world allows.
fn inside(bounds: &[(f64, f64)]) -> (Vec<f32>, Vec<f32>) {
    bounds.iter().map(|(low, high)| (at_least(*low), -at_least(-high))).unzip()
}

/// The least float that is not below `bound`.
fn at_least(bound: f64) -> f32 {
    let nearest = bound as f32;
    if f64::from(nearest) < bound { nearest.next_up() } else { nearest }
}

/// `TensorProto.DataType`
const FLOAT: u64 = 1;
const INT64: u64 = 7;

enum Dimension {
    Batch,
    Fixed(usize),
}

/// A `GraphProto`. Field numbers are those of `onnx.proto`.
#[derive(Default)]
struct Graph(Message);

impl Graph {
    const NODE: u32 = 1;
    const NAME: u32 = 2;
    const INITIALIZER: u32 = 5;
    const INPUT: u32 = 11;
    const OUTPUT: u32 = 12;

    fn add(&mut self, field: u32, part: Message) {
        self.0 = take(&mut self.0).message(field, part);
    }

    /// Adds a `ValueInfoProto` to the inputs or outputs.
    fn declare(&mut self, field: u32, name: &str, data_type: u64, dimensions: &[Dimension]) {
        let shape = dimensions.iter().fold(Message::default(), |shape, dimension| {
            let part = match dimension {
                Fixed(size) => Message::default().integer(1, *size as u64),
                Batch => Message::default().bytes(2, "batch"),
            };
            shape.message(1, part)
        });
        let tensor = Message::default().integer(1, data_type).message(2, shape);
        let kind = Message::default().message(1, tensor);
        self.add(field, Message::default().bytes(1, name).message(2, kind));
    }

    /// Adds a `TensorProto`, its data raw.
    fn initializer(&mut self, name: &str, dimensions: &[usize], values: &[f32]) {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let sizes = dimensions.iter().fold(Message::default(), |part, size| part.integer(1, *size as u64));
        self.add(Self::INITIALIZER, sizes.integer(2, FLOAT).bytes(8, name).bytes(9, data));
    }

    fn parameters(&mut self, layer: &Layer, parameters: &[f32]) {
        let dimensions = match layer.order {
            Order::ByInput => [layer.inputs, layer.outputs],
            Order::ByOutput => [layer.outputs, layer.inputs],
        };
        self.initializer(&weight(layer), &dimensions, &parameters[layer.weights.clone()]);
        self.initializer(&bias(layer), &[layer.outputs], &parameters[layer.biases.clone()]);
    }

    fn node(&mut self, operator: &str, inputs: &[&str], output: &str) {
        self.add(Self::NODE, node(operator, inputs, output));
    }

    /// Entries of `input` cut to bounds of their own, or of all.
    fn clip(&mut self, input: &str, (low, high): &(Vec<f32>, Vec<f32>), output: &str) {
        let [least, most, raised] = ["low", "high", "raised"].map(|part| format!("{output}.{part}"));
        self.initializer(&least, &[low.len()], low);
        self.initializer(&most, &[high.len()], high);
        // The operator Clip has one bound for all entries.
        self.node("Max", &[input, &least], &raised);
        self.node("Min", &[&raised, &most], output);
    }

    fn affine(&mut self, layer: &Layer, input: &str, output: &str) {
        let product = node("Gemm", &[input, &weight(layer), &bias(layer)], output);
        // An `AttributeProto` of type INT.
        let transposed = u64::from(layer.order == Order::ByOutput);
        let attribute = Message::default().bytes(1, "transB").integer(3, transposed).integer(20, 2);
        self.add(Self::NODE, product.message(5, attribute));
    }

    /// The affine map of a one-hot row, given by its index. The weights are in the order `ByInput`, as in every trunk.
    fn look_up(&mut self, layer: &Layer, input: &str, output: &str) {
        let row = format!("{}.row", layer.name);
        self.node("Gather", &[&weight(layer), input], &row);
        self.node("Add", &[&row, &bias(layer)], output);
    }

    /// The bytes of a `ModelProto` around it.
    fn into_model(self) -> Vec<u8> {
        Message::default()
            .integer(1, IR_VERSION)
            .bytes(2, "appropo")
            .bytes(3, env!("CARGO_PKG_VERSION"))
            .message(7, self.0.bytes(Self::NAME, "policy"))
            .message(8, Message::default().bytes(1, "").integer(2, OPSET))
            .into_bytes()
    }
}

/// A `NodeProto`, named after its output.
fn node(operator: &str, inputs: &[&str], output: &str) -> Message {
    let node = inputs.iter().fold(Message::default(), |node, input| node.bytes(1, input));
    node.bytes(2, output).bytes(3, output).bytes(4, operator)
}

fn weight(layer: &Layer) -> String {
    format!("{}.weight", layer.name)
}

fn bias(layer: &Layer) -> String {
    format!("{}.bias", layer.name)
}

/// Writes the networks of a mixture as ONNX files, and its weights as JSON beside them. Several networks are numbered.
/// Returns the path of the weights.
pub fn export(mixture: &Mixed, problem: &str, file: &Path) -> Result<PathBuf> {
    let refused = |path: &Path, problem: String| Err(Error::Unsuitable { path: path.to_owned(), problem });
    if file.extension().is_none_or(|extension| extension != "onnx") {
        return refused(file, "expected the name of a file that ends in .onnx, such as policy.onnx".into());
    }
    let stem = file.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
    let (mut files, mut policies) = (Vec::new(), Vec::new());
    for (i, (weight, policy)) in mixture.parts().iter().enumerate() {
        let AnyPolicy::Network(policy) = policy.as_ref() else {
            let problem = format!(
                "policy {i} is no network of ours, so there is no ONNX of it; its numbers are in policies.safetensors"
            );
            return refused(file, problem);
        };
        let is_alone = mixture.parts().len() == 1;
        let name = if is_alone { format!("{stem}.onnx") } else { format!("{stem}-{i}.onnx") };
        files.push((file.with_file_name(&name), onnx(policy)));
        policies.push(json!({ "file": name, "weight": weight }));
    }
    let weights = file.with_file_name(format!("{stem}.json"));
    let object = json!({
        "problem": problem,
        "meaning": "before each episode one policy is drawn with its weight; it takes all actions of the episode",
        "policies": policies,
    });
    files.push((weights.clone(), format!("{object:#}\n").into_bytes()));
    if let Some((taken, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(Error::Taken { path: taken.clone() });
    }
    for (i, (path, bytes)) in files.iter().enumerate() {
        if let Err(error) = write_whole(path, bytes) {
            // Some networks without the others are of no use.
            files[..i].iter().for_each(|(path, _)| drop(std::fs::remove_file(path)));
            return Err(error);
        }
    }
    Ok(weights)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use appropo::nn::{Mlp, Shape};

    use super::*;

    fn model(inputs: Inputs, actions: Actions) -> Vec<u8> {
        let activation = Activation::Relu;
        let network = Mlp::new(Shape { inputs, hidden: vec![2], activation, policy: 1, value: 1 }).unwrap();
        let parameters =
            (0..network.parameters() + actions.parameters()).map(|i| i as f32).collect::<Vec<_>>();
        onnx(&NetworkPolicy::new(Arc::new(network), actions, parameters).unwrap())
    }

    fn contains(bytes: &[u8], part: &[u8]) -> bool {
        bytes.windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn a_model_starts_with_its_version_and_producer() {
        let bytes = model(Inputs::Vector(3), Actions::Categorical);
        assert!(bytes.starts_with(b"\x08\x08\x12\x07appropo\x1a"));
        assert!(bytes.ends_with(b"\x42\x04\x0a\x00\x10\x11"));
        assert_eq!(bytes, model(Inputs::Vector(3), Actions::Categorical));
    }

    #[test]
    fn weights_are_raw_tensors() {
        // The biases of the hidden layer, parameters 6 and 7 behind 3 × 2 weights.
        let biases = b"\x2a\x1c\x08\x02\x10\x01\x42\x0ctrunk.0.bias\x4a\x08\0\0\xc0\x40\0\0\xe0\x40";
        let bytes = model(Inputs::Vector(3), Actions::Gaussian(vec![(-1.0, 1.0)]));
        assert!(contains(&bytes, biases));
    }

    #[test]
    fn indices_are_looked_up() {
        assert!(contains(&model(Inputs::OneHot(3), Actions::Categorical), b"Gather"));
        assert!(!contains(&model(Inputs::Vector(3), Actions::Categorical), b"Gather"));
    }

    #[test]
    fn rounded_bounds_stay_inside() {
        for bound in [0.1, -0.1, 0.3, 1.0, 0.0, 1e-60, f64::NEG_INFINITY, f64::INFINITY] {
            let (low, high) = (at_least(bound), -at_least(-bound));
            assert!(f64::from(high) <= bound && bound <= f64::from(low), "{high} {bound} {low}");
            assert!(low <= high.next_up(), "{high} {low}");
        }
    }
}
