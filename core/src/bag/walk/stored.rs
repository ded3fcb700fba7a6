//! [`Stored`]: a bag as it is stored in its files, for copying: definitions, chunks in the order of each
//! file, attachments and metadata records.
//!
//! A chunk is either copied as it is ([`Stored::sealed`]) or opened ([`Stored::open`]), with the same checks and
//! reports as for playing. At most one chunk is in memory.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use mcap::records::{Channel, ChunkHeader, op};

use super::entries::{Entry, channel, scan};
use super::sealed::{SealedChunk, length_of_head, record_header};
use super::selection::Selection;
use crate::bag::damage::{Damage, DamageKind, Fault};
use crate::bag::decompress::budget::{CountedBytes, Meter};
use crate::bag::decompress::chunk::Decoder;
use crate::bag::index::contents::{Chunk, Contents};
use crate::bag::index::file::file_index::{OtherRecord, OtherRecords};
use crate::bag::mcap::parse::{self, SchemaRecord};
use crate::bag::mcap::record::{FRAME, Fields, Record, Records};
use crate::bag::mcap::window::Held;
use crate::bag::message::{Message, TopicId};
use crate::bag::open::read_at::Cost;
use crate::time::{Ros, Time, TimeRange};

/// How many bytes are read at once. A piece that has been read is still in the processor's cache when it is written.
const PIECE: usize = 128 << 10;
/// The same where each read is a request over a network.
const REMOTE_PIECE: usize = 8 << 20;
/// The most bytes of an attachment or metadata record that are read for its name.
const MOST_OF_A_HEAD: u64 = 64 << 10;

/// A bag as it is stored in its files.
pub(crate) struct Stored {
    contents: Arc<Contents>,
    decoder: Decoder,
    meter: Arc<Meter>,
    /// How far each file was copied or read without opening a chunk.
    read_to: Vec<u64>,
    /// The file whose message indexes were read last, and the bytes that were read last of it.
    held: (u32, Held),
}

/// A chunk, or a run of messages outside chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StoredChunk {
    id: u32,
    /// Its file.
    pub(crate) input: u32,
    /// The first and last time of its messages; `None` if they are not known.
    pub(crate) times: Option<TimeRange>,
    /// Its length in the file, in bytes.
    pub(crate) length: u64,
}

/// A schema or channel that a chunk defines.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Definition {
    Schema(SchemaRecord),
    Channel(Channel),
}

/// What an index has to say about an attachment or metadata record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum OtherHead {
    Attachment {
        log_time: u64,
        create_time: u64,
        /// The length of its data in bytes.
        size: u64,
        name: String,
        media_type: String,
    },
    Metadata {
        name: String,
    },
}

impl Stored {
    pub(crate) fn new(contents: Arc<Contents>) -> Self {
        Self {
            read_to: vec![0; contents.inputs.len()],
            held: (0, Held::default()),
            contents,
            decoder: Decoder::default(),
            meter: Meter::unbounded(),
        }
    }

    /// The number of files.
    pub(crate) fn inputs(&self) -> u32 {
        u32::try_from(self.contents.inputs.len()).unwrap_or(u32::MAX)
    }

    /// The schemas and channels of a file, by id.
    pub(crate) fn definitions(
        &self,
        input: u32,
    ) -> (&BTreeMap<u16, SchemaRecord>, &BTreeMap<u16, Channel>) {
        let input = self.contents.input(input);
        (&input.schemas, &input.definitions)
    }

    /// The topic of a channel.
    pub(crate) fn topic_of(&self, input: u32, channel: u16) -> Option<TopicId> {
        self.contents.topic_of(input, channel)
    }

    /// The chunks that may have messages in the range, of each file in the order of their places.
    pub(crate) fn chunks(&self, range: TimeRange) -> Vec<Vec<StoredChunk>> {
        let mut all = vec![Vec::new(); self.contents.inputs.len()];
        for (id, chunk) in (0..).zip(&self.contents.chunks) {
            let times = chunk.place.times;
            if times.is_none_or(|times| times.intersection(range).is_some())
                && let Some(of_input) = all.get_mut(chunk.input as usize)
            {
                of_input.push(StoredChunk {
                    id,
                    input: chunk.input,
                    times,
                    length: chunk.place.length,
                });
            }
        }
        all
    }

    /// Whether the chunk may have messages of these topics.
    pub(crate) fn may_hold(&self, chunk: StoredChunk, topics: &Selection) -> bool {
        let is_one = |topic| topics.contains(topic);
        self.contents.may_hold(self.chunk(chunk), is_one)
    }

