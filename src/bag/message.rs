//! [`Message`]: one recorded message on its way from chunk to wire, and its place in the total order.
//!
//! Cheap to clone: the payload is a counted slice of the chunk it was decompressed into, so a message
//! keeps its chunk alive until it has gone out.

use bytes::Bytes;

use crate::time::{Ros, Time};

/// A topic of a [`Bag`](super::recording::Bag): the index into its `topics()`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TopicId(pub u32);

impl TopicId {
    /// The place in a table that has one row a topic.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a message stands in the total order of a bag: by time, then input, then place in the file.
/// Unique within a bag; playing backwards is exactly the reverse order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// The time the recording is ordered by.
    pub time: Time<Ros>,
    /// Which file, counted in the order the inputs were given.
    pub input: u32,
    /// Offset of the chunk (or, outside a chunk, of the message record) in that file, in bytes.
    pub chunk: u64,
    /// Offset of the message record in the decompressed chunk, in bytes; 0 outside a chunk.
    pub record: u32,
}

/// One recorded message.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its place in the total order.
    pub key: Key,
    /// Its topic.
    pub topic: TopicId,
    /// When it was received by the recorder.
    pub log_time: Time<Ros>,
    /// When it was sent, as far as the recorder knew.
    pub publish_time: Time<Ros>,
    /// The recorder's sequence number, 0 if it keeps none.
    pub sequence: u32,
    /// The payload, byte for byte.
    pub payload: Bytes,
}
