use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::types::Type;

use super::columns::{Column, Columns, Kind};
use super::{DatasetError, Result};

/// Rows that are written together.
const GROUP: usize = 1 << 20;

fn failed(error: &ParquetError) -> DatasetError {
    DatasetError::new("", format!("it can't be read as Parquet: {error}"))
}

/// Reads columns from the bytes of a file.
pub fn decode(bytes: Vec<u8>) -> Result<Columns> {
    // The reader of the format panics on some files that are damaged.
    catch_unwind(AssertUnwindSafe(|| read(bytes)))
        .unwrap_or_else(|_| Err(DatasetError::new("", "it can't be read as Parquet: it is damaged")))
}

fn read(bytes: Vec<u8>) -> Result<Columns> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).map_err(|error| failed(&error))?;
    let metadata = reader.metadata();
    let groups = metadata.row_groups().iter().flat_map(|group| group.columns());
    let is_known = |codec: Compression| matches!(codec, Compression::UNCOMPRESSED | Compression::SNAPPY);
    if let Some(codec) = groups.map(|column| column.compression()).find(|codec| !is_known(*codec)) {
        let problem = format!("it is compressed by {codec}; write it with Snappy, or without compression");
        return Err(DatasetError::new("", problem));
    }
    let fields = metadata.file_metadata().schema().get_fields();
    let of = |field: &Arc<Type>| Column { name: field.name().into(), kind: Kind::Number, values: Vec::new() };
    let mut columns = Columns { columns: fields.iter().map(of).collect(), lines: Vec::new() };
    for (row, record) in reader.get_row_iter(None).map_err(|error| failed(&error))?.enumerate() {
        let record = record.map_err(|error| failed(&error))?;
        for (column, (_, field)) in columns.columns.iter_mut().zip(record.get_column_iter()) {
            let Some(value) = number(field) else {
                let found = if matches!(field, Field::Null) { "nothing".into() } else { format!("{field}") };
                let problem =
                    format!("the column \"{}\" has {found}; expected a number, true or false", column.name);
                return Err(DatasetError { row: Some(row + 1), ..DatasetError::new("", problem) });
            };
            column.values.push(value);
        }
    }
    Ok(columns)
}

fn number(field: &Field) -> Option<f64> {
    Some(match field {
        Field::Bool(flag) => f64::from(*flag),
        Field::Byte(number) => f64::from(*number),
        Field::Short(number) => f64::from(*number),
        Field::Int(number) => f64::from(*number),
        Field::Long(number) => *number as f64,
        Field::UByte(number) => f64::from(*number),
        Field::UShort(number) => f64::from(*number),
        Field::UInt(number) => f64::from(*number),
        Field::ULong(number) => *number as f64,
        Field::Float(number) => f64::from(*number),
        Field::Double(number) => *number,
        _ => return None,
    })
}

/// Columns as the bytes of a file, compressed by Snappy.
pub fn encode(columns: &Columns) -> Result<Vec<u8>> {
    write(columns).map_err(|error| DatasetError::new("", format!("it can't be written as Parquet: {error}")))
}

fn write(columns: &Columns) -> ParquetResult<Vec<u8>> {
    use parquet::basic::{Repetition, Type as Physical};
    let field = |column: &Column| {
        let kind = match column.kind {
            Kind::Whole => Physical::INT64,
            Kind::Number => Physical::DOUBLE,
            Kind::Flag => Physical::BOOLEAN,
        };
        let field = Type::primitive_type_builder(&column.name, kind).with_repetition(Repetition::REQUIRED);
        field.build().map(Arc::new)
    };
    let fields = columns.columns.iter().map(field).collect::<ParquetResult<Vec<_>>>()?;
    let schema = Arc::new(Type::group_type_builder("steps").with_fields(fields).build()?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
    let rows = columns.columns.first().map_or(0, |column| column.values.len());
    for first in (0..rows).step_by(GROUP) {
        let mut group = writer.next_row_group()?;
        for column in &columns.columns {
            let values = &column.values[first..rows.min(first + GROUP)];
            let Some(mut writer) = group.next_column()? else { break };
            match column.kind {
                Kind::Whole => {
                    let values: Vec<i64> = values.iter().map(|value| *value as i64).collect();
                    writer.typed::<Int64Type>().write_batch(&values, None, None)?;
                }
                Kind::Number => {
                    writer.typed::<DoubleType>().write_batch(values, None, None)?;
                }
                Kind::Flag => {
                    let values: Vec<bool> = values.iter().map(|value| *value == 1.0).collect();
                    writer.typed::<BoolType>().write_batch(&values, None, None)?;
                }
            }
            writer.close()?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(bytes)
}
