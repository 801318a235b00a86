//! The command line as users see it: output, exit status, and what programs rely on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn appropo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_appropo")).args(arguments).output().unwrap()
}

/// A folder for the files of one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Exit status, standard output and standard error, with times and paths left out.
fn shown(arguments: &[&str]) -> String {
    let output = appropo(arguments);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let said = format!("status {}\n--- out\n{out}--- err\n{err}", output.status.code().unwrap());
    let (before, paths) = said.split_once(env!("CARGO_TARGET_TMPDIR")).unwrap_or((&said, ""));
    // The folder of the test and the slashes around it.
    format!("{before}{}", paths.splitn(3, '/').last().unwrap())
}

/// What was printed, without the seconds at the end of a line.
fn text(printed: &[u8]) -> String {
    let line = |line: &str| match line.strip_suffix(" s").and_then(|line| line.rsplit_once(' ')) {
        Some((before, _)) => format!("{before} [time]\n"),
        None => format!("{line}\n"),
    };
    String::from_utf8(printed.to_vec()).unwrap().lines().map(line).collect()
}

macro_rules! assert_shown {
    ($arguments:expr) => {
        insta::assert_snapshot!(shown($arguments))
    };
}

fn json(arguments: &[&str]) -> (Value, i32) {
    let output = appropo(&[arguments, &["--json"]].concat());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code().unwrap())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[track_caller]
fn agree(found: &Value, expected: f64) {
    assert!((number(found) - expected).abs() <= 1e-6, "found {found}, expected {expected}");
}

#[test]
fn solve_shows_the_rover() {
    assert_shown!(&["solve", "mars-rover"]);
}

#[test]
fn solve_shows_an_infeasible_problem() {
    assert_shown!(&["solve", "mars-rover-infeasible", "--tolerance", "1e-9"]);
}

#[test]
fn check_says_what_a_problem_states() {
    assert_shown!(&["check", "mars-rover-diverse"]);
}

#[test]
fn list_shows_what_there_is() {
    assert_shown!(&["list"]);
}

#[test]
fn every_built_in_problem_has_its_verdict() {
    for (name, status) in [
        ("mars-rover", 0),
        ("mars-rover-diverse", 0),
        ("mars-rover-infeasible", 3),
        ("mars-rover-undiscounted", 0),
        ("mars-rover-30x30", 0),
        ("deep-sea-treasure", 0),
        ("frozen-lake", 0),
        ("cliff-walking", 0),
        ("bandit", 0),
    ] {
        assert_eq!(json(&["solve", name]).1, status, "{name}");
    }
}

#[test]
fn json_has_the_promised_keys() {
    let (report, status) = json(&["solve", "mars-rover-diverse", "--tolerance", "1e-9", "--seed", "7"]);
    assert_eq!(status, 0);
    assert_eq!(report["verdict"], "feasible");
    assert_eq!(report["confidence"], Value::Null);
    assert_eq!(
        (&report["samples"], &report["evaluation_samples"], &report["seed"]),
        (&0.into(), &0.into(), &7.into())
    );
    assert!(number(&report["distance"]) <= 1e-9 && number(&report["lower_bound"]) == 0.0);
    assert!(report["oracle_calls"].as_u64().unwrap() <= 25);
    assert!(number(&report["seconds"]) > 0.0 && report["policies"].as_u64().unwrap() >= 1);
    assert_eq!(report["measurements"]["visits"].as_array().unwrap().len(), 64);
    assert!(number(&report["measurements"]["failure"]) <= 0.2 + 1e-9);
    let names: Vec<&str> =
        report["constraints"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["safety", "speed", "diversity"]);
    assert!(report["constraints"].as_array().unwrap().iter().all(|c| c["holds"] == true));
    assert!(json(&["solve", "mars-rover", "--tolerance", "1e-9"]).0["oracle_calls"].as_u64().unwrap() <= 4);
}

const WORLD: &str = "discount = 0.99\n[environment]\nname = \"mars-rover\"\n";
const SAFETY: &str = "[[constraint]]\nname = \"safety\"\nmeasure = \"failure\"\nat_most = 0.2\n";
const SPEED: &str = "[[constraint]]\nname = \"speed\"\nmeasure = \"reward\"\nat_least = -0.17\n";

fn diversity(radius: f64) -> String {
    format!(
        "[[constraint]]\nmeasure = \"visits\"\nshare = true\nball = {{ center = \"uniform-upper-triangle\", radius = {radius} }}\n"
    )
}

