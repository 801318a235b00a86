//! The arguments of the command line.

use std::time::Duration;

use appropo::options::{Table, Value};
use appropo::oracle::EXTERNAL;
use appropo::registry::Registry;
use appropo_run::study::{Options, Patience};
use clap::builder::{NonEmptyStringValueParser, PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::version;

/// Reinforcement learning under convex constraints, with evidence.
///
/// Exit status: 0 feasible, 3 infeasible, 4 undecided, 2 bad input, 5 not verified, 130 stopped, 1 anything else.
#[derive(Parser)]
#[command(name = "appropo", version = version::SHORT.as_str(), long_version = version::LONG.as_str())]
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
    /// Show a model in the files of Storm, PRISM or Modest, or write it in another format
    Model {
        /// A file that ends in .drn, .umb or .tra; or a problem, whose world is shown as a model
        file: String,
        /// Show this state: its variables, labels, rewards and choices; may be given several times
        #[arg(long = "state", value_name = "STATE", conflicts_with = "out")]
        states: Vec<usize>,
        /// Write the model into this file, which ends in .drn, .drn.gz or .umb
        #[arg(long, value_parser = NonEmptyStringValueParser::new())]
        out: Option<String>,
    },
    /// Log episodes of a policy, or with random actions, as a data set to learn from
    Record(Record),
    /// Make one policy of the mixture of a run, evaluate it afresh, and write it as a run of its own
    Distil(Distil),
    /// Serve a page on this machine that follows runs while they go on
    Watch {
        /// The folders of the runs
        #[arg(required = true)]
        folders: Vec<String>,
        /// The port of the loopback address; any that is free by default
        #[arg(long, default_value_t = 0)]
        port: u16,
        /// Let the page stop runs, by a token in the address that is printed
        #[arg(long)]
        control: bool,
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
    /// Find the Pareto front of two or more measures subject to the constraints
    Pareto(Pareto),
    /// Run several methods on several problems, side by side, and compare what they come to
    Compare(Compare),
    /// Draw runs from the folder of a comparison or a study until all have ended, and compare them
    Study(Study),
    /// Repeat the paper's experiments and write their data and figures
    Reproduce(Reproduce),
    /// Read a problem and say what it states
    Check {
        /// A problem file, or the name of a built-in problem
        problem: String,
        /// Print the problem as a file with every default written out
        #[arg(long)]
        explain: bool,
        #[command(flatten)]
        overrides: Overrides,
    },
    /// Print the JSON Schema of problem files, for editors
    Schema,
    /// List the built-in problems, environments, sets and players
    List,
    /// Print a script that completes commands and options in a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write those of all commands
    Man {
        /// The folder to write them into, one file a command
        #[arg(long, value_parser = NonEmptyStringValueParser::new())]
        out: Option<String>,
    },
}

#[derive(Args)]
pub struct Solve {
    /// A problem file, or the name of a built-in problem
    pub problem: String,
    #[command(flatten)]
    pub recording: Recording,
    #[command(flatten)]
    pub settings: Overrides,
}

/// Where a solve is written, and what is shown of it.
#[derive(Args)]
pub struct Recording {
    /// Write the run into this folder: log, checkpoints, policies, evidence and report
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub run: Option<String>,
    /// Seconds between checkpoints of a run
    #[arg(long, default_value_t = EVERY, value_parser = seconds, requires = "run")]
    pub checkpoint_every: f64,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Record {
    /// A problem file, or the name of a built-in problem
    pub problem: String,
    /// The data set to write: a name that ends in .csv or .parquet
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub out: String,
    /// How many episodes to log
    #[arg(long, default_value_t = 1000, value_parser = one_or_more)]
    pub episodes: usize,
    /// Log the mixture of this run; without it every action is drawn at random
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub run: Option<String>,
    /// The probability that an action of the run's mixture is drawn at random instead
    #[arg(long, default_value_t = 0.0, value_parser = probability, requires = "run")]
    pub epsilon: f64,
    /// The seed of all random draws
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

#[derive(Args)]
pub struct Distil {
    /// The folder of the run
    pub folder: String,
    /// The folder to write; by default the run's with "-distilled" after its name
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub out: Option<String>,
    /// Steps of the mixture that a network learns from; by default the run's --samples, at most 100000
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    samples: Option<u64>,
    /// Steps after which fresh episodes of the policy decide no more; the run's by default
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    evaluation_samples: Option<u64>,
    /// The seed of all random draws; the run's by default
    #[arg(long)]
    seed: Option<u64>,
    /// An option such as distil.net_arch=[64, 64]; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<(Vec<String>, Value)>,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
}

impl Distil {
    /// What is given, as the table `[solve]` has it.
    pub fn table(&self) -> Table {
        let Self { samples, evaluation_samples, seed, .. } = *self;
        let mut table = table_of(&self.settings);
        let counts = [("samples", samples), ("evaluation_samples", evaluation_samples), ("seed", seed)];
        for (key, count) in counts {
            count.into_iter().for_each(|count| table.set(key, count));
        }
        table
    }
}

/// Seconds between checkpoints.
const EVERY: f64 = 60.0;

#[derive(Args)]
pub struct Compare {
    /// Problem files, or names of built-in problems
    #[arg(required = true)]
    pub problems: Vec<String>,
    /// The methods, with commas between them; appropo:ppo is one with an oracle
    #[arg(long, required = true, value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    pub methods: Vec<String>,
    /// The first seed
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=u64::from(u32::MAX)))]
    pub seed: u64,
    /// How many seeds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub seeds: u64,
    /// The measure to maximise in every problem
    #[arg(long, conflicts_with = "minimize")]
    pub maximize: Option<String>,
    /// The measure to minimise in every problem
    #[arg(long)]
    pub minimize: Option<String>,
    /// Steps of learning
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    samples: Option<u64>,
    /// Any key of the table [solve], such as ppo.learning_rate=3e-4; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<(Vec<String>, Value)>,
    /// The folder of the runs and pages; what is finished there is not run again, and any number of machines may draw from it
    #[arg(long, default_value = "comparison", value_parser = NonEmptyStringValueParser::new())]
    pub out: String,
    #[command(flatten)]
    pub drawing: Drawing,
}

