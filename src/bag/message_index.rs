//! Message index records: which messages of one channel a chunk holds, without decompressing it.
//!
//! They are hints that save work. One that cannot be right is not there: the chunk is opened instead.

use super::index::ChunkRef;
use super::record::{FRAME, Fields, message_index, op};
use super::source::Source;
use crate::time::{Ros, Time};

/// The largest message index that is read: 64 MiB, 4 million messages of one channel in one chunk.
const MAX_INDEX: u64 = 64 << 20;

/// Log time and record offset in the decompressed chunk of each message of `channel`, unsorted; empty
/// if the chunk has none, `None` if the index does not say or cannot be right.
pub(super) fn read(
    source: &Source,
    chunk: &ChunkRef,
    channel: u16,
) -> Option<Vec<(Time<Ros>, u32)>> {
    if chunk.message_indexes.is_empty() {
        return None;
    }
    let found = chunk
        .message_indexes
        .binary_search_by_key(&channel, |it| it.channel);
    let Ok(found) = found else {
        return Some(Vec::new());
    };
    let offset = chunk.message_indexes.get(found)?.offset;
    if offset == 0 {
        return None;
    }
    let frame = source.read(offset, FRAME as u64).ok()?;
    let length = Fields(frame.get(1..)?).u64().ok()?;
    if frame.first() != Some(&op::MESSAGE_INDEX) || length > MAX_INDEX {
        return None;
    }
    let body = source
        .read(offset.checked_add(FRAME as u64)?, length)
        .ok()?;
    let (id, entries) = message_index(&body).ok()?;
    let entry = |(stamp, at): (u64, u64)| {
        let inside = at < chunk.uncompressed;
        let at = u32::try_from(at).ok().filter(|_| inside)?;
        Some((Time::from_mcap(stamp), at))
    };
    entries
        .into_iter()
        .map(entry)
        .collect::<Option<Vec<_>>>()
        .filter(|_| id == channel)
}

/// How many chunks without usable times are looked into when a file is opened.
const MOST_REFINED: usize = 1000;

/// Finds the times of chunks whose ends do not tell, because their stamps lie on both sides of zero.
pub(super) fn refine(source: &Source, chunks: &mut [ChunkRef]) {
    let untold = chunks.iter_mut().filter(|chunk| chunk.is_any_time());
    for chunk in untold.take(MOST_REFINED) {
        let ids = chunk.message_indexes.iter().map(|it| it.channel);
        let entries: Option<Vec<_>> = ids.map(|id| read(source, chunk, id)).collect();
        let times = entries.iter().flatten().flatten().map(|(time, _)| *time);
        if let Some((start, end)) = times.clone().min().zip(times.max()) {
            (chunk.start, chunk.end) = (start, end);
        }
    }
}
