//! Files as streams: what is packed is unpacked bit by bit, and no more of it than the memory may hold.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};

use flate2::bufread::MultiGzDecoder;
use flate2::{Compression, GzBuilder};
use lzma_rust2::XzReader;

use super::folder::Folder;
use super::lines::Lines;
use super::{ModelError, Result};

/// How much is read at a time.
const BUFFER: usize = 1 << 17;

/// Where a machine does not say how much memory it has.
const USUAL_MEMORY: u64 = 8 << 30;

/// What reading may take.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The most bytes that a file may unpack to.
    pub unpacked: u64,
    /// The most transitions that are kept in memory. Those of a larger UMB are kept in a file.
    pub transitions: u64,
}

/// Bytes that a transition may take while a model is read and planned in.
const TRANSITION: u64 = 64;

impl Limits {
    /// As much as there is memory for.
    pub fn of_machine() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        let free = read("/proc/meminfo").and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
            Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
        });
        let granted = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse::<u64>().ok());
        let least = [free, granted].into_iter().flatten().min();
        let memory = least.unwrap_or(USUAL_MEMORY).max(64 << 20);
        Self { unpacked: memory, transitions: memory / TRANSITION }
    }
}

/// The bytes of a file, unpacked, if it is there.
pub fn find(folder: &dyn Folder, name: &str, limits: &Limits) -> Result<Option<Box<dyn BufRead>>> {
    let unreadable = |error: io::Error| ModelError::new(name, format!("can't be read ({error})"));
    let Some(file) = folder.open(name).map_err(unreadable)? else { return Ok(None) };
    let mut file = BufReader::with_capacity(BUFFER, file);
    let begin = file.fill_buf().map_err(unreadable)?;
    let limit = limits.unpacked;
    Ok(Some(if begin.starts_with(&[0x1f, 0x8b]) {
        bounded(MultiGzDecoder::new(file), limit)
    } else if begin.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
        let kilobytes = u32::try_from(limit >> 10).unwrap_or(u32::MAX - 1);
        bounded(XzReader::new_mem_limit(file, true, kilobytes), limit)
    } else {
        Box::new(file)
    }))
}

/// The bytes of a file that must be there.
pub fn open(folder: &dyn Folder, name: &str, limits: &Limits) -> Result<Box<dyn BufRead>> {
    find(folder, name, limits)?.ok_or_else(|| ModelError::new(name, "there is no such file"))
}

/// The lines of a file that must be there.
pub fn lines(folder: &dyn Folder, name: &str, limits: &Limits) -> Result<Lines> {
    Ok(Lines::new(name, open(folder, name, limits)?))
}

fn bounded(inner: impl Read + 'static, limit: u64) -> Box<dyn BufRead> {
    Box::new(BufReader::with_capacity(BUFFER, Bounded { inner, left: limit, limit }))
}

/// Ends in an error where more comes out than may.
struct Bounded<R> {
    inner: R,
    left: u64,
    limit: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            let limit = self.limit >> 20;
            io::Error::other(format!(
                "it unpacks to more than the {limit} MiB of memory there are; unpack it first if it is what it should be"
            ))
        })?;
        Ok(count)
    }
}

/// Bytes, packed. The same bytes give the same file: nothing says when it was written.
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::fast());
    // Writing into memory does not fail.
    let _ = packed.write_all(bytes);
    packed.finish().unwrap_or_default()
}

/// What an error of reading means for a model.
pub fn problem(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file is cut short".into(),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => format!("the file is damaged: {error}"),
        _ => error.to_string(),
    }
}
