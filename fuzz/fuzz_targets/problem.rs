#![no_main]

#[allow(dead_code)]
#[path = "../src/problem.rs"]
mod problem;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| problem::problem(bytes));
