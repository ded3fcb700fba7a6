//! [`ChunkRef`]: where a chunk is in its file, and what is known about it before it is opened.
//!
//! A run of messages outside chunks is treated as one chunk. Indexes consist of these values; the decompressor and the
//! reader of message indexes are given one at a time. Declared values are copied here and not verified.

use super::limits::MAX_CHUNK;
use crate::time::{Ros, Time, TimeRange};

/// How messages are stored in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Storage {
    /// In a chunk record.
    Chunk,
    /// As a run of records outside chunks.
    OutsideChunks,
}

/// What is known about the messages of one channel in a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Indexed {
    pub(crate) channel: u16,
    /// The number of messages; 0 if only the message index gives it.
    pub(crate) count: u32,
    /// The offset of the message index; 0 if there is none.
    pub(crate) offset: u64,
}

/// A chunk or a run of records outside chunks: where it is and which times it covers.
#[derive(Clone, Debug)]
pub(crate) struct ChunkRef {
    pub(crate) storage: Storage,
    /// The offset of the chunk record, or of the first record of the run; and the length including frames.
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// The first and last time as declared; `None` if they are not known: then it may hold messages of any time.
    pub(crate) times: Option<TimeRange>,
    /// The decompressed size that the index declares.
    pub(crate) uncompressed: u64,
    /// The channels that have messages in it, by id; empty if they are not known.
    pub(crate) message_indexes: Box<[Indexed]>,
}

impl ChunkRef {
    /// Whether its index says that it is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.uncompressed == 0 && self.message_indexes.is_empty()
    }

    /// How many bytes opening it takes: the declared size, at most [`MAX_CHUNK`].
    pub(crate) fn cost(&self) -> u64 {
        self.uncompressed.min(MAX_CHUNK)
    }

    /// The earliest time that a message in it can have.
    pub(crate) fn earliest(&self) -> Time<Ros> {
        self.times.map_or(Time::MIN, TimeRange::start)
    }

    /// The latest time that a message in it can have.
    pub(crate) fn latest(&self) -> Time<Ros> {
        self.times.map_or(Time::MAX, TimeRange::stop)
    }

    /// Whether its channels are unknown until it is opened.
    pub(crate) fn has_unknown_channels(&self) -> bool {
        self.message_indexes.is_empty() && !self.is_empty()
    }
}
