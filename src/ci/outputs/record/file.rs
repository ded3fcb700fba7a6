//! [`RecordingFile`]: an MCAP file that is readable at any time. Only whole chunks are written to it, each as one
//! piece; a piece that the disk did not take is cut off again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use mcap::records::MessageHeader;
use mcap::write::NoSeek;
use mcap::{Compression, McapError, WriteOptions, Writer};

use crate::ci::outputs::arrival::Arrival;
use crate::ci::outputs::define::Definition;
use crate::ros::{PublishedTopic, Qos};
use crate::untrusted::Foreign;

/// Messages of so many bytes make a chunk.
const CHUNK_BYTES: u64 = 1 << 20;
/// The fastest: recording must not slow down what it records.
const COMPRESSION_LEVEL: u32 = 1;

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
    /// Something cannot be expressed in an MCAP file.
    #[error("{} cannot be written: {source}", Foreign::path(path))]
    Format {
        /// The file.
        path: PathBuf,
        /// The error from the writer.
        source: McapError,
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
    writer: Writer<NoSeek<Pending>>,
    /// What the writer has finished and the file does not have yet: whole records.
    pending: Pending,
    written: u64,
    has_open_chunk: bool,
}

/// The end of the file, as long as it is in memory. All clones are the same.
#[derive(Clone, Default)]
struct Pending(Arc<Mutex<Vec<u8>>>);

impl RecordingFile {
    /// Makes the file, or empties it.
    pub(super) fn create(path: &Path) -> Result<Self, RecordError> {
        let create = |source| RecordError::Create {
            path: path.to_owned(),
            source,
        };
        let file = File::create(path).map_err(create)?;
        let pending = Pending::default();
        let options = WriteOptions::new()
            .profile("ros2")
            .library(concat!("bagplay ", env!("CARGO_PKG_VERSION")))
            .compression(Some(Compression::Zstd))
            .compression_level(COMPRESSION_LEVEL)
            .compression_threads(0)
            .chunk_size(Some(CHUNK_BYTES))
            // Chunks are built in memory.
            .disable_seeking(true);
        let writer = options.create(NoSeek::new(pending.clone()));
        let writer = writer.map_err(|source| RecordError::Format {
            path: path.to_owned(),
            source,
        })?;
        let mut made = Self {
            path: path.to_owned(),
            file,
            writer,
            pending,
            written: 0,
            has_open_chunk: false,
        };
        made.commit()?;
        Ok(made)
    }

    /// Adds a topic; the result stands for it in [`RecordingFile::write`].
    pub(super) fn add_topic(
        &mut self,
        topic: &PublishedTopic,
        definition: &Definition,
    ) -> Result<u16, RecordError> {
        // As rosbag2 does: a type without a definition keeps its name, in a schema without text.
        let (encoding, text) = match &definition.schema {
            Some(schema) => (schema.encoding.as_str(), &schema.data[..]),
            None => ("ros2msg", &[][..]),
        };
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
        let schema = self.writer.add_schema(&topic.type_name, encoding, text);
        let added = schema.and_then(|schema| {
            let writer = &mut self.writer;
            writer.add_channel(schema, &topic.name, "cdr", &metadata)
        });
        self.has_open_chunk = true;
        added.map_err(|source| self.format(source))
    }

    /// Adds a message; returns whether a chunk was written, with all messages before this one.
    pub(super) fn write(&mut self, channel: u16, arrival: &Arrival) -> Result<bool, RecordError> {
        let log_time = arrival.position.to_mcap();
        let written = self.written;
        // The format has 32 bits for it.
        let sequence = arrival.sequence.unwrap_or(0).rem_euclid(1 << 32);
        let header = MessageHeader {
            channel_id: channel,
            sequence: u32::try_from(sequence).expect("less than 2^32"),
            log_time,
            publish_time: arrival.source_time.map_or(log_time, i64::cast_unsigned),
        };
        let added = self
            .writer
            .write_to_known_channel(&header, &arrival.payload);
        self.has_open_chunk = true;
        added.map_err(|source| self.format(source))?;
        self.commit()?;
        Ok(self.written > written)
    }

    /// Finishes the chunk that is being built and writes it.
    pub(super) fn flush(&mut self) -> Result<(), RecordError> {
        if std::mem::take(&mut self.has_open_chunk) {
            let flushed = self.writer.flush();
            flushed.map_err(|source| self.format(source))?;
        }
        self.commit()
    }

    /// Whether there are messages that the file does not have yet.
    pub(super) fn has_open_chunk(&self) -> bool {
        self.has_open_chunk
    }

    /// Writes the index; returns the size of the file in bytes.
    pub(super) fn finish(mut self) -> Result<u64, RecordError> {
        self.flush()?;
        let finished = self.writer.finish();
        finished.map_err(|source| self.format(source))?;
        self.commit()?;
        Ok(self.written)
    }

    fn commit(&mut self) -> Result<(), RecordError> {
        let mut pending = self.pending.bytes();
        if pending.is_empty() {
            return Ok(());
        }
        let wrote = self.file.write_all(&pending);
        if wrote.is_ok() {
            self.written += pending.len() as u64;
            pending.clear();
        }
        drop(pending);
        wrote.map_err(|source| {
            // What is cut inside a record could be read, too, but with damage.
            let _ = self.file.set_len(self.written);
            RecordError::Write {
                path: self.path.clone(),
                written: self.written,
                source,
            }
        })
    }

    fn format(&self, source: McapError) -> RecordError {
        RecordError::Format {
            path: self.path.clone(),
            source,
        }
    }
}

impl Pending {
    fn bytes(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
