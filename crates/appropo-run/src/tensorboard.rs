//! Event files, which TensorBoard draws curves from.
//!
//! ```
//! use appropo_run::tensorboard::{EventWriter, names};
//!
//! # fn main() -> std::io::Result<()> {
//! let mut events = EventWriter::new(Vec::new(), 1.7e9)?;
//! events.scalar(names::DISTANCE, 1, 1.7e9 + 0.5, 0.25)?;
//! events.scalar(&names::measure("reward"), 1, 1.7e9 + 0.5, -0.17)?;
//! # Ok(())
//! # }
//! ```

use std::io::{self, Write};

use crate::protobuf::Message;

/// Names of curves. Those under `rollout/` and `time/` are Stable-Baselines3's, which draws them over environment steps.
pub mod names {
    /// The mean reward of the latest policy's episodes.
    pub const EPISODE_REWARD: &str = "rollout/ep_rew_mean";
    /// The mean length of the latest episodes. Only where a learner plays.
    pub const EPISODE_LENGTH: &str = "rollout/ep_len_mean";
    /// Environment steps per second.
    pub const STEPS_PER_SECOND: &str = "time/fps";
    /// Seconds so far.
    pub const TIME_ELAPSED: &str = "time/time_elapsed";
    /// Environment steps so far.
    pub const TOTAL_STEPS: &str = "time/total_timesteps";
    /// The distance of the mixture's measurements to the target set.
    pub const DISTANCE: &str = "appropo/distance";
    /// A distance that no policy can go below.
    pub const LOWER_BOUND: &str = "appropo/lower_bound";

    /// A measure of the mixture.
    pub fn measure(name: &str) -> String {
        format!("measure/{name}")
    }

    /// The λ-player's weight on a measure.
    pub fn lambda(name: &str) -> String {
        format!("lambda/{name}")
    }
}

/// A name that TensorBoard takes for an event file. It reads a folder's files in the order of their names, so a resumed
/// run's next file needs a later time, or a higher `part` of the same time.
pub fn file_name(seconds: u64, part: u32) -> String {
    format!("events.out.tfevents.{seconds:010}.appropo.{part:06}")
}

/// Writes events, each with one call of the writer, so that a run cut short loses at most its last one. Go on in a new
/// file then: nothing behind half an event can be read.
///
/// Wall times are seconds since 1970.
#[derive(Debug)]
pub struct EventWriter<W> {
    output: W,
}

impl<W: Write> EventWriter<W> {
    /// Starts a file.
    pub fn new(output: W, wall_time: f64) -> io::Result<Self> {
        let mut writer = Self { output };
        writer.record(event(wall_time, 0).bytes(3, "brain.Event:2"))?;
        Ok(writer)
    }

    /// Says that the run goes on with `step`: what earlier files hold from it on is to be forgotten. TensorBoard's
    /// fast loader, its default, forgets a curve's old points only once that curve has a point at `step`; so write
    /// every curve there.
    pub fn resume(&mut self, step: u64, wall_time: f64) -> io::Result<()> {
        let start = Message::default().integer(1, 1);
        self.record(event(wall_time, step).message(7, start))
    }

    /// Adds a point to the curve `tag`.
    pub fn scalar(&mut self, tag: &str, step: u64, wall_time: f64, value: f32) -> io::Result<()> {
        let value = Message::default().bytes(1, tag).float(2, value);
        let summary = Message::default().message(1, value);
        self.record(event(wall_time, step).message(5, summary))
    }

    /// Flushes the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// Gives the writer back.
    pub fn into_inner(self) -> W {
        self.output
    }

    fn record(&mut self, event: Message) -> io::Result<()> {
        let payload = event.into_bytes();
        let length = (payload.len() as u64).to_le_bytes();
        let record = [
            &length[..],
            &masked(crc32c(&length)).to_le_bytes(),
            &payload,
            &masked(crc32c(&payload)).to_le_bytes(),
        ];
        self.output.write_all(&record.concat())
    }
}

/// What every event has; one of `file_version` (3), `summary` (5) and `session_log` (7) follows.
fn event(wall_time: f64, step: u64) -> Message {
    Message::default().double(1, wall_time).integer(2, step)
}

/// The checksum as records hold it: that of data which holds checksums itself would be weak.
fn masked(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli). A crate would be faster, for what is a hundred bytes here.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| CRC32C[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

const CRC32C: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < table.len() {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 * (crc & 1));
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_rfc_3720() {
        assert_eq!(crc32c(b""), 0);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
    }

    /// The payloads of a file, its lengths and checksums checked.
    fn payloads(mut file: &[u8]) -> Vec<&[u8]> {
        let mut payloads = Vec::new();
        while !file.is_empty() {
            let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
            let (payload, checksum) = (&file[12..12 + length], &file[12 + length..16 + length]);
            assert_eq!(file[8..12], masked(crc32c(&file[..8])).to_le_bytes());
            assert_eq!(checksum, masked(crc32c(payload)).to_le_bytes());
            payloads.push(payload);
            file = &file[16 + length..];
        }
        payloads
    }

    #[test]
    fn events_are_framed_records() {
        let mut events = EventWriter::new(Vec::new(), 1.0).unwrap();
        events.resume(300, 1.0).unwrap();
        events.scalar("a/b", 300, 1.0, 1.0).unwrap();
        let file = events.into_inner();
        let time_and_300 = b"\x09\0\0\0\0\0\0\xf0\x3f\x10\xac\x02";
        assert_eq!(
            payloads(&file),
            [
                &b"\x09\0\0\0\0\0\0\xf0\x3f\x10\0\x1a\x0dbrain.Event:2"[..],
                &[&time_and_300[..], b"\x3a\x02\x08\x01"].concat(),
                &[&time_and_300[..], b"\x2a\x0c\x0a\x0a\x0a\x03a/b\x15\0\0\x80\x3f"].concat(),
            ]
        );
    }

    #[test]
    fn later_files_have_later_names() {
        let names = [file_name(9, 0), file_name(1_700_000_000, 9), file_name(1_700_000_000, 10)];
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(names[1], "events.out.tfevents.1700000000.appropo.000009");
    }

    #[test]
    fn an_event_is_one_write() {
        struct Counter(usize);
        impl Write for Counter {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 += 1;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut events = EventWriter::new(Counter(0), 0.0).unwrap();
        events.scalar(names::DISTANCE, 1, 0.0, 0.0).unwrap();
        assert_eq!(events.into_inner().0, 2);
    }
}
