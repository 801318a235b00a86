//! A mixture of policies as files: numbers in safetensors, what they mean in a JSON manifest.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use appropo::nn::{Mlp, Order, Shape};
use appropo::policy::{
    Actions, AnyPolicy, ExternalPolicy, Mixed, NetworkPolicy, Policy, TabularPolicy, Tensor,
};
use safetensors::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize};

use crate::directory::parse_json;
use crate::error::{Result, damaged};
use crate::{Directory, sealed};

pub(crate) const MANIFEST: &str = "manifest.json";
const TENSORS: &str = "policies.safetensors";

/// What the numbers of a mixture mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The file of the numbers, in the same folder.
    pub tensors: String,
    /// Its SHA-256.
    pub tensors_sha256: String,
    /// The policies, in the order of their tensors' names.
    pub policies: Vec<Entry>,
}

/// A policy of the mixture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its probability.
    pub weight: f64,
    /// What it is.
    #[serde(flatten)]
    pub kind: Kind,
}

/// What a policy is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Kind {
    /// `table`: the action of each stage and state, or the probabilities of all actions there.
    Table {
        /// States of the world.
        states: usize,
        /// Actions of the world.
        actions: usize,
    },
    /// Weights and biases of each layer; for continuous actions also `log_std` and `bounds`.
    Network {
        /// The sizes.
        shape: Shape,
        /// Whether actions are continuous.
        gaussian: bool,
        /// Whether these are then squashed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        squashed: bool,
    },
    /// Arrays that the calling program makes its policy of.
    External {
        /// Their names, in its order.
        arrays: Vec<String>,
    },
}

/// Writes a mixture.
pub fn save(directory: &Directory, mixture: &Mixed) -> Result<()> {
    let mut tensors = Tensors::default();
    let mut policies = Vec::new();
    for (i, (weight, policy)) in mixture.parts().iter().enumerate() {
        let kind = match policy.as_ref() {
            AnyPolicy::Table(policy) => tensors.table(i, policy),
            AnyPolicy::Network(policy) => tensors.network(i, policy),
            AnyPolicy::External(policy) => tensors.external(i, policy),
            AnyPolicy::Greedy(greedy) => match greedy.table() {
                Some(policy) => tensors.table(i, &policy),
                None => return Err(damaged(&directory.file(TENSORS), "action values that are no numbers")),
            },
        };
        policies.push(Entry { weight: *weight, kind });
    }
    let bytes = tensors.serialize(&directory.file(TENSORS))?;
    directory.write(TENSORS, &bytes)?;
    let manifest = Manifest { tensors: TENSORS.into(), tensors_sha256: sealed::digest(&bytes), policies };
    directory.write_json(MANIFEST, &manifest)
}

/// What the numbers of a mixture mean, as its file says.
pub(crate) fn manifest(directory: &Directory) -> Result<Manifest> {
    Manifest::parse(&directory.file(MANIFEST), &directory.read_bytes(MANIFEST)?)
}

/// Reads a mixture that [`save`] wrote.
pub fn load(directory: &Directory) -> Result<Mixed> {
    let path = directory.file(MANIFEST);
    let manifest = Manifest::parse(&path, &directory.read_bytes(MANIFEST)?)?;
    let file = directory.file(&manifest.tensors);
    let is_link = std::fs::symlink_metadata(&file).is_ok_and(|data| data.file_type().is_symlink());
    if is_link {
        return Err(damaged(&file, "it is a link; the numbers must be in the run's own folder"));
    }
    let bytes = directory.read_bytes(&manifest.tensors)?;
    if sealed::digest(&bytes) != manifest.tensors_sha256 {
        return Err(damaged(&file, "its checksum does not fit its content"));
    }
    manifest.policies(&file, &bytes)
}

