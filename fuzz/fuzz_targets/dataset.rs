#![no_main]

#[allow(dead_code)]
#[path = "../src/dataset.rs"]
mod dataset;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dataset::dataset(bytes));
