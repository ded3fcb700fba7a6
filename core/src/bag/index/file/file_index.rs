//! [`FileIndex`]: the contents of one file and where they are, as plain data.
//!
//! It comes from the summary of the file (`summary_section.rs`) or from reading through the file (`scan.rs`);
//! `build.rs` makes it. Its memory grows with the number of chunks and never with a declared size: definitions,
//! compressions and reports are bounded.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use mcap::records::{Channel, Header, Statistics};

use crate::bag::damage::{Damage, DamageKind, Fault};
use crate::bag::mcap::chunk_ref::{ChunkRef, Storage};
use crate::bag::mcap::message_index::{ENTRY, HEAD};
use crate::bag::mcap::parse::SchemaRecord;
use crate::bag::mcap::record::FRAME;
use crate::bag::open::source::Source;

/// The most bytes of schemas and channels that are kept: 32 MiB, fifty times those of a large robot.
const MAX_DEFINITIONS: u64 = 32 << 20;
/// The most faults of one index that are reported.
pub(crate) const MOST_REPORTS: usize = 100;
/// The most attachments and metadata records whose places are kept: 2.4 MB.
const MOST_OTHERS: usize = 100_000;

/// An attachment or a metadata record. They are not read for playing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OtherRecord {
    pub(crate) opcode: u8,
    /// Where it is in the file, including its frame.
    pub(crate) bytes: Range<u64>,
}

/// The attachments and metadata records of a file, by offset.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct OtherRecords {
    /// The first of them.
    pub(crate) list: Vec<OtherRecord>,
    /// How many more there are.
    pub(crate) left_out: u64,
}

/// Where the index of a file comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum IndexOrigin {
    /// The summary at the end of the file.
    #[default]
    Summary,
    /// The file itself, read through when it was opened.
    Scan,
}

/// The contents of a file and where they are.
#[derive(Debug, Default)]
pub(crate) struct FileIndex {
    pub(crate) origin: IndexOrigin,
    /// `None` if the file has no header record.
    pub(crate) header: Option<Header>,
    pub(crate) schemas: BTreeMap<u16, SchemaRecord>,
    pub(crate) channels: BTreeMap<u16, Channel>,
    /// By offset, without duplicates.
    pub(crate) chunks: Vec<ChunkRef>,
    pub(crate) statistics: Option<Statistics>,
    pub(crate) compressions: BTreeSet<String>,
    pub(crate) compressed: u64,
    /// The damage found in the file.
    pub(crate) damage: Vec<Damage>,
    /// Where the data end, and the checksum over all of them; the checksum is 0 if there is none.
    pub(crate) data_end: Option<(u64, u32)>,
    definition_bytes: u64,
    /// Chunks that could not be opened for inspection, and why.
    pub(crate) unread: Vec<(u64, Fault)>,
    /// The offsets of all chunks that could not be opened for inspection, or that are broken from their start.
    pub(crate) unopened: HashSet<u64>,
    /// Whether definitions were left out because there are too many.
    pub(crate) has_left_out: bool,
    /// The lengths of message indexes that the chunk indexes of the summary declare.
    pub(crate) lengths: IndexLengths,
    pub(crate) others: OtherRecords,
}

/// What the declared lengths of the message indexes say about the number of messages. The message index of a channel
/// takes 15 bytes, plus 16 bytes for each message.
#[derive(Debug, Default)]
pub(crate) struct IndexLengths {
    /// The number of messages for which there is room, in all chunks that are not doubtful.
    pub(crate) messages: u64,
    /// The offsets of chunks whose declared length does not fit the number of channels in their chunk index.
    pub(crate) doubtful: BTreeSet<u64>,
    /// The offset of each chunk that has message indexes, and their declared length.
    pub(crate) declared: Vec<(u64, u64)>,
}

impl IndexLengths {
    /// Adds the declared `length` of the message indexes of the chunk at `offset`, whose chunk index lists this many
    /// channels.
    pub(crate) fn add(&mut self, offset: u64, channels: usize, length: u64) {
        self.declared.push((offset, length));
        let frames = (channels as u64).saturating_mul(FRAME as u64 + HEAD);
        match length.checked_sub(frames).filter(|rest| rest % ENTRY == 0) {
            Some(rest) => self.messages = self.messages.saturating_add(rest / ENTRY),
            None => {
                self.doubtful.insert(offset);
            }
        }
    }

