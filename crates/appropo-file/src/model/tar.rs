//! Archives of plain files, as far as models need them: POSIX headers, and long names as GNU and POSIX write them.

use std::io::Read;

use super::unpack::problem;
use super::{ModelError, Place, Result};

const BLOCK: usize = 512;

/// No name of a file in a model is longer, nor is what POSIX says about one.
const LONGEST_NAME: u64 = 1 << 16;

/// Reads the files of an archive, one after another.
pub struct Archive<R> {
    file: String,
    reader: R,
    /// How many bytes were read.
    offset: u64,
    /// What is left of the file that was opened, and of the block it ends in.
    left: u64,
    padding: u64,
}

impl<R: Read> Archive<R> {
    pub fn new(file: &str, reader: R) -> Self {
        Self { file: file.into(), reader, offset: 0, left: 0, padding: 0 }
    }

    fn error(&self, offset: u64, problem: impl Into<String>) -> ModelError {
        ModelError::new(&self.file, problem).at(Place::Byte(offset))
    }

    /// The name and the size of the next file; none at the end.
    pub fn next_file(&mut self) -> Result<Option<(String, u64)>> {
        let (mut long_name, mut long_size) = (None, None);
        loop {
            self.skip()?;
            let at = self.offset;
            let Some(header) = self.header()? else { return Ok(None) };
            let size = number(&header[124..136]).ok_or_else(|| self.error(at, "a header has no size"))?;
            self.left = size;
            self.padding = (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64;
            match header[156] {
                b'L' => long_name = Some(text(&self.short(at)?)),
                b'x' => {
                    for (key, value) in records(&self.short(at)?) {
                        match key.as_str() {
                            "path" => long_name = Some(value),
                            "size" => long_size = value.parse().ok(),
                            _ => {}
                        }
                    }
                }
                b'0' | 0 | b'7' => {
                    let size = long_size.take().unwrap_or(size);
                    self.left = size;
                    self.padding = (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64;
                    let name = long_name.take().unwrap_or_else(|| short_name(&header));
                    let plain = name.trim_start_matches("./").trim_start_matches('/').to_owned();
                    return Ok(Some((plain, size)));
                }
                _ => (long_name, long_size) = (None, None),
            }
        }
    }

    /// Reads on in the file that was opened, as much as there is room for or left of it.
    pub fn read(&mut self, part: &str, buffer: &mut [u8]) -> Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.fill(&mut buffer[..wanted], Some(part))?;
        self.left -= wanted as u64;
        Ok(wanted)
    }

    /// The next header that is not empty.
    fn header(&mut self) -> Result<Option<[u8; BLOCK]>> {
        let mut header = [0; BLOCK];
        let at = self.offset;
        match self.fill_or_end(&mut header)? {
            // Two blocks of zeros end an archive; some writers leave them out.
            0 => return Ok(None),
            BLOCK if header.iter().all(|byte| *byte == 0) => return Ok(None),
            BLOCK => {}
            _ => return Err(self.error(self.offset, "the file is cut short")),
        }
        let sum: u64 = header
            .iter()
            .enumerate()
            .map(|(i, byte)| match i {
                148..156 => u64::from(b' '),
                _ => u64::from(*byte),
            })
            .sum();
        if number(&header[148..156]) != Some(sum) {
            return Err(self.error(at, "found no header of an archive here; the file is damaged, or no UMB"));
        }
        Ok(Some(header))
    }

    /// The contents of a header that is longer than a block.
    fn short(&mut self, at: u64) -> Result<Vec<u8>> {
        if self.left > LONGEST_NAME {
            return Err(
                self.error(at, format!("a name of {} bytes; expected at most {LONGEST_NAME}", self.left))
            );
        }
        let mut bytes = vec![0; self.left as usize];
        self.fill(&mut bytes, None)?;
        self.left = 0;
        Ok(bytes)
    }

    fn skip(&mut self) -> Result<()> {
        let mut buffer = [0; 4096];
        let mut left = self.left.saturating_add(self.padding);
        // The padding of the last file may be missing.
        let needed = self.left;
        let mut skipped = 0;
        while left > 0 {
            let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let count = self.fill_or_end(&mut buffer[..wanted])?;
            skipped += count as u64;
            if count < wanted && skipped < needed {
                return Err(self.error(self.offset, "the file is cut short"));
            }
            if count < wanted {
                break;
            }
            left -= count as u64;
        }
        (self.left, self.padding) = (0, 0);
        Ok(())
    }

    fn fill(&mut self, buffer: &mut [u8], part: Option<&str>) -> Result<()> {
        let wanted = buffer.len();
        if self.fill_or_end(buffer)? == wanted {
            return Ok(());
        }
        let what =
            part.map_or(String::new(), |part| format!("; {part} should have {} bytes more", self.left));
        Err(self.error(self.offset, format!("the file is cut short{what}")))
    }

    fn fill_or_end(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.error(self.offset + filled as u64, problem(&error))),
            }
        }
        self.offset += filled as u64;
        Ok(filled)
    }
}

