//! Studies as their users run them: several processes draw from one folder, some of which are killed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use appropo::random;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::runs::{appropo, files, place, text};

fn compare(folder: &Path) -> Command {
    let mut command =
        appropo(&["compare", "mars-rover-diverse", "cart-pole", "--methods", "appropo:ppo,lagrangian"]);
    command.args(["--seeds", "2", "--samples", "3000", "--checkpoint-every", "0", "--threads", "1", "--out"]);
    command.arg(folder);
    command
}

fn start(folder: &Path) -> Child {
    compare(folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The files of every run that is in its place.
fn results(folder: &Path) -> BTreeMap<PathBuf, BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for problem in ["mars-rover-diverse", "cart-pole"] {
        for method in ["appropo-ppo", "lagrangian"] {
            for seed in ["0", "1"] {
                let name = Path::new(problem).join(method).join(seed);
                if folder.join(&name).join("result.json").is_file() {
                    found.insert(name.clone(), files(&folder.join(&name)));
                }
            }
        }
    }
    found
}

/// How the claims on each run ended.
fn stages(folder: &Path, run: &Path) -> Vec<String> {
    let mut stages = Vec::new();
    for entry in fs::read_dir(folder.join(".study").join(run)).unwrap() {
        let (path, name) =
            (entry.as_ref().unwrap().path(), entry.unwrap().file_name().into_string().unwrap());
        assert!(!name.starts_with("run-"), "{} is left over", path.display());
        if name.starts_with("claim-") {
            let claim: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap_or_default();
            stages.push(claim["stage"].as_str().unwrap_or("held").to_owned());
        }
    }
    stages
}

/// Two processes draw from one folder and are killed at random: each run ends once, as if nothing had happened.
#[test]
fn kills_of_a_study_leave_no_trace() {
    let place = place("study-kills");
    let (whole, killed, begin) = (place.join("whole"), place.join("killed"), Instant::now());
    assert!(compare(&whole).output().unwrap().status.success());
    let (undisturbed, usual) = (results(&whole), begin.elapsed());
    assert_eq!(undisturbed.len(), 8);
    let mut rng = random::generator(5);
    let mut kills = 0;
    let mut processes = [start(&killed), start(&killed)];
    while kills < 8 && results(&killed).len() < 8 {
        std::thread::sleep(usual.mul_f64(0.1 * random::unit(&mut rng)).min(Duration::from_millis(500)));
        let process = &mut processes[kills % 2];
        process.kill().unwrap();
        process.wait().unwrap();
        *process = start(&killed);
        kills += 1;
    }
    assert!(kills >= 4, "{kills}");
    for process in &mut processes {
        assert!(process.wait().unwrap().success());
    }
    assert_eq!(results(&killed), undisturbed);
    for run in undisturbed.keys() {
        let stages = stages(&killed, run);
        assert!(stages.iter().filter(|stage| *stage == "finished").count() <= 1, "{run:?}: {stages:?}");
        assert!(stages.iter().all(|stage| stage != "beaten" && stage != "failed"), "{run:?}: {stages:?}");
    }
    // What has ended is not run again, also where only the folder is named.
    let before = fs::metadata(killed.join("cart-pole/lagrangian/0/result.json")).unwrap().modified().unwrap();
    let output = appropo(&["study", "--json"]).arg(&killed).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["rows"].as_array().unwrap().len(), 4);
    assert_eq!(shown["rows"][0]["runs"], 2);
    let after = fs::metadata(killed.join("cart-pole/lagrangian/0/result.json")).unwrap().modified().unwrap();
    assert_eq!(before, after);
}

/// What fails is kept with its reason, beside the others, and tried again on request only.
#[test]
fn failures_are_told_and_tried_again_on_request() {
    let place = place("study-failures");
    let folder = place.join("study");
    let run = |more: &[&str]| {
        appropo(&[
            "compare",
            "mars-rover",
            "--methods",
            "appropo,appropo:ppo",
            "--seeds",
            "1",
            "--samples",
            "500",
        ])
        .arg("--out")
        .arg(&folder)
        .args(more)
        .output()
        .unwrap()
    };
    assert!(run(&[]).status.success());
    // As if the second had failed.
    let (desk, done) =
        (folder.join(".study/mars-rover/appropo-ppo/0"), folder.join("mars-rover/appropo-ppo/0"));
    fs::remove_dir_all(&done).unwrap();
    let body = "{\n  \"format\": 2,\n  \"error\": \"the world broke\",\n";
    let digest: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(desk.join("failure-1.json"), format!("{body}  \"sha256\": \"{digest}\"\n}}\n")).unwrap();
    let failed = run(&[]);
    assert_eq!(failed.status.code(), Some(1), "{}", text(&failed));
    assert!(text(&failed).contains("mars-rover/appropo-ppo/0: the world broke"), "{}", text(&failed));
    assert!(text(&failed).contains("1 run failed; --retry tries again"), "{}", text(&failed));
    assert!(!done.exists());
    let again = run(&["--retry"]);
    assert!(again.status.success() && done.join("result.json").is_file(), "{}", text(&again));
    let none = appropo(&["study"]).arg(&place).output().unwrap();
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none).contains("holds no study"), "{}", text(&none));
}
