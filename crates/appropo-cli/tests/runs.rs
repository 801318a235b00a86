//! Runs on disk: verified, tampered with, on a full disk, interrupted.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use sha2::{Digest, Sha256};

pub fn appropo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_appropo"));
    command.args(arguments).stdin(Stdio::null());
    command
}

pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// An empty place for the runs of one test.
pub fn place(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

pub fn solve(folder: &Path, arguments: &[&str]) -> Output {
    let output = appropo(&["solve"]).args(arguments).arg("--run").arg(folder).output().unwrap();
    assert!(folder.join("result.json").is_file(), "{}", text(&output));
    output
}

/// All files but those that tell the time.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .filter(|entry| entry.path().is_file())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .filter(|(name, _)| name != "times.json" && name != "report.html")
        .map(|(name, path)| (name, fs::read(path).unwrap()))
        .collect()
}

/// A copy of a run beside it, without the files that tell the time.
pub fn copy(folder: &Path, name: &str) -> PathBuf {
    let to = folder.with_file_name(name);
    fs::create_dir_all(&to).unwrap();
    files(folder).into_iter().for_each(|(name, bytes)| fs::write(to.join(name), bytes).unwrap());
    to
}

pub const OBJECTIVE: &str = r#"
discount = 0.99
environment = { name = "mars-rover", map = "4x4" }
objective = { maximize = "reward" }
constraint = [{ measure = "failure", at_most = 0.3 }]
"#;

/// What a run says of its objective is computed again.
#[test]
fn claims_of_an_objective_hold_and_altered_ones_do_not() {
    let place = place("objective-verified");
    let run = |name: &str, arguments: &[&str]| {
        let folder = place.join(name);
        let output = appropo(arguments).arg("--run").arg(&folder).arg("--quiet").output().unwrap();
        assert!(folder.join("result.json").is_file(), "{}", text(&output));
        let (status, said) = verify(&folder);
        assert!(status == Some(0) && said.contains("verified: feasible"), "{name}: {said}");
        assert!(said.contains("claim   m") && said.contains("imize reward: "), "{said}");
        let page = fs::read_to_string(folder.join("report.html")).unwrap();
        assert!(page.contains("\"objective\":{\"goal\":\"maximize\",\"measure\":\"reward\""));
    };
    let rover = ["maximize", "mars-rover", "--measure", "reward"];
    run("exact", &rover);
    run("binary", &[&rover[..], &["--search", "binary"]].concat());
    run("occupancy", &[&rover[..], &["--method", "occupancy"]].concat());
    run("model", &[&rover[..], &["--oracle", "model", "--samples", "9000", "--seed", "4"]].concat());
    let explored = place.join("explored");
    let rover = ["maximize", "mars-rover", "--entropy", "visits", "--share", "--quiet"];
    appropo(&rover).arg("--run").arg(&explored).output().unwrap();
    let (status, said) = verify(&explored);
    assert!(status == Some(0) && said.contains("maximize entropy of visits per step: 4.0"), "{said}");
    let altered = |of: &str, key: &str, number: &str, says: &str| {
        let folder = copy(&place.join(of), &format!("altered-{of}-{key}"));
        let change = |text: &str| {
            let (before, objective) = text.split_once("\"objective\": {").unwrap();
            format!("{before}\"objective\": {{{}", with_number(objective, key, number))
        };
        alter(&folder, "result.json", change);
        let (status, said) = verify(&folder);
        assert!(status == Some(5) && said.contains(says), "{of}, {key}: {said}");
    };
    altered("exact", "value", "-0.11", "the objective's value");
    altered("exact", "bound", "-0.1111", "the objective's bound");
    altered("model", "value", "-0.11", "the objective's value");
    altered("explored", "value", "4.1", "the objective's value");
    altered("explored", "bound", "4.01", "the objective's bound");
    altered("model", "interval", "-0.1", "the objective's interval");
    // A proof of another bound.
    let folder = copy(&place.join("exact"), "altered-proof");
    alter(&folder, "certificate.json", |text| {
        let (before, ceiling) = text.split_once("\"ceiling\": {").unwrap();
        format!("{before}\"ceiling\": {{{}", with_number(ceiling, "offset", "0.01"))
    });
    let (status, said) = verify(&folder);
    assert!(status == Some(5) && said.contains("the objective's bound"), "{said}");
    // The result of another objective.
    let folder = copy(&place.join("exact"), "altered-measure");
    alter(&folder, "result.json", |text| text.replace("\"measure\": \"reward\"", "\"measure\": \"steps\""));
    let (status, said) = verify(&folder);
    assert!(status == Some(5) && said.contains("another objective"), "{said}");
}

