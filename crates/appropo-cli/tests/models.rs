//! Models of model checkers from the command line: problems in them, what is shown, and what is written.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const DRONE: &str = "\
@type: MDP
@parameters

@reward_models
energy
@nr_states
4
@nr_choices
6
@model
state 0 init
//[place=0]
\taction hurry [3]
\t\t2 : 0.85
\t\t3 : 0.15
\taction glide [1]
\t\t1 : 0.5
\t\t2 : 0.5
state 1 windy
//[place=1]
\taction press_on [2]
\t\t2 : 0.9
\t\t3 : 0.1
\taction go_back [1]
\t\t0 : 1
state 2 delivered
//[place=2]
\taction rest [0]
\t\t2 : 1
state 3 crashed
//[place=2]
\taction rest [0]
\t\t3 : 1
";

const PROBLEM: &str = "\
discount = 1

[environment]
model = \"drone.drn\"
reach = [\"delivered\"]
time = [\"windy\"]

[objective]
maximize = \"reach(delivered)\"

[[constraint]]
measure = \"energy\"
at_most = 2.4
";

/// A folder with the model and the problem.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("models-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("drone.drn"), DRONE).unwrap();
    fs::write(folder.join("drone.toml"), PROBLEM).unwrap();
    folder
}

fn appropo(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_appropo")).args(arguments).current_dir(folder).output().unwrap()
}

fn shown(folder: &Path, arguments: &[&str]) -> String {
    let output = appropo(folder, arguments);
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    let text =
        format!("$ appropo {}\nstatus {}\n{out}{err}", arguments.join(" "), output.status.code().unwrap());
    text.replace(&format!("{}/", folder.display()), "")
}

#[test]
fn a_problem_in_a_model_is_solved_and_its_run_verified() {
    let folder = folder("solve");
    let output = appropo(&folder, &["maximize", "drone.toml", "--json", "--run", "run"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Gliding until it is there costs 3 and never fails; pressing on costs 2 and delivers 0.95.
    let value = found["measurements"]["reach(delivered)"].as_f64().unwrap();
    assert!((value - 0.97).abs() < 1e-9, "{found}");
    // The run knows where the model lies, and that it is the same.
    let elsewhere = folder.join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    assert_eq!(appropo(&elsewhere, &["verify", "../run"]).status.code(), Some(0));
    fs::write(folder.join("drone.drn"), DRONE.replace("[3]", "[4]")).unwrap();
    let refused = appropo(&elsewhere, &["verify", "../run"]);
    let said = String::from_utf8(refused.stdout).unwrap();
    assert_eq!(refused.status.code(), Some(5));
    assert!(said.contains("it is not the one that this was written for"), "{said}");
}

#[test]
fn a_model_is_shown_and_written() {
    let folder = folder("show");
    let steps = [
        shown(&folder, &["model", "drone.drn"]),
        shown(&folder, &["model", "drone.drn", "--state", "1"]),
        shown(&folder, &["model", "drone.drn", "--state", "4"]),
        shown(&folder, &["model", "drone.drn", "--out", "drone.umb"]),
        shown(&folder, &["model", "drone.drn", "--out", "drone.umb"]),
        shown(&folder, &["model", "drone.drn", "--out", "drone.tra"]),
        shown(&folder, &["model", "none.drn"]),
        shown(&folder, &["model", "cart-pole"]),
        shown(&folder, &["check", "drone.toml"]),
    ];
    insta::assert_snapshot!(steps.join("\n"));
    appropo(&folder, &["model", "drone.umb", "--out", "a.drn"]);
    appropo(&folder, &["model", "a.drn", "--out", "a.umb"]);
    appropo(&folder, &["model", "a.umb", "--out", "b.drn"]);
    assert_eq!(fs::read(folder.join("a.drn")).unwrap(), fs::read(folder.join("b.drn")).unwrap());
}

#[test]
fn mistakes_about_models_are_shown_where_they_stand() {
    let folder = folder("mistakes");
    let change = |from: &str, to: &str| {
        fs::write(folder.join("wrong.toml"), PROBLEM.replacen(from, to, 1)).unwrap();
        shown(&folder, &["check", "wrong.toml"])
    };
    fs::write(folder.join("wrong.drn"), DRONE.replace("0.85", "0.75")).unwrap();
    let mistakes = [
        change("drone.drn", "dron.drn"),
        change("drone.drn", "wrong.drn"),
        change("drone.drn", "wrong.toml"),
        change("[\"delivered\"]", "[\"delivred\"]"),
        change("[\"delivered\"]", "\"delivered\""),
        change("reach = ", "rewards = [\"enrgy\"]\nreach = "),
        change("reach = ", "reech = "),
        change("\"windy\"]", "\"windy\", \"windy\"]"),
        change("\"reach(delivered)\"", "\"reach(crashed)\""),
        change("model = \"drone.drn\"\n", "name = \"model\"\n"),
    ];
    insta::assert_snapshot!(mistakes.join("\n"));
}
