use std::fmt;
use std::path::Path;

use crate::printable;

/// What is wrong with the file of a model, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    file: String,
    place: Place,
    problem: String,
}

/// Where something stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// It is about the whole file.
    Whole,
    /// A line of a text, from 1.
    Line(u64),
    /// A byte of what is packed into the file, from 0.
    Byte(u64),
    /// A part of an archive, and a byte of it.
    Part(String, Option<u64>),
}

impl ModelError {
    /// About a whole file.
    pub fn new(file: &str, problem: impl Into<String>) -> Self {
        Self { file: file.into(), place: Place::Whole, problem: problem.into() }
    }

    /// The same, about a place in it.
    pub fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// The same, with the folder of `path` before its name.
    pub(super) fn beside(self, path: &Path) -> Self {
        let file = path.with_file_name(&self.file).display().to_string();
        Self { file, ..self }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&printable(&self.file))?;
        match &self.place {
            Place::Whole => {}
            Place::Line(line) => write!(f, ", line {line}")?,
            Place::Byte(byte) => write!(f, ", byte {byte}")?,
            Place::Part(part, None) => write!(f, ", {}", printable(part))?,
            Place::Part(part, Some(byte)) => write!(f, ", {}, byte {byte}", printable(part))?,
        }
        write!(f, ": {}", printable(&self.problem))
    }
}

impl std::error::Error for ModelError {}
