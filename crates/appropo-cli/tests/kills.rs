//! Runs that are killed at random moments and taken up again end with the files of an undisturbed one.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use appropo::random;

use crate::runs::{OBJECTIVE, appropo, files, place, solve};

/// Kills runs at random moments until there were 50 kills; every run ends with the files of an undisturbed one.
#[test]
fn fifty_kills_leave_no_trace() {
    let place = place("kills");
    let problems: [&[&str]; 4] = [
        &["mars-rover-diverse", "--player", "blackwell", "--rounds", "100"],
        &["cart-pole", "--samples", "4000"],
        &["mars-rover-diverse", "--oracle", "ppo", "--samples", "5000"],
        &["mars-rover-diverse", "--oracle", "model", "--samples", "1000"],
    ];
    let kills: usize = std::thread::scope(|scope| {
        let halves = problems.chunks(2).zip(17..).map(|(problems, seed)| {
            let place = place.join(seed.to_string());
            scope.spawn(move || killed(&place, problems, seed, 25))
        });
        halves.collect::<Vec<_>>().into_iter().map(|half| half.join().unwrap()).sum()
    });
    assert!(kills >= 50, "{kills}");
}

/// The same of searches for an optimum, planned and learnt.
#[test]
fn kills_of_an_objective_leave_no_trace() {
    let place = place("objective-kills");
    let file = place.join("problem.toml");
    fs::write(&file, OBJECTIVE).unwrap();
    let file = file.to_str().unwrap();
    let problems: [&[&str]; 4] = [
        &[file, "--oracle", "ppo", "--samples", "6000"],
        &[file, "--oracle", "model", "--samples", "1500"],
        &[file],
        &[file, "--set", "search=binary"],
    ];
    assert!(killed(&place, &problems, 19, 12) >= 12);
}

const OUT_OF_REACH: &str = r#"
discount = 0.99
environment = { name = "cart-pole", horizon = 500 }
constraint = [{ measure = "steps", at_least = 1000 }]
solve = { oracle = "ppo", samples = 6000, learned = { patience = 1.0 } }
"#;

/// A call that lasts for the whole run gets on although no process lives for half of it.
#[test]
fn kills_within_one_call_leave_no_trace() {
    let place = place("call-kills");
    let file = place.join("problem.toml");
    fs::write(&file, OUT_OF_REACH).unwrap();
    let problems: [&[&str]; 1] = [&[file.to_str().unwrap()]];
    assert!(killed_within(&place, &problems, 23, 50, (0.5, 1.0)) >= 50);
    let rounds = fs::read_to_string(place.join("whole-0/rounds.jsonl")).unwrap();
    assert_eq!(rounds.lines().count(), 2, "the first is for λ = 0");
}

/// Kills runs of the problems in turn until there were so many kills. Returns how many there were. A process lives up to
/// longer than a run takes, and ever longer, so that a run that can't be saved comes to its end, too.
fn killed(place: &Path, problems: &[&[&str]], seed: u64, enough: usize) -> usize {
    killed_within(place, problems, seed, enough, (1.2, 1.1))
}

/// The same, where the first process lives for up to `share` of what a run takes, and each later one `growth` times that.
fn killed_within(
    place: &Path,
    problems: &[&[&str]],
    seed: u64,
    enough: usize,
    (share, growth): (f64, f64),
) -> usize {
    let mut rng = random::generator(seed);
    let whole = |(number, arguments): (usize, &&[&str])| {
        let (folder, start) = (place.join(format!("whole-{number}")), Instant::now());
        solve(&folder, &[*arguments, &["--checkpoint-every", "0"]].concat());
        (files(&folder), start.elapsed())
    };
    let mut undisturbed: Vec<_> = problems.iter().enumerate().map(whole).collect();
    let mut kills = 0;
    for number in 0.. {
        if kills >= enough {
            break;
        }
        let (arguments, (undisturbed, usual)) =
            (problems[number % problems.len()], &mut undisturbed[number % problems.len()]);
        let (folder, start) = (place.join(format!("killed-{number}")), Instant::now());
        let mut longest = usual.mul_f64(share);
        loop {
            // Killed before it was a run, it is begun again.
            let mut command = if folder.join("run.json").is_file() {
                let mut command = appropo(&["resume"]);
                command.arg(&folder);
                command
            } else {
                let mut command = appropo(&["solve"]);
                command.args(arguments).arg("--run").arg(&folder);
                command
            };
            command.args(["--checkpoint-every", "0"]).stdout(Stdio::null()).stderr(Stdio::null());
            let mut process = command.spawn().unwrap();
            let end = Instant::now() + longest.mul_f64(random::unit(&mut rng));
            let mut is_over = false;
            while !is_over && Instant::now() < end {
                let left = end.saturating_duration_since(Instant::now());
                std::thread::sleep(left.min(Duration::from_millis(5)));
                is_over = process.try_wait().unwrap().is_some();
            }
            if is_over {
                break;
            }
            process.kill().unwrap();
            process.wait().unwrap();
            kills += 1;
            longest = longest.mul_f64(growth);
        }
        // The undisturbed one may have been slow, with other tests beside it.
        *usual = start.elapsed().min(*usual);
        let killed = files(&folder);
        assert_eq!(killed.keys().collect::<Vec<_>>(), undisturbed.keys().collect::<Vec<_>>());
        for (name, bytes) in undisturbed {
            assert!(killed[name] == *bytes, "{name} of {arguments:?} differs after {kills} kills");
        }
    }
    kills
}