    /// The declared length of the message indexes of the chunk at `offset`; `declared` has to be sorted.
    pub(crate) fn of(&self, offset: u64) -> Option<u64> {
        let found = self
            .declared
            .binary_search_by_key(&offset, |it| it.0)
            .ok()?;
        self.declared.get(found).map(|it| it.1)
    }
}

impl FileIndex {
    /// The places of the chunks whose channels no record gives.
    pub(crate) fn chunks_of_unknown_channels(&self) -> Vec<usize> {
        let chunks = self.chunks.iter().enumerate();
        let unknown = chunks.filter(|(_, chunk)| chunk.has_unknown_channels());
        unknown.map(|(place, _)| place).collect()
    }

    /// An empty index.
    pub(crate) fn new(origin: IndexOrigin) -> Self {
        Self {
            origin,
            ..Self::default()
        }
    }

    /// Keeps the first definition of a schema. Returns whether `schema` equals it.
    pub(crate) fn define_schema(&mut self, schema: SchemaRecord) -> bool {
        if let Some(known) = self.schemas.get(&schema.header.id) {
            return *known == schema;
        }
        if self.is_room(schema.header.name.len() + schema.header.encoding.len() + schema.data.len())
        {
            self.schemas.insert(schema.header.id, schema);
        }
        true
    }

    /// Keeps the first definition of a channel. Returns whether `channel` equals it.
    pub(crate) fn define_channel(&mut self, channel: Channel) -> bool {
        if let Some(known) = self.channels.get(&channel.id) {
            return (&known.topic, &known.message_encoding, known.schema_id)
                == (&channel.topic, &channel.message_encoding, channel.schema_id);
        }
        let pairs = channel.metadata.iter();
        let metadata: usize = pairs.map(|(key, value)| key.len() + value.len()).sum();
        if self.is_room(channel.topic.len() + channel.message_encoding.len() + metadata) {
            self.channels.insert(channel.id, channel);
        }
        true
    }

    /// Keeps the place of an attachment or metadata record.
    pub(crate) fn note_other(&mut self, opcode: u8, bytes: Range<u64>) {
        if self.others.list.len() < MOST_OTHERS {
            self.others.list.push(OtherRecord { opcode, bytes });
        } else {
            self.others.left_out += 1;
        }
    }

    fn is_room(&mut self, size: usize) -> bool {
        let after = self.definition_bytes + size as u64;
        let is_room = after <= MAX_DEFINITIONS;
        if is_room {
            self.definition_bytes = after;
        } else {
            self.has_left_out = true;
        }
        is_room
    }

    /// Records the compression of a chunk.
    pub(crate) fn count_compression(&mut self, name: &str, compressed: u64) {
        self.compressed = self.compressed.saturating_add(compressed);
        let name = if name.is_empty() { "none" } else { name };
        if self.compressions.len() < MOST_REPORTS && !self.compressions.contains(name) {
            self.compressions.insert(name.to_owned());
        }
    }

    /// The declared size of all chunks after decompression.
    pub(crate) fn uncompressed(&self) -> u64 {
        let packed = self.chunks.iter().filter(|it| it.storage == Storage::Chunk);
        let sizes = packed.map(|chunk| chunk.uncompressed);
        sizes.fold(0, u64::saturating_add)
    }

    /// Reports that a schema or channel has been defined before with different content.
    pub(crate) fn report_conflict(&mut self, source: &Source, at: u64, (what, id): (&str, u16)) {
        let detail =
            format!("{what} {id} is defined again, differently; the first definition is used");
        self.report(source, at, (DamageKind::ChannelConflict, detail));
    }

    /// Reports damage, at most [`MOST_REPORTS`] times: one file can be damaged in millions of places.
    pub(crate) fn report(
        &mut self,
        source: &Source,
        offset: u64,
        (kind, detail): (DamageKind, impl Into<String>),
    ) {
        if self.damage.len() < MOST_REPORTS {
            self.damage.push(Damage {
                file: source.name.clone(),
                offset,
                kind,
                detail: detail.into(),
            });
        }
    }
}
