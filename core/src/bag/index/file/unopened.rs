//! [`Declared`]: what the chunk index says of chunks whose message indexes differ from it. Such chunks are opened, and
//! their contents count; for a chunk that cannot be opened, only these declarations are known.

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

    /// Restores these values for the chunks that could not be opened. Returns their places.
    pub(super) fn restore(self, index: &mut FileIndex) -> HashSet<usize> {
        let mut restored = HashSet::new();
        for declared in self.0 {
            let chunk = index.chunks.get_mut(declared.place);
            if let Some(chunk) = chunk.filter(|chunk| index.unopened.contains(&chunk.offset)) {
                chunk.times = declared.times;
                chunk.message_indexes = declared.message_indexes;
                restored.insert(declared.place);
            }
        }
        restored
    }
}

/// Sets how many messages each message index of a chunk has room for: the first one begins where the chunk ends, each
/// ends where the next one begins, and all of them have this length. Sets nothing if one would not end with an entry.
fn count(chunk: &ChunkRef, length: u64, message_indexes: &mut [Indexed]) {
    let start = chunk.offset.saturating_add(chunk.length);
    let end = start.saturating_add(length);
    let mut starts: Vec<u64> = message_indexes.iter().map(|it| it.offset).collect();
    starts.sort_unstable();
    if starts.first() != Some(&start) {
        return;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::mcap::chunk_ref::Storage;

    #[test]
    fn message_indexes_have_room_for_so_many_messages() {
        // A chunk from 100 to 150.
        let counts = |offsets: &[u64], length: u64| {
            let at = |(channel, offset): (u16, &u64)| Indexed {
                channel,
                count: 0,
                offset: *offset,
            };
            let mut indexes: Vec<Indexed> = (0..).zip(offsets).map(at).collect();
            let chunk = ChunkRef {
                storage: Storage::Chunk,
                offset: 100,
                length: 50,
                times: None,
                uncompressed: 1000,
                message_indexes: Box::default(),
            };
            count(&chunk, length, &mut indexes);
            indexes.iter().map(|it| it.count).collect::<Vec<_>>()
        };
        assert_eq!(counts(&[150], 15 + 3 * 16), [3]);
        assert_eq!(counts(&[150 + 31, 150], 15 + 16 + 15 + 2 * 16), [2, 1]);
        // The length does not fit, the first one is elsewhere, two are at one place, or one has no room.
        assert_eq!(counts(&[150], 15 + 16 + 1), [0]);
        assert_eq!(counts(&[0, 150], 15 + 16), [0, 0]);
        assert_eq!(counts(&[151], 15 + 16), [0]);
        assert_eq!(counts(&[150, 160], 15 + 16), [0, 0]);
        assert_eq!(counts(&[150], 0), [0]);
    }
}
