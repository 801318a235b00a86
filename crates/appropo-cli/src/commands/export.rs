use std::path::{Path, PathBuf};

use appropo::policy::AnyPolicy;
use appropo_run::{Directory, onnx};
use serde_json::json;

use super::verify::load_mixture;
use crate::problem::{Problem, Surroundings};
use crate::{Failure, Output};

/// Writes the networks of a run as ONNX files, and the mixture's weights as JSON beside them.
pub fn run(folder: &str, file: &str, surroundings: &Surroundings) -> Result<Output, Failure> {
    let directory = Directory::read(Path::new(folder))?;
    let problem = Problem::load_run(&directory, surroundings)?;
    let mixture = load_mixture(&directory, &problem)?;
    let file = Path::new(file);
    if file.extension().is_none_or(|extension| extension != "onnx") {
        let shown = file.display();
        return Err(Failure::Input(format!(
            "--onnx {shown}: expected the name of a file such as policy.onnx"
        )));
    }
    let stem = file.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
    let count = mixture.parts().len();
    let mut files = Vec::new();
    let mut policies = Vec::new();
    for (i, (weight, policy)) in mixture.parts().iter().enumerate() {
        let AnyPolicy::Network(policy) = policy.as_ref() else {
            return Err(Failure::Input(format!(
                "{folder}: policy {i} is no network of ours, so there is no ONNX of it; its numbers are in policies.safetensors"
            )));
        };
        let name = if count == 1 { format!("{stem}.onnx") } else { format!("{stem}-{i}.onnx") };
        files.push((file.with_file_name(&name), onnx(policy)));
        policies.push(json!({ "file": name, "weight": weight }));
    }
    let weights = file.with_file_name(format!("{stem}.json"));
    let object = json!({
        "problem": problem.name,
        "meaning": "before each episode one policy is drawn with its weight; it takes all actions of the episode",
        "policies": policies,
    });
    files.push((weights.clone(), format!("{object:#}\n").into_bytes()));
    if let Some((taken, _)) = files.iter().find(|(path, _)| path.exists()) {
        let taken = taken.display();
        return Err(Failure::Input(format!("{taken} is there already; remove it, or choose another name")));
    }
    files.iter().try_for_each(|(path, bytes)| write(path, bytes))?;
    let text = format!("{count} ONNX files and {}\n", weights.display());
    Ok(Output { text, status: 0 })
}

fn write(path: &PathBuf, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes)
        .map_err(|error| Failure::Other(format!("{} can't be written: {error}", path.display())))
}
