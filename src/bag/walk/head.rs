//! [`Head`]: the place of an open chunk in the heap of a cursor.

use std::cmp::Ordering;

use super::selection::Direction;
use crate::bag::message::Key;

/// The next key of an open chunk. The heap gives the largest head first, so the largest is the one that is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    pub(crate) key: Key,
    pub(crate) slot: usize,
    pub(crate) direction: Direction,
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        match self.direction {
            Direction::Forward => other.key.cmp(&self.key),
            Direction::Reverse => self.key.cmp(&other.key),
        }
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
