//! [`SealedChunk`]: a chunk of which everything is known that an index has to say, so that it can be copied without
//! being opened.
//!
//! Its message indexes are read whole and compared with its header. What differs, or is not written as crate mcap and
//! rosbag2 write it, is no sealed chunk: it has to be opened, as for playing.

use std::collections::BTreeMap;
use std::ops::Range;

use mcap::records::{ChunkHeader, op};

use crate::bag::decompress::codec::Codec;
use crate::bag::mcap::chunk_ref::{ChunkRef, Indexed, Storage};
use crate::bag::mcap::message_index::{ENTRY, HEAD};
use crate::bag::mcap::parse::{self, LONGEST_CHUNK_HEADER, times};
use crate::bag::mcap::record::{FRAME, Fields};
use crate::bag::mcap::window::{Held, Window};
use crate::bag::open::read_at::Cost;
use crate::bag::open::source::Source;
use crate::time::{Time, TimeRange};

/// How many bytes of entries are read at once.
const BLOCK: u64 = 64 << 10;

/// A chunk whose message indexes follow it and agree with its header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SealedChunk {
    pub(crate) header: ChunkHeader,
    /// Where the chunk and its message indexes are in the file.
    pub(crate) bytes: Range<u64>,
    /// The length of the chunk record, including its frame. The message indexes follow.
    pub(crate) record_length: u64,
    pub(crate) indexes: BTreeMap<u16, SealedIndex>,
    /// The times that its header gives. All messages lie within.
    pub(crate) times: TimeRange,
    /// The first and last time of its messages.
    pub(crate) messages: TimeRange,
}

/// A message index of a sealed chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SealedIndex {
    /// Where it begins, from the start of the chunk record.
    pub(crate) at: u64,
    /// How many messages it lists.
    pub(crate) count: u64,
}

impl SealedChunk {
    /// Reads the header and the message indexes of a chunk. Also returns how far the file was read.
    ///
    /// The bytes that are read last are held: the header of the `next` chunk is mostly among them.
    pub(crate) fn read(
        source: &Source,
        place: &ChunkRef,
        next: Option<&ChunkRef>,
        held: &mut Held,
    ) -> (Option<Self>, u64) {
        let mut behind = Behind {
            window: Window::with(source, std::mem::take(held)),
            at: place.offset.saturating_add(place.length),
        };
        let sealed = behind.header(place).and_then(|header| {
            if let Some(next) = next {
                behind.end_before(next, source.cost());
            }
            behind.read(place, header)
        });
        *held = behind.window.into_held();
        (sealed, behind.at)
    }
}

/// How many bytes [`record_header`] needs; `None` outside chunks.
pub(crate) fn length_of_head(place: &ChunkRef) -> Option<usize> {
    let longest = FRAME + LONGEST_CHUNK_HEADER;
    let length = usize::try_from(place.length).map_or(longest, |length| length.min(longest));
    (place.storage == Storage::Chunk).then_some(length)
}

/// The header of a chunk record from its first bytes, if it is as long as the index says, and its times and size are
/// those of the index.
pub(crate) fn record_header(head: &[u8], place: &ChunkRef) -> Option<ChunkHeader> {
    let (frame, body) = head.split_at_checked(FRAME)?;
    let (opcode, length) = frame.split_first()?;
    let length = Fields(length).u64().ok()?;
    if *opcode != op::CHUNK || length.checked_add(FRAME as u64) != Some(place.length) {
        return None;
    }
    let header = parse::chunk_header(body, length).ok()?;
    let is_known = Codec::named(&header.compression).is_ok();
    (is_known && header.uncompressed_size == place.uncompressed).then_some(header)
}

/// Reads what stands behind a chunk.
struct Behind<'a> {
    window: Window<'a>,
    at: u64,
}

impl Behind<'_> {
    fn header(&mut self, place: &ChunkRef) -> Option<ChunkHeader> {
        let length = length_of_head(place)?;
        let head = self.window.get(place.offset, length).ok()?;
        record_header(head, place)
    }

    /// Reads of the next chunk only its header, unless its message indexes are so near that one read has both.
    fn end_before(&mut self, next: &ChunkRef, cost: Cost) {
        let head = length_of_head(next).unwrap_or(0) as u64;
        let next_indexes = next.offset.saturating_add(next.length);
        let is_behind = next.offset >= self.at;
        if is_behind && next_indexes.saturating_sub(self.at) >= cost.piece() as u64 {
            self.window.end_at(next.offset.saturating_add(head));
        }
    }

    fn read(&mut self, place: &ChunkRef, header: ChunkHeader) -> Option<SealedChunk> {
        let within = times(header.message_start_time, header.message_end_time)?;
        if place.times != Some(within) {
            return None;
        }
        let mut indexes = BTreeMap::new();
        let mut messages: Option<TimeRange> = None;
        loop {
            let head = self.window.get(self.at, FRAME + 6).ok()?;
            if head.first() != Some(&op::MESSAGE_INDEX) {
                break;
            }
            let mut fields = Fields(head.get(1..)?);
            let (length, channel) = (fields.u64().ok()?, fields.u16().ok()?);
            let size = u64::from(fields.u32().ok()?);
            let listed = listed(place, channel)?;
            let is_plain = size > 0 && size % ENTRY == 0 && HEAD + size == length;
            if listed.offset != self.at || !is_plain {
                return None;
            }
            let count = size / ENTRY;
            let is_counted = listed.count == 0 || u64::from(listed.count) == count;
            let at = self.at - place.offset;
            if !is_counted || indexes.insert(channel, SealedIndex { at, count }).is_some() {
                return None;
            }
            self.at += FRAME as u64 + HEAD;
            let found = self.entries(size, within, header.uncompressed_size)?;
            messages = Some(messages.map_or(found, |all| all.union(found)));
        }
        let is_whole = indexes.len() == place.message_indexes.len();
        let messages = messages.filter(|_| is_whole)?;
        Some(SealedChunk {
            header,
            bytes: place.offset..self.at,
            record_length: place.length,
            indexes,
            times: within,
            messages,
        })
    }

    /// The first and last time in the next `size` bytes of entries; `None` if one points outside the chunk or its
    /// times.
    fn entries(&mut self, size: u64, within: TimeRange, uncompressed: u64) -> Option<TimeRange> {
        let mut found: Option<TimeRange> = None;
        let end = self.at.checked_add(size)?;
        while self.at < end {
            let length = usize::try_from(BLOCK.min(end - self.at)).ok()?;
            let block = self.window.get(self.at, length).ok()?;
            if block.len() != length {
                return None;
            }
            for entry in parse::message_index_entries(block).ok()? {
                let time = Time::from_mcap(entry.log_time);
                if entry.offset >= uncompressed || !within.contains(time) {
                    return None;
                }
                let one = TimeRange::between(time, time);
                found = Some(found.map_or(one, |all| all.union(one)));
            }
            self.at += length as u64;
        }
        found
    }
}

fn listed(place: &ChunkRef, channel: u16) -> Option<&Indexed> {
    let indexes = &place.message_indexes;
    let found = indexes.binary_search_by_key(&channel, |it| it.channel);
    indexes.get(found.ok()?)
}