/// Stored visits of a large model are taken where they are the policies'. Without them, or with others, the verdict is the same;
/// a false claim is refused all the same.
#[test]
fn visits_spare_a_solve_and_prove_nothing_else() {
    let place = place("visits");
    let problem = place.join("rover.toml");
    let map = "{ rows = 260, columns = 260, rocks = 0.05, seed = 1 }";
    let world = format!("discount = 0.999\nenvironment = {{ name = \"mars-rover\", map = {map} }}\n");
    let safety = "constraint = [{ measure = \"failure\", at_most = 0.2 }, { measure = \"reward\", at_least = -4.6 }]\n";
    fs::write(&problem, world + safety).unwrap();
    let folder = place.join("run");
    solve(&folder, &[problem.to_str().unwrap()]);
    let visits = fs::read(folder.join("visits.safetensors")).unwrap();
    let accepted = "by what flows into every state";
    let (status, said) = verify(&folder);
    assert!(status == Some(0) && said.contains(accepted), "{said}");
    let mut altered = visits.clone();
    // The sign and the exponents of all numbers.
    altered.iter_mut().rev().step_by(8).for_each(|byte| *byte ^= 1);
    let header = 8 + u64::from_le_bytes(visits[..8].try_into().unwrap()) as usize;
    let zero = [&visits[..header], &vec![0; visits.len() - header][..]].concat();
    let cases = [("altered", altered), ("zero", zero), ("cut", visits[..visits.len() - 8].to_vec())];
    for (name, bytes) in cases.into_iter().chain([("none", Vec::new())]) {
        let copy = copy(&folder, name);
        fs::write(copy.join("visits.safetensors"), bytes).unwrap();
        if name == "none" {
            fs::remove_file(copy.join("visits.safetensors")).unwrap();
        }
        let (status, said) = verify(&copy);
        assert!(status == Some(0) && said.contains("verified: feasible"), "{name}: {said}");
        assert!(!said.contains(accepted), "{name}: {said}");
    }
    let forged = copy(&folder, "forged");
    alter(&forged, "certificate.json", |text| with_number(text, "z_bar", "0.15"));
    assert_eq!(verify(&forged).0, Some(5));
}