impl Manifest {
    /// Reads a manifest and checks what can be checked without the numbers.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let manifest: Self = parse_json(path, bytes)?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name = &manifest.tensors;
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(damaged(path, format!("it names {name:?}, which is not a file of the run's folder")));
        }
        if let Some(entry) = manifest.policies.iter().find(|entry| !(entry.weight > 0.0)) {
            return Err(damaged(path, format!("a weight is {}, expected more than 0", entry.weight)));
        }
        let total = manifest.policies.iter().fold(0.0, |total, entry| total + entry.weight);
        if !((total - 1.0).abs() < 1e-9) {
            return Err(damaged(path, format!("the weights add up to {total}, expected 1")));
        }
        Ok(manifest)
    }

    /// The mixture that these numbers make.
    pub fn policies(&self, path: &Path, bytes: &[u8]) -> Result<Mixed> {
        let tensors = SafeTensors::deserialize(bytes)
            .map_err(|error| damaged(path, format!("safetensors: {error}")))?;
        let reader = Reader { tensors, path };
        let mut networks: Vec<Arc<Mlp>> = Vec::new();
        let mut parts = Vec::new();
        for (i, entry) in self.policies.iter().enumerate() {
            let policy = match &entry.kind {
                Kind::Table { states, actions } => AnyPolicy::Table(reader.table(i, *states, *actions)?),
                Kind::Network { shape, gaussian, squashed } => {
                    let kind = (*gaussian, *squashed);
                    AnyPolicy::Network(reader.network(i, shape, kind, &mut networks)?)
                }
                Kind::External { arrays } => AnyPolicy::External(reader.external(i, arrays)?),
            };
            parts.push((entry.weight, Arc::new(policy)));
        }
        Ok(Mixed::new(parts))
    }
}

/// Numbers on their way into a file.
struct Numbers {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl View for Numbers {
    fn dtype(&self) -> Dtype {
        self.dtype
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }
    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// Arrays on their way into a file, by their names.
#[derive(Default)]
pub(crate) struct Tensors(Vec<(String, Numbers)>);

impl Tensors {
    pub fn push<const N: usize>(
        &mut self,
        name: String,
        dtype: Dtype,
        shape: Vec<usize>,
        values: impl Iterator<Item = [u8; N]>,
    ) {
        self.0.push((name, Numbers { dtype, shape, bytes: values.flatten().collect() }));
    }

    /// The file's bytes.
    pub fn serialize(self, path: &Path) -> Result<Vec<u8>> {
        safetensors::serialize(self.0, None).map_err(|error| damaged(path, error.to_string()))
    }

    fn table(&mut self, i: usize, policy: &TabularPolicy) -> Kind {
        let (stages, states, actions) = (policy.stages(), policy.states(), policy.actions());
        let name = format!("{i}.table");
        match policy.actions_taken() {
            Some(table) => {
                let values = table.iter().map(|action| action.to_le_bytes());
                self.push(name, Dtype::U32, vec![stages, states], values);
            }
            None => {
                let places = (0..stages).flat_map(|t| (0..states).map(move |s| (t, s)));
                let values = places.flat_map(|(t, s)| (0..actions).map(move |a| policy.probability(t, s, a)));
                self.push(name, Dtype::F64, vec![stages, states, actions], values.map(f64::to_le_bytes));
            }
        }
        Kind::Table { states, actions }
    }

    fn network(&mut self, i: usize, policy: &NetworkPolicy) -> Kind {
        let (network, parameters) = (policy.network(), policy.parameters());
        let bytes = |range: std::ops::Range<usize>| parameters[range].iter().map(|v| v.to_le_bytes());
        for layer in network.layers() {
            let shape = match layer.order {
                Order::ByInput => vec![layer.inputs, layer.outputs],
                Order::ByOutput => vec![layer.outputs, layer.inputs],
            };
            let name = &layer.name;
            self.push(format!("{i}.{name}.weight"), Dtype::F32, shape, bytes(layer.weights.clone()));
            self.push(
                format!("{i}.{name}.bias"),
                Dtype::F32,
                vec![layer.outputs],
                bytes(layer.biases.clone()),
            );
        }
        if let Actions::Gaussian(bounds) = policy.actions() {
            let deviations = bytes(network.parameters()..parameters.len());
            self.push(format!("{i}.log_std"), Dtype::F32, vec![bounds.len()], deviations);
        }
        if let Actions::Gaussian(bounds) | Actions::Squashed(bounds) = policy.actions() {
            let values = bounds.iter().flat_map(|(low, high)| [low.to_le_bytes(), high.to_le_bytes()]);
            self.push(format!("{i}.bounds"), Dtype::F64, vec![bounds.len(), 2], values);
        }
        Kind::Network {
            shape: network.shape().clone(),
            gaussian: *policy.actions() != Actions::Categorical,
            squashed: matches!(policy.actions(), Actions::Squashed(_)),
        }
    }

    fn external(&mut self, i: usize, policy: &ExternalPolicy) -> Kind {
        for Tensor { name, shape, values } in policy.tensors() {
            let values = values.iter().map(|v| v.to_le_bytes());
            self.push(format!("{i}.{name}"), Dtype::F32, shape.clone(), values);
        }
        Kind::External { arrays: policy.tensors().iter().map(|tensor| tensor.name.clone()).collect() }
    }
}

struct Reader<'a> {
    tensors: SafeTensors<'a>,
    path: &'a Path,
}

impl<'a> Reader<'a> {
    fn damaged(&self, problem: impl Into<String>) -> crate::Error {
        damaged(self.path, problem)
    }

