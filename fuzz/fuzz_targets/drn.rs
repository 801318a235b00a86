#![no_main]

#[allow(dead_code)]
#[path = "../src/model.rs"]
mod model;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| model::drn(bytes));
