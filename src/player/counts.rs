//! [`Tally`]: what went out on each topic, and which of them are muted: kept by the player and readable by anybody at any time.
//!
//! The one table of these counts: the [`Report`](super::report::Report) and every
//! [`Transport`](super::transport::Transport) hold the same. Only the player's thread writes, so a count is
//! a load and a store without a lock prefix; who reads sees each count as it was a moment ago, and two
//! counts of one topic not necessarily from the same moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::bag::TopicId;

/// What went out on one topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TopicCounts {
    /// Messages sent in their turn.
    pub sent: u64,
    /// Their payload bytes.
    pub bytes: u64,
    /// Those of them that were late.
    pub late: u64,
    /// Messages that the output could not take.
    pub dropped: u64,
    /// Latched messages sent again after a jump.
    pub refilled: u64,
    /// Messages and refills that were not handed out, because the topic was muted.
    pub muted: u64,
}

/// A count that one thread writes.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, more: u64) {
        let count = self.0.load(Ordering::Relaxed);
        self.0.store(count.wrapping_add(more), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One topic's counts.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) sent: Count,
    pub(super) bytes: Count,
    pub(super) late: Count,
    pub(super) dropped: Count,
    pub(super) refilled: Count,
    pub(super) muted: Count,
    is_muted: AtomicBool,
}

/// The counts of all topics. Clones are the same table.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally(Arc<[Row]>);

impl Tally {
    /// Of so many topics, nothing counted.
    pub(super) fn new(topics: usize) -> Self {
        Self((0..topics).map(|_| Row::default()).collect())
    }

    /// The counts of a topic, which the player's thread may add to.
    pub(super) fn row(&self, topic: TopicId) -> Option<&Row> {
        self.0.get(topic.index())
    }

    /// Whether a topic is not heard; one that is not there is.
    pub(super) fn is_muted(&self, topic: TopicId) -> bool {
        let row = self.row(topic);
        row.is_some_and(|row| row.is_muted.load(Ordering::Relaxed))
    }

    pub(super) fn set_muted(&self, topic: TopicId, is_muted: bool) {
        if let Some(row) = self.row(topic) {
            row.is_muted.store(is_muted, Ordering::Relaxed);
        }
    }

    /// A row a topic of the bag, as it is now.
    pub(super) fn counts(&self) -> Vec<TopicCounts> {
        let counts = |row: &Row| TopicCounts {
            sent: row.sent.get(),
            bytes: row.bytes.get(),
            late: row.late.get(),
            dropped: row.dropped.get(),
            refilled: row.refilled.get(),
            muted: row.muted.get(),
        };
        self.0.iter().map(counts).collect()
    }
}
