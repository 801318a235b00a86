use crate::Output;
use crate::problem::schema;

/// Prints the JSON Schema of problem files.
pub fn run() -> Output {
    Output { text: format!("{:#}\n", schema()), status: 0 }
}
