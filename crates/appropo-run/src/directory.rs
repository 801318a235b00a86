use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result, damaged, io};
use crate::{FORMAT, files, sealed};

const LOCK: &str = "lock";
/// What a process that was killed leaves behind, and what was meant for it.
const LEFT: [&str; 2] = [files::PROGRESS, files::STOP];
/// How the names of files begin that are not whole yet.
const TEMPORARY: &str = ".appropo-new-";
const MARK: &str = files::RUN;
/// Larger files are not a run's.
const LARGEST: u64 = 1 << 32;

/// The folder of a run.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// Held while this process may write; the system lets go of it even if the process is killed.
    _lock: Option<File>,
}

impl Directory {
    /// A folder for a new run, to write to: it must be empty, or not there yet.
    pub fn create(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).map_err(io(path, "made"))?;
        is_free(path)?;
        let directory = Self::locked(path)?;
        // Another process may have begun a run in between.
        is_free(path)?;
        Ok(directory)
    }

    /// The folder of a run, to write to.
    pub fn open(path: &Path) -> Result<Self> {
        Self::read(path)?;
        let directory = Self::locked(path)?;
        // Better now than at the end of a long search.
        let probe = format!("{TEMPORARY}probe");
        File::create(directory.file(&probe)).map_err(io(path, "written"))?;
        directory.remove(&probe)?;
        Ok(directory)
    }

    /// Takes the folder for this process, and takes away what one that was killed was about to write.
    fn locked(path: &Path) -> Result<Self> {
        let directory = Self { path: path.to_owned(), _lock: Some(lock(path)?) };
        for entry in fs::read_dir(path).map_err(io(path, "read"))? {
            let name = entry.map_err(io(path, "read"))?.file_name();
            if let Some(name) = name.to_str().filter(|name| is_temporary(name) || LEFT.contains(name)) {
                directory.remove(name)?;
            }
        }
        Ok(directory)
    }

    /// The folder of a run, to read from.
    pub fn read(path: &Path) -> Result<Self> {
        if !path.join(MARK).is_file() {
            return Err(Error::NoRun { path: path.to_owned() });
        }
        let directory = Self { path: path.to_owned(), _lock: None };
        match directory.earlier_version() {
            Some(version) => Err(Error::Older { path: path.to_owned(), version }),
            None => Ok(directory),
        }
    }

    /// The folder of a Pareto front, to read from.
    pub fn read_front(path: &Path) -> Result<Self> {
        match path.join(files::FRONT).is_file() {
            true => Ok(Self { path: path.to_owned(), _lock: None }),
            false => Err(Error::NoRun { path: path.to_owned() }),
        }
    }

    /// The version that wrote the run, where it is one whose files had another format.
    fn earlier_version(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Mark {
            format: u32,
            version: String,
        }
        let mark: Mark = serde_json::from_slice(&self.read_bytes(MARK).ok()?).ok()?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
        let version =
            if mark.version.chars().all(is_plain) { mark.version } else { "of another version".into() };
        (mark.format < FORMAT).then_some(version)
    }

    /// Refuses a run that has no result yet.
    pub fn must_have_ended(&self) -> Result<()> {
        if self.has(files::RESULT) {
            return Ok(());
        }
        Err(Error::NotEnded { path: self.path.clone(), is_in_use: self.is_in_use() })
    }

    /// Whether another process writes there.
    pub fn is_in_use(&self) -> bool {
        let lock = File::open(self.file(LOCK));
        lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The name under which a file of it is written until it is whole.
    pub(crate) fn temporary(&self, name: &str) -> PathBuf {
        self.file(&format!("{TEMPORARY}{name}"))
    }

    /// Whether it has a file of this name.
    pub fn has(&self, name: &str) -> bool {
        self.file(name).is_file()
    }

    /// Writes a file, whole or not at all.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        write_whole(&self.file(name), bytes)
    }

    /// Writes a JSON object with its format and checksum.
    pub fn write_json(&self, name: &str, content: &impl Serialize) -> Result<()> {
        self.write(name, self.sealed_json(name, content)?.as_bytes())
    }

    /// Refuses a JSON file with anything else than what this content makes it: members that stand twice, for example, of
    /// which a reader sees only one.
    pub(crate) fn is_as_written(&self, name: &str, content: &impl Serialize) -> Result<()> {
        if self.read_bytes(name)? == self.sealed_json(name, content)?.as_bytes() {
            return Ok(());
        }
        Err(damaged(
            &self.file(name),
            "it says more, or says it in another way, than what it was written from",
        ))
    }

    fn sealed_json(&self, name: &str, content: &impl Serialize) -> Result<String> {
        sealed_json(&self.file(name), content)
    }

    /// Writes text whose comments begin with `#`, with its checksum.
    pub fn write_text(&self, name: &str, text: &str) -> Result<()> {
        self.write(name, sealed::seal_comment(text).as_bytes())
    }

    /// All of a file.
    pub fn read_bytes(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.file(name);
        let data = fs::metadata(&path).map_err(io(&path, "read"))?;
        if !data.is_file() {
            return Err(damaged(&path, "it is not a plain file"));
        }
        let file = File::open(&path).map_err(io(&path, "read"))?;
        let length = data.len();
        if length > LARGEST {
            return Err(damaged(&path, format!("it has {length} bytes, more than any file of a run")));
        }
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes).map_err(io(&path, "read"))?;
        Ok(bytes)
    }

    /// A JSON object that [`write_json`](Self::write_json) wrote.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        parse_json(&self.file(name), &self.read_bytes(name)?)
    }

    /// Text that [`write_text`](Self::write_text) wrote.
    pub fn read_text(&self, name: &str) -> Result<String> {
        let text = String::from_utf8(self.read_bytes(name)?)
            .map_err(|_| damaged(&self.file(name), "it is not UTF-8 text"))?;
        if !sealed::is_whole_comment(&text) {
            return Err(damaged(&self.file(name), "its checksum does not fit its content"));
        }
        Ok(text)
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) -> Result<()> {
        match fs::remove_file(self.file(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(io(&self.file(name), "removed")(error)),
            _ => Ok(()),
        }
    }
}

