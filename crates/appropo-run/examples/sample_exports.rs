//! Writes sample exports and what they should hold into a folder, for `tests/python/`.

use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use appropo::nn::{Activation, Inputs, Mlp, Shape};
use appropo::policy::{Actions, NetworkPolicy};
use appropo::random::{below, generator, normal};
use appropo_run::onnx::onnx;
use appropo_run::tensorboard::{EventWriter, file_name, names};
use serde_json::json;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const ROWS: usize = 20;

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).ok_or("usage: sample_exports FOLDER")?;
    let folder = Path::new(&folder);
    let shape = Shape {
        inputs: Inputs::OneHot(12),
        hidden: vec![32],
        activation: Activation::Relu,
        policy: 4,
        value: 3,
    };
    write_policy(&folder.join("one_hot"), shape.clone(), Actions::Categorical, 1)?;
    let vector =
        Shape { inputs: Inputs::Vector(5), hidden: vec![16, 24], activation: Activation::Tanh, ..shape };
    write_policy(&folder.join("vector"), vector.clone(), Actions::Categorical, 2)?;
    // As single-precision numbers, 0.6 would be above and -0.3 below the bound.
    let bounds = vec![(-0.1, 0.6), (-0.3, 0.3), (f64::NEG_INFINITY, f64::INFINITY)];
    let gaussian = Shape { activation: Activation::Relu, policy: bounds.len(), ..vector };
    write_policy(&folder.join("gaussian"), gaussian.clone(), Actions::Gaussian(bounds), 3)?;
    let bounds = vec![(-0.1, 0.6), (-3.0, 3.0)];
    let squashed = Shape { policy: 2 * bounds.len(), ..gaussian };
    write_policy(&folder.join("squashed"), squashed, Actions::Squashed(bounds), 4)?;
    write_events(&folder.join("events"))
}

/// A policy with random weights and biases as a model, and beside it its outputs on random inputs.
fn write_policy(folder: &Path, shape: Shape, actions: Actions, seed: u64) -> Result<()> {
    let mut rng = generator(seed);
    let inputs: Vec<f32> = (0..ROWS * shape.inputs.row())
        .map(|_| match shape.inputs {
            Inputs::OneHot(width) => below(width, &mut rng) as f32,
            Inputs::Vector(_) => normal(&mut rng) as f32,
        })
        .collect();
    let network = Mlp::new(shape)?;
    let parameters: Vec<f32> =
        (0..network.parameters() + actions.parameters()).map(|_| 0.3 * normal(&mut rng) as f32).collect();

    let mut scratch = network.scratch(ROWS);
    network.forward(&parameters, &inputs, &mut scratch);
    let rows = |values: &[f32]| values.chunks(values.len() / ROWS).map(<[f32]>::to_vec).collect::<Vec<_>>();
    let expected = json!({
        "observation": rows(&inputs),
        "policy": rows(&scratch.policy.output),
        "value": rows(&scratch.value.output),
        "log_std": parameters[network.parameters()..],
        "bounds": match &actions {
            // JSON has no infinities; a null stands for them.
            Actions::Gaussian(bounds) | Actions::Squashed(bounds) => json!(bounds),
            Actions::Categorical => json!([]),
        },
    });
    fs::create_dir_all(folder)?;
    fs::write(folder.join("expected.json"), serde_json::to_vec(&expected)?)?;
    let policy = NetworkPolicy::new(Arc::new(network), actions, parameters)?;
    fs::write(folder.join("policy.onnx"), onnx(&policy))?;
    Ok(())
}

/// A run that stopped after step 5 and went on with step 3, and the points that should be left.
fn write_events(folder: &Path) -> Result<()> {
    const START: u64 = 1_700_000_000;
    let mut expected = Vec::new();
    let reward = names::measure("reward");
    fs::create_dir_all(folder)?;
    for (part, steps) in [(0, 0..6), (1, 3..9)] {
        let wall_time = |step: u64| START as f64 + 10.0 * f64::from(part) + 0.25 * step as f64;
        let mut events = EventWriter::new(File::create(folder.join(file_name(START, part)))?, wall_time(0))?;
        if part > 0 {
            events.resume(steps.start, wall_time(0))?;
        }
        for step in steps {
            // Written before the stop only, so that nothing but the resumption can take back its late points.
            let bound = (part == 0).then_some(names::LOWER_BOUND);
            for tag in [names::DISTANCE, &reward].into_iter().chain(bound) {
                let value = (1.0 + step as f32 + 0.5 * part as f32).recip();
                events.scalar(tag, step, wall_time(step), value)?;
                if part > 0 || step < 3 {
                    expected.push((tag.to_owned(), step, wall_time(step), value));
                }
            }
        }
        events.flush()?;
    }
    fs::write(folder.join("expected.json"), serde_json::to_vec(&expected)?)?;
    Ok(())
}
