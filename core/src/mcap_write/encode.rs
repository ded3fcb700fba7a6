//! The bodies of MCAP records as bytes; the counterpart of `bag/mcap/parse.rs`.

use mcap::records::{Channel, op};

use crate::bag::SchemaRecord;

/// The library that a written file names.
pub const LIBRARY: &str = concat!("bagplay ", env!("CARGO_PKG_VERSION"));

/// Bytes of records, one behind the other.
#[derive(Clone, Default, Debug)]
pub struct Encoder(pub Vec<u8>);

impl Encoder {
    /// A record, whose body `fill` writes.
    pub(crate) fn record(&mut self, opcode: u8, fill: impl FnOnce(&mut Self)) {
        self.0.push(opcode);
        let at = self.0.len();
        self.u64(0);
        fill(self);
        let length = (self.0.len() - at - 8) as u64;
        self.put(at, &length.to_le_bytes());
    }

    /// A block: its length in 32 bits, and what `fill` writes.
    pub(crate) fn block(&mut self, fill: impl FnOnce(&mut Self)) {
        let at = self.0.len();
        self.u32(0);
        fill(self);
        let length = u32::try_from(self.0.len() - at - 4);
        let length = length.expect("definitions and indexes are below 4 GiB");
        self.put(at, &length.to_le_bytes());
    }

    pub(crate) fn u16(&mut self, number: u16) {
        self.bytes(&number.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.bytes(&number.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.block(|to| to.bytes(text.as_bytes()));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(room) = self.0.get_mut(at..at + bytes.len()) {
            room.copy_from_slice(bytes);
        }
    }

    /// A header record.
    pub fn header(&mut self, profile: &str, library: &str) {
        self.record(op::HEADER, |to| {
            to.text(profile);
            to.text(library);
        });
    }

    /// A schema record.
    pub fn schema(&mut self, schema: &SchemaRecord) {
        self.record(op::SCHEMA, |to| {
            to.u16(schema.header.id);
            to.text(&schema.header.name);
            to.text(&schema.header.encoding);
            to.block(|to| to.bytes(&schema.data));
        });
    }

    /// A channel record.
    pub fn channel(&mut self, channel: &Channel) {
        self.record(op::CHANNEL, |to| {
            to.u16(channel.id);
            to.u16(channel.schema_id);
            to.text(&channel.topic);
            to.text(&channel.message_encoding);
            to.block(|to| {
                for (key, value) in &channel.metadata {
                    to.text(key);
                    to.text(value);
                }
            });
        });
    }

    /// A message index: the log time of each message, and the offset of its record in the chunk.
    pub(crate) fn message_index(&mut self, channel: u16, entries: &[(u64, u64)]) {
        self.record(op::MESSAGE_INDEX, |to| {
            to.u16(channel);
            to.block(|to| {
                for (log_time, offset) in entries {
                    to.u64(*log_time);
                    to.u64(*offset);
                }
            });
        });
    }
}
