//! [`OpenChunk`]: a chunk to which messages are added, and its message indexes.

use std::collections::BTreeMap;

use mcap::records::{ChunkHeader, op};

use super::compression::{Compression, Compressor};
use super::encode::Encoder;
use crate::bag::{Message, StoredMessage};
use crate::time::{Ros, Time, TimeRange};

/// The message indexes of a chunk: of each channel the log times of its messages and the offsets of their records.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Indexes {
    pub(crate) by_channel: BTreeMap<u16, Vec<(u64, u64)>>,
    /// The first and last log time.
    pub(crate) times: Option<TimeRange>,
}

impl Indexes {
    pub(crate) fn add(&mut self, channel: u16, log_time: Time<Ros>, offset: u64) {
        let entries = self.by_channel.entry(channel).or_default();
        entries.push((log_time.to_mcap(), offset));
        let one = TimeRange::between(log_time, log_time);
        self.times = Some(self.times.map_or(one, |all| all.union(one)));
    }
}

/// Bytes of records in a chunk, before compression. Compared together with the next payload, so a chunk of several
/// messages can have up to 31 bytes more. A longer message has its own chunk.
pub const CHUNK_BYTES: usize = 1 << 20;

/// The fields of a message to write, without its channel.
#[derive(Clone, Copy, Debug)]
pub struct NewMessage<'a> {
    /// The sequence number.
    pub sequence: u32,
    /// When it was received.
    pub log_time: Time<Ros>,
    /// When it was sent.
    pub publish_time: Time<Ros>,
    /// Its bytes, in the encoding of its channel.
    pub payload: &'a [u8],
}

/// A chunk that has not been written yet.
#[derive(Debug, Default)]
pub struct OpenChunk {
    records: Encoder,
    compression: Compression,
    indexes: Indexes,
}

/// A chunk that is to be written.
#[derive(Debug)]
pub struct ClosedChunk {
    /// The fields of the chunk record before the records.
    pub header: ChunkHeader,
    /// The records, compressed as the header says.
    pub data: Vec<u8>,
    /// The message indexes.
    pub indexes: Indexes,
}

/// Message indexes as records, and where each begins.
#[derive(Debug)]
pub struct EncodedIndexes {
    /// The records, one behind the other.
    pub records: Vec<u8>,
    /// Where the message index of each channel begins, in bytes from the start of the chunk record.
    pub places: BTreeMap<u16, u64>,
}

impl Indexes {
    /// Their records. `chunk_length` is the number of bytes of the chunk record, frame included.
    pub fn encode(&self, chunk_length: u64) -> EncodedIndexes {
        let mut places = BTreeMap::new();
        let mut records = Encoder::default();
        for (channel, entries) in &self.by_channel {
            places.insert(*channel, chunk_length + records.0.len() as u64);
            records.message_index(*channel, entries);
        }
        EncodedIndexes {
            records: records.0,
            places,
        }
    }
}

impl ClosedChunk {
    /// Its record up to the data, which follow.
    pub fn head(&self) -> Vec<u8> {
        let header = &self.header;
        let mut head = Encoder::default();
        head.u64(header.message_start_time);
        head.u64(header.message_end_time);
        head.u64(header.uncompressed_size);
        head.u32(header.uncompressed_crc);
        head.text(&header.compression);
        head.u64(header.compressed_size);
        let length = head.0.len() as u64 + header.compressed_size;
        [&[op::CHUNK], &length.to_le_bytes()[..], &head.0].concat()
    }
}

impl OpenChunk {
    /// How many bytes its records have.
    pub fn size(&self) -> usize {
        self.records.0.len()
    }

    pub(crate) fn compression(&self) -> Compression {
        self.compression
    }

    /// Sets how it is compressed; it has no messages yet.
    pub fn begin(&mut self, compression: Compression) {
        self.compression = compression;
    }

    /// Adds a message under another channel.
    pub(crate) fn add(&mut self, message: StoredMessage<'_>, channel: u16) {
        self.indexes
            .add(channel, message.log_time, self.size() as u64);
        self.records.record(op::MESSAGE, |to| {
            to.u16(channel);
            to.bytes(message.rest);
        });
    }

    /// Adds a message with another log time.
    pub(crate) fn add_at(&mut self, log_time: Time<Ros>, message: &Message, channel: u16) {
        let new = NewMessage {
            sequence: message.sequence,
            log_time,
            publish_time: message.publish_time,
            payload: &message.payload,
        };
        self.add_new(&new, channel);
    }

    /// Adds a message with these fields.
    pub fn add_new(&mut self, message: &NewMessage<'_>, channel: u16) {
        self.indexes
            .add(channel, message.log_time, self.size() as u64);
        self.records.record(op::MESSAGE, |to| {
            to.u16(channel);
            to.u32(message.sequence);
            to.u64(message.log_time.to_mcap());
            to.u64(message.publish_time.to_mcap());
            to.bytes(message.payload);
        });
    }

    /// Ends it, and begins another one. `None` if it has no messages.
    pub fn close(&mut self, compressor: &mut Compressor) -> std::io::Result<Option<ClosedChunk>> {
        let Self {
            records: Encoder(records),
            compression,
            indexes,
        } = std::mem::take(self);
        let Some(times) = indexes.times else {
            return Ok(None);
        };
        let (uncompressed_size, crc) = (records.len() as u64, crc32fast::hash(&records));
        let data = compressor.compress(compression, records)?;
        Ok(Some(ClosedChunk {
            header: ChunkHeader {
                message_start_time: times.start().to_mcap(),
                message_end_time: times.stop().to_mcap(),
                uncompressed_size,
                uncompressed_crc: crc,
                compression: compression.name().to_owned(),
                compressed_size: data.len() as u64,
            },
            data,
            indexes,
        }))
    }
}
