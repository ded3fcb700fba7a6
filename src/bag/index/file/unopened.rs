//! [`Declared`]: what the chunk index says of chunks whose message indexes differ from it. Such chunks are opened, and
//! their contents count; of a chunk that cannot be opened, nothing else is left.

use std::collections::HashSet;

use super::file_index::FileIndex;
use crate::bag::mcap::chunk_ref::{ChunkRef, Indexed};
use crate::bag::mcap::message_index::{ENTRY, HEAD};
use crate::bag::mcap::record::FRAME;
use crate::time::TimeRange;

/// What the chunk index declares of some chunks.
pub(super) struct Declared(Vec<DeclaredChunk>);

struct DeclaredChunk {
    place: usize,
    times: Option<TimeRange>,
    message_indexes: Box<[Indexed]>,
}

impl Declared {
    /// Of the chunks at these places of the table.
    pub(super) fn of(index: &mut FileIndex, places: &[usize]) -> Self {
        index.lengths.declared.sort_unstable();
        let declared = |place: &usize| {
            let chunk = index.chunks.get(*place)?;
            let mut message_indexes = chunk.message_indexes.clone();
            if let Some(length) = index.lengths.of(chunk.offset) {
                count(chunk, length, &mut message_indexes);
            }
            Some(DeclaredChunk {
                place: *place,
                times: chunk.times,
                message_indexes,
            })
        };
        Self(places.iter().filter_map(declared).collect())
    }

    /// Takes it for what is known of the chunks that could not be opened. Returns their places.
    pub(super) fn restore(self, index: &mut FileIndex) -> HashSet<usize> {
        let unread: HashSet<u64> = index.unread.iter().map(|(offset, _)| *offset).collect();
        let mut restored = HashSet::new();
        for declared in self.0 {
            let chunk = index.chunks.get_mut(declared.place);
            if let Some(chunk) = chunk.filter(|chunk| unread.contains(&chunk.offset)) {
                chunk.times = declared.times;
                chunk.message_indexes = declared.message_indexes;
                restored.insert(declared.place);
            }
        }
        restored
    }
}

/// Sets how many messages each message index of a chunk has room for: one ends where the next one begins, and all of
/// them have this length. Sets nothing if one of them would not end with a message.
fn count(chunk: &ChunkRef, length: u64, message_indexes: &mut [Indexed]) {
    let Some(end) =
        (chunk.offset.checked_add(chunk.length)).and_then(|end| end.checked_add(length))
    else {
        return;
    };
    let mut starts: Vec<u64> = message_indexes.iter().map(|it| it.offset).collect();
    starts.sort_unstable();
    let room = |offset: u64| {
        let next = starts.partition_point(|start| *start <= offset);
        let room = starts.get(next).unwrap_or(&end).checked_sub(offset)?;
        let entries = room
            .checked_sub(FRAME as u64 + HEAD)
            .filter(|rest| rest % ENTRY == 0)?;
        u32::try_from(entries / ENTRY).ok()
    };
    let counts: Option<Vec<u32>> = message_indexes.iter().map(|it| room(it.offset)).collect();
    for (indexed, count) in message_indexes.iter_mut().zip(counts.into_iter().flatten()) {
        indexed.count = count;
    }
}
