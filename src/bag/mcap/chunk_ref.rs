//! [`ChunkRef`]: where a chunk is in its file, and what is known of it before it is opened.
//!
//! A run of messages that stand in no chunk is treated as one. Indexes are made of these values; the decompressor
//! and the reader of message indexes are given one at a time. What a file declares is copied here, not verified.

use super::limits::MAX_CHUNK;
use crate::time::{Ros, Time, TimeRange};

/// How messages stand in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// In a chunk record.
    Chunk,
    /// One after the other without a chunk around them: a run of records.
    Loose,
}

/// What is known of one channel's messages in a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Indexed {
    pub(crate) channel: u16,
    /// How many there are; 0 if only the message index says.
    pub(crate) count: u32,
    /// Where the message index is; 0 if there is none.
    pub(crate) offset: u64,
}

/// Where a chunk, or a run of loose records, is and which times it covers.
#[derive(Clone, Debug)]
pub(crate) struct ChunkRef {
    pub(crate) form: Form,
    /// Offset of the chunk record, or of the first loose one, and its length with frames.
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// First and last stamp as declared; `None` if they are not known, so that it may hold any time.
    pub(crate) times: Option<TimeRange>,
    /// Decompressed size, as declared by the index.
    pub(crate) uncompressed: u64,
    /// The channels that have messages in it, by id; empty if they are not known.
    pub(crate) message_indexes: Box<[Indexed]>,
}

impl ChunkRef {
    /// Whether its index says that there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.uncompressed == 0 && self.message_indexes.is_empty()
    }

    /// What opening it takes in bytes, as far as its index can be believed.
    pub(crate) fn cost(&self) -> u64 {
        self.uncompressed.min(MAX_CHUNK)
    }

    /// The earliest stamp that a message in it can have.
    pub(crate) fn earliest(&self) -> Time<Ros> {
        self.times.map_or(Time::MIN, TimeRange::start)
    }

    /// The latest stamp that a message in it can have.
    pub(crate) fn latest(&self) -> Time<Ros> {
        self.times.map_or(Time::MAX, TimeRange::stop)
    }

    /// Whether only opening it tells what is in it.
    pub(crate) fn is_untold(&self) -> bool {
        self.message_indexes.is_empty() && !self.is_empty()
    }
}
