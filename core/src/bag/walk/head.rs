//! [`Slot`]: an open chunk of a cursor, and [`Head`]: its place in the heap of the cursor.

use std::cmp::Ordering;

use super::open_chunk::OpenChunk;
use super::selection::Direction;
use crate::bag::index::contents::Contents;
use crate::bag::message::Key;

/// An open chunk.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) chunk: OpenChunk,
    /// The last message that was taken from the chunk.
    pub(crate) last: Option<Key>,
}

impl Slot {
    /// The key that places the chunk among the others; `None` at its end. If the share is used up but the chunk is not,
    /// the next key is unknown. The chunk then keeps its last key, so it is reloaded before anything else.
    #[inline]
    pub(crate) fn next_key(&self, contents: &Contents, direction: Direction) -> Option<Key> {
        let chunk = contents.chunk(self.chunk.id);
        let next = self.chunk.next_key(chunk, direction);
        next.or(self.last.filter(|_| self.chunk.has_more()))
    }
}

/// The next key of an open chunk. The heap gives the largest head first, so the largest is the one that is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) key: Key,
    pub(crate) slot: usize,
    pub(crate) direction: Direction,
}

impl Ord for Head {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match self.direction {
            Direction::Forward => other.key.cmp(&self.key),
            Direction::Reverse => self.key.cmp(&other.key),
        }
    }
}

impl PartialOrd for Head {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
