//! Networks hold the rover's constraints without a hint, by exact evaluation and with every step counted.

use std::process::Command;

use serde_json::Value;

/// How many of these seeds are truly feasible when they stop, within the default samples.
fn feasible(problem: &str, oracle: &str, seeds: std::ops::Range<u64>) -> usize {
    let run = |seed: &u64| {
        let arguments = ["solve", problem, "--oracle", oracle, "--seed", &seed.to_string(), "--json"];
        let output = Command::new(env!("CARGO_BIN_EXE_appropo")).args(arguments).output().unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        result["verdict"] == "feasible"
    };
    seeds.filter(run).count()
}

#[test]
fn ppo_and_a2c_hold_the_rover() {
    for oracle in ["ppo", "a2c"] {
        let held = feasible("mars-rover", oracle, 0..8);
        assert!(held >= 5, "{oracle}: {held} of 8");
    }
}
