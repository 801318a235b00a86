//! Data sets as files: what is written is read again, and what is wrong is told with its file and row.

use std::fs;
use std::path::{Path, PathBuf};

use appropo::dataset::{Dataset, Step};
use appropo::env::Space;
use appropo::measurement::Measures;
use appropo::set::ConvexSet;
use appropo_file::Reader;
use appropo_file::dataset::{Format, decode, encode, read};

const GOOD: &str = "\
episode,step,observation,action,cost,visits_0,visits_1,next_observation,terminated,truncated
4,0,0,1,0.5,1,0,1,false,false
4,1,1,0,0,0,1,2,true,false
9,0,0,0,-1e-9,1,0,0,False,True
";

fn csv(text: &str) -> Result<Dataset, String> {
    decode("log.csv", Format::Csv, text.as_bytes().to_vec()).map_err(|error| error.to_string())
}

fn place(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn columns_are_read() {
    let dataset = csv(GOOD).unwrap();
    let measures: Vec<(String, usize)> =
        dataset.measures().iter().map(|(name, range)| (name.to_owned(), range.len())).collect();
    assert_eq!(measures, [("cost".into(), 1), ("visits".into(), 2)]);
    assert_eq!((dataset.observations(), dataset.actions()), (&Space::Discrete(3), &Space::Discrete(2)));
    let episodes: Vec<_> = dataset.episodes().collect();
    assert_eq!(episodes[0].observations, [0.0, 1.0, 2.0]);
    assert_eq!(episodes[0].z, [0.5, 1.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!((episodes[1].z[0], episodes[1].is_terminated), (-1e-9, false));
    // The order of columns does not matter, nor quotation marks.
    let reversed =
        |line: &str| line.split(',').rev().map(|cell| format!("\"{cell}\"")).collect::<Vec<_>>().join(",");
    let shuffled: Vec<String> = GOOD.lines().map(reversed).collect();
    let again = csv(&shuffled.join("\r\n")).unwrap();
    assert_eq!(again.episodes().count(), 2);
    assert_eq!(again.measures().range("visits").unwrap().len(), 2);
}

#[test]
fn what_is_written_is_read_again() {
    let bounds = vec![(f64::NEG_INFINITY, f64::INFINITY); 2];
    let measures = Measures::new([("cost", 1), ("forces", 3)]);
    let mut builder =
        Dataset::builder(measures, Space::Continuous(bounds.clone()), Space::Continuous(bounds));
    let rows = [[0.1, -2.5e-300], [1.0 / 3.0, 7.0], [f64::MAX, 0.0], [5e-324, -0.0]];
    for (i, pair) in rows.windows(2).enumerate() {
        let z = [pair[0][0].min(1e15), 1e-17, 12345.678901234567, -3.0];
        let step =
            Step { step: i as u64, observation: &pair[0], next_observation: &pair[1], ..Step::default() };
        builder.push(&Step { z: &z, action: &[0.5, 1e22], truncated: i == 2, ..step }).unwrap();
    }
    let dataset = builder.build().unwrap();
    for format in [Format::Csv, Format::Parquet] {
        let again = decode("again", format, encode(&dataset, format).unwrap()).unwrap();
        assert_eq!(again.checksum(), dataset.checksum(), "{format:?}");
        assert_eq!(again.measures(), dataset.measures());
    }
    let mut odd = Dataset::builder(Measures::new([("a_1", 1)]), Space::Discrete(1), Space::Discrete(1));
    let step =
        Step { observation: &[0.0], action: &[0.0], z: &[0.0], next_observation: &[0.0], ..Step::default() };
    odd.push(&Step { terminated: true, ..step }).unwrap();
    let error = encode(&odd.build().unwrap(), Format::Csv).unwrap_err().to_string();
    assert!(error.contains("a measure called \"a_1\" can't be written"), "{error}");
}

/// Every way to be wrong, with file, row, what was found and what was expected.
#[test]
fn bad_logs_are_told_where_they_are_wrong() {
    let said = |from: &str, to: &str| {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        csv(&text).unwrap_err()
    };
    let cases = [
        ("terminated,", "ended,", "log.csv: the column \"terminated\" is missing; found episode, step"),
        (
            "next_observation",
            "next_seen",
            "log.csv: the column \"next_observation\", or \"next_observation_0\", is missing",
        ),
        ("visits_0", "visits_2", "log.csv: the column \"visits_0\", one of 2, is missing"),
        ("visits_1", "visits_0", "log.csv: there are two columns \"visits_0\""),
        ("visits_0,visits_1", "visits,visits_0", "log.csv: there are columns \"visits\" and \"visits_0\""),
        ("0.5", "NaN", "log.csv, row 1 (line 2): the measure \"cost\" is NaN; expected a finite number"),
        ("0.5", "cheap", "log.csv, row 1 (line 2): the column \"cost\" has \"cheap\"; expected a number"),
        ("0.5", "", "log.csv, row 1 (line 2): the column \"cost\" has nothing; expected a number"),
        ("0.5,", "", "log.csv, row 1 (line 2): it has 9 values; expected 10, one a column"),
        (
            "4,0,0,1,",
            "4,0,0,-1,",
            "log.csv, row 1 (line 2): the column \"action\" has -1; expected a whole number, 0 or more",
        ),
        ("4,0,0,1,", "4,0,0,1.5,", "numbers that are not counted stand in \"action_0\""),
        (
            "2,true,false",
            "2,false,false",
            "log.csv, row 3 (line 4): episode 9 begins, but episode 4 never ended",
        ),
        ("False,True", "False,False", "log.csv, row 3 (line 4): episode 9 never ends"),
        ("9,0,", "4,0,", "log.csv, row 3 (line 4): episode 4 has ended in an earlier row"),
        ("4,1,1,", "4,2,1,", "log.csv, row 2 (line 3): step is 2 in episode 4; expected 1"),
        (
            "4,1,1,0",
            "4,1,2,0",
            "log.csv, row 2 (line 3): the observation is 2; expected 1, the next observation",
        ),
        ("4,1,", "4,x,", "the column \"step\" has \"x\""),
        (
            "9,0,",
            "9.5,0,",
            "log.csv, row 3 (line 4): the column \"episode\" has 9.5; expected a whole number",
        ),
        ("2,true", "2,2", "log.csv, row 2 (line 3): the column \"terminated\" has 2; expected true or false"),
    ];
    for (from, to, expected) in cases {
        let found = said(from, to);
        assert!(found.contains(expected), "{found}\n{expected}");
    }
    let head = GOOD.lines().next().unwrap();
    assert_eq!(csv(head).unwrap_err(), "log.csv: there are no rows; expected one episode or more");
    assert!(csv("").unwrap_err().contains("is missing"));
    for damaged in [&b"PAR1"[..], b"", b"PAR1\x00\x00\x00\x00PAR1"] {
        let error = decode("log.parquet", Format::Parquet, damaged.to_vec()).unwrap_err().to_string();
        assert!(error.starts_with("log.parquet: it can't be read as Parquet"), "{error}");
    }
    let error = read(Path::new("log.txt")).unwrap_err().to_string();
    assert_eq!(
        error,
        "log.txt: expected a name that ends in .csv or .parquet, which says what kind of file it is"
    );
    assert!(read(Path::new("no/log.csv")).unwrap_err().to_string().starts_with("no/log.csv: can't be read"));
}

const PROBLEM: &str = r#"
discount = 0.5
environment = { dataset = "log.csv" }
[[constraint]]
measure = "cost"
at_most = 1
[solve]
method = "batch"
"#;

fn load(folder: &Path, text: &str) -> Result<appropo_file::ProblemFile, String> {
    let path = folder.join("problem.toml");
    fs::write(&path, text).unwrap();
    Reader::default().load(&path.to_string_lossy()).map_err(|error| error.to_string())
}

#[test]
fn problems_name_their_logs() {
    let folder = place("datasets_of_problems");
    fs::write(folder.join("log.csv"), GOOD).unwrap();
    let file = load(&folder, PROBLEM).unwrap();
    let logged = file.problem.env().logged().unwrap();
    assert_eq!(logged.steps(), 3);
    // Written in full, it is the same problem from anywhere, and other data in their place are refused.
    let registry = appropo::registry::Registry::standard();
    let solve =
        appropo_file::written_solve(&file.problem, file.method.as_ref(), &file.budget, 0, &registry).unwrap();
    let text = appropo_file::written(&file.problem, &registry) + &solve;
    let elsewhere = place("datasets_elsewhere");
    let again = load(&elsewhere, &text).unwrap();
    assert_eq!(again.problem.env().logged().unwrap().checksum(), logged.checksum());
    fs::write(folder.join("log.csv"), GOOD.replace("0.5", "0.25")).unwrap();
    let error = load(&elsewhere, &text).unwrap_err();
    assert!(error.contains("they are not those that this was written for"), "{error}");
    fs::write(folder.join("log.csv"), GOOD).unwrap();
    // More observations and actions than were logged, but no fewer.
    let with = |more: &str| PROBLEM.replace("\"log.csv\" }", &format!("\"log.csv\", {more} }}"));
    let wide = load(&folder, &with("states = 7, choices = 5")).unwrap();
    assert_eq!(
        (wide.problem.env().observations().count(), wide.problem.env().actions().count()),
        (Some(7), Some(5))
    );
    let error = load(&folder, &with("states = 2")).unwrap_err();
    assert!(
        error.contains("row 2: the next observation is 2; expected a whole number from 0 to 1"),
        "{error}"
    );
    assert!(load(&folder, &with("lower = [0]")).unwrap_err().contains("leave this key out"));
    // Whoever plays is told so where it is named.
    let error = load(&folder, &PROBLEM.replace("\"batch\"", "\"lagrangian\"")).unwrap_err();
    assert!(error.contains("nobody can play; use the method \"batch\""), "{error}");
    let error = load(&folder, &PROBLEM.replace("log.csv", "lost.csv")).unwrap_err();
    assert!(error.contains("lost.csv: can't be read"), "{error}");
    // With a world: logs of the method, whose measures must be the world's.
    let lake =
        PROBLEM.replace("{ dataset = \"log.csv\" }", "{ name = \"frozen-lake\" }").replace("cost", "failure");
    let error = load(&folder, &lake).unwrap_err();
    assert!(error.contains("batch.dataset"), "{error}");
    let error = load(&folder, &format!("{lake}[solve.batch]\ndataset = \"log.csv\"\n")).unwrap_err();
    assert!(error.contains("does not have the measure \"failure\""), "{error}");
}

/// Vectors of experts: 0.5 + 0.5·0 and −1e-9 over two episodes.
#[test]
fn constraints_name_the_means_of_demonstrations() {
    let folder = place("datasets_of_experts");
    fs::write(folder.join("log.csv"), GOOD).unwrap();
    let expert = "{ dataset = \"log.csv\" }";
    let with = |constraint: &str| PROBLEM.replace("measure = \"cost\"\nat_most = 1", constraint);
    let requirement = |constraint: &str| {
        let file = load(&folder, &with(constraint)).unwrap();
        file.problem.target().constraints()[0].requirement()
    };
    assert_eq!(requirement(&format!("measure = \"cost\"\nat_least = {expert}")), "at least 0.2499999995");
    let ball =
        load(&folder, &with(&format!("measure = \"visits\"\nball = {{ center = {expert}, radius = 0.1 }}")))
            .unwrap();
    let set = ball.problem.target().set();
    // Visits: (1, 0.5·1) and (1, 0), so (1, 0.25) on average.
    assert!(
        set.contains(&[1.0, 0.25], 0.0)
            && set.contains(&[1.0, 0.34], 0.0)
            && !set.contains(&[1.0, 0.36], 0.0)
    );
    let error =
        load(&folder, &with("measure = \"cost\"\nat_least = { dataset = \"lost.csv\" }")).unwrap_err();
    assert!(error.contains("problem.toml:") && error.contains("lost.csv: can't be read"), "{error}");
}
