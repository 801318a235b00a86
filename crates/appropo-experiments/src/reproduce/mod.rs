//! The experiments of the paper's section 4 and of its tuning appendix.

mod figures;
mod run;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use rayon::prelude::*;

use crate::{ExperimentError, Result, bar, pool};
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

/// The oracles that learn, but for soft actor-critic, which computes a hundred times as long for every sample.
const ORACLES: [&str; 4] = ["model", "a2c", "ppo", "q-learning"];

const PLAYERS: [&str; 4] = ["fully-corrective", "ogd", "momentum", "blackwell"];

/// Every oracle with every player. A learnt model plays thousands of rounds between two episodes with any but the
/// corrective player, which takes hours.
fn own_methods() -> Vec<(String, Method)> {
    let mut methods = Vec::new();
    for player in PLAYERS {
        let is_quick = |oracle: &str| oracle != "model" || player == "fully-corrective";
        for oracle in ORACLES.into_iter().filter(|oracle| is_quick(oracle)) {
            for (diverse, with) in [(false, ""), (true, " with diversity")] {
                let name = format!("{oracle}, {player}{with}");
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

/// Runs everything, writes data and figures into a folder, and returns a summary. With `quick`, one seed of 10,000
/// samples instead of 25 of 25,000; 0 threads are as many as there are processors.
pub fn reproduce(folder: &Path, quick: bool, threads: usize) -> Result<String> {
    let made = std::fs::create_dir_all(folder);
    made.map_err(|source| ExperimentError::Folder { path: folder.to_owned(), source })?;
    let pool = pool(threads)?;
    let (seeds, samples) = if quick { (1, 10_000) } else { (25, 25_000) };
    let rover = Rover::new(samples)?;
    let play = |title: &'static str, methods| pool.install(|| all(title, &rover, methods, seeds));
    let start = Instant::now();
    let main = play("main figure", main_methods())?;
    let main_seconds = start.elapsed().as_secs_f64();
    let own = play("oracles and players", own_methods())?;
    let tuning = play("tuning", tuning_methods())?;
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|source| ExperimentError::File { path, source })
    };
    write("main.csv", table(main.iter().chain(&own)).as_bytes())?;
    write("tuning.csv", table(tuning.iter()).as_bytes())?;
    for (name, svg) in figures::all(&rover, &main, &own, &tuning)? {
        write(&format!("{name}.svg"), svg.as_bytes())?;
        let png = crate::figure::png(&svg, 2.0).map_err(ExperimentError::Figure)?;
        write(&format!("{name}.png"), &png)?;
    }
    let summary = summary(main.iter().chain(&own).chain(&tuning), seeds);
    write("summary.txt", summary.as_bytes())?;
    Ok(format!(
        "{summary}\ndata and figures are in {}; main figure {main_seconds:.1} s, everything {:.1} s\n",
        folder.display(),
        start.elapsed().as_secs_f64()
    ))
}

/// Every method with every seed, in parallel; results stand in the order of the methods and seeds.
fn all(
    title: &'static str,
    rover: &Rover,
    methods: Vec<(String, Method)>,
    seeds: u64,
) -> Result<Vec<Series>> {
    let jobs: Vec<(Method, u64)> =
        methods.iter().flat_map(|(_, method)| (0..seeds).map(|seed| (*method, seed))).collect();
    let bar = bar(jobs.len() as u64, title);
    let runs: Vec<Vec<Look>> = jobs
        .par_iter()
        .map(|(method, seed)| {
            let looks = run::run(rover, *method, *seed)?;
            bar.inc(1);
            Ok(looks)
        })
        .collect::<Result<_>>()?;
    bar.finish_and_clear();
    let mut runs = runs.into_iter();
    Ok(methods
        .into_iter()
        .map(|(name, method)| Series { name, method, runs: runs.by_ref().take(seeds as usize).collect() })
        .collect())
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
        let rover = Rover::new(25_000).unwrap();
        let play = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let methods = main_methods().into_iter().chain([own_methods().remove(0)]).collect();
            let series = pool.install(|| all("", &rover, methods, 2)).unwrap();
            table(series.iter())
        };
        let one = play(1);
        assert_eq!(one, play(2));
        assert_eq!(one.lines().count(), 1 + 4 * 2 * 101);
    }

    /// A list of oracles that grew once broke all of this.
    #[test]
    fn every_oracle_and_player_of_ours_is_tried() {
        let registry = appropo::registry::Registry::standard();
        let learners = registry.learners().iter().map(|entry| entry.name).chain(["model"]);
        assert!(learners.filter(|name| *name != "sac").all(|name| ORACLES.contains(&name)));
        // Those of apprenticeship learning have an experiment of their own, and one takes no constraints.
        let players = registry.players().iter().map(|entry| entry.name);
        let mut players = players.filter(|name| !["hedge", "projection", "frank-wolfe"].contains(name));
        assert!(players.all(|name| PLAYERS.contains(&name)));
    }

    #[test]
    fn holding_counts_from_the_last_violation() {
        let look = |samples, failure| Look { samples, truth: [failure, -0.1, 0.5], estimate: [0.0; 3] };
        let looks = [look(0, 0.1), look(250, 0.3), look(500, 0.1), look(750, 0.2)];
        assert_eq!(run::holds_from(&looks, false), Some(500));
        assert_eq!(run::holds_from(&looks, true), None);
    }
}
