use std::path::Path;

use appropo::outcome::count;
use appropo_run::{onnx, result};

use super::open;
use crate::{Failure, Output};

/// Writes the networks of a run as ONNX files, and the mixture's weights as JSON beside them.
pub fn run(folder: &str, path: &str) -> Result<Output, Failure> {
    let (directory, file) = open(folder)?;
    let mixture = result::mixture(&directory, file.problem.env(), None)?;
    let weights = onnx::export(&mixture, file.problem.name(), Path::new(path))?;
    let networks = count(mixture.parts().len(), "ONNX file", "ONNX files");
    Ok(Output::of(format!("{networks} and {}\n", weights.display())))
}
