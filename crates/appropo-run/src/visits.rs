//! What the policies of a run visit, beside them on disk: a large model's measurements are then checked in one sweep a policy.
//!
//! The file needs no checksum. Whatever it holds is held against the model, and what does not fit is solved for.

use appropo::policy::Mixed;
use appropo::problem::Problem;
use appropo::rl::Occupancy;
use safetensors::{Dtype, SafeTensors};

use crate::error::Result;
use crate::policies::Tensors;
use crate::{Directory, files};

/// States from which on visits are kept: up to there they are solved for in no time.
const STATES: usize = 1 << 16;

/// Writes what the policies of a mixture visit, where the model is known, large and discounted.
pub(crate) fn save(directory: &Directory, problem: &Problem, mixture: &Mixed) -> Result<()> {
    let Some(model) = problem.env().model().filter(|model| model.states() >= STATES) else { return Ok(()) };
    let mut tensors = Tensors::default();
    for (i, (_, policy)) in mixture.parts().iter().enumerate() {
        let table = policy.as_table().filter(|policy| policy.states() >= model.states());
        let visits =
            table.and_then(|policy| Occupancy::visits(model, problem.discounting(), &policy).ok()?);
        let Some(visits) = visits else { return Ok(()) };
        tensors.push(name(i), Dtype::F64, vec![visits.len()], visits.iter().map(|v| v.to_le_bytes()));
    }
    directory.write(files::VISITS, &tensors.serialize(&directory.file(files::VISITS))?)
}

/// Holds what the file says against the model, and returns how many policies surely visit what it says.
pub(crate) fn accept(directory: &Directory, problem: &Problem, mixture: &Mixed) -> usize {
    let Some(model) = problem.env().model().filter(|_| directory.has(files::VISITS)) else { return 0 };
    let Ok(bytes) = directory.read_bytes(files::VISITS) else { return 0 };
    let Ok(tensors) = SafeTensors::deserialize(&bytes) else { return 0 };
    let mut accepted = 0;
    for (i, (_, policy)) in mixture.parts().iter().enumerate() {
        let (Some(policy), Ok(tensor)) = (policy.as_table(), tensors.tensor(&name(i))) else { continue };
        if tensor.dtype() != Dtype::F64 || tensor.shape() != [model.states()] {
            continue;
        }
        let visits =
            tensor.data().as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        accepted += usize::from(Occupancy::accept_visits(model, problem.discounting(), &policy, visits));
    }
    accepted
}

fn name(policy: usize) -> String {
    format!("{policy}.visits")
}
