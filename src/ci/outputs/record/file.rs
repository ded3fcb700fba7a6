//! [`RecordingFile`]: an MCAP file that is readable at any time. Only whole chunks are written to it, each as one
//! piece; a piece that the disk did not take is cut off again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use mcap::MAGIC;
use mcap::records::{Channel, SchemaHeader};

use crate::bag::SchemaRecord;
use crate::ci::outputs::arrival::Arrival;
use crate::ci::outputs::define::Definition;
use crate::mcap_write::{
    CHUNK_BYTES, Compression, Compressor, Encoder, LIBRARY, NewMessage, OpenChunk, Summary,
};
use crate::ros::{PublishedTopic, Qos};
use crate::time::Time;
use crate::untrusted::Foreign;

/// The lowest positive level of zstd: recording must not slow down what it records.
const ZSTD_LEVEL: i32 = 1;

/// Why recording ended, or did not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file cannot be made.
    #[error("{} cannot be made: {source}", Foreign::path(path))]
    Create {
        /// The file.
        path: PathBuf,
        /// The error from the system.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error(
        "{} cannot be written: {source}; its first {written} bytes can be read",
        Foreign::path(path)
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// How many bytes it has.
        written: u64,
        /// The error from the system.
        source: io::Error,
    },
    /// A recording has at most 65,535 topics. Further ones are not recorded, and recording continues.
    #[error(
        "{} has 65,535 topics, the most that a recording can have",
        Foreign::path(path)
    )]
    TooManyTopics {
        /// The file.
        path: PathBuf,
    },
    /// The thread that writes it panicked: a defect of this program.
    #[error("the thread that writes {} panicked", Foreign::path(path))]
    Panicked {
        /// The file.
        path: PathBuf,
    },
    /// A thread could not be started.
    #[error(
        "the thread that writes {} cannot be started: {source}",
        Foreign::path(path)
    )]
    Thread {
        /// The file.
        path: PathBuf,
        /// The error from the system.
        source: io::Error,
    },
}

/// A file that is being written.
pub(super) struct RecordingFile {
    path: PathBuf,
    file: File,
    /// How many bytes the file has: whole records.
    written: u64,
    /// The checksum of what the file has.
    crc: crc32fast::Hasher,
    schemas: BTreeMap<u16, SchemaRecord>,
    channels: BTreeMap<u16, Channel>,
    /// Records that come before the next chunk: new definitions, and at first the head of the file.
    pending: Encoder,
    open: OpenChunk,
    compressor: Compressor,
    summary: Summary,
}

impl RecordingFile {
    /// Makes the file, or empties it.
    pub(super) fn create(path: &Path) -> Result<Self, RecordError> {
        let create = |source| RecordError::Create {
            path: path.to_owned(),
            source,
        };
        let file = File::create(path).map_err(create)?;
        let mut pending = Encoder(MAGIC.to_vec());
        pending.header("ros2", LIBRARY);
        let mut made = Self {
            path: path.to_owned(),
            file,
            written: 0,
            crc: crc32fast::Hasher::new(),
            schemas: BTreeMap::new(),
            channels: BTreeMap::new(),
            pending,
            open: OpenChunk::default(),
            compressor: Compressor::with_zstd_level(ZSTD_LEVEL),
            summary: Summary::default(),
        };
        made.flush()?;
        Ok(made)
    }

    /// Adds a topic; the result stands for it in [`RecordingFile::write`].
    pub(super) fn add_topic(
        &mut self,
        topic: &PublishedTopic,
        definition: &Definition,
    ) -> Result<u16, RecordError> {
        let offers = if definition.offers.is_empty() {
            vec![topic.qos]
        } else {
            definition.offers.clone()
        };
        let metadata = BTreeMap::from([
            (
                "offered_qos_profiles".to_owned(),
                Qos::write_offers(&offers),
            ),
            (
                "topic_type_hash".to_owned(),
                topic.type_hash.clone().unwrap_or_default(),
            ),
        ]);
        let id = self.next_id(self.channels.len())?;
        let channel = Channel {
            id,
            schema_id: self.schema_id(&topic.type_name, definition)?,
            topic: topic.name.clone(),
            message_encoding: "cdr".to_owned(),
            metadata,
        };
        self.pending.channel(&channel);
        self.channels.insert(id, channel);
        Ok(id)
    }

