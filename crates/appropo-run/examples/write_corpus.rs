//! Writes the checkpoints of the fuzzers' corpus anew, after a change of what a state holds.

#[allow(dead_code)] // the fuzzer's own entry
#[path = "../../../fuzz/src/checkpoint.rs"]
mod checkpoint;

use std::error::Error;
use std::fs;
use std::path::Path;

use appropo::state::Saver;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/checkpoint");
    for (game, name) in (0..).zip(checkpoint::GAMES) {
        let states = checkpoint::play(game, None)?;
        fs::write(folder.join(format!("{name}-state")), [&[game], &states[0][..]].concat())?;
        let mut saver = Saver::default();
        saver.put(&states.len());
        saver.put(&0u64);
        saver.put_bytes(b"e3b0c442");
        saver.put_bytes(&states[states.len() - 1]);
        fs::write(folder.join(format!("{name}-checkpoint")), [&[game], &saver.into_bytes()[..]].concat())?;
    }
    Ok(())
}
