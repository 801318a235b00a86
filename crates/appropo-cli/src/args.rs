//! The arguments of the command line.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::Failure;
use crate::problem::{Method, OracleKind, PlayerKind, Settings};

/// Reinforcement learning under convex constraints, with evidence.
///
/// Exit status: 0 feasible, 3 infeasible, 4 undecided, 2 bad input, 5 not verified, 130 stopped, 1 anything else.
#[derive(Parser)]
#[command(name = "appropo", version)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Find a mixed policy that satisfies all constraints, or prove that there is none
    Solve(Solve),
    /// Go on with a run from its last checkpoint
    Resume {
        /// The folder of the run
        folder: String,
        /// Seconds between checkpoints
        #[arg(long, default_value_t = EVERY, value_parser = seconds)]
        checkpoint_every: f64,
        /// Print one JSON object and nothing else
        #[arg(long)]
        json: bool,
        /// Show no progress
        #[arg(long)]
        quiet: bool,
    },
    /// Compute the claim of a run again from its files; exit status 5 where it does not hold
    Verify {
        /// The folder of the run
        folder: String,
        /// The seed of fresh episodes; another than the run's by default
        #[arg(long)]
        seed: Option<u64>,
    },
    /// Play the mixture of a run afresh and say what it measures
    Evaluate {
        /// The folder of the run
        folder: String,
        /// How many episodes to play
        #[arg(long, default_value_t = 1000, value_parser = two_or_more)]
        episodes: usize,
        /// The seed of the episodes
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Print one JSON object and nothing else
        #[arg(long)]
        json: bool,
    },
    /// Show an episode of the mixture of a run
    Play {
        /// The folder of the run
        folder: String,
        /// The seed of the episode
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Milliseconds between two steps on a terminal
        #[arg(long, default_value_t = 150, value_parser = clap::value_parser!(u64).range(..=10_000))]
        delay: u64,
    },
    /// Write the networks of a run as ONNX files, and the mixture's weights as JSON beside them
    Export {
        /// The folder of the run
        folder: String,
        /// The file to write; several networks are numbered
        #[arg(long)]
        onnx: String,
    },
    /// Write the report of a run as an HTML page, or one that compares several runs
    Report {
        /// The folders of the runs
        #[arg(required = true)]
        folders: Vec<String>,
        /// The file to write; report.html in the run's folder, or comparison.html
        #[arg(long)]
        out: Option<String>,
    },
    /// Find the largest value of one measure subject to the constraints
    Maximize(Optimize),
    /// Find the smallest value of one measure subject to the constraints
    Minimize(Optimize),
    /// Repeat the paper's experiments and write their data and figures
    Reproduce(Reproduce),
    /// Read a problem and say what it states
    Check {
        /// A problem file, or the name of a built-in problem
        problem: String,
        /// Print the problem as a file with every default written out
        #[arg(long)]
        explain: bool,
    },
    /// Print the JSON Schema of problem files, for editors
    Schema,
    /// List the built-in problems, environments, sets and players
    List,
}

#[derive(Args)]
pub struct Solve {
    /// A problem file, or the name of a built-in problem
    pub problem: String,
    /// Write the run into this folder: log, checkpoints, policies, evidence and report
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub run: Option<String>,
    /// Seconds between checkpoints of a run
    #[arg(long, default_value_t = EVERY, value_parser = seconds, requires = "run")]
    pub checkpoint_every: f64,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
    #[command(flatten)]
    pub settings: Overrides,
}

/// Seconds between checkpoints.
const EVERY: f64 = 60.0;

#[derive(Args)]
pub struct Reproduce {
    /// The folder for data and figures
    #[arg(long, default_value = "reproduction")]
    pub out: String,
    /// 3 seeds instead of 25
    #[arg(long)]
    pub quick: bool,
    /// Threads to use; all processors by default
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

#[derive(Args)]
pub struct Optimize {
    /// A problem file, or the name of a built-in problem
    pub problem: String,
    /// The measure to optimise: a name, or name\[i\] for an entry of a vector
    #[arg(long)]
    pub measure: String,
    /// Where the objective goes: into the corrective player's master problem, or around it
    #[arg(long, value_enum, default_value = "master")]
    pub search: Search,
    #[command(flatten)]
    pub settings: Overrides,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Search {
    /// Inside the corrective player's master problem
    Master,
    /// The paper's binary search with a shared cache
    Binary,
}

/// Settings that override those of the problem file.
#[derive(Args)]
pub struct Overrides {
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
    /// How to solve
    #[arg(long, value_enum)]
    method: Option<Method>,
    /// Who answers λ
    #[arg(long, value_enum)]
    oracle: Option<OracleKind>,
    /// Who chooses λ
    #[arg(long, value_enum)]
    player: Option<PlayerKind>,
    /// Distances up to this count as 0
    #[arg(long, value_parser = positive)]
    tolerance: Option<f64>,
    /// The most rounds to play
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// The height κ of the lifted set, for ogd and momentum
    #[arg(long, value_parser = positive)]
    kappa: Option<f64>,
    /// The step size η, for ogd and momentum
    #[arg(long, value_parser = positive)]
    eta: Option<f64>,
    /// Steps after which an oracle stops learning; estimating its last answer takes some more
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    samples: Option<u64>,
    /// The seed of all random draws
    #[arg(long)]
    seed: Option<u64>,
}

impl Overrides {
    /// Refuses what would be ignored under the settings in force.
    pub fn check(&self, settings: &Settings) -> Result<(), Failure> {
        let ignored = [("--oracle", self.oracle.is_some()), ("--player", self.player.is_some())];
        match ignored.iter().find(|(_, is_given)| *is_given && settings.method == Method::Occupancy) {
            Some((option, _)) => {
                Err(Failure::Input(format!("{option}: the occupancy method has none; leave the option out")))
            }
            None => Ok(()),
        }
    }

    /// The settings in force.
    pub fn apply(&self, settings: &Settings) -> Settings {
        Settings {
            method: self.method.unwrap_or(settings.method),
            oracle: self.oracle.or(settings.oracle),
            player: self.player.unwrap_or(settings.player),
            tolerance: self.tolerance.unwrap_or(settings.tolerance),
            rounds: self.rounds.map(|n| n as usize).or(settings.rounds),
            kappa: self.kappa.or(settings.kappa),
            eta: self.eta.or(settings.eta),
            samples: self.samples.unwrap_or(settings.samples),
            seed: self.seed.unwrap_or(settings.seed),
            ..settings.clone()
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1e6).contains(&number) => Ok(number),
        _ => Err("expected a number of seconds from 0 to 1000000".into()),
    }
}

fn two_or_more(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 2..=100_000_000) => Ok(count),
        _ => Err("expected a whole number between 2 and 100,000,000".into()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number above 0".into()),
    }
}
