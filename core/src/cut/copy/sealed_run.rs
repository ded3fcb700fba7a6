//! [`SealedRun`]: sealed chunks that lie one behind the other in a file. They are copied together: small chunks would
//! otherwise take a read and a write each.

use std::ops::Range;

use crate::bag::{SealedChunk, StoredChunk};

/// A run is copied when it has this many pieces. In a longer run, the writing thread would be idle while the message
/// indexes of the next run are read.
const LONG: u64 = 8;

/// Chunks of one file without a gap between them.
#[derive(Debug)]
pub(crate) struct SealedRun {
    pub(crate) chunks: Vec<(StoredChunk, SealedChunk)>,
    /// How many bytes are read at once.
    piece: u64,
}

impl SealedRun {
    /// An empty run, of a bag of which so many bytes are read at once.
    pub(crate) fn new(piece: usize) -> Self {
        Self {
            chunks: Vec::new(),
            piece: piece as u64,
        }
    }

    /// The chunks, which are taken out.
    pub(crate) fn take(&mut self) -> Self {
        Self {
            chunks: std::mem::take(&mut self.chunks),
            piece: self.piece,
        }
    }

    /// Whether the chunk is the next one of the same file.
    pub(crate) fn is_continued_by(&self, chunk: StoredChunk, sealed: &SealedChunk) -> bool {
        self.chunks.last().is_none_or(|(last, before)| {
            last.input == chunk.input && before.bytes.end == sealed.bytes.start
        })
    }

    /// Whether it is long enough to be copied.
    pub(crate) fn is_long(&self) -> bool {
        self.bytes()
            .is_some_and(|(_, bytes)| bytes.end - bytes.start >= LONG * self.piece)
    }

    /// Its file, and where it is in it; `None` if it is empty.
    pub(crate) fn bytes(&self) -> Option<(u32, Range<u64>)> {
        let ((first, start), (_, end)) = (self.chunks.first()?, self.chunks.last()?);
        Some((first.input, start.bytes.start..end.bytes.end))
    }
}
