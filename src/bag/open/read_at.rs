//! [`Source`]: a recording that is read at positions, by many readers at once.
//!
//! Every read is checked against the length that the file had when it was opened, so nothing is allocated for bytes
//! that do not exist. Of many files only some are open at once: see [`Pool`].

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::error::BagError;
use super::file_pool::{Pool, Pooled};

/// An open recording.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) len: u64,
    store: Store,
}

/// Where the bytes are.
#[derive(Debug)]
enum Store {
    /// A file that can be closed and opened again.
    File(Pooled),
    /// A temporary file that no longer has a name.
    Spool(File),
    Memory(Bytes),
}

impl Source {
    /// Opens a regular file.
    pub(crate) fn open(path: &Path, pool: &Arc<Pool>) -> Result<Self, BagError> {
        let fail = |source| BagError::Open {
            path: path.to_owned(),
            source,
        };
        // Checked before opening, because opening a pipe waits for its other end.
        let kind = std::fs::metadata(path).map_err(fail)?;
        if !kind.is_file() {
            return Err(BagError::NotAFile {
                path: path.to_owned(),
                found: "a pipe or device",
                hint: "a recording is read at many places at once, so save it to a file first",
            });
        }
        let file = pool.open(path).map_err(fail)?;
        Ok(Self {
            path: path.to_owned(),
            len: file.length(),
            store: Store::File(file),
        })
    }

    /// The recording that was unpacked from the file at `path`.
    pub(crate) fn spooled(path: &Path, file: File) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            len: file.metadata()?.len(),
            store: Store::Spool(file),
        })
    }

    /// A recording in memory; messages call it `name`.
    pub(crate) fn memory(name: &Path, bytes: Bytes) -> Self {
        Self {
            path: name.to_owned(),
            len: bytes.len() as u64,
            store: Store::Memory(bytes),
        }
    }

    /// Fills `buffer` with the bytes from `offset` on.
    pub(crate) fn read_into(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        match &self.store {
            Store::File(file) => file.get()?.read_exact_at(buffer, offset),
            Store::Spool(file) => file.read_exact_at(buffer, offset),
            Store::Memory(bytes) => {
                let start = usize::try_from(offset).map_err(io::Error::other)?;
                let from = bytes.get(start..).and_then(|rest| rest.get(..buffer.len()));
                buffer.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }

    /// The `length` bytes from `offset` on. If the file is shorter, this is an error and nothing is allocated.
    pub(crate) fn read(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        if !self.holds(offset, length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let mut buffer = vec![0; length];
        self.read_into(offset, &mut buffer)?;
        Ok(buffer)
    }

    /// The same while the file is being opened: a failure means that the recording cannot be played.
    pub(crate) fn read_to_open(&self, offset: u64, length: u64) -> Result<Vec<u8>, BagError> {
        let bytes = self.read(offset, length);
        bytes.map_err(|error| self.error(offset, error))
    }

    /// Whether `length` bytes from `offset` on lie inside the file.
    pub(crate) fn holds(&self, offset: u64, length: u64) -> bool {
        offset
            .checked_add(length)
            .is_some_and(|end| end <= self.len)
    }

    /// The error for a read that failed while the file was being opened.
    pub(crate) fn error(&self, offset: u64, source: io::Error) -> BagError {
        BagError::Io {
            path: self.path.clone(),
            offset,
            source,
        }
    }
}
