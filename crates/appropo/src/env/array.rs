//! Arrays that may be larger than memory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytemuck::Pod;
#[cfg(unix)]
use filebuffer::FileBuffer;

use crate::error::{Error, Result};

/// How much is written at a time.
const BUFFER: usize = 1 << 18;

/// Numbers one after another: in memory, or in a file of which the system keeps in memory what is read and what there is room for.
#[derive(Debug, Clone)]
pub struct Array<T>(Kept<T>);

#[derive(Debug, Clone)]
enum Kept<T> {
    InMemory(Vec<T>),
    /// A file that no other process writes to: it was created here, for its owner only, and has no name any more. To read a map
    /// of a file that others may shorten would not be safe.
    InFile(Arc<FileBuffer>),
}

/// Where files don't go on without a name, all is kept in memory.
#[cfg(not(unix))]
#[derive(Debug)]
enum FileBuffer {}

#[cfg(not(unix))]
impl FileBuffer {
    fn open(_: &PathBuf) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(not(unix))]
impl Deref for FileBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match *self {}
    }
}

/// A file that is removed when it is dropped.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Scratch {
    /// A new file in the folder for such files.
    fn new() -> Result<(Self, File)> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        loop {
            let name = format!("appropo-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let path = std::env::temp_dir().join(name);
            match options.open(&path) {
                Ok(file) => return Ok((Self(path), file)),
                // Of a process that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(refused(&Self(path), &error)),
            }
        }
    }
}

fn refused(file: &Scratch, error: &io::Error) -> Error {
    Error::Scratch { path: file.0.display().to_string(), problem: error.to_string() }
}

impl<T> Default for Array<T> {
    fn default() -> Self {
        Self(Kept::InMemory(Vec::new()))
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(numbers: Vec<T>) -> Self {
        Self(Kept::InMemory(numbers))
    }
}

impl<T: Pod> From<Array<T>> for Vec<T> {
    fn from(array: Array<T>) -> Self {
        match array.0 {
            Kept::InMemory(numbers) => numbers,
            Kept::InFile(_) => array.to_vec(),
        }
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Kept::InMemory(numbers) => numbers,
            Kept::InFile(file) => bytemuck::cast_slice(file),
        }
    }
}

impl<T: Pod + PartialEq> PartialEq for Array<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Pod> Array<T> {
    /// Whether it is kept in a file.
    pub fn is_in_file(&self) -> bool {
        matches!(self.0, Kept::InFile(_))
    }

    /// Adds a number, in memory.
    pub(super) fn push(&mut self, number: T) {
        match &mut self.0 {
            Kept::InMemory(numbers) => numbers.push(number),
            Kept::InFile(_) => {
                let mut numbers = self.to_vec();
                numbers.push(number);
                self.0 = Kept::InMemory(numbers);
            }
        }
    }

    /// Those that are kept, in their order and where these are.
    pub(super) fn filtered(&self, mut is_kept: impl FnMut(usize) -> bool) -> Result<Self> {
        let mut kept = ArrayBuilder::new(self.is_in_file());
        for (place, number) in self.iter().enumerate() {
            if is_kept(place) {
                kept.push(*number);
            }
        }
        kept.build()
    }
}

/// Takes the numbers of an [`Array`] one after another. What goes wrong is told when it is built.
#[derive(Debug)]
pub struct ArrayBuilder<T>(Growing<T>);

#[derive(Debug)]
enum Growing<T> {
    InMemory(Vec<T>),
    InFile { file: Scratch, writer: BufWriter<File>, len: usize },
    Failed(Error),
}

impl<T: Pod> ArrayBuilder<T> {
    /// An empty one, to be kept in a file where that is asked for and the system has files without names.
    pub fn new(in_file: bool) -> Self {
        Self(match (in_file && cfg!(unix)).then(Scratch::new) {
            None => Growing::InMemory(Vec::new()),
            Some(Ok((file, opened))) => {
                Growing::InFile { file, writer: BufWriter::with_capacity(BUFFER, opened), len: 0 }
            }
            Some(Err(error)) => Growing::Failed(error),
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Growing::InMemory(numbers) => numbers.len(),
            Growing::InFile { len, .. } => *len,
            Growing::Failed(_) => 0,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a number.
    #[inline]
    pub fn push(&mut self, number: T) {
        match &mut self.0 {
            Growing::InMemory(numbers) => numbers.push(number),
            _ => self.write(&[number]),
        }
    }

    /// Adds numbers.
    pub fn extend_from_slice(&mut self, numbers: &[T]) {
        match &mut self.0 {
            Growing::InMemory(all) => all.extend_from_slice(numbers),
            _ => self.write(numbers),
        }
    }

    fn write(&mut self, numbers: &[T]) {
        if let Growing::InFile { file, writer, len } = &mut self.0 {
            match writer.write_all(bytemuck::cast_slice(numbers)) {
                Ok(()) => *len += numbers.len(),
                Err(error) => self.0 = Growing::Failed(refused(file, &error)),
            }
        }
    }

    /// All of them.
    pub fn build(self) -> Result<Array<T>> {
        match self.0 {
            Growing::InMemory(mut numbers) => {
                numbers.shrink_to_fit();
                Ok(numbers.into())
            }
            Growing::Failed(error) => Err(error),
            Growing::InFile { len: 0, .. } => Ok(Array::default()),
            Growing::InFile { file, mut writer, .. } => {
                writer.flush().map_err(|error| refused(&file, &error))?;
                drop(writer);
                let bytes = FileBuffer::open(&file.0).map_err(|error| refused(&file, &error))?;
                // It goes on without its name, so that a process that is killed leaves nothing behind.
                drop(file);
                Ok(Array(Kept::InFile(Arc::new(bytes))))
            }
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_what_memory_holds() {
        let numbers: Vec<f64> = (0..100_000).map(|i| f64::from(i).sqrt()).collect();
        let mut builder = ArrayBuilder::new(true);
        builder.push(numbers[0]);
        builder.extend_from_slice(&numbers[1..]);
        let Growing::InFile { file, .. } = &builder.0 else { panic!("kept in memory") };
        let path = file.0.clone();
        assert!(path.exists());
        let array = builder.build().unwrap();
        assert!(array.is_in_file());
        assert!(!path.exists(), "a process that is killed would leave its files behind");
        assert_eq!(array, Array::from(numbers.clone()));
        let even = array.filtered(|place| place % 2 == 0).unwrap();
        assert!(even.is_in_file());
        let mut copy = even.clone();
        drop((array, even));
        copy.push(-1.0);
        assert!(!copy.is_in_file());
        let expected: Vec<f64> = numbers.into_iter().step_by(2).chain([-1.0]).collect();
        assert_eq!(Vec::from(copy), expected);
        assert_eq!(*ArrayBuilder::<u32>::new(true).build().unwrap(), [0; 0]);
    }
}
