//! `appropo reproduce`: the experiments of the paper's section 4 and of its tuning appendix, judged by exact evaluation.

mod figures;
mod run;

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::args::Reproduce;
use crate::problem::{ORACLES, OracleKind, PLAYERS, PlayerKind};
use crate::{Failure, Output};
use run::{Look, Method, Rover};

/// A method with its name in figures and files, and the runs of all seeds.
pub struct Series {
    pub name: String,
    pub method: Method,
    pub runs: Vec<Vec<Look>>,
}

impl Series {
    fn is_diverse(&self) -> bool {
        matches!(self.method, Method::Paper { diverse: true, .. } | Method::Own { diverse: true, .. })
    }
}

/// The best rates of the tuning runs.
const RCPO_RATE: f64 = 1e-3;
const ETA: f64 = 1e-2;
const N: usize = 20;

fn main_methods() -> Vec<(String, Method)> {
    vec![
        ("RCPO".into(), Method::Rcpo { rate: RCPO_RATE }),
        ("ApproPO".into(), Method::Paper { diverse: false, eta: ETA, n: N }),
        ("ApproPO with diversity".into(), Method::Paper { diverse: true, eta: ETA, n: N }),
    ]
}

/// Every oracle that learns with every player. A learnt model plays thousands of rounds between two episodes with any
/// but the corrective player, which takes hours.
fn own_methods() -> Vec<(String, Method)> {
    let mut methods = Vec::new();
    for (player_name, player) in PLAYERS {
        let corrective = player == PlayerKind::FullyCorrective;
        let plays = |kind| match kind {
            OracleKind::A2c | OracleKind::Ppo | OracleKind::QLearning => true,
            OracleKind::Model => corrective,
            OracleKind::Exact | OracleKind::Outside => false,
        };
        for (oracle_name, oracle) in ORACLES.into_iter().filter(|(_, kind)| plays(*kind)) {
            for (diverse, with) in [(false, ""), (true, " with diversity")] {
                let name = format!("{oracle_name}, {player_name}{with}");
                methods.push((name, Method::Own { diverse, oracle, player }));
            }
        }
    }
    methods
}

fn tuning_methods() -> Vec<(String, Method)> {
    let mut methods = Vec::new();
    for diverse in [false, true] {
        let name = if diverse { "ApproPO with diversity" } else { "ApproPO" };
        for n in [10, 20] {
            for i in 0..4 {
                let eta = 10f64.powi(-i);
                methods.push((format!("{name}, {eta}, n = {n}"), Method::Paper { diverse, eta, n }));
            }
        }
    }
    for i in 0..4 {
        let rate = 10f64.powi(-i);
        methods.push((format!("RCPO, {rate}"), Method::Rcpo { rate }));
    }
    methods
}

/// Runs everything and writes data and figures.
pub fn run(arguments: &Reproduce) -> Result<Output, Failure> {
    let folder = Path::new(&arguments.out);
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::Input(format!("--out {}: {error}", arguments.out)))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(arguments.threads.unwrap_or(0).into())
        .build()
        .map_err(|error| Failure::Other(error.to_string()))?;
    let rover = Rover::new()?;
    let seeds = if arguments.quick { 3 } else { 25 };
    let play = |title: &str, methods: Vec<(String, Method)>| -> Result<Vec<Series>, Failure> {
        pool.install(|| all(title, &rover, methods, seeds))
    };
    let start = Instant::now();
    let main = play("main figure", main_methods())?;
    let main_seconds = start.elapsed().as_secs_f64();
    let own = play("oracles and players", own_methods())?;
    let tuning = play("tuning", tuning_methods())?;
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| Failure::Other(format!("{}: {error}", path.display())))
    };
    write("main.csv", table(main.iter().chain(&own)).as_bytes())?;
    write("tuning.csv", table(tuning.iter()).as_bytes())?;
    for (name, svg) in figures::all(&rover, &main, &own, &tuning)? {
        write(&format!("{name}.svg"), svg.as_bytes())?;
        let png = crate::figure::png(&svg, 2.0).map_err(Failure::Other)?;
        write(&format!("{name}.png"), &png)?;
    }
    let summary = summary(main.iter().chain(&own).chain(&tuning), seeds);
    write("summary.txt", summary.as_bytes())?;
    let text = format!(
        "{summary}\ndata and figures are in {}; main figure {main_seconds:.1} s, everything {:.1} s\n",
        folder.display(),
        start.elapsed().as_secs_f64()
    );
    Ok(Output { text, status: 0 })
}

