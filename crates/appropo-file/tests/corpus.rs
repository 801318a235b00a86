//! The problem files that fuzzing begins with, and those it once found, given to the same function.

#[path = "../../../fuzz/src/problem.rs"]
mod problem;

use std::fs;
use std::path::Path;

#[test]
fn problems() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/problem");
    let mut count = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        // Shown where the test fails.
        println!("{}", path.display());
        problem::problem(&fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count > 0, "no files");
}
