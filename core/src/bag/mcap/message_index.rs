//! Message index records: which messages of one channel a chunk holds, without decompressing the chunk.
//!
//! Used to find messages, to verify chunks and to draw densities. A message index only saves work: one that cannot be
//! right is treated as missing, and the chunk is opened instead.

use std::collections::BTreeMap;

use mcap::records::{MessageIndexEntry, op};

use super::chunk_ref::{ChunkRef, Indexed};
use super::parse;
use super::record::{FRAME, Fields};
use super::window::Window;
use crate::bag::open::source::Source;
use crate::time::{Ros, Time, TimeRange};

/// The largest message index that is read: 64 MiB, 4 million messages of one channel in one chunk.
const MAX_INDEX: u64 = 64 << 20;

/// The size of what precedes the entries (the channel and the length of the entries), and the size of an entry.
pub(crate) const HEAD: u64 = 6;
pub(crate) const ENTRY: u64 = 16;
/// When only a sample is read: how many entries are read at once (256 bytes), and the fewest such reads.
const BLOCK: u64 = 16;
const FEWEST_BLOCKS: u64 = 4;

/// The log time of a message and the offset of its record in the decompressed chunk.
type Entry = (Time<Ros>, u32);

/// Entries of a message index: all of them, or a sample.
pub(crate) struct Sample {
    pub(crate) entries: Vec<Entry>,
    /// How many entries the message index has.
    pub(crate) all: u64,
}

impl Sample {
    /// Whether the sample has all entries.
    pub(crate) fn is_whole(&self) -> bool {
        self.entries.len() as u64 == self.all
    }
}

/// Where a message index record is in its file.
struct Place {
    offset: u64,
    /// The length of its body.
    length: u64,
}

/// The log time and record offset of each message of `channel`, unsorted. Empty if the chunk has no such message,
/// `None` if there is no message index or it cannot be right.
pub(crate) fn read(source: &Source, chunk: &ChunkRef, channel: u16) -> Option<Vec<Entry>> {
    if !chunk.message_indexes.is_empty() && listed(chunk, channel).is_none() {
        return Some(Vec::new());
    }
    whole(source, chunk, channel, &place(source, chunk, channel)?)
}

/// The same for a channel that is listed. All entries if there are at most `most` of them, or hardly more than `share`;
/// otherwise about `share` of them, evenly spread.
pub(crate) fn sample(
    source: &Source,
    chunk: &ChunkRef,
    channel: u16,
    (most, share): (u64, u64),
) -> Option<Sample> {
    let place = place(source, chunk, channel)?;
    let start = place.offset.checked_add(FRAME as u64)?;
    let head = source.read(start, HEAD).ok()?;
    let mut head = Fields(&head);
    let (id, size) = (head.u16().ok()?, u64::from(head.u32().ok()?));
    let all = size / ENTRY;
    let blocks = (share / BLOCK).max(FEWEST_BLOCKS);
    if all <= most.max(blocks * BLOCK) {
        let entries = whole(source, chunk, channel, &place)?;
        let all = entries.len() as u64;
        return Some(Sample { entries, all });
    }
    if id != channel || HEAD + size > place.length {
        return None;
    }
    let stride = all / blocks;
    let range = |block| {
        // In the middle of the entries that the block represents.
        let first = block * stride + (stride - BLOCK) / 2;
        let from = start.checked_add(HEAD + first * ENTRY)?;
        Some(from..from.checked_add(BLOCK * ENTRY)?)
    };
    let ranges: Option<Vec<_>> = (0..blocks).map(range).collect();
    let mut entries = Vec::new();
    for bytes in source.read_ranges(&ranges?).ok()? {
        entries.extend(checked(chunk, parse::message_index_entries(&bytes).ok()?)?);
    }
    Some(Sample { entries, all })
}

/// The length of the message index of `channel`, as far as it would be read, if there is one.
pub(crate) fn length(source: &Source, chunk: &ChunkRef, channel: u16) -> Option<u64> {
    place(source, chunk, channel).map(|place| place.length.min(MAX_INDEX))
}

