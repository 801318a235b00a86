use std::io::{BufRead, Read};

use super::unpack::problem;
use super::{ModelError, Place, Result};

/// No line of a model is longer.
const LONGEST: u64 = 1 << 20;

/// The lines of a text, one at a time.
pub struct Lines {
    file: String,
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    pub fn new(file: &str, reader: Box<dyn BufRead>) -> Self {
        Self { file: file.into(), reader, line: Vec::new(), number: 0 }
    }

    /// The number of the line that was read last.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line; false at the end.
    pub fn advance(&mut self) -> Result<bool> {
        self.line.clear();
        let read = self.reader.by_ref().take(LONGEST).read_until(b'\n', &mut self.line);
        let count = read.map_err(|error| self.error_at(self.number + 1, problem(&error)))?;
        self.number += u64::from(count > 0);
        while self.line.last().is_some_and(|byte| *byte == b'\n' || *byte == b'\r') {
            self.line.pop();
        }
        if self.line.len() as u64 >= LONGEST {
            return Err(self.error(format!("the line is longer than {LONGEST} bytes; it is no model's")));
        }
        Ok(count > 0)
    }

    /// Reads the next line, which must be there.
    pub fn expect(&mut self, what: &str) -> Result<()> {
        match self.advance()? {
            true => Ok(()),
            false => Err(self.error_at(self.number + 1, format!("the file ends; expected {what}"))),
        }
    }

    /// The line that was read last, without its end.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// The same as text.
    pub fn text(&self) -> Result<&str> {
        std::str::from_utf8(&self.line).map_err(|_| self.error("it is not UTF-8 text"))
    }

    /// What is wrong with the line that was read last.
    pub fn error(&self, problem: impl Into<String>) -> ModelError {
        self.error_at(self.number.max(1), problem)
    }

    /// What is wrong with another line.
    pub fn error_at(&self, line: u64, problem: impl Into<String>) -> ModelError {
        ModelError::new(&self.file, problem).at(Place::Line(line))
    }
}

/// The bytes before the first blank, and those after the blanks.
pub fn word(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(|byte| byte.is_ascii_whitespace()).unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    (word, rest.trim_ascii_start())
}

/// A whole number.
pub fn whole(word: &[u8]) -> Option<usize> {
    let is_plain = !word.is_empty() && word.len() < 20;
    let digit = |number: usize, byte: &u8| match byte {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add((byte - b'0') as usize),
        _ => None,
    };
    if is_plain { word.iter().try_fold(0, digit) } else { None }
}

/// A number, or a fraction of two.
pub fn number(word: &[u8]) -> Option<f64> {
    match word {
        b"1" => return Some(1.0),
        b"0" => return Some(0.0),
        b"0.5" => return Some(0.5),
        _ => {}
    }
    let text = std::str::from_utf8(word).ok()?;
    let value = match text.split_once('/') {
        Some((above, below)) => above.trim().parse::<f64>().ok()? / below.trim().parse::<f64>().ok()?,
        None => text.parse().ok()?,
    };
    Some(value).filter(|value| value.is_finite())
}

/// Something as messages show it.
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.chars().count() {
        0 => "nothing".into(),
        1..=40 => format!("\"{text}\""),
        _ => format!("\"{}...\"", text.chars().take(37).collect::<String>()),
    }
}