    /// What is needed to copy a chunk as it is; `None` if it has to be opened. No part of a file is read twice by this,
    /// even if chunks overlap in a hostile file.
    pub(crate) fn sealed(&mut self, chunk: StoredChunk) -> Option<SealedChunk> {
        let of_bag = self.contents.chunk(chunk.id);
        let input = self.contents.input(chunk.input);
        let read_to = self.read_to.get_mut(chunk.input as usize)?;
        let place = &of_bag.place;
        if input.has_wrong_index() || place.message_indexes.is_empty() || place.offset < *read_to {
            return None;
        }
        if self.held.0 != chunk.input {
            self.held = (chunk.input, Held::default());
        }
        // The chunks of each file are in the order of their offsets.
        let next = self.contents.chunks.get(chunk.id as usize + 1);
        let next = next.filter(|next| next.input == chunk.input);
        let next = next.map(|next| &next.place);
        let (sealed, end) = SealedChunk::read(&input.source, place, next, &mut self.held.1);
        *read_to = end;
        sealed
    }

    /// Opens a chunk and lists its messages of these topics in the range, in the order of their places. Also returns
    /// the damage found in it, which is skipped. An error if it cannot be opened at all.
    pub(crate) fn open(
        &mut self,
        chunk: StoredChunk,
        topics: &Selection,
        range: TimeRange,
    ) -> Result<(OpenedChunk, Vec<Damage>), Damage> {
        let of_bag = self.contents.chunk(chunk.id);
        let source = &self.contents.input(chunk.input).source;
        let opened = self.decoder.read(source, &of_bag.place, &self.meter);
        let bytes = opened.map_err(|fault| self.contents.damage(of_bag, fault))?;
        let found = scan(&self.contents, of_bag, topics, &bytes.bytes);
        let faults = found.faults.into_iter();
        let damage: Vec<Damage> = faults
            .map(|fault| self.contents.damage(of_bag, fault))
            .collect();
        let mut messages = found.entries;
        messages.retain(|entry| range.contains(entry.time));
        messages.sort_unstable_by_key(|entry| entry.record);
        let place = &of_bag.place;
        let head = length_of_head(place).map(|length| source.read(place.offset, length as u64));
        let head = head.and_then(Result::ok);
        let header = head.and_then(|head| record_header(&head, place));
        let opened = OpenedChunk {
            record: header.map(|header| {
                (
                    header,
                    place.offset..place.offset.saturating_add(place.length),
                )
            }),
            is_sound: damage.is_empty(),
            bytes,
            messages,
        };
        Ok((opened, damage))
    }

    /// How many bytes are best read at once.
    pub(crate) fn piece(&self) -> usize {
        let mut inputs = self.contents.inputs.iter();
        if inputs.any(|input| input.source.cost() == Cost::Remote) {
            REMOTE_PIECE
        } else {
            PIECE
        }
    }

    /// Fills a buffer with the bytes of a file from `offset` on.
    pub(crate) fn read_into(
        &self,
        input: u32,
        offset: u64,
        buffer: &mut [u8],
    ) -> std::io::Result<()> {
        self.contents.input(input).source.read_into(offset, buffer)
    }

    /// The damage if a part of a chunk cannot be read.
    pub(crate) fn unreadable(&self, chunk: StoredChunk, error: &std::io::Error) -> Damage {
        let detail = format!("chunk cannot be read: {error}");
        let fault = Fault::new(DamageKind::Unreadable, detail);
        self.contents.damage(self.chunk(chunk), fault)
    }

    /// The channel of a message, which is looked up in its chunk. `None` if it cannot be read any more.
    pub(crate) fn channel_of(&mut self, message: &Message, open: &mut LastOpened) -> Option<u16> {
        let (key, chunks) = (message.key, &self.contents.chunks);
        let place = (key.input, key.chunk);
        let found = chunks.binary_search_by_key(&place, |it| (it.input, it.place.offset));
        let chunk = chunks.get(found.ok()?)?;
        if open.0.as_ref().is_none_or(|(known, _)| *known != place) {
            // Dropped first, so two are never in memory.
            open.0 = None;
            let source = &self.contents.input(key.input).source;
            let bytes = self.decoder.read(source, &chunk.place, &self.meter).ok()?;
            open.0 = Some((place, Bytes::from_owner(bytes)));
        }
        let (_, bytes) = open.0.as_ref()?;
        let entry = Entry {
            time: key.time,
            record: key.record,
            at: key.record,
        };
        channel(bytes, entry)
    }