fn problem(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(format!("{name}.toml"));
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The exact answers for the 8 by 8 rover.
#[test]
fn known_answers_from_the_command_line() {
    let folder = folder("known-answers");
    let write = |name: &str, text: &str| problem(&folder, name, text);
    let value = |command: &str, file: &str, measure: &str| {
        let (report, status) = json(&[command, file, "--measure", measure, "--tolerance", "1e-7"]);
        assert_eq!(status, 0);
        report
    };
    let free = value("maximize", &write("free", WORLD), "reward");
    agree(&free["objective"]["value"], -0.04165632);
    agree(&free["measurements"]["failure"], 0.95834368);
    let safe = write("safe", &format!("{WORLD}{SAFETY}"));
    agree(&value("maximize", &safe, "reward")["objective"]["value"], -0.11100520);
    let diverse = write("diverse", &format!("{WORLD}{SAFETY}{}", diversity(0.12)));
    agree(&value("maximize", &diverse, "reward")["objective"]["value"], -0.1112974);
    let fast = write("fast", &format!("{WORLD}{SPEED}"));
    agree(&value("minimize", &fast, "failure")["objective"]["value"], 0.02243969);
    for horizon in ["", "horizon = 300\n"] {
        let world = format!("discount = 1\n[environment]\nname = \"mars-rover\"\n{horizon}{SAFETY}");
        agree(
            &value("maximize", &write("undiscounted", &world), "reward")["objective"]["value"],
            -0.11878246,
        );
    }
    let (infeasible, status) = json(&["solve", "mars-rover-infeasible"]);
    assert_eq!((status, &infeasible["verdict"]), (3, &"infeasible".into()));
    agree(&infeasible["distance"], 0.00460232);
    agree(&infeasible["lower_bound"], 0.00460232);
    for (radius, status) in [(0.0465919 + 5e-7, 0), (0.0465919 - 5e-7, 3)] {
        let file = write("least-radius", &format!("{WORLD}{SAFETY}{SPEED}{}", diversity(radius)));
        assert_eq!(json(&["solve", &file, "--tolerance", "1e-8"]).1, status, "radius {radius}");
    }
}

/// After k calls the corrective player is at √(1/k − 1/n) from the bandit's uniform point.
#[test]
fn the_bandit_from_the_command_line() {
    for k in 1..=10u32 {
        let (report, _) = json(&["solve", "bandit", "--rounds", &k.to_string()]);
        agree(&report["distance"], (1.0 / f64::from(k) - 0.1).max(0.0).sqrt());
    }
}

/// The ball of radius r round z* − (r + Δ)λ, with z* = argmin λ·z, is at distance Δ.
#[test]
fn a_planted_answer_from_the_command_line() {
    let world = "discount = 0.9\n[environment]\nname = \"garnet\"\nseed = 4\n";
    let folder = folder("planted");
    let file = problem(&folder, "world", world);
    let (report, _) = json(&["minimize", &file, "--measure", "m[0]"]);
    let z: Vec<f64> = report["measurements"]["m"].as_array().unwrap().iter().map(number).collect();
    let (r, delta) = (0.3, 0.25);
    let ball = format!("ball = {{ center = [{}, {}], radius = {r} }}", z[0] - r - delta, z[1]);
    let file = problem(&folder, "planted", &format!("{world}[[constraint]]\nmeasure = \"m\"\n{ball}\n"));
    let (report, status) = json(&["solve", &file]);
    assert_eq!(status, 3);
    agree(&report["distance"], delta);
    agree(&report["lower_bound"], delta);
}

#[test]
fn all_methods_and_players_agree() {
    for arguments in
        [["--method", "occupancy"], ["--player", "ogd"], ["--player", "momentum"], ["--player", "blackwell"]]
    {
        let (report, status) = json(&[&["solve", "mars-rover"], &arguments[..]].concat());
        assert_eq!((status, &report["verdict"]), (0, &"feasible".into()), "{arguments:?}");
        let (report, status) = json(&[&["solve", "mars-rover-infeasible"], &arguments[..]].concat());
        assert_eq!(status, 3, "{arguments:?}");
        // Players that average are within their rate of the least distance; the bound is never above it.
        assert!((number(&report["distance"]) - 0.00460232).abs() <= 1e-3);
        assert!(number(&report["lower_bound"]) <= 0.00460232 + 1e-7);
    }
    for search in ["master", "binary"] {
        let (report, _) = json(&["maximize", "mars-rover", "--measure", "reward", "--search", search]);
        agree(&report["objective"]["value"], -0.11100520);
    }
}

/// Steps run to hundreds where the constraint is about a fraction, or to millions.
#[test]
fn objectives_may_be_of_another_size_than_the_constraints() {
    let folder = folder("sizes");
    let lake = "name = \"frozen-lake\"\nmap = \"8x8\"\nhorizon = 200";
    let cases = [
        ("lake", lake, "at_least = 0.8", 76.0920245),
        // A step costs 0.01, and this many are needed for -0.2.
        ("rover", "name = \"mars-rover\"", "between = [-0.3, -0.2]", 21.0),
    ];
    for (name, world, bound, steps) in cases {
        let text =
            format!("discount = 1\n[environment]\n{world}\n[[constraint]]\nmeasure = \"reward\"\n{bound}\n");
        let file = problem(&folder, name, &text);
        let (report, status) = json(&["minimize", &file, "--measure", "steps"]);
        assert_eq!(status, 0);
        let (value, bound) = (number(&report["objective"]["value"]), number(&report["objective"]["bound"]));
        // The tolerance counts relative to the value.
        let most = 1e-6 * steps;
        assert!((value - steps).abs() <= most && value - bound <= most, "{name}: {value}, {bound}");
    }
}

#[test]
fn the_same_run_twice_prints_the_same() {
    let run = || {
        let (mut report, _) = json(&["solve", "mars-rover-diverse"]);
        report["seconds"] = Value::Null;
        report.to_string()
    };
    assert_eq!(run(), run());
}

/// Every set that a problem file can state, each around what the rover's best safe policy reaches.
#[test]
fn every_set_can_be_written_in_a_file() {
    let folder = folder("every-set");
    let two = "measure = [\"failure\", \"reward\"]";
    let sets = [
        (two, "box = { lower = [0, -0.2], upper = [0.2, 0] }"),
        (two, "ball = { center = [0.1, -0.13], radius = 0.05 }"),
        (two, "l1_ball = { center = [0.1, -0.13], radius = 0.05 }"),
        (two, "linf_ball = { center = [0.1, -0.13], radius = 0.05 }"),
        (two, "ellipsoid = { center = [0.1, -0.13], matrix = [[400, 10], [10, 900]] }"),
        (two, "halfspace = { normal = [1, -10], offset = 1.6 }"),
        (two, "slab = { normal = [1, 0], lower = 0.1, upper = 0.2 }"),
        (two, "affine = { rows = [[1, 0]], offsets = [0.15] }"),
        (two, "polytope = { rows = [[1, 0], [0, -1]], offsets = [0.2, 0.17] }"),
        (two, "second_order_cone = { slope = 1 }\nshift = [0.3, -0.6]"),
        (two, "between = [-0.2, 0.3]"),
        (two, "at_most = [0.2, 0]"),
        (
            two,
            "intersection = [{ box = { lower = [0, -0.2], upper = [0.2, 0] } }, { halfspace = { normal = [1, 0], offset = 0.15 } }]",
        ),
        ("measure = \"failure\"", "equals = 0.15"),
        ("measure = \"reward\"", "semidefinite = true\nshift = [-0.15]"),
        ("measure = \"visits\"\nshare = true", "simplex = {}"),
        ("measure = \"visits\"\nshare = true", "entropy = { at_least = 3.0 }"),
        ("measure = \"visits\"\nshare = true", "kl = { reference = \"uniform\", radius = 1.0 }"),
        ("measure = \"visits\"\nshare = true", "reverse_kl = { reference = \"uniform\", radius = 1.6 }"),
        ("measure = \"visits\"\nshare = true\nscale = 10", "ball = { center = \"uniform\", radius = 0.15 }"),
    ];
    for (i, (measure, set)) in sets.iter().enumerate() {
        let file =
            problem(&folder, &format!("set-{i}"), &format!("{WORLD}[[constraint]]\n{measure}\n{set}\n"));
        let (report, status) = json(&["solve", &file]);
        assert_eq!(status, 0, "{set}: {report}");
        let output = appropo(&["solve", &file]);
        assert!(String::from_utf8(output.stdout).unwrap().contains("holds"), "{set}");
    }
}

macro_rules! bad_file {
    ($test:ident, $text:expr) => {
        #[test]
        fn $test() {
            let file = problem(&folder(stringify!($test)), "problem", $text);
            let output = appropo(&["check", &file]);
            assert_eq!(output.status.code(), Some(2));
            assert!(output.stdout.is_empty());
            assert_shown!(&["solve", &file]);
        }
    };
}

bad_file!(unknown_key, &format!("{WORLD}{SAFETY}at_leest = 0.1\n"));
bad_file!(unknown_table, &format!("{WORLD}{SAFETY}[sovle]\nseed = 1\n"));
bad_file!(unknown_measure, &format!("{WORLD}[[constraint]]\nmeasure = \"failures\"\nat_most = 0.2\n"));
bad_file!(unknown_environment, "discount = 0.9\n[environment]\nname = \"mars-rower\"\n");
bad_file!(wrong_type, &format!("{WORLD}[[constraint]]\nmeasure = \"failure\"\nat_most = \"0.2\"\n"));
bad_file!(not_a_number, &format!("{WORLD}[[constraint]]\nmeasure = \"failure\"\nat_most = nan\n"));
bad_file!(
    ball_of_the_wrong_size,
    &format!("{WORLD}[[constraint]]\nmeasure = \"visits\"\nball = {{ center = [0.5, 0.5], radius = 0.1 }}\n")
);
bad_file!(negative_radius, &format!("{WORLD}{}", diversity(-0.1)));
bad_file!(
    empty_polytope,
    &format!(
        "{WORLD}[[constraint]]\nmeasure = \"failure\"\npolytope = {{ rows = [[1], [-1]], offsets = [0, -1] }}\n"
    )
);
bad_file!(
    entropy_above_the_most,
    &format!("{WORLD}[[constraint]]\nmeasure = \"visits\"\nshare = true\nentropy = {{ at_least = 5 }}\n")
);
bad_file!(no_set, &format!("{WORLD}[[constraint]]\nmeasure = \"failure\"\n"));
bad_file!(two_sets, &format!("{WORLD}{SAFETY}at_least = 0.1\n"));
bad_file!(discount_above_one, "discount = 1.5\n[environment]\nname = \"mars-rover\"\n");
bad_file!(no_discount, "[environment]\nname = \"mars-rover\"\n");
bad_file!(not_toml, "discount = \n");
bad_file!(map_without_a_start, &format!("{WORLD}map = \"\"\"\nFFF\nFHG\"\"\"\n{SAFETY}"));
bad_file!(map_with_a_stray_letter, &format!("{WORLD}map = \"\"\"\nSFF\nFXG\"\"\"\n{SAFETY}"));
bad_file!(map_with_a_short_row, &format!("{WORLD}map = \"\"\"\nSFF\nFG\"\"\"\n{SAFETY}"));
bad_file!(
    endless_without_discount,
    "discount = 1\n[environment]\nname = \"cliff-walking\"\n[[constraint]]\nmeasure = \"steps\"\nat_least = 20\n"
);
bad_file!(unknown_player, &format!("{WORLD}{SAFETY}[solve]\nplayer = \"fully-corective\"\n"));
bad_file!(tolerance_of_zero, &format!("{WORLD}{SAFETY}[solve]\ntolerance = 0\n"));

#[test]
fn unknown_problem() {
    assert_shown!(&["solve", "mars-rovr"]);
}

#[test]
fn unknown_objective() {
    assert_shown!(&["maximize", "mars-rover", "--measure", "rewards"]);
}

#[test]
fn an_objective_with_many_entries() {
    assert_shown!(&["maximize", "mars-rover", "--measure", "visits"]);
}

#[test]
fn no_constraint_to_solve() {
    let file = problem(&folder("no-constraint"), "problem", WORLD);
    assert_shown!(&["solve", &file]);
}

/// An objective that the problem states needs no --measure, and another one takes its place.
#[test]
fn an_objective_may_stand_in_the_file() {
    let folder = folder("objective");
    let file = problem(&folder, "problem", &format!("maximize = \"reward\"\n{WORLD}{SAFETY}"));
    for command in ["maximize", "solve"] {
        let (report, status) = json(&[command, &file, "--tolerance", "1e-7"]);
        assert_eq!((status, &report["objective"]["measure"]), (0, &"reward".into()));
        agree(&report["objective"]["value"], -0.11100520);
    }
    let (report, _) = json(&["minimize", &file, "--measure", "failure", "--tolerance", "1e-7"]);
    assert_eq!(
        (&report["objective"]["measure"], &report["objective"]["goal"]),
        (&"failure".into(), &"minimize".into())
    );
    let said = shown(&["check", &file]);
    assert!(said.starts_with("status 0") && said.contains("\nobjective   maximize reward\n"), "{said}");
    let plain = problem(&folder, "plain", &format!("{WORLD}{SAFETY}"));
    for arguments in [["minimize", &file], ["maximize", &plain]] {
        let said = shown(&arguments);
        let expected = format!("the problem has nothing to {}; name it with --measure", arguments[0]);
        assert!(said.starts_with("status 2") && said.contains(&expected), "{said}");
    }
    let run = folder.join("run");
    let _ = fs::remove_dir_all(&run);
    let said = shown(&["solve", &file, "--run", run.to_str().unwrap()]);
    assert!(said.starts_with("status 0") && run.join("result.json").is_file(), "{said}");
}

#[test]
fn a_box_is_called_one_however_it_is_written() {
    let set = "measure = [\"failure\", \"reward\"]\nlinf_ball = { center = [0, 0], radius = 1 }";
    let file = problem(&folder("linf"), "problem", &format!("{WORLD}[[constraint]]\n{set}\n"));
    let said = shown(&["check", &file]);
    assert!(said.contains("constraint  failure, reward: failure, reward in a box of 2 entries\n"), "{said}");
}

#[test]
fn bad_usage_has_status_2() {
    for arguments in [
        &["solve"][..],
        &["solve", "mars-rover", "--tolerance", "-1"],
        &["solve", "mars-rover", "--checkpoint-every", "5"],
        &["sovle", "mars-rover"],
        &["solve", "mars-rover", "--kappa", "2"],
        &["solve", "mars-rover", "--eta", "2"],
    ] {
        assert_eq!(appropo(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

/// Every oracle that learns answers in the same JSON object, and the same seed gives the same answer.
#[test]
fn oracles_that_learn_count_their_samples() {
    let run = |oracle: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_appropo"))
            .args(["solve", "mars-rover", "--json", "--samples", "3000", "--oracle", oracle])
            .output()
            .unwrap();
        let mut json: Value = serde_json::from_slice(&output.stdout).unwrap();
        json["seconds"] = 0.into();
        (output.status.code().unwrap(), json)
    };
    for oracle in ["model", "a2c", "ppo", "q-learning"] {
        let (status, json) = run(oracle);
        assert_eq!((status, &json), (run(oracle).0, &run(oracle).1), "{oracle}");
        assert!(json["samples"].as_u64().unwrap() > 0 && json["evaluation_samples"].as_u64().unwrap() > 0);
        assert_eq!(status, if json["verdict"] == "feasible" { 0 } else { 4 }, "{oracle}: {json}");
    }
    assert_eq!(run("model").0, 0);
}

#[test]
fn a_build_says_what_it_is() {
    let (short, long) = (text(&appropo(&["-V"]).stdout), text(&appropo(&["--version"]).stdout));
    assert!(short.starts_with(concat!("appropo ", env!("CARGO_PKG_VERSION"))), "{short}");
    assert_eq!(short.lines().count(), 1);
    for line in ["commit: ", "build: ", "compiler: rustc 1.", "format of runs: 2", "network instructions: "] {
        assert!(long.lines().any(|found| found.starts_with(line)), "{line} is not in {long}");
    }
}

#[test]
fn shells_and_manuals_know_every_command() {
    let help = text(&appropo(&["--help"]).stdout);
    let commands: Vec<&str> = help
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .collect();
    assert!(commands.len() > 20 && commands.contains(&"watch"), "{commands:?}");
    let folder = folder("manual");
    let written = text(&appropo(&["man", "--out", folder.to_str().unwrap()]).stdout);
    let overview = fs::read_to_string(folder.join("appropo.1")).unwrap();
    let shells = ["bash", "zsh", "fish", "elvish", "powershell"];
    let scripts = shells.map(|shell| text(&appropo(&["completions", shell]).stdout));
    for command in commands.iter().filter(|name| !name.starts_with('-') && **name != "help") {
        assert!(scripts.iter().all(|script| script.contains(command)), "{command}");
        assert!(written.contains(&format!("appropo-{command}.1")), "{written}");
        assert!(overview.contains(&format!("appropo\\-{command}")), "{command}");
        let page = fs::read_to_string(folder.join(format!("appropo-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains("appropo"), "{page}");
    }
    // Fish refused all methods since one was described with quotes, between which clap puts the descriptions unescaped.
    for (_, described) in scripts[2].lines().filter_map(|line| line.rsplit_once("\\t'")) {
        assert!(!described.trim_end_matches('"').contains(['"', '$']), "{described}");
    }
    assert_eq!(appropo(&["completions", "nushell"]).status.code(), Some(2));
}
