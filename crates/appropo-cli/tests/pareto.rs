//! Pareto fronts, prices and the nearest that can be had, as users see them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn appropo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_appropo")).args(arguments).output().unwrap()
}

fn json(arguments: &[&str]) -> (Value, i32) {
    let output = appropo(&[arguments, &["--json"]].concat());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code().unwrap())
}

const FRONT: [&str; 6] = ["pareto", "mars-rover", "--maximize", "reward", "--minimize", "failure"];

#[test]
fn a_front_is_printed_and_kept_and_checked() {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("front");
    let _ = fs::remove_dir_all(&place);
    let (folder, table) = (place.join("front"), place.join("front.csv"));
    fs::create_dir_all(&place).unwrap();
    let [folder, table] = [folder, table].map(|path| path.display().to_string());
    let (front, status) = json(&[&FRONT[..], &["--run", &folder, "--csv", &table]].concat());
    assert_eq!((status, front["verdict"].as_str()), (0, Some("feasible")));
    assert!(front["gap"].as_f64().unwrap() <= 1e-4);
    let vertices = front["vertices"].as_array().unwrap();
    let last = vertices.last().unwrap();
    assert!((last["reward"].as_f64().unwrap() + 0.1110052).abs() < 1e-6, "{last}");
    let rows = fs::read_to_string(&table).unwrap();
    assert_eq!(rows.lines().next(), Some("reward,failure,steps"));
    assert_eq!(rows.lines().count(), vertices.len() + 1);
    assert_eq!(rows, fs::read_to_string(Path::new(&folder).join("front.csv")).unwrap());
    assert!(
        fs::read_to_string(Path::new(&folder).join("report.html")).unwrap().contains("\"kind\":\"front\"")
    );
    let verified = appropo(&["verify", &folder]);
    let said = String::from_utf8(verified.stdout).unwrap();
    assert!(verified.status.success() && said.contains("verified: a front within"), "{said}");
    // Any other byte in any of its files is found.
    for name in
        ["front.json", "proof.json", "front.csv", "problem.toml", "manifest.json", "policies.safetensors"]
    {
        let path = Path::new(&folder).join(name);
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!(appropo(&["verify", &folder]).status.code(), Some(5), "{name}");
        fs::write(&path, whole).unwrap();
    }
    let again = appropo(&[&FRONT[..], &["--csv", &table]].concat());
    assert_eq!(again.status.code(), Some(2), "a table is not written over");
}

#[test]
fn a_front_says_what_it_lacks() {
    assert_eq!(appropo(&FRONT[..4]).status.code(), Some(2));
    let early = appropo(&[&FRONT[..], &["--calls", "8"]].concat());
    assert_eq!(early.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&early.stdout).contains("stopped before the gap was closed"));
    let infeasible = ["pareto", "mars-rover-infeasible", "--maximize", "reward", "--minimize", "failure"];
    assert_eq!(json(&infeasible).1, 3);
    let learnt = ["pareto", "cart-pole", "--maximize", "reward", "--minimize", "failure"];
    let refused = appropo(&learnt);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no model to plan in"));
}

#[test]
fn prices_and_the_nearest_are_told() {
    let (found, _) = json(&["maximize", "mars-rover", "--measure", "reward"]);
    let price = &found["prices"][0];
    assert_eq!((price["constraint"].as_str(), price["loosened"].as_str()), (Some("safety"), Some("upper")));
    assert!((price["price"].as_f64().unwrap() - 0.0919051).abs() < 1e-6, "{price}");
    assert_eq!(found["prices"][1]["price"].as_f64(), Some(0.0));
    let (found, status) = json(&["maximize", "mars-rover-infeasible", "--measure", "steps"]);
    assert_eq!(status, 3);
    assert!((found["nearest"]["failure"].as_f64().unwrap() - 0.0237818).abs() < 1e-6, "{found}");
    let said = appropo(&["maximize", "mars-rover", "--measure", "reward"]);
    assert!(String::from_utf8_lossy(&said.stdout).contains("one more failure allowed is worth 0.0919"));
}