/// A file in its folder stops a run as Ctrl-C does; gone on with, it ends as if nobody had asked.
#[test]
fn a_file_stops_a_run() {
    let place = place("stop-file");
    let arguments = ["mars-rover-diverse", "--player", "ogd", "--rounds", "4000", "--tolerance", "1e-12"];
    let (whole, stopped) = (place.join("whole"), place.join("stopped"));
    let process = appropo(&["solve"])
        .args(arguments)
        .arg("--run")
        .arg(&stopped)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !stopped.join("progress.json").is_file() {
        std::thread::yield_now();
    }
    fs::write(stopped.join("stop"), "").unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    assert!(text(&output).contains("appropo resume"), "{}", text(&output));
    let names: Vec<String> = files(&stopped).into_keys().collect();
    assert_eq!(names, ["checkpoint", "lock", "problem.toml", "rounds.jsonl", "run.json"]);
    assert!(appropo(&["resume", "--quiet"]).arg(&stopped).output().unwrap().stderr.is_empty());
    solve(&whole, &arguments);
    assert!(files(&stopped) == files(&whole));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let place = place("interrupted");
    for json in [false, true] {
        let folder = place.join(format!("run-{json}"));
        // It would go on for minutes.
        let mut command =
            appropo(&["solve", "mars-rover-diverse", "--player", "ogd", "--rounds", "10000000"]);
        command.args(json.then_some("--json")).arg("--run").arg(&folder);
        let process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !folder.join("run.json").is_file() {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(300));
        let status = Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap();
        assert!(status.success());
        let output = process.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", text(&output));
        assert!(text(&output).contains("appropo resume"), "{}", text(&output));
        // What is not JSON does not go where a program expects JSON.
        assert_eq!(output.stdout.is_empty(), json, "{}", text(&output));
        assert!(folder.join("checkpoint").is_file());
        // A whole checkpoint, but of another problem.
        let other = copy(&folder, &format!("other-{json}"));
        let solved = place.join(format!("solved-{json}"));
        solve(&solved, &["mars-rover"]);
        fs::copy(solved.join("problem.toml"), other.join("problem.toml")).unwrap();
        let said = text(&appropo(&["resume"]).arg(&other).output().unwrap());
        assert!(said.contains("checkpoint: the saved state can't be used"), "{said}");
        // There is no claim yet.
        let (status, said) = verify(&folder);
        assert!(status == Some(2) && said.contains("appropo resume"), "{said}");
        let lock = fs::File::open(folder.join("lock")).unwrap();
        lock.lock().unwrap();
        let (status, said) = verify(&folder);
        assert!(status == Some(2) && said.contains("another process"), "{said}");
    }
}

