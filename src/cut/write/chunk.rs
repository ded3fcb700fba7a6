//! [`OpenChunk`]: a chunk to which messages are added, and its message indexes.

use std::collections::BTreeMap;

use mcap::records::{ChunkHeader, op};

use super::compression::{Compression, Compressor};
use super::encode::Encoder;
use crate::bag::{Message, StoredMessage};
use crate::time::{Ros, Time, TimeRange};

/// The message indexes of a chunk: of each channel the log times of its messages and the offsets of their records.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Indexes {
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

/// A chunk that has not been written yet.
#[derive(Debug, Default)]
pub(crate) struct OpenChunk {
    records: Encoder,
    compression: Compression,
    indexes: Indexes,
}

/// A chunk that is to be written.
#[derive(Debug)]
pub(crate) struct ClosedChunk {
    pub(crate) header: ChunkHeader,
    pub(crate) data: Vec<u8>,
    pub(crate) indexes: Indexes,
}

impl OpenChunk {
    /// How many bytes its records have.
    pub(crate) fn size(&self) -> usize {
        self.records.0.len()
    }

    pub(crate) fn compression(&self) -> Compression {
        self.compression
    }

    /// Sets how it is compressed; it has no messages yet.
    pub(crate) fn begin(&mut self, compression: Compression) {
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
        self.indexes.add(channel, log_time, self.size() as u64);
        self.records.record(op::MESSAGE, |to| {
            to.u16(channel);
            to.u32(message.sequence);
            to.u64(log_time.to_mcap());
            to.u64(message.publish_time.to_mcap());
            to.bytes(&message.payload);
        });
    }

    /// Ends it, and begins another one. `None` if it has no messages.
    pub(crate) fn close(
        &mut self,
        compressor: &mut Compressor,
    ) -> std::io::Result<Option<ClosedChunk>> {
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
