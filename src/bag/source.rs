//! [`Source`]: an open file that is read at positions, by many readers at once.
//!
//! Every read is checked against the length the file had when it was opened, so that nothing is
//! allocated for bytes that are not there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::error::BagError;

/// An open recording.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) len: u64,
    file: File,
}

impl Source {
    /// Opens a regular file.
    pub(super) fn open(path: &Path) -> Result<Self, BagError> {
        let fail = |source| BagError::Open {
            path: path.to_owned(),
            source,
        };
        // Asked before opening: to open a pipe is to wait for its other end.
        let kind = std::fs::metadata(path).map_err(fail)?;
        if kind.is_dir() {
            return Err(BagError::NotAFile {
                path: path.to_owned(),
                found: "a directory",
                hint: "name the .mcap files inside it",
            });
        }
        if !kind.is_file() {
            return Err(BagError::NotAFile {
                path: path.to_owned(),
                found: "a pipe or device",
                hint: "a recording is read at many places at once, so save it to a file first",
            });
        }
        let file = File::open(path).map_err(fail)?;
        let meta = file.metadata().map_err(fail)?;
        Ok(Self {
            path: path.to_owned(),
            len: meta.len(),
            file,
        })
    }

    /// Fills `buffer` from `offset` on.
    pub(super) fn read_into(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    /// The `length` bytes from `offset` on; an error before anything is allocated if the file has not got them.
    pub(super) fn read(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        if !self.holds(offset, length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let mut buffer = vec![0; length];
        self.read_into(offset, &mut buffer)?;
        Ok(buffer)
    }

    /// Whether `length` bytes from `offset` on lie inside the file.
    pub(super) fn holds(&self, offset: u64, length: u64) -> bool {
        offset
            .checked_add(length)
            .is_some_and(|end| end <= self.len)
    }

    /// A read that failed while the file was opened.
    pub(super) fn error(&self, offset: u64, source: io::Error) -> BagError {
        BagError::Io {
            path: self.path.clone(),
            offset,
            source,
        }
    }
}