#[test]
fn one_process_at_a_time() {
    let folder = place("locked").join("run");
    solve(&folder, &["mars-rover"]);
    let lock = fs::File::open(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let output = appropo(&["resume"]).arg(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("in use by another process"), "{}", text(&output));
    // Reading is free.
    assert!(appropo(&["verify"]).arg(&folder).output().unwrap().status.success());
}

#[test]
fn a_folder_with_other_things_is_left_alone() {
    let folder = place("occupied");
    fs::write(folder.join("thesis.tex"), "precious").unwrap();
    let output = appropo(&["solve", "mars-rover", "--run"]).arg(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("is not empty"), "{}", text(&output));
    assert_eq!(fs::read_to_string(folder.join("thesis.tex")).unwrap(), "precious");
}

pub fn verify(folder: &Path) -> (Option<i32>, String) {
    let output = appropo(&["verify"]).arg(folder).output().unwrap();
    (output.status.code(), text(&output))
}

/// Replaces text in a JSON file and makes its checksum right again.
pub fn alter(folder: &Path, name: &str, change: impl Fn(&str) -> String) {
    let path = folder.join(name);
    let before = fs::read_to_string(&path).unwrap();
    let after = change(&before);
    assert_ne!(before, after, "{name} was not altered");
    let end = after.rfind("  \"sha256\"").unwrap();
    let digest: String =
        Sha256::digest(&after.as_bytes()[..end]).iter().map(|b| format!("{b:02x}")).collect();
    fs::write(&path, format!("{}  \"sha256\": \"{digest}\"\n}}\n", &after[..end])).unwrap();
}

/// The first number behind a key, replaced.
pub fn with_number(text: &str, key: &str, number: &str) -> String {
    let start = text.find(&format!("\"{key}\"")).unwrap();
    let start = start + text[start..].find(|c: char| c == '-' || c.is_ascii_digit()).unwrap();
    let end = start + text[start..].find([',', '\n', ']']).unwrap();
    format!("{}{number}{}", &text[..start], &text[end..])
}

#[test]
fn claims_hold_when_computed_again_and_altered_ones_do_not() {
    let place = place("verified");
    let run = |name: &str, arguments: &[&str]| {
        let folder = place.join(name);
        solve(&folder, arguments);
        folder
    };
    for (name, arguments, verdict) in [
        ("exact", &["mars-rover-diverse"][..], "verified: feasible"),
        ("infeasible", &["mars-rover-infeasible"], "verified: infeasible by at least 0.0046"),
        ("ppo", &["mars-rover", "--oracle", "ppo"], "verified: feasible"),
        ("model", &["mars-rover", "--oracle", "model"], "verified: feasible"),
        ("q-learning", &["bandit", "--oracle", "q-learning", "--samples", "500"], "verified: undecided"),
        ("occupancy", &["mars-rover", "--method", "occupancy"], "verified: feasible"),
        ("cart-pole", &["cart-pole", "--seed", "1"], "verified: feasible"),
    ] {
        let (status, said) = verify(&run(name, arguments));
        assert!(status == Some(0) && said.contains(verdict), "{name}: {said}");
    }
    let altered = |what: &str, of: &str, file: &str, change: &dyn Fn(&str) -> String, says: &str| {
        let folder = copy(&place.join(of), &format!("altered-{what}"));
        alter(&folder, file, change);
        let (status, said) = verify(&folder);
        assert!(status == Some(5) && said.contains(says), "{what}: {said}");
    };
    // A claim that is the same in all files, but not true.
    let lie = copy(&place.join("infeasible"), "lie");
    for file in ["certificate.json", "result.json"] {
        alter(&lie, file, |text| with_number(text, "lower_bound", "0.0047"));
    }
    let (status, said) = verify(&lie);
    assert!(status == Some(5) && said.contains("the lower bound is claimed as 0.0047"), "{said}");
    for file in ["certificate.json", "result.json"] {
        alter(&lie, file, |text| {
            with_number(text, "lower_bound", "0.0046023017855066").replace("infeasible", "undecided")
        });
    }
    let (status, said) = verify(&lie);
    assert!(status == Some(5), "{said}");
    alter(&lie, "certificate.json", |text| with_number(text, "tolerance", "1"));
    let (status, said) = verify(&lie);
    assert!(status == Some(5) && said.contains("tolerance"), "{said}");
    let number = |key: &'static str, number: &'static str| move |text: &str| with_number(text, key, number);
    altered("verdict", "ppo", "certificate.json", &|t| t.replace("feasible", "infeasible"), "verdict is not");
    altered("distance", "infeasible", "certificate.json", &number("distance", "0.001"), "distance is not");
    altered(
        "bound",
        "infeasible",
        "certificate.json",
        &number("lower_bound", "0.0047"),
        "lower_bound is not",
    );
    altered("proof", "infeasible", "certificate.json", &number("values", "-9.5"), "the lower bound");
    altered("measurement", "exact", "certificate.json", &number("z_bar", "0.1"), "a measurement");
    altered(
        "result",
        "exact",
        "result.json",
        &number("z", "0.1"),
        "is not what the certificate and z make it",
    );
    altered("weights", "exact", "manifest.json", &number("weight", "0.5"), "weights");
    let swap = |text: &str| {
        // Two weights exchanged: their sum stays 1.
        let mut manifest: Vec<String> = text.lines().map(str::to_owned).collect();
        let places: Vec<usize> =
            (0..manifest.len()).filter(|i| manifest[*i].contains("\"weight\"")).collect();
        manifest.swap(places[0], places[1]);
        manifest.join("\n") + "\n"
    };
    altered("swapped", "exact", "manifest.json", &swap, "entry");
    // What is said besides the claim.
    let member = |old: &'static str, new: &'static str| move |text: &str| text.replacen(old, new, 1);
    let null = "\"confidence\": null";
    altered("extra", "exact", "result.json", &member("{", "{\n  \"remark\": 1,"), "does not belong there");
    altered(
        "addition",
        "exact",
        "certificate.json",
        &member("{", "{\n  \"proof\": 1,"),
        "does not belong there",
    );
    altered("planned", "exact", "result.json", &number("evaluation_samples", "7"), "evaluation samples");
    for file in ["certificate.json", "result.json"] {
        alter(&place.join("occupancy"), file, |text| text.replacen(null, "\"confidence\": 0.99", 1));
    }
    let (status, said) = verify(&place.join("occupancy"));
    assert!(status == Some(5) && said.contains("the claim is exact"), "{said}");
    for of in ["cart-pole", "q-learning"] {
        let altered = |what: &str, number: &'static str, says| {
            let change = |text: &str| {
                let (before, evaluation) = text.split_once("\"evaluation\": {").unwrap();
                format!("{before}\"evaluation\": {{{}", with_number(evaluation, what, number))
            };
            altered(&format!("{of}-{what}"), of, "result.json", &change, says);
        };
        altered("radii", "1e-9", "of the radii is claimed");
        altered("episodes", "1000000000", "but others were measured");
        altered("samples", "1", "");
        altered("distance", "5.5", "");
        altered("mean", "1e6", "");
    }
    altered("mean", "cart-pole", "certificate.json", &number("z_bar", "99.5"), "allow to claim");
    // Without a right checksum nothing else is looked at.
    let folder = place.join("exact");
    let problem = fs::read_to_string(folder.join("problem.toml")).unwrap();
    fs::write(folder.join("problem.toml"), problem.replace("0.2", "0.3")).unwrap();
    let (status, said) = verify(&folder);
    assert!(status == Some(5) && said.contains("checksum"), "{said}");
}

