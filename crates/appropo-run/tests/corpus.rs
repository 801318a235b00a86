//! What fuzzing begins with, and what it once found, given to the same functions.

#[path = "../../../fuzz/src/checkpoint.rs"]
mod checkpoint;
#[path = "../../../fuzz/src/policies.rs"]
mod policies;

use std::fs;
use std::path::{Path, PathBuf};

/// No input may take more memory than this.
const MEMORY: u64 = 32 << 20;

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

fn replay(target: &str, run: fn(&[u8])) {
    let mut count = 0;
    for file in fs::read_dir(folder(target)).unwrap() {
        let path = file.unwrap().path();
        // Shown where the test fails.
        println!("{}", path.display());
        let bytes = fs::read(&path).unwrap();
        let taken = allocation_counter::measure(|| run(&bytes));
        assert!(taken.bytes_max < MEMORY, "{} bytes", taken.bytes_max);
        count += 1;
    }
    assert!(count > 0, "no files");
}

#[test]
fn manifests() {
    replay("manifest", policies::manifest);
}

#[test]
fn mixtures() {
    replay("policies", policies::policies);
}

#[test]
fn checkpoints() {
    replay("checkpoint", checkpoint::checkpoint);
}

/// Otherwise fuzzing would be stopped at the door.
#[test]
fn every_game_goes_on_from_its_own_states() {
    for (game, name) in (0..).zip(checkpoint::GAMES) {
        let states = checkpoint::play(game, None).unwrap();
        assert!(states.len() > 1, "{name}: {} rounds", states.len());
        for state in &states {
            checkpoint::play(game, Some(state)).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

/// Numbers that no run saves, in places all over a state.
#[test]
fn forged_numbers_are_refused_or_do_no_harm() {
    // Side by side, because this takes longest.
    std::thread::scope(|scope| {
        for game in 0..checkpoint::GAMES.len() as u8 {
            scope.spawn(move || forge(game));
        }
    });
}

fn forge(game: u8) {
    let forged = [u64::MAX, 1 << 60, 0, f64::NAN.to_bits(), f64::INFINITY.to_bits(), 1e300f64.to_bits()];
    let states = checkpoint::play(game, None).unwrap();
    let state = &states[states.len() / 2];
    for place in (0..state.len() - 8).step_by(1 + state.len() / 100) {
        for number in forged {
            let mut state = state.clone();
            state[place..place + 8].copy_from_slice(&number.to_le_bytes());
            let taken = allocation_counter::measure(|| drop(checkpoint::play(game, Some(&state))));
            assert!(taken.bytes_max < MEMORY, "game {game}, place {place}: {} bytes", taken.bytes_max);
        }
    }
}
