//! Opens chunks to learn what no index gives: definitions, channels, counts and times.
//!
//! Two threads share the work, because most of it is decompression. Each holds one chunk at a time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcap::records::{Channel, op};

use super::file_index::{FileIndex, MOST_REPORTS};
use crate::bag::damage::Fault;
use crate::bag::decompress::budget::Meter;
use crate::bag::decompress::chunk::Decoder;
use crate::bag::mcap::chunk_ref::{ChunkRef, Indexed};
use crate::bag::mcap::parse::{self, SchemaRecord};
use crate::bag::mcap::record::{Fields, Records};
use crate::bag::open::options::{MessageOrder, Opening};
use crate::bag::open::source::Source;
use crate::time::{Ros, Time, TimeRange};

/// The number of threads that decompress.
const WORKERS: usize = 2;
/// How many bytes may be decompressed in all: this many times the size of the file; for any file at least 4 GiB, which
/// takes two seconds for zeros. What chunks beyond that contain is found when they are played.
const MOST_TIMES: u64 = 64;
const MOST_ALWAYS: u64 = 4 << 30;
/// The most bytes of definitions that are held at a time: 64 MiB.
const MOST_BYTES: usize = 64 << 20;

/// The contents of a chunk that was opened.
#[derive(Debug)]
pub(crate) struct Found {
    /// The number of messages of each channel.
    pub(crate) counts: Box<[(u16, u32)]>,
    /// The decompressed size.
    size: u64,
    first: Time<Ros>,
    last: Time<Ros>,
    /// Whether it could be read to its end.
    is_whole: bool,
}

/// The number of messages of each channel.
pub(crate) type Counts = BTreeMap<u16, u64>;

/// Opens every chunk: the log times in the index do not give publish times.
pub(crate) fn all(source: &Source, index: &mut FileIndex, opening: &Opening<'_>) {
    for chunk in &mut index.chunks {
        chunk.times = None;
    }
    let all: Vec<usize> = (0..index.chunks.len()).collect();
    these(source, index, opening, &all);
}

/// Opens the chunks whose channels no record gives. Returns the counts of their messages; `None` if one cannot be read.
pub(crate) fn unknown_channels(
    source: &Source,
    index: &mut FileIndex,
    opening: &Opening<'_>,
) -> Option<Counts> {
    let unknown: Vec<usize> = index.chunks_of_unknown_channels();
    these(source, index, opening, &unknown)
}

/// Opens the chunks at these places of the table. Returns the counts of their messages; `None` if one cannot be read.
pub(crate) fn these(
    source: &Source,
    index: &mut FileIndex,
    opening: &Opening<'_>,
    wanted: &[usize],
) -> Option<Counts> {
    let next = AtomicUsize::new(0);
    let left = AtomicU64::new(source.len.saturating_mul(MOST_TIMES).max(MOST_ALWAYS));
    let found = Mutex::new(BTreeMap::new());
    let definitions = Mutex::new(Definitions::default());
    let (broken, failed) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let work = |chunks: &[ChunkRef]| {
        let mut decoder = Decoder::default();
        while let Some(place) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(chunk) = chunks.get(*place) else {
                break;
            };
            opening.tell(&source.name, chunk.offset, source.len);
            let spent = |left: u64| left.checked_sub(chunk.cost());
            if left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, spent)
                .is_err()
            {
                continue;
            }
            match decoder.read(source, chunk, &Meter::unbounded()) {
                Ok(owned) => {
                    let seen = count(&owned.bytes, opening.order);
                    lock(&definitions).note(&owned.bytes, *place);
                    lock(&found).insert(*place, seen);
                }
                // The fault is reported when the chunk is played.
                Err(fault) => {
                    lock(&failed).push(chunk.offset);
                    note(&mut lock(&broken), chunk.offset, fault);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..WORKERS.min(wanted.len()) {
            scope.spawn(|| work(&index.chunks));
        }
        work(&index.chunks);
    });
    lock(&definitions).give(index);
    let mut found = std::mem::take(&mut *lock(&found));
    let is_whole = found.len() == wanted.len();
    index.unread.append(&mut lock(&broken));
    index.unopened.extend(lock(&failed).drain(..));
    let mut counts = Counts::new();
    for place in wanted {
        let chunk = index.chunks.get_mut(*place);
        let Some((chunk, seen)) = chunk.zip(found.remove(place)) else {
            continue;
        };
        for (channel, count) in &seen.counts {
            *counts.entry(*channel).or_default() += u64::from(*count);
        }
        if seen.counts.is_empty() && !seen.is_whole {
            index.unopened.insert(chunk.offset);
            let detail = "the contents of a chunk are no records";
            note(&mut index.unread, chunk.offset, Fault::framing(detail));
        }
        chunk.set_contents(&seen);
    }
    is_whole.then_some(counts)
}