/// Lists of another length than the problem's are refused by whatever reads them.
#[test]
fn lists_of_the_wrong_length_are_refused() {
    let whole = place("lengths").join("run");
    solve(&whole, &["cart-pole", "--samples", "3000"]);
    for (file, member) in [
        ("certificate.json", "z_bar"),
        ("result.json", "z"),
        ("result.json", "mean"),
        ("result.json", "radii"),
    ] {
        let folder = copy(&whole, &format!("short-{member}"));
        // The first number is dropped with its comma.
        alter(&folder, file, |text| {
            let start = text.find(&format!("\"{member}\": [")).unwrap() + member.len() + 5;
            let end = start + text[start..].find([',', ']']).unwrap();
            format!("{}{}", &text[..start], text[end..].trim_start_matches(','))
        });
        for command in ["report", "verify"] {
            let output = appropo(&[command]).arg(&folder).output().unwrap();
            let status = if command == "verify" { 5 } else { 1 };
            assert_eq!(output.status.code(), Some(status), "{member}: {}", text(&output));
            assert!(text(&output).contains("entries, but in the run's problem"), "{}", text(&output));
        }
    }
}

/// A file system of 160 kB is soon full. What was there stays whole, and more room is all that is needed.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_nothing() {
    let place = place("full");
    let script = r#"
        set -e
        mount -t tmpfs -o size=160k tmpfs "$1"
        set +e
        "$2" solve mars-rover-diverse --player blackwell --rounds 150 --checkpoint-every 0 --quiet --run "$1/run" >"$3/first" 2>&1
        echo $? >"$3/status"
        cp -r "$1/run" "$3/left"
        mount -o remount,size=50m "$1"
        "$2" resume "$1/run" --quiet >"$3/second" 2>&1
        cp -r "$1/run" "$3/run"
    "#;
    let disk = place.join("disk");
    fs::create_dir_all(&disk).unwrap();
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .args([disk.as_os_str(), env!("CARGO_BIN_EXE_appropo").as_ref(), place.as_os_str()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let said = fs::read_to_string(place.join("first")).unwrap();
    assert_eq!(fs::read_to_string(place.join("status")).unwrap(), "1\n", "{said}");
    assert!(said.contains("No space left") && said.contains("appropo resume"), "{said}");
    let whole = place.join("whole");
    solve(&whole, &["mars-rover-diverse", "--player", "blackwell", "--rounds", "150"]);
    assert_eq!(
        files(&place.join("run")),
        files(&whole),
        "{}",
        fs::read_to_string(place.join("second")).unwrap()
    );
}

/// Without the rights of root, and in a folder that can't be written to.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_without_the_right_to_write_is_refused_at_once() {
    let folder = place("rights").join("run");
    solve(&folder, &["mars-rover"]);
    fs::remove_file(folder.join("result.json")).unwrap();
    let script = r#"chmod a-w "$1"; "$2" resume "$1"; status=$?; chmod u+w "$1"; exit $status"#;
    let output = Command::new("unshare")
        .args(["--user", "sh", "-c", script, "sh"])
        .args([folder.as_os_str(), env!("CARGO_BIN_EXE_appropo").as_ref()])
        .output()
        .unwrap();
    let said = text(&output);
    assert!(output.status.code() == Some(1) && said.contains("must let you write to it"), "{said}");
    assert!(!said.contains("round"), "{said}");
}

