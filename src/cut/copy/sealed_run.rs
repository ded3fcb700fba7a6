//! [`SealedRun`]: sealed chunks that lie one behind the other in a file. They are copied together: small chunks would
//! otherwise take a read and a write each.

use std::ops::Range;

use crate::bag::{SealedChunk, StoredChunk};

/// A run of at least so many bytes is copied: 8 MiB.
const LONG: u64 = 8 << 20;

/// Chunks of one file without a gap between them.
#[derive(Debug, Default)]
pub(crate) struct SealedRun {
    pub(crate) chunks: Vec<(StoredChunk, SealedChunk)>,
}

impl SealedRun {
    /// Whether the chunk is the next one of the same file.
    pub(crate) fn is_continued_by(&self, chunk: StoredChunk, sealed: &SealedChunk) -> bool {
        self.chunks.last().is_none_or(|(last, before)| {
            last.input == chunk.input && before.bytes.end == sealed.bytes.start
        })
    }

    /// Whether it is long enough to be copied.
    pub(crate) fn is_long(&self) -> bool {
        self.bytes()
            .is_some_and(|(_, bytes)| bytes.end - bytes.start >= LONG)
    }

    /// Its file, and where it is in it; `None` if it is empty.
    pub(crate) fn bytes(&self) -> Option<(u32, Range<u64>)> {
        let ((first, start), (_, end)) = (self.chunks.first()?, self.chunks.last()?);
        Some((first.input, start.bytes.start..end.bytes.end))
    }
}
