//! [`Message`]: one recorded message on its way from the chunk to the output, and its place in the total order.
//!
//! Cheap to clone: the payload is a counted slice of the decompressed chunk. A message keeps its chunk in memory until
//! the message has been sent.

use bytes::Bytes;

use crate::time::{Ros, Time};

/// A topic of a [`Bag`](super::recording::Bag): the index into its `topics()`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TopicId(pub u32);

impl TopicId {
    /// Its index in a table with one row for each topic.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A publisher of a [`Bag`](super::recording::Bag), as far as the recording tells publishers apart: publishers of one
/// topic that it does not name are one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PublisherId(pub u32);

/// The place of a message in the total order of a bag: by time, then input, then place in the file. Unique within a
/// bag; playing backwards is the exact reverse of this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// The time by which the recording is ordered.
    pub time: Time<Ros>,
    /// The file, numbered in the order in which the inputs were given.
    pub input: u32,
    /// Offset of the chunk in that file, or of the message record if it is outside chunks; in bytes.
    pub chunk: u64,
    /// Offset of the message record in the decompressed chunk, in bytes; 0 outside chunks.
    pub record: u32,
}

/// One recorded message.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its place in the total order.
    pub key: Key,
    /// Its topic.
    pub topic: TopicId,
    /// Who published it.
    pub publisher: PublisherId,
    /// When the recorder received it.
    pub log_time: Time<Ros>,
    /// When it was sent, as far as the recorder knew.
    pub publish_time: Time<Ros>,
    /// The recorder's sequence number; 0 if the recorder keeps none.
    pub sequence: u32,
    /// The payload, unchanged.
    pub payload: Bytes,
}