/// Full before anything is written: there is nothing to resume.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_from_the_start_holds_no_run() {
    let disk = place("full_at_once");
    let script = r#"
        set -e
        mount -t tmpfs -o size=16k tmpfs "$1"
        set +e
        head -c 12288 /dev/zero >"$1/other"
        "$2" solve mars-rover --run "$1/run"
    "#;
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .args([disk.as_os_str(), env!("CARGO_BIN_EXE_appropo").as_ref()])
        .output()
        .unwrap();
    let said = text(&output);
    assert!(said.contains("No space left") && said.contains("give the same command again"), "{said}");
}

#[test]
fn a_run_can_be_played_evaluated_exported_and_shown() {
    let place = place("used");
    let folder = place.join("run");
    solve(&folder, &["mars-rover", "--oracle", "ppo", "--samples", "12000"]);
    let said = |arguments: &[&str]| {
        let output = appropo(arguments).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        text(&output)
    };
    let folder = folder.to_str().unwrap();
    assert!(said(&["play", folder, "--seed", "3"]).contains("after"));
    let evaluated = said(&["evaluate", folder, "--episodes", "500", "--json"]);
    let evaluated: serde_json::Value = serde_json::from_str(&evaluated).unwrap();
    let failure = &evaluated["measurements"][0];
    assert_eq!(failure["measure"], "failure");
    let (low, high) = (failure["low"].as_f64().unwrap(), failure["high"].as_f64().unwrap());
    let result = fs::read_to_string(Path::new(folder).join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    assert!((low..high).contains(&result["measurements"]["failure"].as_f64().unwrap()));
    let onnx = place.join("policy.onnx");
    said(&["export", folder, "--onnx", onnx.to_str().unwrap()]);
    let weights = fs::read_to_string(place.join("policy.json")).unwrap();
    let weights: serde_json::Value = serde_json::from_str(&weights).unwrap();
    let policies = weights["policies"].as_array().unwrap();
    let total: f64 = policies.iter().map(|policy| policy["weight"].as_f64().unwrap()).sum();
    assert!((total - 1.0).abs() < 1e-9);
    assert!(policies.iter().all(|policy| place.join(policy["file"].as_str().unwrap()).is_file()));
    let again = appropo(&["export", folder, "--onnx", onnx.to_str().unwrap()]).output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again).contains("policy.json is there already") || text(&again).contains(".onnx is there"));
    let page = place.join("both.html");
    // A folder where its last file is to be written first: what was written before it goes again.
    fs::create_dir(place.join(".appropo-new-other.json")).unwrap();
    let other = appropo(&["export", folder, "--onnx", place.join("other.onnx").to_str().unwrap()]).output();
    assert_eq!(other.unwrap().status.code(), Some(1));
    let names = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!names.into_iter().any(|name| name.starts_with("other")));
    let report = ["report", folder, folder, "--out", page.to_str().unwrap()];
    said(&report);
    said(&report);
    assert!(fs::read_to_string(&page).unwrap().contains("mars-rover"));
    // A page of someone else is left alone.
    fs::write(&page, "<!DOCTYPE html>\n<html lang=\"en\">\n").unwrap();
    let refused = appropo(&report).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused).contains("no report of appropo"), "{}", text(&refused));
    assert!(fs::read_to_string(&page).unwrap().ends_with("\"en\">\n"));
}

/// What a run prints goes by the settings in force, not by those of the problem file.
#[test]
fn a_run_says_what_the_same_search_without_a_folder_says() {
    let folder = place("tolerant").join("run");
    let arguments = ["mars-rover-infeasible", "--tolerance", "10", "--seed", "7"];
    let with = text(&solve(&folder, &arguments));
    let without = text(&appropo(&["solve"]).args(arguments).output().unwrap());
    let until_time = |text: &str| text[..text.rfind(" policy").unwrap()].to_owned();
    assert_eq!(until_time(&with), until_time(&without));
    assert!(with.contains("within the tolerance of 10") && !with.contains("violated"), "{with}");
}

