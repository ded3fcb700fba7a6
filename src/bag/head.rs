//! [`Head`]: where an open chunk stands among the others of a cursor.

use std::cmp::Ordering;

use super::message::Key;
use super::selection::Direction;

/// The next key of an open chunk; the largest is the next of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) key: Key,
    pub(super) slot: usize,
    pub(super) direction: Direction,
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
