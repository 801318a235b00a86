//! Runs as others see them while they go on.

use std::fs;
use std::path::Path;
use std::time::Duration;

use appropo::constraint::Constraint;
use appropo::env::mars_rover;
use appropo::problem::Problem;
use appropo_run::about::About;
use appropo_run::live::{State, Watched};
use appropo_run::record::Recorder;
use appropo_run::{Directory, LogLine, stop};

fn problem() -> Problem {
    Problem::builder(mars_rover::world("4x4", 0.05).unwrap())
        .discount(0.99)
        .constraint(Constraint::at_most("failure", 0.2).unwrap().named("safety"))
        .build()
        .unwrap()
}

fn begin<'a>(name: &str, problem: &'a Problem) -> Recorder<'a> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    let about =
        About { version: "0.2.0".into(), problem: "rover".into(), seed: 3, command: "appropo".into() };
    Recorder::begin(&folder, &about, problem, "discount = 0.99\n", Duration::MAX).unwrap()
}

fn watched(recorder: &Recorder, problem: &Problem) -> Watched {
    let directory = Directory::read(recorder.directory().path()).unwrap();
    Watched::new(0, directory, problem.clone(), 1e-6).unwrap()
}

fn line(round: usize, failure: f64) -> String {
    let one = |value: f64| [("failure".to_owned(), value)].into();
    let (lambda, answer, mixture) = (one(0.5), one(failure), one(failure));
    let line = LogLine {
        round,
        samples: 10 * round as u64,
        distance: (failure - 0.2).max(0.0),
        lower_bound: 0.0,
        objective: None,
        lambda,
        answer,
        mixture,
    };
    serde_json::to_string(&line).unwrap() + "\n"
}

#[test]
fn a_log_is_followed_as_it_grows_and_where_it_is_cut() {
    let problem = problem();
    let recorder = begin("followed", &problem);
    let (mut run, log) = (watched(&recorder, &problem), recorder.directory().file("rounds.jsonl"));
    assert!(run.look() && !run.look());
    assert!(run.snapshot().page.distance.is_nan() && run.snapshot().live.tail.is_empty());

    let all: Vec<String> = (1..=40).map(|round| line(round, 1.0 / round as f64)).collect();
    let (half, rest) = all[2].split_at(30);
    fs::write(&log, all[..2].concat() + half).unwrap();
    assert!(run.look());
    let seen = run.snapshot();
    assert_eq!((seen.page.oracle_calls, seen.page.samples, seen.page.distance), (2, 20, 0.3));
    assert_eq!((&*seen.page.constraints[0].value, seen.page.constraints[0].holds), ("0.5", false));
    assert_eq!(seen.page.measures[0].upper, Some(0.2));
    // The third line comes to its end, and more than fit into the tail follow.
    fs::write(&log, all[..2].concat() + half + rest + &all[3..].concat()).unwrap();
    assert!(run.look());
    let seen = run.snapshot();
    assert_eq!((seen.page.oracle_calls, seen.page.rounds.round.len(), seen.live.tail.len()), (40, 40, 20));
    assert_eq!(seen.live.tail[19], "round 40: distance 0, at least 0, 400 samples; failure 0.025");
    assert!(seen.page.constraints[0].holds);

    // A run goes on from a checkpoint: its log is shorter for a while, or another of the same length.
    fs::write(&log, all[..5].concat()).unwrap();
    assert!(run.look());
    assert_eq!(run.snapshot().page.rounds.round, [1, 2, 3, 4, 5]);
    fs::write(&log, all[..4].concat() + &line(5, 0.7)).unwrap();
    assert!(run.look());
    assert_eq!(run.snapshot().page.measures[0].value, 0.7);

    fs::write(&log, all[..5].concat() + "{\"round\": 6\u{1b}[31m}\n").unwrap();
    assert!(run.look());
    let said = run.snapshot().live.problem.unwrap();
    assert!(said.contains("the line of round 6") && !said.contains('\u{1b}'), "{said}");
    assert_eq!(run.snapshot().page.oracle_calls, 5);
}

#[test]
fn running_stopping_stopped_and_killed_are_told_apart() {
    let problem = problem();
    let recorder = begin("states", &problem);
    let mut run = watched(&recorder, &problem);
    let mut state = || {
        run.look();
        run.snapshot().live.state
    };
    let directory = Directory::read(recorder.directory().path()).unwrap();
    let asked = recorder.stop_request();
    assert_eq!((state(), asked.is_made()), (State::Running, false));
    assert!(stop::request(&directory).unwrap() && stop::request(&directory).unwrap());
    // Nobody takes back what the run has yet to see.
    stop::withdraw(&directory).unwrap();
    assert_eq!(state(), State::Stopping);
    std::thread::sleep(Duration::from_millis(110));
    assert!(asked.is_made() && !asked.is_overdue());
    drop(recorder);
    assert_eq!(state(), State::Stopped);
    assert!(!directory.has("stop") && !directory.has("progress.json"));
    assert!(!stop::request(&directory).unwrap() && !directory.has("stop"));

    // A request that comes as the run ends stays behind.
    fs::write(directory.file("stop"), "").unwrap();
    stop::withdraw(&directory).unwrap();
    assert!(!directory.has("stop"));
    // What a process leaves that is killed, and the next one takes away.
    fs::write(directory.file("progress.json"), "{").unwrap();
    fs::write(directory.file("stop"), "").unwrap();
    assert_eq!(state(), State::Killed);
    let opened = Directory::open(directory.path()).unwrap();
    assert!(!opened.has("progress.json") && !opened.has("stop"));
    assert_eq!(state(), State::Running);
}