/// Where the message index of `channel` is, if there is one.
fn place(source: &Source, chunk: &ChunkRef, channel: u16) -> Option<Place> {
    let offset = listed(chunk, channel)?.offset;
    if offset == 0 {
        return None;
    }
    let frame = source.read(offset, FRAME as u64).ok()?;
    let length = Fields(frame.get(1..)?).u64().ok()?;
    let is_one = frame.first() == Some(&op::MESSAGE_INDEX);
    is_one.then_some(Place { offset, length })
}

fn listed(chunk: &ChunkRef, channel: u16) -> Option<&Indexed> {
    let indexes = &chunk.message_indexes;
    let found = indexes.binary_search_by_key(&channel, |it| it.channel);
    indexes.get(found.ok()?)
}

fn whole(source: &Source, chunk: &ChunkRef, channel: u16, place: &Place) -> Option<Vec<Entry>> {
    if place.length > MAX_INDEX {
        return None;
    }
    let start = place.offset.checked_add(FRAME as u64)?;
    let body = source.read(start, place.length).ok()?;
    let index = parse::message_index(&body).ok()?;
    checked(chunk, index.records).filter(|_| index.channel_id == channel)
}

/// The entries; `None` if one lies outside the chunk.
fn checked(chunk: &ChunkRef, entries: Vec<MessageIndexEntry>) -> Option<Vec<Entry>> {
    let entry = |entry: MessageIndexEntry| {
        let inside = entry.offset < chunk.uncompressed;
        let at = u32::try_from(entry.offset).ok().filter(|_| inside)?;
        Some((Time::from_mcap(entry.log_time), at))
    };
    entries.into_iter().map(entry).collect()
}

/// The first and last log time in all message indexes of a chunk; `None` if one of them cannot be right.
pub(crate) fn times(source: &Source, chunk: &ChunkRef) -> Option<TimeRange> {
    let mut all: Option<TimeRange> = None;
    for indexed in &chunk.message_indexes {
        for (time, _) in read(source, chunk, indexed.channel)? {
            let one = TimeRange::between(time, time);
            all = Some(all.map_or(one, |all| all.union(one)));
        }
    }
    all
}

/// The message indexes that follow a chunk.
#[derive(Debug, Default)]
pub(crate) struct FollowingIndexes {
    /// For each channel: the offset of its message index and the number of messages listed.
    pub(crate) listed: BTreeMap<u16, (u64, u64)>,
    /// The range that covers the first and last entry of every message index.
    pub(crate) times: Option<TimeRange>,
}

/// Reads the heads, first entries and last entries of the message indexes that follow a chunk. `left` is decremented
/// for each message index. The error says what is wrong with them.
pub(crate) fn following_indexes(
    window: &mut Window<'_>,
    chunk: &ChunkRef,
    left: &mut usize,
) -> Result<FollowingIndexes, String> {
    let mut found = FollowingIndexes::default();
    let mut at = chunk.offset.saturating_add(chunk.length);
    loop {
        let head = window.get(at, FRAME + 6).unwrap_or_default();
        if head.first() != Some(&op::MESSAGE_INDEX) {
            return Ok(found);
        }
        let bad = || format!("the record after a chunk, at {at}, is not a message index");
        let mut fields = Fields(head.get(1..).unwrap_or_default());
        let length = fields.u64().map_err(|_| bad())?;
        let channel = fields.u16().map_err(|_| bad())?;
        let size = fields.u32().map(u64::from).map_err(|_| bad())?;
        *left = left.checked_sub(1).ok_or_else(bad)?;
        if size % ENTRY != 0 || HEAD + size > length {
            return Err(bad());
        }
        let first = at + FRAME as u64 + HEAD;
        for entry in [first, first + size.saturating_sub(ENTRY)] {
            let stamp = window.get(entry, 8).unwrap_or_default();
            if size > 0 {
                let time = Time::from_mcap(Fields(stamp).u64().map_err(|_| bad())?);
                let one = TimeRange::between(time, time);
                found.times = Some(found.times.map_or(one, |all| all.union(one)));
            }
        }
        if found.listed.insert(channel, (at, size / ENTRY)).is_some() {
            return Err(format!(
                "channel {channel} has two message indexes in a chunk"
            ));
        }
        at = first.checked_add(length - HEAD).ok_or_else(bad)?;
    }
}
