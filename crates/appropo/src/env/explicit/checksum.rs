use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::ExplicitModel;

impl ExplicitModel {
    /// A checksum of all that can be measured: the same for a model in whatever format it is kept.
    pub fn checksum(&self) -> String {
        let mut hash = Sha256::new();
        add(&mut hash, self.start.iter().flat_map(|(state, p)| [u64::from(*state), p.to_bits()]));
        for list in [self.choices.as_slice(), &self.rows, &self.targets] {
            add(&mut hash, list.iter().map(|index| u64::from(*index)));
        }
        add(&mut hash, self.probabilities.iter().map(|probability| probability.to_bits()));
        for structure in &self.rewards {
            add(&mut hash, structure.name.bytes().map(u64::from));
            for list in [structure.states.as_slice(), &structure.choices, &structure.transitions] {
                add(&mut hash, list.iter().map(|value| value.to_bits()));
            }
        }
        // Some formats leave out labels without states.
        for label in self.labels.iter().filter(|label| !label.states.is_empty()) {
            add(&mut hash, label.name.bytes().map(u64::from));
            add(&mut hash, label.states.iter().map(|state| u64::from(*state)));
        }
        hash.finalize().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// Numbers, and how many there were.
fn add(hash: &mut Sha256, numbers: impl Iterator<Item = u64>) {
    let (mut buffer, mut count) = ([0u8; 4096], 0usize);
    for number in numbers {
        let place = count % 512 * 8;
        buffer[place..place + 8].copy_from_slice(&number.to_le_bytes());
        count += 1;
        if count.is_multiple_of(512) {
            hash.update(buffer);
        }
    }
    hash.update(&buffer[..count % 512 * 8]);
    hash.update(count.to_le_bytes());
}
