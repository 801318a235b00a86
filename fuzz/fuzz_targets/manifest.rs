#![no_main]

#[allow(dead_code)]
#[path = "../src/policies.rs"]
mod policies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| policies::manifest(bytes));
