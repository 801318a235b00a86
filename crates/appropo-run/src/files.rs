//! The names of a run's files.

/// The problem, with every setting that was in force.
pub const PROBLEM: &str = "problem.toml";
/// What the run is of.
pub const RUN: &str = "run.json";
/// The claim.
pub const CERTIFICATE: &str = "certificate.json";
/// What the policies visit, where a model is so large that checking it is faster than solving for it.
pub const VISITS: &str = "visits.safetensors";
/// What came out.
pub const RESULT: &str = "result.json";
/// The page.
pub const REPORT: &str = "report.html";
/// All that is needed to go on.
pub const CHECKPOINT: &str = "checkpoint";
/// Where the time went.
pub const TIMES: &str = "times.json";
/// What the process that works on the run is doing; there while it does.
pub const PROGRESS: &str = "progress.json";
/// A request to stop, from outside.
pub const STOP: &str = "stop";
/// One line a round.
pub const ROUNDS: &str = "rounds.jsonl";
/// The folder of the curves for TensorBoard.
pub const CURVES: &str = "tensorboard";
/// A Pareto front, in a folder of its own.
pub const FRONT: &str = "front.json";
/// The proofs of its faces.
pub const PROOF: &str = "proof.json";
/// Its vertices as a table.
pub const FRONT_TABLE: &str = "front.csv";
