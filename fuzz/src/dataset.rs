//! What the file of a data set may hold: anything.

use appropo_file::dataset::{Format, decode, encode};

/// Reads a data set as both kinds of file. What is read is written and read again as the same.
pub fn dataset(bytes: &[u8]) {
    for format in [Format::Csv, Format::Parquet] {
        let Ok(found) = decode("dataset", format, bytes.to_vec()) else { continue };
        for format in [Format::Csv, Format::Parquet] {
            let Ok(written) = encode(&found, format) else { continue };
            let again = decode("again", format, written);
            assert_eq!(again.map(|again| again.checksum().to_owned()), Ok(found.checksum().to_owned()));
        }
    }
}
