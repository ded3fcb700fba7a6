//! [`Selection`], [`StartAt`] and [`Direction`]: which messages a cursor reads, from where, in which direction.

use std::ops::Bound;
use std::sync::Arc;

use crate::bag::index::contents::{first_at, last_at};
use crate::bag::message::{Key, TopicId};
use crate::time::{Ros, Time, TimeRange};

/// A set of topics of a bag. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selection(pub(crate) Arc<[bool]>);

impl Selection {
    /// Whether the topic is in the set.
    #[inline]
    pub fn contains(&self, topic: TopicId) -> bool {
        self.0.get(topic.index()).copied().unwrap_or(false)
    }
}

/// The direction in which a cursor reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// From the past to the future.
    Forward,
    /// From the future to the past: the exact reverse of the forward order.
    Reverse,
}

impl Direction {
    /// Whether `a` comes before `b` in this direction.
    #[inline]
    pub(crate) fn is_before(self, a: Key, b: Key) -> bool {
        match self {
            Self::Forward => a < b,
            Self::Reverse => a > b,
        }
    }
}

/// Where a cursor starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StartAt {
    /// At a time, including messages of exactly that time.
    At(Time<Ros>),
    /// Right after a message, in the direction of the cursor; the message itself is excluded.
    After(Key),
}

impl StartAt {
    /// The time of the start.
    #[inline]
    pub const fn time(self) -> Time<Ros> {
        match self {
            Self::At(time) => time,
            Self::After(key) => key.time,
        }
    }
}

/// The bounds of the keys that a cursor covers.
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

    /// The keys that are also in the range.
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

    /// Whether no key can be within the bounds.
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

    /// The keys that are still ahead when `key` has been passed.
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

    /// Whether `key` is before the lower bound.
    #[inline]
    pub(crate) fn starts_after(&self, key: Key) -> bool {
        match self.low {
            Bound::Included(low) => key < low,
            Bound::Excluded(low) => key <= low,
            Bound::Unbounded => false,
        }
    }

    /// Whether `key` is after the upper bound.
    #[inline]
    pub(crate) fn ends_before(&self, key: Key) -> bool {
        match self.high {
            Bound::Included(high) => high < key,
            Bound::Excluded(high) => high <= key,
            Bound::Unbounded => false,
        }
    }
}
