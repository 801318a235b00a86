use std::fmt::Write;

use super::columns::{Column, Columns, Kind};
use super::{DatasetError, Result};

/// Reads columns from text.
pub fn decode(bytes: &[u8]) -> Result<Columns> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let names = reader.headers().map_err(|error| malformed(&error))?.clone();
    // A mark that some programs begin a file with.
    let name = |name: &str| name.trim_start_matches('\u{feff}').to_owned();
    let of = |text: &str| Column { name: name(text), kind: Kind::Number, values: Vec::new() };
    let mut columns = Columns { columns: names.iter().map(of).collect(), lines: Vec::new() };
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| malformed(&error))? {
        let line = record.position().map_or(0, csv::Position::line);
        columns.lines.push(line);
        let row = columns.lines.len();
        for (column, text) in columns.columns.iter_mut().zip(&record) {
            let Some(value) = number(text) else {
                let found = match text {
                    "" => "nothing".into(),
                    text => format!("\"{}\"", text.chars().take(40).collect::<String>()),
                };
                let problem =
                    format!("the column \"{}\" has {found}; expected a number, true or false", column.name);
                return Err(DatasetError {
                    row: Some(row),
                    line: Some(line),
                    ..DatasetError::new("", problem)
                });
            };
            column.values.push(value);
        }
    }
    Ok(columns)
}

fn malformed(error: &csv::Error) -> DatasetError {
    let problem = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} values; expected {expected_len}, one a column")
        }
        csv::ErrorKind::Utf8 { .. } => "it is not UTF-8 text".into(),
        _ => format!("it is not CSV: {error}"),
    };
    let place = error.position();
    DatasetError {
        row: place.map(|place| place.record() as usize).filter(|row| *row > 0),
        line: place.map(csv::Position::line),
        ..DatasetError::new("", problem)
    }
}

/// A number; true and false are 1 and 0.
fn number(text: &str) -> Option<f64> {
    match text {
        "true" | "True" | "TRUE" => Some(1.0),
        "false" | "False" | "FALSE" => Some(0.0),
        text => text.parse().ok(),
    }
}

/// Columns as text. Numbers have as many digits as it takes to read the same ones again.
pub fn encode(columns: &Columns) -> Result<Vec<u8>> {
    let rows = columns.columns.first().map_or(0, |column| column.values.len());
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |error: csv::Error| DatasetError::new("", error.to_string());
    writer.write_record(columns.columns.iter().map(|column| &column.name)).map_err(failed)?;
    let mut text = String::new();
    for row in 0..rows {
        for column in &columns.columns {
            text.clear();
            let value = column.values[row];
            let _ = match column.kind {
                Kind::Flag => write!(text, "{}", value == 1.0),
                Kind::Whole => write!(text, "{}", value as u64),
                Kind::Number if value == 0.0 || (1e-5..1e16).contains(&value.abs()) => {
                    write!(text, "{value}")
                }
                Kind::Number => write!(text, "{value:e}"),
            };
            writer.write_field(&text).map_err(failed)?;
        }
        writer.write_record(None::<&[u8]>).map_err(failed)?;
    }
    writer.into_inner().map_err(|error| DatasetError::new("", error.to_string()))
}