    /// The bytes of each number of a tensor, with its shape.
    fn numbers<const N: usize>(&self, name: &str, dtype: Dtype) -> Result<(Vec<usize>, &'a [[u8; N]])> {
        let missing = |error| self.damaged(format!("tensor {name}: {error}"));
        let tensor = self.tensors.tensor(name).map_err(missing)?;
        let (numbers, rest) = tensor.data().as_chunks();
        if tensor.dtype() != dtype || !rest.is_empty() {
            return Err(self.damaged(format!("tensor {name} has numbers of another kind than {dtype:?}")));
        }
        Ok((tensor.shape().to_vec(), numbers))
    }

    fn table(&self, i: usize, states: usize, actions: usize) -> Result<TabularPolicy> {
        let name = format!("{i}.table");
        let is_certain = self.tensors.tensor(&name).is_ok_and(|tensor| tensor.dtype() == Dtype::U32);
        let policy = if is_certain {
            let (_, numbers) = self.numbers(&name, Dtype::U32)?;
            TabularPolicy::deterministic(
                states,
                actions,
                numbers.iter().map(|b| u32::from_le_bytes(*b)).collect(),
            )
        } else {
            let (_, numbers) = self.numbers(&name, Dtype::F64)?;
            TabularPolicy::stochastic(
                states,
                actions,
                numbers.iter().map(|b| f64::from_le_bytes(*b)).collect(),
            )
        };
        policy.map_err(|error| self.damaged(format!("policy {i}: {error}")))
    }

    fn external(&self, i: usize, arrays: &[String]) -> Result<ExternalPolicy> {
        let tensor = |name: &String| {
            let (shape, numbers) = self.numbers(&format!("{i}.{name}"), Dtype::F32)?;
            let values = numbers.iter().map(|b| f32::from_le_bytes(*b)).collect();
            Ok(Tensor { name: name.clone(), shape, values })
        };
        Ok(ExternalPolicy::new(arrays.iter().map(tensor).collect::<Result<_>>()?, None))
    }

    fn network(
        &self,
        i: usize,
        shape: &Shape,
        (gaussian, squashed): (bool, bool),
        networks: &mut Vec<Arc<Mlp>>,
    ) -> Result<NetworkPolicy> {
        let unfit = |error: appropo::error::Error| self.damaged(format!("policy {i}: {error}"));
        let network = match networks.iter().find(|network| network.shape() == shape) {
            Some(network) => Arc::clone(network),
            None => {
                networks.push(Arc::new(Mlp::new(shape.clone()).map_err(unfit)?));
                Arc::clone(&networks[networks.len() - 1])
            }
        };
        let mut parameters = Vec::new();
        let mut take = |name: String, count: usize| -> Result<()> {
            let (_, numbers) = self.numbers(&name, Dtype::F32)?;
            if numbers.len() != count {
                let found = numbers.len();
                return Err(self.damaged(format!("tensor {name} has {found} numbers, expected {count}")));
            }
            parameters.extend(numbers.iter().map(|b| f32::from_le_bytes(*b)));
            Ok(())
        };
        for layer in network.layers() {
            take(format!("{i}.{}.weight", layer.name), layer.weights.len())?;
            take(format!("{i}.{}.bias", layer.name), layer.biases.len())?;
        }
        let mut actions = Actions::Categorical;
        if gaussian {
            let width = if squashed { shape.policy / 2 } else { shape.policy };
            if !squashed {
                take(format!("{i}.log_std"), width)?;
            }
            let (_, numbers) = self.numbers(&format!("{i}.bounds"), Dtype::F64)?;
            let (pairs, rest) = numbers.as_chunks::<2>();
            let bounds: Vec<(f64, f64)> = pairs
                .iter()
                .map(|[low, high]| (f64::from_le_bytes(*low), f64::from_le_bytes(*high)))
                .collect();
            let (count, is_range) = (bounds.len(), bounds.iter().all(|(low, high)| low <= high));
            actions = if squashed { Actions::Squashed(bounds) } else { Actions::Gaussian(bounds) };
            let fits = rest.is_empty() && is_range && count == width;
            if !fits || actions.outputs(width) != shape.policy {
                return Err(self.damaged(format!("policy {i}: its bounds are no {width} ranges")));
            }
        }
        if let Some(value) = parameters.iter().find(|value| !value.is_finite()) {
            return Err(self.damaged(format!("policy {i}: found {value}, expected finite numbers")));
        }
        NetworkPolicy::new(network, actions, parameters).map_err(unfit)
    }
}