/// Every method with every seed, in parallel; results stand in the order of the methods and seeds.
fn all(
    title: &str,
    rover: &Rover,
    methods: Vec<(String, Method)>,
    seeds: u64,
) -> Result<Vec<Series>, Failure> {
    let jobs: Vec<(Method, u64)> =
        methods.iter().flat_map(|(_, method)| (0..seeds).map(|seed| (*method, seed))).collect();
    let done = AtomicUsize::new(0);
    let start = Instant::now();
    let is_terminal = std::io::stderr().is_terminal();
    let runs: Vec<Vec<Look>> = jobs
        .par_iter()
        .map(|(method, seed)| {
            let looks = run::run(rover, *method, *seed)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if is_terminal {
                let _ = write!(
                    std::io::stderr(),
                    "\r\x1b[K{}",
                    progress(title, done, jobs.len(), start.elapsed())
                );
            }
            Ok(looks)
        })
        .collect::<Result<_, Failure>>()?;
    if is_terminal {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    let mut runs = runs.into_iter();
    Ok(methods
        .into_iter()
        .map(|(name, method)| Series { name, method, runs: runs.by_ref().take(seeds as usize).collect() })
        .collect())
}

/// "main figure [#####-----] 38 of 75 runs, 12.1 runs/s, 3 s left".
fn progress(title: &str, done: usize, all: usize, elapsed: Duration) -> String {
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-9);
    let full = 20 * done / all.max(1);
    format!(
        "{title} [{}{}] {done} of {all} runs, {rate:.1} runs/s, {:.0} s left",
        "#".repeat(full),
        "-".repeat(20 - full),
        (all - done) as f64 / rate
    )
}

/// One row a method, seed and number of samples.
fn table<'a>(series: impl Iterator<Item = &'a Series>) -> String {
    let mut text = String::from(
        "method,seed,samples,failure,reward,distance,estimated_failure,estimated_reward,estimated_distance\n",
    );
    for series in series {
        for (seed, looks) in series.runs.iter().enumerate() {
            for look in looks {
                let _ = write!(text, "\"{}\",{seed},{}", series.name, look.samples);
                for value in look.truth.iter().chain(&look.estimate) {
                    // What is not known stays empty.
                    let _ = if value.is_nan() { write!(text, ",") } else { write!(text, ",{value:.6}") };
                }
                text.push('\n');
            }
        }
    }
    text
}

/// How many runs truly hold their constraints, and from when on.
fn summary<'a>(series: impl Iterator<Item = &'a Series>, seeds: u64) -> String {
    let mut text = format!(
        "{:<46} {:>9} {:>11} {:>8} {:>8} {:>8}\n",
        "truly holds to the end", "runs", "median from", "failure", "reward", "distance"
    );
    for series in series {
        let diverse = series.is_diverse();
        let mut from: Vec<u64> =
            series.runs.iter().filter_map(|looks| run::holds_from(looks, diverse)).collect();
        from.sort_unstable();
        // Runs that never hold count as later than all others.
        let median = from.get(seeds as usize / 2).map_or("-".into(), u64::to_string);
        let mean = |entry: usize| {
            let last = series.runs.iter().filter_map(|looks| looks.last()).map(|look| look.truth[entry]);
            last.sum::<f64>() / seeds as f64
        };
        let _ = writeln!(
            text,
            "{:<46} {:>9} {median:>11} {:>8.3} {:>8.3} {:>8.3}",
            series.name,
            format!("{}/{seeds}", from.len()),
            mean(0),
            mean(1),
            mean(2)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One and two threads give the same bytes, and a second run gives them again.
    #[test]
    fn threads_do_not_matter() {
        let rover = Rover::new().unwrap();
        let play = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let methods = main_methods().into_iter().chain([own_methods().remove(0)]).collect();
            let Ok(series) = pool.install(|| all("", &rover, methods, 2)) else { panic!("a run failed") };
            table(series.iter())
        };
        let one = play(1);
        assert_eq!(one, play(2));
        assert_eq!(one.lines().count(), 1 + 4 * 2 * 101);
    }

    /// Every oracle named here can be made, whatever others there are for other programs.
    #[test]
    fn every_oracle_of_ours_is_tried() {
        let oracles: std::collections::BTreeSet<String> = own_methods()
            .into_iter()
            .filter_map(|(name, _)| Some(name.split_once(',')?.0.to_owned()))
            .collect();
        assert_eq!(oracles.into_iter().collect::<Vec<_>>(), ["a2c", "model", "ppo", "q-learning"]);
    }

    #[test]
    fn progress_tells_rate_and_rest() {
        let line = progress("runs", 5, 20, Duration::from_secs(10));
        assert_eq!(line, "runs [#####---------------] 5 of 20 runs, 0.5 runs/s, 30 s left");
    }

    #[test]
    fn holding_counts_from_the_last_violation() {
        let look = |samples, failure| Look { samples, truth: [failure, -0.1, 0.5], estimate: [0.0; 3] };
        let looks = [look(0, 0.1), look(250, 0.3), look(500, 0.1), look(750, 0.2)];
        assert_eq!(run::holds_from(&looks, false), Some(500));
        assert_eq!(run::holds_from(&looks, true), None);
    }
}
