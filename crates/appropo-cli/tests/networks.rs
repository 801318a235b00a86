//! Networks hold the rover's constraints, by exact evaluation and with every step counted.

use std::process::Command;

use serde_json::Value;

/// How many of 25 seeds are truly feasible when they stop, within so many samples.
fn feasible(problem: &str, samples: u64) -> usize {
    let run = |seed: u64| {
        let (samples, seed) = (samples.to_string(), seed.to_string());
        let arguments =
            ["solve", problem, "--oracle", "ppo", "--samples", &samples, "--seed", &seed, "--json"];
        let output = Command::new(env!("CARGO_BIN_EXE_appropo")).args(arguments).output().unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        result["verdict"] == "feasible"
    };
    (0..25).filter(|seed| run(*seed)).count()
}

#[test]
fn without_diversity_by_12000_samples() {
    let held = feasible("mars-rover", 12_000);
    assert!(held >= 24, "{held} of 25");
}

#[test]
fn with_diversity_by_25000_samples() {
    let held = feasible("mars-rover-diverse", 25_000);
    assert!(held >= 22, "{held} of 25");
}
