//! [`Source`]: an opened recording with its display name.
//!
//! Everything past this folder reads through it, and knows a recording only by its length, its name, and what a read
//! costs. Every read is checked against the length, so nothing is allocated for bytes that do not exist. Of many files
//! only some are open at once: see [`Pool`].

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::error::BagError;
use super::file_pool::Pool;
use super::read_at::{Cost, ReadAt};
use crate::untrusted::FileName;

/// Of a remote recording: how many of its first and last bytes are read when it is opened, and kept. They hold the
/// header, the footer, and most summary sections.
const KEPT_HEAD: u64 = 64 << 10;
const KEPT_TAIL: u64 = 256 << 10;

/// A temporary file that no longer has a name, with the recording that was unpacked from another file.
#[derive(Debug)]
struct Unpacked {
    file: File,
    length: u64,
    /// That of the other file.
    identity: String,
}

impl ReadAt for Unpacked {
    fn length(&self) -> u64 {
        self.length
    }

    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn cost(&self) -> Cost {
        Cost::Local
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(&self.file, buffer, offset)
    }
}

/// An open recording and its display name.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: FileName,
    pub(crate) len: u64,
    bytes: Arc<dyn ReadAt>,
    /// Bytes of a remote recording that are kept in memory, by offset.
    kept: Vec<(u64, Bytes)>,
}

impl Source {
    /// Opens a recording. Of a remote one the first and last bytes are read, with at most two requests.
    pub(crate) fn of(name: FileName, bytes: Arc<dyn ReadAt>) -> Result<Self, BagError> {
        let mut source = Self {
            name,
            len: bytes.length(),
            bytes,
            kept: Vec::new(),
        };
        if source.bytes.cost() == Cost::Remote {
            let most = KEPT_HEAD + KEPT_TAIL + Cost::Remote.gap();
            let tail = match source.len {
                length if length <= most => 0,
                length => length - KEPT_TAIL,
            };
            let ranges = [0..KEPT_HEAD.min(tail), tail..source.len];
            let kept = source.bytes.read_ranges(&ranges);
            let kept = kept.map_err(|error| source.error(tail, error))?;
            let starts = ranges.iter().map(|range| range.start);
            source.kept = starts.zip(kept).collect();
        }
        Ok(source)
    }

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
        Self::of(path.into(), Arc::new(file))
    }

    /// The recording that was unpacked from this one.
    pub(crate) fn unpacked(&self, file: File) -> Result<Self, BagError> {
        let facts = file.metadata().map_err(|error| self.error(0, error))?;
        let unpacked = Unpacked {
            length: facts.len(),
            file,
            identity: self.bytes.identity(),
        };
        Self::of(self.name.clone(), Arc::new(unpacked))
    }

    /// See [`ReadAt::identity`].
    pub(crate) fn identity(&self) -> String {
        self.bytes.identity()
    }

    /// See [`ReadAt::cost`].
    pub(crate) fn cost(&self) -> Cost {
        self.bytes.cost()
    }

    /// Whether it takes no request over a network to read `length` bytes from `offset` on.
    pub(crate) fn is_at_hand(&self, offset: u64, length: u64) -> bool {
        self.cost() == Cost::Local || self.kept(offset, length).is_some()
    }

    /// How many bytes from `offset` on are kept in memory.
    pub(crate) fn kept_from(&self, offset: u64) -> u64 {
        let ends = self.kept.iter().filter_map(|(start, bytes)| {
            let end = start + bytes.len() as u64;
            (*start <= offset).then(|| end.saturating_sub(offset))
        });
        ends.max().unwrap_or(0)
    }

    /// The bytes from `offset` on, if they are kept in memory.
    fn kept(&self, offset: u64, length: u64) -> Option<&[u8]> {
        self.kept.iter().find_map(|(start, bytes)| {
            let from = usize::try_from(offset.checked_sub(*start)?).ok()?;
            bytes.get(from..)?.get(..usize::try_from(length).ok()?)
        })
    }

    /// Fills `buffer` with the bytes from `offset` on.
    pub(crate) fn read_into(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if let Some(bytes) = self.kept(offset, buffer.len() as u64) {
            buffer.copy_from_slice(bytes);
            return Ok(());
        }
        self.bytes.read_exact_at(buffer, offset)
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

    /// See [`ReadAt::read_ranges`].
    pub(crate) fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        self.bytes.read_ranges(ranges)
    }

    /// The same as [`Self::read`] while the file is being opened: a failure means that the recording cannot be played.
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
            file: self.name.clone(),
            offset,
            source,
        }
    }
}
