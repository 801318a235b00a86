//! The files that fuzzing begins with, and those it once found, given to the same functions.

#[path = "../../../fuzz/src/dataset.rs"]
mod dataset;
#[path = "../../../fuzz/src/model.rs"]
mod model;
#[path = "../../../fuzz/src/problem.rs"]
mod problem;

use std::fs;
use std::path::Path;

fn give(name: &str, to: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut count = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        // Shown where the test fails.
        println!("{}", path.display());
        to(&fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count > 0, "no files");
}

#[test]
fn problems() {
    give("problem", problem::problem);
}

#[test]
fn datasets() {
    give("dataset", dataset::dataset);
}

#[test]
fn models() {
    give("drn", model::drn);
    give("umb", model::umb);
    give("prism", model::prism);
}
