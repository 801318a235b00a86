use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Where the files of a model lie.
pub trait Folder {
    /// Opens a file, if it is there.
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn Read>>>;
}

/// A folder on disk.
#[derive(Debug, Clone)]
pub struct Disk(PathBuf);

impl Disk {
    /// The folder in which a file lies.
    pub fn of(path: &Path) -> Self {
        Self(path.parent().unwrap_or(Path::new("")).to_owned())
    }
}

impl Folder for Disk {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn Read>>> {
        let path = self.0.join(name);
        // Pipes and devices may never end.
        match fs::metadata(&path) {
            Ok(data) if data.is_file() => Ok(Some(Box::new(File::open(path)?))),
            Ok(_) => Err(io::Error::other("it is no plain file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Files that are on no disk, by name.
#[derive(Debug, Clone, Default)]
pub struct InMemory(pub BTreeMap<String, Vec<u8>>);

impl Folder for InMemory {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn Read>>> {
        Ok(self.0.get(name).map(|bytes| Box::new(io::Cursor::new(bytes.clone())) as Box<dyn Read>))
    }
}
