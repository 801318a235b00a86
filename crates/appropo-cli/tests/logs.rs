//! Logs: recorded, learnt from, gone on with and checked again.

use std::fs;
use std::path::Path;

use crate::runs::{appropo, files, place, text};

const LAKE: &str = r#"
discount = 0.9
environment = { name = "frozen-lake", slippery = true }
objective = { maximize = "reward" }
[[constraint]]
name = "safety"
measure = "failure"
at_most = 0.012
"#;

fn run(folder: &Path, arguments: &[&str], status: i32) -> String {
    let output = appropo(arguments).current_dir(folder).output().unwrap();
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", text(&output));
    text(&output)
}

#[test]
fn logs_are_recorded_learnt_from_and_checked_again() {
    let folder = &place("logs");
    fs::write(folder.join("lake.toml"), LAKE).unwrap();
    let record = ["record", "lake.toml", "--episodes", "400", "--seed", "7", "--out"];
    let said = run(folder, &[&record[..], &["log.csv"]].concat(), 0);
    assert!(said.starts_with("log.csv: 400 episodes of "), "{said}");
    // Both kinds of file have the same data; nothing is written over, and no other kind is known.
    let other = run(folder, &[&record[..], &["log.parquet"]].concat(), 0);
    assert_eq!(said.split("checksum").last(), other.split("checksum").last());
    assert!(run(folder, &[&record[..], &["log.csv"]].concat(), 2).contains("log.csv is there already"));
    assert!(run(folder, &[&record[..], &["log.txt"]].concat(), 2).contains("ends in .csv or .parquet"));
    assert!(!folder.join("log.txt").exists());
    // With a world, the model judges.
    let set = ["--set", "batch.dataset=log.csv", "--set", "batch.resamples=20", "--quiet"];
    let judged = appropo(&["solve", "lake.toml", "--method", "batch", "--run", "judged"]);
    let judged = { judged }.args(set).current_dir(folder).output().unwrap();
    assert!(
        text(&judged).contains("by fitted evaluation, with 95% intervals from 20 resamples"),
        "{}",
        text(&judged)
    );
    assert!(run(folder, &["verify", "judged"], 0).contains("computed again from 400 logged episodes"));
    // A run's policy is logged, too.
    let more = [
        "record",
        "lake.toml",
        "--run",
        "judged",
        "--epsilon",
        "0.5",
        "--episodes",
        "3",
        "--out",
        "more.csv",
    ];
    run(folder, &more, 0);
    // Without one, the verdict stays open.
    let logs = LAKE
        .replace("{ name = \"frozen-lake\", slippery = true }", "{ dataset = \"log.parquet\", states = 16 }");
    fs::write(
        folder.join("logs.toml"),
        format!("{logs}\n[solve]\nmethod = \"batch\"\nrounds = 8\nbatch.resamples = 20\n"),
    )
    .unwrap();
    let said = run(folder, &["solve", "logs.toml", "--quiet", "--run", "open"], 4);
    assert!(said.contains("undecided: by logged data alone"), "{said}");
    assert!(said.contains("no fresh ones: this assumes that logged actions cover"), "{said}");
    let said = run(folder, &["solve", "logs.toml", "--json"], 4);
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&json["verdict"], &json["confidence"]), (&"undecided".into(), &serde_json::Value::Null));
    assert!(json["logged"]["intervals"]["failure"][1].as_f64().unwrap() > 0.0, "{json}");
    assert_eq!(json["logged"]["assumptions"].as_array().unwrap().len(), 5);
    let page = fs::read_to_string(folder.join("open/report.html")).unwrap();
    assert!(page.contains("\"is_logged\":true") && page.contains("logged actions cover"));
    let said = run(folder, &["verify", "open"], 0);
    assert!(said.contains("can't be checked from logs") && said.contains("verified: undecided"), "{said}");
    assert!(run(folder, &["evaluate", "open"], 2).contains("nobody can play"));
    assert!(
        run(folder, &["solve", "logs.toml", "--method", "appropo"], 2).contains("use the method \"batch\"")
    );
    // Other data in their place are refused, and so are none.
    let known = files(&folder.join("open"));
    let bytes = fs::read(folder.join("log.parquet")).unwrap();
    fs::remove_file(folder.join("log.parquet")).unwrap();
    assert!(run(folder, &["verify", "open"], 5).contains("log.parquet: can't be read"));
    run(folder, &["record", "lake.toml", "--episodes", "400", "--seed", "8", "--out", "log.parquet"], 0);
    assert!(run(folder, &["verify", "open"], 5).contains("they are not those that this was written for"));
    fs::write(folder.join("log.parquet"), bytes).unwrap();
    assert_eq!(files(&folder.join("open")), known);
    // Forged intervals are found out, though every checksum fits.
    let forged = crate::runs::copy(&folder.join("open"), "logs_forged");
    crate::runs::alter(&forged, "result.json", |text| {
        text.replacen("\"unlogged\": 0.0", "\"unlogged\": 0.5", 2)
    });
    let (status, said) = crate::runs::verify(&forged);
    assert_eq!(status, Some(5), "{said}");
}