/// The output of a finished run is printed again as it was.
#[test]
fn a_finished_run_is_not_run_again() {
    let folder = place("finished").join("run");
    let first = text(&solve(&folder, &["mars-rover-infeasible"]));
    let output = appropo(&["resume"]).arg(&folder).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(first.starts_with(&text(&output)), "{first}\n{}", text(&output));
    // Killed between its result and its report, it gets what is missing.
    let late = ["times.json", "report.html"].map(|name| folder.join(name));
    late.iter().for_each(|path| fs::remove_file(path).unwrap());
    fs::write(folder.join("checkpoint"), "").unwrap();
    assert_eq!(appropo(&["resume"]).arg(&folder).output().unwrap().status.code(), Some(3));
    assert!(late.iter().all(|path| path.is_file()) && !folder.join("checkpoint").exists());
}

#[test]
fn the_name_of_a_run_does_not_reach_the_terminal_raw() {
    let folder = place("control").join("run");
    solve(&folder, &["mars-rover"]);
    alter(&folder, "run.json", |text| text.replace("mars-rover", "\\u001b[2J"));
    let said = text(&appropo(&["evaluate"]).arg(&folder).output().unwrap());
    assert!(said.contains("\\u{1b}[2J: ") && !said.contains('\u{1b}'), "{said:?}");
}

#[test]
fn places_that_can_not_hold_a_run_are_refused() {
    let place = place("places");
    let file = place.join("file");
    fs::write(&file, "mine").unwrap();
    for (path, expected) in [(file.as_path(), "a file is in the way"), (Path::new(""), "value is required")] {
        let output = appropo(&["solve", "mars-rover", "--run"]).arg(path).output().unwrap();
        assert!(!output.status.success() && text(&output).contains(expected), "{}", text(&output));
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

/// A run as version 0.1 left it, as far as it takes to tell.
#[test]
fn runs_of_an_earlier_version_are_refused() {
    let folder = place("earlier");
    let run = "{\n  \"format\": 1,\n  \"version\": \"0.1.0\",\n  \"problem\": \"mars-rover\",\n  \"seed\": 0,\n  \
               \"command\": \"appropo solve problem.toml\",\n  \"sha256\": \"\"\n}\n";
    fs::write(folder.join("run.json"), run).unwrap();
    let expected =
        "was written by appropo 0.1.0, whose runs this version does not read; use that version for it";
    for command in ["resume", "verify", "evaluate", "play", "report"] {
        let output = appropo(&[command]).arg(&folder).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{command}: {}", text(&output));
        assert!(text(&output).contains(expected), "{command}: {}", text(&output));
    }
    // Nothing was taken away or added.
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["run.json"]);
}

/// Why a search ended stands in its result, and the episodes that verify compares with.
#[test]
fn a_result_says_why_its_search_ended() {
    let place = place("stops");
    let result = |name: &str, arguments: &[&str]| -> serde_json::Value {
        let folder = place.join(name);
        solve(&folder, arguments);
        serde_json::from_slice(&fs::read(folder.join("result.json")).unwrap()).unwrap()
    };
    for (stop, arguments) in [
        ("reached", &["mars-rover"][..]),
        ("refuted", &["mars-rover-infeasible", "--set", "goal=feasibility"]),
        ("rounds", &["mars-rover-diverse", "--player", "ogd", "--rounds", "3"]),
        ("gaveup", &["mars-rover-infeasible", "--oracle", "ppo", "--samples", "2000"]),
    ] {
        assert_eq!(result(stop, arguments)["stop"], stop, "{arguments:?}");
    }
    let learnt = result("learnt", &["cart-pole", "--samples", "3000"]);
    let evaluation = learnt["evaluation"].as_object().unwrap();
    assert!(evaluation.contains_key("measured") && evaluation.contains_key("quantiles"), "{evaluation:?}");
}
