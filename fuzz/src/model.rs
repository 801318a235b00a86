//! What the files of a model may hold: anything.

use std::collections::BTreeMap;

use appropo_file::model::{InMemory, Limits, encode, read_from};

/// No more than this is unpacked, and all but the smallest models are kept in files.
const LIMITS: Limits = Limits { unpacked: 1 << 24, transitions: 8 };

/// Storm's text, packed or not.
pub fn drn(bytes: &[u8]) {
    model(&[("model.drn", bytes)], "model.drn");
}

/// The binary format, packed or not.
pub fn umb(bytes: &[u8]) {
    model(&[("model.umb", bytes)], "model.umb");
}

/// PRISM's files, one after another with a byte of zeros between them.
pub fn prism(bytes: &[u8]) {
    let names =
        ["model.tra", "model.lab", "model.sta", "model.srew", "model.trew", "model1.srew", "model1.trew"];
    let files: Vec<(&str, &[u8])> =
        names.into_iter().zip(bytes.split(|byte| *byte == 0)).filter(|(_, part)| !part.is_empty()).collect();
    model(&files, "model.tra");
}

/// Reads a model. What is read is written and read again as the same, and is a world.
fn model(files: &[(&str, &[u8])], name: &str) {
    let folder =
        InMemory(BTreeMap::from_iter(files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()))));
    let Ok(found) = read_from(&folder, name, &LIMITS) else { return };
    let _ = found.world(&Default::default());
    let Ok(umb) = encode(&found, "again.umb") else { return };
    let folder = InMemory(BTreeMap::from([("again.umb".to_owned(), umb)]));
    let again = read_from(&folder, "again.umb", &Limits { unpacked: u64::MAX, transitions: u64::MAX });
    assert_eq!(again.map(|again| again.checksum()), Ok(found.checksum()));
    assert!(encode(&found, "again.drn").is_ok());
}
