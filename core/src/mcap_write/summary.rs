//! [`Summary`]: what the summary section of a file will have, collected while the file is written.

use std::collections::BTreeMap;

use mcap::MAGIC;
use mcap::records::{Channel, ChunkHeader, op};

use super::chunk::{EncodedIndexes, Indexes};
use super::encode::Encoder;
use crate::bag::{OtherHead, SchemaRecord};
use crate::time::TimeRange;

/// The indexes and counts of a file. Memory grows with the number of chunks, as that of an open bag.
#[derive(Debug, Default)]
pub struct Summary {
    chunks: Group,
    attachments: Group,
    metadata: Group,
    pub(crate) counts: BTreeMap<u16, u64>,
    pub(crate) times: Option<TimeRange>,
}

/// Records of one kind.
#[derive(Debug, Default)]
struct Group {
    records: Encoder,
    count: u32,
}

impl Group {
    fn add(&mut self, opcode: u8, fill: impl FnOnce(&mut Encoder)) {
        self.count += 1;
        self.records.record(opcode, fill);
    }
}

/// Where a chunk and its message indexes are.
#[derive(Debug)]
pub(crate) struct ChunkPlace<'a> {
    pub(crate) header: &'a ChunkHeader,
    /// Where the chunk record begins, and its length with its frame.
    pub(crate) at: u64,
    pub(crate) length: u64,
    /// Where the message index of each channel begins, from the start of the chunk record.
    pub(crate) indexes: BTreeMap<u16, u64>,
    /// The length of all message indexes.
    pub(crate) indexes_length: u64,
}

impl Summary {
    pub(crate) fn add_chunk(&mut self, place: &ChunkPlace<'_>) {
        let header = place.header;
        self.chunks.add(op::CHUNK_INDEX, |to| {
            to.u64(header.message_start_time);
            to.u64(header.message_end_time);
            to.u64(place.at);
            to.u64(place.length);
            to.block(|to| {
                for (channel, at) in &place.indexes {
                    to.u16(*channel);
                    to.u64(place.at + at);
                }
            });
            to.u64(place.indexes_length);
            to.text(&header.compression);
            to.u64(header.compressed_size);
            to.u64(header.uncompressed_size);
        });
    }

    /// Adds the chunk whose record begins at `at` and has `length` bytes, frame included; `encoded` follows it.
    pub fn add_indexed_chunk(
        &mut self,
        (header, at, length): (&ChunkHeader, u64, u64),
        indexes: &Indexes,
        encoded: EncodedIndexes,
    ) {
        self.add_chunk(&ChunkPlace {
            header,
            at,
            length,
            indexes_length: encoded.records.len() as u64,
            indexes: encoded.places,
        });
        for (channel, entries) in &indexes.by_channel {
            self.count(*channel, entries.len() as u64);
        }
        if let Some(times) = indexes.times {
            self.cover(times);
        }
    }

    pub(crate) fn count(&mut self, channel: u16, messages: u64) {
        *self.counts.entry(channel).or_default() += messages;
    }

    pub(crate) fn cover(&mut self, times: TimeRange) {
        self.times = Some(self.times.map_or(times, |all| all.union(times)));
    }

    /// Adds an attachment or metadata record at a place.
    pub(crate) fn add_other(&mut self, head: &OtherHead, at: u64, length: u64) {
        match head {
            OtherHead::Attachment {
                log_time,
                create_time,
                size,
                name,
                media_type,
            } => self.attachments.add(op::ATTACHMENT_INDEX, |to| {
                for number in [at, length, *log_time, *create_time, *size] {
                    to.u64(number);
                }
                to.text(name);
                to.text(media_type);
            }),
            OtherHead::Metadata { name } => self.metadata.add(op::METADATA_INDEX, |to| {
                to.u64(at);
                to.u64(length);
                to.text(name);
            }),
        }
    }

    pub(crate) fn attachments(&self) -> u64 {
        self.attachments.count.into()
    }

    pub(crate) fn metadata(&self) -> u64 {
        self.metadata.count.into()
    }

    pub(crate) fn chunks(&self) -> u64 {
        self.chunks.count.into()
    }

    /// The `DataEnd` record, which begins at `at`, and everything after it. `crc` is the checksum of the bytes before
    /// `at`.
    pub fn end_of_file(
        self,
        (at, crc): (u64, u32),
        schemas: &BTreeMap<u16, SchemaRecord>,
        channels: &BTreeMap<u16, Channel>,
    ) -> Vec<u8> {
        let mut end = Encoder::default();
        end.record(op::DATA_END, |to| to.u32(crc));
        let at = at + end.0.len() as u64;
        end.bytes(&self.encode(at, schemas, channels));
        end.0
    }

    /// The summary section, the summary offset section, the footer and the magic of a file whose data section ends at
    /// `at`. Their checksum covers everything up to its own place.
    fn encode(
        self,
        at: u64,
        schemas: &BTreeMap<u16, SchemaRecord>,
        channels: &BTreeMap<u16, Channel>,
    ) -> Vec<u8> {
        let mut out = Encoder::default();
        let mut groups = Vec::new();
        let mut group = |out: &mut Encoder, opcode: u8, fill: &dyn Fn(&mut Encoder)| {
            let start = out.0.len();
            fill(out);
            if out.0.len() > start {
                groups.push((opcode, start as u64, (out.0.len() - start) as u64));
            }
        };
        group(&mut out, op::SCHEMA, &|out| {
            for schema in schemas.values() {
                out.schema(schema);
            }
        });
        group(&mut out, op::CHANNEL, &|out| {
            for channel in channels.values() {
                out.channel(channel);
            }
        });
        group(&mut out, op::STATISTICS, &|out| {
            self.statistics(out, schemas.len(), channels.len());
        });
        for (opcode, records) in [
            (op::CHUNK_INDEX, &self.chunks.records),
            (op::ATTACHMENT_INDEX, &self.attachments.records),
            (op::METADATA_INDEX, &self.metadata.records),
        ] {
            group(&mut out, opcode, &|out| out.bytes(&records.0));
        }
        let offsets = at + out.0.len() as u64;
        for (opcode, start, length) in groups {
            out.record(op::SUMMARY_OFFSET, |to| {
                to.bytes(&[opcode]);
                to.u64(at + start);
                to.u64(length);
            });
        }
        out.record(op::FOOTER, |to| {
            to.u64(at);
            to.u64(offsets);
            to.u32(0);
        });
        let crc = out.0.len() - 4;
        let sum = crc32fast::hash(out.0.get(..crc).unwrap_or_default());
        out.0.truncate(crc);
        out.u32(sum);
        out.bytes(MAGIC);
        out.0
    }

    fn statistics(&self, out: &mut Encoder, schemas: usize, channels: usize) {
        let counts = self.counts.iter().filter(|(_, count)| **count > 0);
        out.record(op::STATISTICS, |to| {
            to.u64(self.counts.values().sum());
            to.u16(u16::try_from(schemas).expect("ids have 16 bits, and 0 is none"));
            to.u32(u32::try_from(channels).expect("ids have 16 bits"));
            to.u32(self.attachments.count);
            to.u32(self.metadata.count);
            to.u32(self.chunks.count);
            let times = self.times.map(|times| (times.start(), times.stop()));
            to.u64(times.map_or(0, |(start, _)| start.to_mcap()));
            to.u64(times.map_or(0, |(_, stop)| stop.to_mcap()));
            to.block(|to| {
                for (channel, count) in counts {
                    to.u16(*channel);
                    to.u64(*count);
                }
            });
        });
    }
}
