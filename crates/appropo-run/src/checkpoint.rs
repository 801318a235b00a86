use appropo::state::{Loader, Saver, misfit};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result, damaged};
use crate::{Directory, FORMAT, LogDigest};

const NAME: &str = "checkpoint";
const MAGIC: &[u8] = b"appropo checkpoint\n";

/// All that is needed to go on with a run, and how far its log had come by then.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checkpoint {
    /// Rounds played.
    pub rounds: usize,
    /// The log of these rounds.
    pub log: LogDigest,
    /// The state of the solver.
    pub state: Vec<u8>,
}

impl Checkpoint {
    /// Writes it in the place of the one before.
    pub fn write(&self, directory: &Directory) -> Result<()> {
        directory.write(NAME, &self.to_bytes())
    }

    /// The last one written; `None` where there is none yet.
    pub fn read(directory: &Directory) -> Result<Option<Self>> {
        if !directory.has(NAME) {
            return Ok(None);
        }
        Self::from_bytes(directory, &directory.read_bytes(NAME)?).map(Some)
    }

    /// Magic, format, checksum, content.
    fn to_bytes(&self) -> Vec<u8> {
        let mut saver = Saver::default();
        saver.put(&self.rounds);
        saver.put(&self.log.bytes);
        saver.put_bytes(self.log.sha256.as_bytes());
        saver.put_bytes(&self.state);
        let content = saver.into_bytes();
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend(Sha256::digest(&content));
        bytes.extend(content);
        bytes
    }

    fn from_bytes(directory: &Directory, bytes: &[u8]) -> Result<Self> {
        let path = directory.file(NAME);
        let parts = bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<4>());
        let Some((format, rest)) = parts else {
            return Err(damaged(&path, "it does not begin as a checkpoint does"));
        };
        let found = u32::from_le_bytes(*format);
        if found > FORMAT {
            return Err(Error::Newer { path, found: found.into(), known: FORMAT });
        }
        match rest.split_first_chunk::<32>() {
            Some((digest, content)) if found == FORMAT && Sha256::digest(content)[..] == digest[..] => {
                Self::parse(content).map_err(|error| damaged(&path, error.to_string()))
            }
            _ => Err(damaged(&path, "its checksum does not fit its content")),
        }
    }

    /// Reads the content behind the checksum.
    pub fn parse(content: &[u8]) -> appropo::error::Result<Self> {
        let mut loader = Loader::new(content);
        let rounds = loader.get()?;
        let (bytes, sha256) = (loader.get()?, loader.get_bytes()?);
        let sha256 = String::from_utf8(sha256).map_err(|_| misfit("a checksum is not text"))?;
        let checkpoint = Self { rounds, log: LogDigest { bytes, sha256 }, state: loader.get_bytes()? };
        loader.finish()?;
        Ok(checkpoint)
    }
}