/// A number in octal digits, or in binary where it has too many of them.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let (high, low) = field.split_at(field.len() - 8);
        let is_small = high.first() == Some(&0x80) && high[1..].iter().all(|byte| *byte == 0);
        return is_small.then(|| low.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
    }
    let digits = std::str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    u64::from_str_radix(digits, 8).ok()
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn short_name(header: &[u8; BLOCK]) -> String {
    let (name, prefix) = (text(&header[..100]), text(&header[345..500]));
    let is_posix = header[257..262] == *b"ustar" && header[262] == 0 && !prefix.is_empty();
    if is_posix { format!("{prefix}/{name}") } else { name }
}

/// The records of POSIX: `12 path=name\n`, where 12 is the length of it all.
fn records(bytes: &[u8]) -> Vec<(String, String)> {
    let mut rest = bytes;
    let mut found = Vec::new();
    while let Some(blank) = rest.iter().position(|byte| *byte == b' ') {
        let length = std::str::from_utf8(&rest[..blank]).ok().and_then(|text| text.parse::<usize>().ok());
        let record = length.filter(|length| *length > blank + 1 && *length <= rest.len());
        let Some(length) = record else { break };
        let record = String::from_utf8_lossy(&rest[blank + 1..length - 1]).into_owned();
        found.extend(record.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())));
        rest = &rest[length..];
    }
    found
}

/// Adds a file to an archive that is being written.
pub fn append(archive: &mut Vec<u8>, name: &str, bytes: &[u8]) {
    let mut header = [0u8; BLOCK];
    // A long name is split at a slash, as POSIX has it.
    let split = match name.len() > 100 {
        true => name.match_indices('/').map(|(i, _)| i).find(|i| name.len() - i - 1 <= 100).unwrap_or(0),
        false => 0,
    };
    let (prefix, short) = if split > 0 { (&name[..split], &name[split + 1..]) } else { ("", name) };
    let copy = |header: &mut [u8; BLOCK], at: usize, bytes: &[u8]| {
        header[at..at + bytes.len()].copy_from_slice(bytes);
    };
    copy(&mut header, 0, &short.as_bytes()[..short.len().min(100)]);
    copy(&mut header, 100, b"0000644\0");
    copy(&mut header, 108, b"0000000\0");
    copy(&mut header, 116, b"0000000\0");
    let size = bytes.len() as u64;
    match size < 1 << 33 {
        true => copy(&mut header, 124, format!("{size:011o}\0").as_bytes()),
        false => {
            header[124] = 0x80;
            copy(&mut header, 128, &size.to_be_bytes());
        }
    }
    copy(&mut header, 136, b"00000000000\0");
    copy(&mut header, 148, b"        ");
    header[156] = b'0';
    copy(&mut header, 257, b"ustar\0");
    copy(&mut header, 263, b"00");
    copy(&mut header, 345, &prefix.as_bytes()[..prefix.len().min(155)]);
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    copy(&mut header, 148, format!("{sum:06o}\0 ").as_bytes());
    archive.extend_from_slice(&header);
    archive.extend_from_slice(bytes);
    archive.resize(archive.len().next_multiple_of(BLOCK), 0);
}

/// Ends an archive.
pub fn finish(archive: &mut Vec<u8>) {
    archive.resize(archive.len() + 2 * BLOCK, 0);
}
