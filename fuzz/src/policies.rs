//! What the files of a mixture may hold: anything.

use std::path::Path;

use appropo::nn::Inputs;
use appropo::policy::{AnyPolicy, Memory, Policy};
use appropo::random;
use appropo_run::policies::Manifest;
use sha2::{Digest, Sha256};

/// Four policies of every kind, whose numbers may be any.
const KNOWN: &str = r#"{
  "format": 2,
  "tensors": "policies.safetensors",
  "tensors_sha256": "",
  "policies": [
    { "weight": 0.25, "kind": "table", "states": 2, "actions": 3 },
    { "weight": 0.25, "kind": "table", "states": 2, "actions": 2 },
    {
      "weight": 0.25,
      "kind": "network",
      "shape": { "inputs": { "one_hot": 2 }, "hidden": [2], "activation": "relu", "policy": 3, "value": 1 },
      "gaussian": false
    },
    {
      "weight": 0.25,
      "kind": "network",
      "shape": { "inputs": { "vector": 2 }, "hidden": [2, 1], "activation": "tanh", "policy": 2, "value": 1 },
      "gaussian": true
    }
  ]
}"#;

/// Reads a manifest as it is, and as if it had the right checksum.
pub fn manifest(bytes: &[u8]) {
    let _ = Manifest::parse(Path::new("manifest.json"), bytes);
    sealed_manifest(bytes);
}

/// Reads the numbers of known policies; then a manifest that ends at the first 0, and its numbers behind it.
pub fn policies(bytes: &[u8]) {
    if let Some(manifest) = sealed_manifest(KNOWN.as_bytes()) {
        read(&manifest, bytes);
    }
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    if let (Some(manifest), Some(numbers)) = (parts.next().and_then(sealed_manifest), parts.next()) {
        read(&manifest, numbers);
    }
}

fn sealed_manifest(object: &[u8]) -> Option<Manifest> {
    let text = std::str::from_utf8(object).ok()?;
    Manifest::parse(Path::new("manifest.json"), sealed(text).as_bytes()).ok()
}

/// A JSON object with the checksum that it should have.
pub fn sealed(object: &str) -> String {
    let body = object.trim_end().strip_suffix('}').unwrap_or(object).trim_end();
    let body = format!("{body},\n");
    let digest: String = Sha256::digest(&body).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{body}  \"sha256\": \"{digest}\"\n}}\n")
}

/// Reads a mixture, and acts with what was read.
fn read(manifest: &Manifest, numbers: &[u8]) {
    let Ok(mixture) = manifest.policies(Path::new("policies.safetensors"), numbers) else { return };
    let (mut rng, mut memory) = (random::generator(0), Memory::default());
    for (_, policy) in mixture.parts() {
        let (seen, entries) = match policy.as_ref() {
            AnyPolicy::Table(policy) => (vec![policy.states() as f64 - 1.0], 1),
            AnyPolicy::Greedy(_) => continue,
            AnyPolicy::External(_) => (vec![1.0], 1),
            AnyPolicy::Network(policy) => match policy.network().shape().inputs {
                Inputs::OneHot(count) => (vec![count as f64 - 1.0], policy.actions().parameters().max(1)),
                Inputs::Vector(width) => (vec![1.0; width], policy.actions().parameters().max(1)),
            },
        };
        policy.act(&seen, 7, &mut rng, &mut memory, &mut vec![0.0; entries]);
        policy.table();
        if let AnyPolicy::Network(policy) = policy.as_ref() {
            let _ = appropo_run::onnx::onnx(policy);
        }
    }
}