    /// The attachments and metadata records of a file.
    pub(crate) fn others(&self, input: u32) -> &OtherRecords {
        &self.contents.input(input).others
    }

    /// What an index has to say about such a record; `None` if it is broken.
    pub(crate) fn head(&self, input: u32, record: &OtherRecord) -> Option<OtherHead> {
        let source = &self.contents.input(input).source;
        let start = record.bytes.start.checked_add(FRAME as u64)?;
        let length = record.bytes.end.checked_sub(start)?;
        let head = source.read(start, length.min(MOST_OF_A_HEAD)).ok()?;
        let mut fields = Fields(&head);
        if record.opcode == op::METADATA {
            let name = fields.string().ok()?;
            return Some(OtherHead::Metadata { name });
        }
        let (log_time, create_time) = (fields.u64().ok()?, fields.u64().ok()?);
        let (name, media_type) = (fields.string().ok()?, fields.string().ok()?);
        let size = fields.u64().ok()?;
        let before = (head.len() - fields.0.len()) as u64;
        // The checksum follows the data.
        let is_whole = before.checked_add(size)?.checked_add(4)? <= length;
        is_whole.then_some(OtherHead::Attachment {
            log_time,
            create_time,
            size,
            name,
            media_type,
        })
    }

    /// The damage if a record at a place is left out.
    pub(crate) fn left_out(
        &self,
        input: u32,
        offset: u64,
        kind: DamageKind,
        detail: &str,
    ) -> Damage {
        Damage {
            file: self.contents.input(input).source.name.clone(),
            offset,
            kind,
            detail: detail.to_owned(),
        }
    }

    fn chunk(&self, chunk: StoredChunk) -> &Chunk {
        self.contents.chunk(chunk.id)
    }
}

impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stored").finish_non_exhaustive()
    }
}

/// The chunk that [`Stored::channel_of`] opened last.
#[derive(Debug, Default)]
pub(crate) struct LastOpened(Option<((u32, u64), Bytes)>);

/// A chunk in memory, decompressed.
#[derive(Debug)]
pub(crate) struct OpenedChunk {
    /// The header and the place of the chunk record, if it is as the index says; `None` outside chunks.
    pub(crate) record: Option<(ChunkHeader, Range<u64>)>,
    /// Whether no damage was found in it.
    pub(crate) is_sound: bool,
    bytes: CountedBytes,
    messages: Vec<Entry>,
}

/// A message of an opened chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredMessage<'a> {
    pub(crate) channel: u16,
    pub(crate) log_time: Time<Ros>,
    /// Offset of its record in the chunk.
    pub(crate) at: u32,
    /// The body of its record after the channel.
    pub(crate) rest: &'a [u8],
}

impl OpenedChunk {
    /// The listed messages, by their places.
    pub(crate) fn messages(&self) -> impl Iterator<Item = StoredMessage<'_>> {
        let bytes: &[u8] = &self.bytes.bytes;
        self.messages.iter().filter_map(|entry| {
            let rest = bytes.get(entry.record as usize..)?;
            let record = Records::new(rest).next()?.ok()?;
            let mut fields = Fields(record.body);
            Some(StoredMessage {
                channel: fields.u16().ok()?,
                log_time: entry.time,
                at: entry.record,
                rest: fields.0,
            })
        })
    }

    /// Whether it could be read whole, and its messages are as many of each channel as its message indexes list.
    pub(crate) fn is_as_listed(&self, sealed: &SealedChunk) -> bool {
        let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
        for message in self.messages() {
            *counts.entry(message.channel).or_default() += 1;
        }
        let listed = sealed.indexes.iter();
        self.is_sound
            && counts
                .into_iter()
                .eq(listed.map(|(id, index)| (*id, index.count)))
    }

    /// Whether it has no other message than those listed, and no definition that `is_known` denies.
    pub(crate) fn has_nothing_else(&self, is_known: impl Fn(&Definition) -> bool) -> bool {
        let mut messages = 0;
        for record in Records::new(&self.bytes.bytes) {
            let Ok(Record { opcode, body, .. }) = record else {
                return false;
            };
            let definition = match opcode {
                op::MESSAGE => {
                    messages += 1;
                    continue;
                }
                op::SCHEMA => parse::schema(body).map(Definition::Schema),
                op::CHANNEL => parse::channel(body).map(Definition::Channel),
                _ => return false,
            };
            if !definition.is_ok_and(|definition| is_known(&definition)) {
                return false;
            }
        }
        messages == self.messages.len()
    }
}
