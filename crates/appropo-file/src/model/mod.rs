//! Models in the files of probabilistic model checkers.
//!
//! | Ending | What it is |
//! | --- | --- |
//! | `.drn`, `.drn.gz`, `.drn.xz` | Storm's explicit text |
//! | `.tra`, with `.sta`, `.lab`, `.srew` and `.trew` beside it | PRISM's explicit files |
//! | `.umb` | the binary format that PRISM, Storm and Modest share |

mod drn;
mod drn_write;
mod environment;
mod error;
mod folder;
mod lines;
mod prism;
mod tar;
mod umb;
mod unpack;
mod valuations;

use std::path::Path;

use appropo::env::explicit::ExplicitModel;

pub(crate) use environment::environment;
pub use error::{ModelError, Place};
pub use folder::{Disk, Folder, InMemory};
pub use unpack::Limits;

type Result<T> = std::result::Result<T, ModelError>;

/// The kinds of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Storm's explicit text.
    Drn,
    /// PRISM's explicit files.
    Prism,
    /// The binary format that PRISM, Storm and Modest share.
    Umb,
}

impl Format {
    /// The kind that the name of a file ends with.
    pub fn of(name: &str) -> Result<Self> {
        let lower = name.to_ascii_lowercase();
        let plain = lower.strip_suffix(".gz").or_else(|| lower.strip_suffix(".xz")).unwrap_or(&lower);
        match plain.rsplit_once('.').map(|(_, ending)| ending) {
            Some("drn") => Ok(Self::Drn),
            Some("tra") => Ok(Self::Prism),
            Some("umb") => Ok(Self::Umb),
            _ => Err(ModelError::new(
                name,
                "expected a name that ends in .drn, .umb or .tra, which says what kind of file it is",
            )),
        }
    }
}

/// Reads the model of a file.
pub fn read(path: &Path) -> Result<ExplicitModel> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = Disk::of(path);
    let placed = |error: ModelError| error.beside(path);
    read_from(&folder, &name, &Limits::of_machine()).map_err(placed)
}

/// Reads a model out of a folder, which need not be one on disk.
pub fn read_from(folder: &dyn Folder, name: &str, limits: &Limits) -> Result<ExplicitModel> {
    match Format::of(name)? {
        Format::Drn => drn::read(&mut unpack::lines(folder, name, limits)?),
        Format::Prism => prism::read(folder, name, limits),
        Format::Umb => umb::read(folder, name, limits),
    }
}

/// A model as the bytes of a file of this name. Where episodes don't start in all initial states alike, they start in a
/// state that is added and has one choice, which draws one of them.
pub fn encode(model: &ExplicitModel, name: &str) -> Result<Vec<u8>> {
    let format = Format::of(name)?;
    let is_packed = |ending: &str| name.to_ascii_lowercase().ends_with(ending);
    let with_start;
    let model = match model.starts_evenly() {
        true => model,
        false => {
            with_start =
                model.with_drawn_start().map_err(|error| ModelError::new(name, error.to_string()))?;
            &with_start
        }
    };
    match format {
        Format::Drn if is_packed(".gz") => Ok(unpack::pack(drn_write::write(model).as_bytes())),
        Format::Drn if !is_packed(".xz") => Ok(drn_write::write(model).into_bytes()),
        Format::Umb => Ok(umb::write(model)),
        Format::Drn | Format::Prism => {
            Err(ModelError::new(name, "models are written as .drn, .drn.gz or .umb; choose such a name"))
        }
    }
}
