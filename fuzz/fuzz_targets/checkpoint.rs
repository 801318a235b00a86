#![no_main]

#[allow(dead_code)]
#[path = "../src/checkpoint.rs"]
mod checkpoint;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checkpoint::checkpoint(bytes));
