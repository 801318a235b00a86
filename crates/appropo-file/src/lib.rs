//! Problem files: an environment, what is measured in it, the constraints, and how to solve.
//!
//! ```
//! use appropo_file::Reader;
//!
//! let text = r#"
//! discount = 0.99
//! environment = { name = "mars-rover", map = "4x4" }
//! [[constraint]]
//! measure = "failure"
//! at_most = 0.3
//! "#;
//! let file = Reader::default().parse("rover", text).unwrap();
//! let outcome = file.problem.solve(file.method.as_ref(), &file.budget, file.seed, &mut ()).unwrap();
//! assert_eq!(outcome.sentence(), "feasible: the mixed policy satisfies every constraint");
//!
//! let wrong = Reader::default().parse("rover", &text.replace("failure", "failures")).unwrap_err();
//! assert!(wrong.to_string().contains("did you mean \"failure\"?"));
//! ```

mod built_in;
pub mod dataset;
mod diagnostic;
mod document;
mod keys;
mod logs;
pub mod model;
mod problem_file;
mod read;
mod reader;
mod schema;
mod write;

pub use built_in::BUILT_IN;
pub use diagnostic::{Diagnostic, printable};
pub use document::value;
pub use problem_file::{Externals, ProblemFile, Reader};
pub use read::overlay;
pub use schema::schema;
pub use write::{custom_sets, written, written_solve};