fn note(broken: &mut Vec<(u64, Fault)>, at: u64, fault: Fault) {
    if broken.len() < MOST_REPORTS {
        broken.push((at, fault));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // If a thread panics, opening ends, so what it left is never used.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first definition of each channel and schema, by place of the chunk, whichever thread finds it first.
#[derive(Debug, Default)]
struct Definitions {
    schemas: BTreeMap<u16, (usize, SchemaRecord)>,
    channels: BTreeMap<u16, (usize, Channel)>,
    bytes: usize,
}

impl Definitions {
    fn note(&mut self, bytes: &[u8], place: usize) {
        for record in Records::new(bytes).map_while(Result::ok) {
            let Ok(id) = Fields(record.body).u16() else {
                continue;
            };
            let is_room = self.bytes + record.body.len() <= MOST_BYTES;
            match record.opcode {
                op::SCHEMA if is_room && is_first(&self.schemas, id, place) => {
                    if let Ok(schema) = parse::schema(record.body) {
                        self.bytes += record.body.len();
                        self.schemas.insert(id, (place, schema));
                    }
                }
                op::CHANNEL if is_room && is_first(&self.channels, id, place) => {
                    if let Ok(channel) = parse::channel(record.body) {
                        self.bytes += record.body.len();
                        self.channels.insert(id, (place, channel));
                    }
                }
                0 => break,
                _ => {}
            }
        }
    }

    fn give(&mut self, index: &mut FileIndex) {
        for (_, schema) in std::mem::take(&mut self.schemas).into_values() {
            index.define_schema(schema);
        }
        for (_, channel) in std::mem::take(&mut self.channels).into_values() {
            index.define_channel(channel);
        }
    }
}

fn is_first<T>(known: &BTreeMap<u16, (usize, T)>, id: u16, place: usize) -> bool {
    known.get(&id).is_none_or(|(at, _)| place < *at)
}

impl ChunkRef {
    /// Replaces what was declared by the contents that were found.
    fn set_contents(&mut self, seen: &Found) {
        if seen.counts.is_empty() {
            // A chunk that is broken from the start is kept, so that its damage is reported when it is played.
            if seen.is_whole {
                (self.uncompressed, self.message_indexes) = (0, Box::default());
            }
            return;
        }
        self.times = Some(TimeRange::between(seen.first, seen.last));
        let known = std::mem::take(&mut self.message_indexes);
        self.uncompressed = seen.size;
        let indexed = |(channel, count): &(u16, u32)| {
            let found = known.binary_search_by_key(channel, |it| it.channel).ok();
            Indexed {
                channel: *channel,
                count: *count,
                offset: found.and_then(|i| known.get(i)).map_or(0, |it| it.offset),
            }
        };
        self.message_indexes = seen.counts.iter().map(indexed).collect();
    }
}

/// Reads the records of a chunk, up to the first broken one.
pub(crate) fn count(bytes: &[u8], order: MessageOrder) -> Found {
    let mut counts: BTreeMap<u16, u32> = BTreeMap::new();
    let (mut first, mut last) = (Time::MAX, Time::MIN);
    let mut is_whole = true;
    for record in Records::new(bytes) {
        let Ok(record) = record else {
            is_whole = false;
            break;
        };
        match record.opcode {
            op::MESSAGE => {
                let Ok(header) = parse::message_header(record.body) else {
                    is_whole = false;
                    break;
                };
                let time = parse::message_time(&header, order);
                first = first.min(time);
                last = last.max(time);
                let count = counts.entry(header.channel_id).or_default();
                *count = count.saturating_add(1);
            }
            0 => {
                is_whole = false;
                break;
            }
            _ => {}
        }
    }
    Found {
        counts: counts.into_iter().collect(),
        size: bytes.len() as u64,
        first,
        last,
        is_whole,
    }
}