/// A JSON object with its format and checksum, as the file at `path` holds it.
pub(crate) fn sealed_json(path: &Path, content: &impl Serialize) -> Result<String> {
    #[derive(Serialize)]
    struct Versioned<'a, T> {
        format: u32,
        #[serde(flatten)]
        content: &'a T,
    }
    let text = serde_json::to_string_pretty(&Versioned { format: FORMAT, content })
        .map_err(|error| damaged(path, error.to_string()))?;
    Ok(sealed::seal_json(&text))
}

/// Writes a file, whole or not at all: under another name, flushed to the disk, then renamed.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    write_by(path.with_file_name(format!("{TEMPORARY}{name}")), path, bytes)
}

/// Writes a file, whole or not at all, that other processes may write at the same time.
pub(crate) fn write_shared(path: &Path, bytes: &[u8]) -> Result<()> {
    write_by(temporary(path), path, bytes)
}

fn write_by(temporary: PathBuf, path: &Path, bytes: &[u8]) -> Result<()> {
    let written = write_new(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // What a full disk left of it takes up room that others need.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(io(path, "written"))?;
    flush_folder_of(path)
}

/// Writes a file, whole or not at all, unless it is there already. Returns whether it is new.
pub(crate) fn write_once(path: &Path, bytes: &[u8]) -> Result<bool> {
    let temporary = temporary(path);
    let written = write_new(&temporary, bytes).and_then(|()| match fs::hard_link(&temporary, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        // Some file systems have no hard links.
        Err(_) if path.exists() => Ok(false),
        Err(_) => fs::rename(&temporary, path).map(|()| true),
        Ok(()) => Ok(true),
    });
    let _ = fs::remove_file(&temporary);
    let is_new = written.map_err(io(path, "written"))?;
    flush_folder_of(path)?;
    Ok(is_new)
}

/// A name beside a file that no other process uses.
fn temporary(path: &Path) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
    let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    path.with_file_name(format!("{TEMPORARY}{process}-{time}-{count}-{name}"))
}

fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A new name is safe once its folder is.
pub(crate) fn flush_folder_of(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(io(folder, "written"))
}

/// Reads a sealed JSON object of a known format.
pub(crate) fn parse_json<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    let text = std::str::from_utf8(bytes).map_err(|_| damaged(path, "it is not UTF-8 text"))?;
    // Only looked at: a run of a large model has millions of numbers.
    #[derive(serde::Deserialize)]
    struct Mark {
        format: Option<serde_json::Value>,
    }
    let mark: Mark =
        serde_json::from_str(text).map_err(|error| damaged(path, format!("it is not JSON: {error}")))?;
    match mark.format.as_ref().and_then(serde_json::Value::as_u64) {
        Some(found) if found > u64::from(FORMAT) => {
            return Err(Error::Newer { path: path.to_owned(), found, known: FORMAT });
        }
        Some(found) if found == u64::from(FORMAT) => {}
        _ => return Err(damaged(path, format!("its format is not {FORMAT}"))),
    }
    if !sealed::is_whole_json(text) {
        return Err(damaged(path, "its checksum does not fit its content"));
    }
    // From the text, which has every digit.
    serde_json::from_str(text).map_err(|error| damaged(path, error.to_string()))
}

/// Refuses a folder with anything but what a process leaves that was killed before it was a run.
fn is_free(path: &Path) -> Result<()> {
    for entry in fs::read_dir(path).map_err(io(path, "read"))? {
        let entry = entry.map_err(io(path, "read"))?;
        if !is_left_over(&entry.path(), entry.file_name().to_str().unwrap_or_default()) {
            return Err(Error::NotEmpty { path: path.to_owned() });
        }
    }
    Ok(())
}

/// Whether a file is as such a process leaves it. Someone's own file of the same name is not.
fn is_left_over(path: &Path, name: &str) -> bool {
    let length = fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|data| data.len());
    match name {
        LOCK | files::ROUNDS => length == Some(0),
        "problem.toml" => {
            length.is_some() && fs::read_to_string(path).is_ok_and(|text| sealed::is_whole_comment(&text))
        }
        _ => is_temporary(name),
    }
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}

fn lock(path: &Path) -> Result<File> {
    let place = path.join(LOCK);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&place)
        .map_err(io(&place, "written"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::InUse { path: path.to_owned() }),
        // Some network file systems have no locks; whoever writes there must be alone by other means.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(io(&place, "locked")(error)),
    }
}