    /// The id of a type's schema; topics with equal type name, encoding and text share it.
    fn schema_id(&mut self, type_name: &str, definition: &Definition) -> Result<u16, RecordError> {
        // As rosbag2 does: a type without a definition keeps its name, in a schema without text.
        let (encoding, text) = match &definition.schema {
            Some(schema) => (schema.encoding.as_str(), &schema.data[..]),
            None => ("ros2msg", &[][..]),
        };
        let is_it = |(_, known): &(&u16, &SchemaRecord)| {
            (known.header.name.as_str(), known.header.encoding.as_str()) == (type_name, encoding)
                && known.data == text
        };
        if let Some((id, _)) = self.schemas.iter().find(is_it) {
            return Ok(*id);
        }
        let id = self.next_id(self.schemas.len())?;
        let schema = SchemaRecord {
            header: SchemaHeader {
                id,
                name: type_name.to_owned(),
                encoding: encoding.to_owned(),
            },
            data: Bytes::copy_from_slice(text),
        };
        self.pending.schema(&schema);
        self.schemas.insert(id, schema);
        Ok(id)
    }

    /// The next id. Ids begin at 1: schema id 0 means no schema.
    fn next_id(&self, others: usize) -> Result<u16, RecordError> {
        u16::try_from(others + 1).map_err(|_| RecordError::TooManyTopics {
            path: self.path.clone(),
        })
    }

    /// Adds a message; returns whether a chunk was written, with all messages before this one.
    pub(super) fn write(&mut self, channel: u16, arrival: &Arrival) -> Result<bool, RecordError> {
        // The format has 32 bits for it.
        let sequence = arrival.sequence.unwrap_or(0).rem_euclid(1 << 32);
        let message = NewMessage {
            sequence: u32::try_from(sequence).expect("less than 2^32"),
            log_time: arrival.position,
            publish_time: arrival
                .source_time
                .map_or(arrival.position, Time::from_nanos),
            payload: &arrival.payload,
        };
        let is_full =
            self.open.size() > 0 && self.open.size() + message.payload.len() > CHUNK_BYTES;
        if is_full {
            self.flush()?;
        }
        self.open.begin(Compression::Zstd);
        self.open.add_new(&message, channel);
        Ok(is_full)
    }

    /// Whether there are messages or topics that the file does not have yet.
    pub(super) fn has_open_chunk(&self) -> bool {
        self.open.size() > 0 || !self.pending.0.is_empty()
    }

    /// Finishes the chunk that is being built and writes it.
    pub(super) fn flush(&mut self) -> Result<(), RecordError> {
        let definitions = std::mem::take(&mut self.pending).0;
        let closed = self.open.close(&mut self.compressor);
        let Some(chunk) = closed.map_err(|source| self.write_error(source))? else {
            return self.append(&definitions);
        };
        let at = self.written + definitions.len() as u64;
        let head = chunk.head();
        let length = (head.len() + chunk.data.len()) as u64;
        let encoded = chunk.indexes.encode(length);
        let parts = [&definitions, &head, &chunk.data, &encoded.records];
        self.append(&parts.map(Vec::as_slice).concat())?;
        let place = (&chunk.header, at, length);
        self.summary
            .add_indexed_chunk(place, &chunk.indexes, encoded);
        Ok(())
    }

    /// Writes the index; returns the size of the file in bytes.
    pub(super) fn finish(mut self) -> Result<u64, RecordError> {
        self.flush()?;
        let crc = self.crc.clone().finalize();
        let summary = std::mem::take(&mut self.summary);
        let end = summary.end_of_file((self.written, crc), &self.schemas, &self.channels);
        self.append(&end)?;
        Ok(self.written)
    }

    /// Writes whole records. On an error, tries to cut the file back to its last whole record.
    fn append(&mut self, records: &[u8]) -> Result<(), RecordError> {
        self.file.write_all(records).map_err(|source| {
            // What is cut inside a record could be read, too, but with damage.
            let _ = self.file.set_len(self.written);
            self.write_error(source)
        })?;
        self.written += records.len() as u64;
        self.crc.update(records);
        Ok(())
    }

    fn write_error(&self, source: io::Error) -> RecordError {
        RecordError::Write {
            path: self.path.clone(),
            written: self.written,
            source,
        }
    }
}
