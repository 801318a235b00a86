//! Data sets as files: one row a step, with the same columns as CSV or as Parquet.
//!
//! | Column | What it is |
//! | --- | --- |
//! | `episode`, `step` | whole numbers: that of the episode, which no other has, and that of the step, from 0 |
//! | `observation`, or `observation_0`, `observation_1` … | which one it was, counted from 0; or its numbers |
//! | `action`, or `action_0` … | the same |
//! | one column a measure, such as `cost`; `visits_0`, `visits_1` … for a vector | what the step measured |
//! | `next_observation`, or `next_observation_0` … | what was seen then |
//! | `terminated`, `truncated` | true or false: whether the episode ended there, or was cut off |

mod columns;
mod csv;
mod parquet;

use std::fmt;
use std::path::Path;

use appropo::dataset::Dataset;
use appropo::error::Error;

use columns::Columns;

/// Larger files are not read.
const LARGEST: u64 = 1 << 34;

/// What is wrong with the file of a data set, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct DatasetError {
    file: String,
    /// From 1.
    row: Option<usize>,
    /// Where the row stands in a text, where it is one.
    line: Option<u64>,
    problem: String,
}

impl fmt::Display for DatasetError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.file)?;
        match (self.row, self.line) {
            (Some(row), Some(line)) => write!(f, ", row {row} (line {line})")?,
            (Some(row), None) => write!(f, ", row {row}")?,
            _ => {}
        }
        write!(f, ": {}", crate::printable(&self.problem))
    }
}

impl std::error::Error for DatasetError {}

impl DatasetError {
    fn new(file: &str, problem: impl Into<String>) -> Self {
        Self { file: file.into(), row: None, line: None, problem: problem.into() }
    }

    /// What the library says of the rows of a file.
    pub fn of(file: &str, error: Error) -> Self {
        match error {
            Error::Dataset { row, problem, .. } => Self { row: Some(row), ..Self::new(file, problem) },
            error => Self::new(file, error.to_string()),
        }
    }
}

type Result<T> = std::result::Result<T, DatasetError>;

/// The kinds of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text, with commas and a line of names.
    Csv,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// The kind that the name of a file ends with.
    pub fn of(path: &Path) -> Result<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "csv" => Ok(Self::Csv),
            "parquet" => Ok(Self::Parquet),
            _ => Err(DatasetError::new(
                &path.display().to_string(),
                "expected a name that ends in .csv or .parquet, which says what kind of file it is",
            )),
        }
    }
}

/// Reads the data set of a file. Counted observations and actions are taken to be as many as were logged.
pub fn read(path: &Path) -> Result<Dataset> {
    let (file, format) = (path.display().to_string(), Format::of(path)?);
    let unreadable = |error: std::io::Error| DatasetError::new(&file, format!("can't be read ({error})"));
    let data = std::fs::metadata(path).map_err(unreadable)?;
    if !data.is_file() || data.len() > LARGEST {
        let problem = format!("expected a plain file of at most {LARGEST} bytes");
        return Err(DatasetError::new(&file, problem));
    }
    decode(&file, format, std::fs::read(path).map_err(unreadable)?)
}

/// Reads the data set that bytes are. `file` is what they are called in messages.
pub fn decode(file: &str, format: Format, bytes: Vec<u8>) -> Result<Dataset> {
    let columns = match format {
        Format::Csv => csv::decode(&bytes),
        Format::Parquet => parquet::decode(bytes),
    };
    let named = |error: DatasetError| DatasetError { file: file.into(), ..error };
    let columns = columns.map_err(named)?;
    columns.dataset().map_err(|error| {
        let line = error.row.and_then(|row| columns.lines.get(row - 1).copied());
        DatasetError { line, ..named(error) }
    })
}

/// A data set as the bytes of a file.
pub fn encode(dataset: &Dataset, format: Format) -> Result<Vec<u8>> {
    let columns = Columns::of(dataset)?;
    match format {
        Format::Csv => csv::encode(&columns),
        Format::Parquet => parquet::encode(&columns),
    }
}