#[derive(Args)]
pub struct Study {
    /// The folder
    pub folder: String,
    #[command(flatten)]
    pub drawing: Drawing,
}

/// How runs are drawn from a folder.
#[derive(Args)]
pub struct Drawing {
    /// Runs at a time; as many as there are processors by default
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Seconds between checkpoints of a run
    #[arg(long, default_value_t = EVERY, value_parser = seconds)]
    checkpoint_every: f64,
    /// Seconds without a sign of life after which a run of another process is taken over
    #[arg(long, default_value_t = 60.0, value_parser = one_second_or_more)]
    expire_after: f64,
    /// Try runs again that had failed
    #[arg(long)]
    retry: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
}

impl Drawing {
    pub fn options(&self) -> Options {
        let expire_after = Duration::from_secs_f64(self.expire_after);
        Options {
            threads: self.threads.unwrap_or(0).into(),
            checkpoint_every: Duration::from_secs_f64(self.checkpoint_every),
            patience: Patience { expire_after, retry: self.retry, ..Patience::default() },
        }
    }
}

impl Compare {
    /// What is given, as the table `[solve]` has it.
    pub fn table(&self) -> Table {
        let mut table = table_of(&self.settings);
        self.samples.into_iter().for_each(|samples| table.set("samples", samples));
        table
    }
}

#[derive(Args)]
pub struct Reproduce {
    /// The folder for data and figures
    #[arg(long, default_value = "reproduction")]
    pub out: String,
    /// One seed of 10,000 samples instead of 25 of 25,000
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
    pub measure: Option<String>,
    /// The measure whose entropy to maximise
    #[arg(long, value_name = "MEASURE", conflicts_with = "measure")]
    pub entropy: Option<String>,
    /// Divide what is optimised by the number of steps
    #[arg(long)]
    pub share: bool,
    /// Where the objective goes: into the corrective player's master problem, or around it
    #[arg(long, value_parser = PossibleValuesParser::new(["master", "binary"]))]
    pub search: Option<String>,
    #[command(flatten)]
    pub recording: Recording,
    #[command(flatten)]
    pub settings: Overrides,
}

