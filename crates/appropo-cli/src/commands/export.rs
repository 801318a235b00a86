use std::path::Path;

use appropo::policy::AnyPolicy;
use appropo_run::{Directory, onnx, write_whole};
use serde_json::json;

use super::verify::load_mixture;
use crate::problem::{Problem, Surroundings};
use crate::report::count;
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
            "{shown}: expected the name of a file that ends in .onnx, such as policy.onnx"
        )));
    }
    let stem = file.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
    let networks = mixture.parts().len();
    let mut files = Vec::new();
    let mut policies = Vec::new();
    for (i, (weight, policy)) in mixture.parts().iter().enumerate() {
        let AnyPolicy::Network(policy) = policy.as_ref() else {
            return Err(Failure::Input(format!(
                "{folder}: policy {i} is no network of ours, so there is no ONNX of it; its numbers are in policies.safetensors"
            )));
        };
        let name = if networks == 1 { format!("{stem}.onnx") } else { format!("{stem}-{i}.onnx") };
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
    for (i, (path, bytes)) in files.iter().enumerate() {
        if let Err(error) = write_whole(path, bytes) {
            // Some networks without the others are of no use.
            files[..i].iter().for_each(|(path, _)| drop(std::fs::remove_file(path)));
            return Err(error.into());
        }
    }
    let text = format!("{} and {}\n", count(networks, "ONNX file", "ONNX files"), weights.display());
    Ok(Output { text, status: 0 })
}
