//! [`Selection`], [`StartAt`] and [`Direction`]: which messages a walk covers, from where, which way.

use std::ops::Bound;
use std::sync::Arc;

use crate::bag::index::contents::{first_at, last_at};
use crate::bag::message::{Key, TopicId};
use crate::time::{Ros, Time, TimeRange};

/// Some of a bag's topics. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection(pub(crate) Arc<[bool]>);

impl Selection {
    /// Whether the topic belongs to it.
    pub fn contains(&self, topic: TopicId) -> bool {
        self.0.get(topic.index()).copied().unwrap_or(false)
    }
}

/// Which way a walk goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// From the past to the future.
    Forward,
    /// From the future to the past: exactly the reverse order.
    Reverse,
}

impl Direction {
    /// Whether `a` comes before `b` on the way.
    pub(crate) fn is_before(self, a: Key, b: Key) -> bool {
        match self {
            Self::Forward => a < b,
            Self::Reverse => a > b,
        }
    }
}

/// Where a walk starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StartAt {
    /// At a time, messages of that very time included.
    At(Time<Ros>),
    /// Right after a message, in the direction of the walk; it is excluded itself.
    After(Key),
}

impl StartAt {
    /// The time of it.
    pub const fn time(self) -> Time<Ros> {
        match self {
            Self::At(time) => time,
            Self::After(key) => key.time,
        }
    }
}

/// The keys that a walk covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    pub(crate) low: Bound<Key>,
    pub(crate) high: Bound<Key>,
}

impl Bounds {
    pub(crate) fn new(from: StartAt, direction: Direction) -> Self {
        let (low, high) = match from {
            StartAt::At(time) => (
                Bound::Included(first_at(time)),
                Bound::Included(last_at(time)),
            ),
            StartAt::After(key) => (Bound::Excluded(key), Bound::Excluded(key)),
        };
        match direction {
            Direction::Forward => Self {
                low,
                high: Bound::Unbounded,
            },
            Direction::Reverse => Self {
                low: Bound::Unbounded,
                high,
            },
        }
    }

    /// Those that lie in the range too.
    pub(crate) fn within(self, range: TimeRange) -> Self {
        let (start, stop) = (first_at(range.start()), last_at(range.stop()));
        let low = match self.low {
            Bound::Included(key) | Bound::Excluded(key) if key > start => self.low,
            _ => Bound::Included(start),
        };
        let high = match self.high {
            Bound::Included(key) | Bound::Excluded(key) if key < stop => self.high,
            _ => Bound::Included(stop),
        };
        Self { low, high }
    }

    /// Whether no key can be among them.
    pub(crate) fn is_empty(&self) -> bool {
        match (self.low, self.high) {
            (Bound::Included(low), Bound::Included(high)) => low > high,
            (
                Bound::Included(low) | Bound::Excluded(low),
                Bound::Included(high) | Bound::Excluded(high),
            ) => low >= high,
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
        }
    }

    /// Those that are still ahead once `key` has been passed.
    pub(crate) fn after(self, key: Key, direction: Direction) -> Self {
        match direction {
            Direction::Forward => Self {
                low: Bound::Excluded(key),
                ..self
            },
            Direction::Reverse => Self {
                high: Bound::Excluded(key),
                ..self
            },
        }
    }

    /// Whether `key` lies before the first of them.
    pub(crate) fn starts_after(&self, key: Key) -> bool {
        match self.low {
            Bound::Included(low) => key < low,
            Bound::Excluded(low) => key <= low,
            Bound::Unbounded => false,
        }
    }

    /// Whether `key` lies behind the last of them.
    pub(crate) fn ends_before(&self, key: Key) -> bool {
        match self.high {
            Bound::Included(high) => high < key,
            Bound::Excluded(high) => high <= key,
            Bound::Unbounded => false,
        }
    }
}