#[derive(Args)]
pub struct Pareto {
    /// A problem file, or the name of a built-in problem; its model must be known
    pub problem: String,
    /// A measure that is to be large: a name, or name\[i\] for an entry of a vector; may be given several times
    #[arg(long, value_name = "MEASURE")]
    pub maximize: Vec<String>,
    /// A measure that is to be small; may be given several times
    #[arg(long, value_name = "MEASURE")]
    pub minimize: Vec<String>,
    /// How far what is found and what is proved may be apart, in parts of each measure's range over the front
    #[arg(long, default_value_t = 1e-4, value_parser = positive)]
    pub epsilon: f64,
    /// The most calls of the oracle
    #[arg(long, default_value_t = 10_000, value_parser = one_or_more)]
    pub calls: usize,
    /// Distances from the constraints up to this count as 0
    #[arg(long, value_parser = positive)]
    pub tolerance: Option<f64>,
    /// Write the front into this folder: vertices, policies, proofs and a report; "appropo verify" checks it
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub run: Option<String>,
    /// Write the vertices into this file as a table
    #[arg(long, value_name = "FILE", value_parser = NonEmptyStringValueParser::new())]
    pub csv: Option<String>,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Settings that override those of the problem file.
#[derive(Args)]
pub struct Overrides {
    /// How to solve
    #[arg(long, value_parser = methods())]
    method: Option<String>,
    /// Who answers λ
    #[arg(long, value_parser = oracles())]
    oracle: Option<String>,
    /// Who chooses λ
    #[arg(long, value_parser = players())]
    player: Option<String>,
    /// Distances up to this count as 0
    #[arg(long, value_parser = positive)]
    tolerance: Option<f64>,
    /// The most rounds to play
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: Option<u64>,
    /// Steps after which an oracle stops learning; estimating its last answer takes some more
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    samples: Option<u64>,
    /// Steps after which fresh episodes of the result decide no more; by default a quarter of --samples
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    evaluation_samples: Option<u64>,
    /// The seed of all random draws
    #[arg(long)]
    seed: Option<u64>,
    /// Any key of the table [solve], such as ppo.learning_rate=3e-4; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    settings: Vec<(Vec<String>, Value)>,
}

impl Overrides {
    /// What is given, as the table `[solve]` has it.
    pub fn table(&self) -> Table {
        let mut table = table_of(&self.settings);
        let words = [("method", &self.method), ("oracle", &self.oracle), ("player", &self.player)];
        for (key, word) in words {
            word.iter().for_each(|word| table.set(key, word.as_str()));
        }
        let counts = [
            ("rounds", self.rounds),
            ("samples", self.samples),
            ("evaluation_samples", self.evaluation_samples),
            ("seed", self.seed),
        ];
        for (key, count) in counts {
            count.into_iter().for_each(|count| table.set(key, count));
        }
        self.tolerance.into_iter().for_each(|tolerance| table.set("tolerance", tolerance));
        table
    }
}

/// What `--set` was given.
fn table_of(settings: &[(Vec<String>, Value)]) -> Table {
    let mut table = Table::default();
    for (path, value) in settings {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        table.set_deep(&path, value.clone());
    }
    table
}

/// `ppo.learning_rate=3e-4`; what is no value of a problem file is a text.
fn setting(text: &str) -> Result<(Vec<String>, Value), String> {
    let (path, value) = text.split_once('=').ok_or("expected KEY=VALUE, such as ppo.learning_rate=3e-4")?;
    let path: Vec<String> = path.trim().split('.').map(str::to_owned).collect();
    if path.iter().any(String::is_empty) {
        return Err("a part of the key is empty; expected KEY=VALUE, such as ppo.learning_rate=3e-4".into());
    }
    let value = value.trim();
    Ok((path, appropo_file::value(value).unwrap_or_else(|| value.into())))
}

fn words(names: impl IntoIterator<Item = (&'static str, &'static str)>) -> PossibleValuesParser {
    let values = names.into_iter().filter(|(name, _)| *name != EXTERNAL);
    PossibleValuesParser::new(values.map(|(name, about)| PossibleValue::new(name).help(about)))
}

fn methods() -> PossibleValuesParser {
    words(Registry::standard().methods().iter().map(|entry| (entry.name, entry.about)))
}

fn oracles() -> PossibleValuesParser {
    words(Registry::standard().oracles().into_iter().map(|(name, about, _)| (name, about)))
}

fn players() -> PossibleValuesParser {
    words(Registry::standard().players().iter().map(|entry| (entry.name, entry.about)))
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1e6).contains(&number) => Ok(number),
        _ => Err("expected a number of seconds from 0 to 1000000".into()),
    }
}

fn one_second_or_more(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (1.0..=1e6).contains(&number) => Ok(number),
        _ => Err("expected a number of seconds from 1 to 1000000".into()),
    }
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) => Ok(number),
        _ => Err("expected a number between 0 and 1".into()),
    }
}

fn one_or_more(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=100_000_000) => Ok(count),
        _ => Err("expected a whole number between 1 and 100,000,000".into()),
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
