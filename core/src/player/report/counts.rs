//! [`Tally`]: what was sent on each topic, and which topics are muted. The player writes it; any thread may
//! read it at any time.
//!
//! There is one table of these counts: the [`Report`](super::run_report::Report) and every
//! [`Transport`](crate::player::Transport) share it. Only the player's thread writes, so adding to a count
//! is a load and a store without a lock prefix. Readers may see slightly old counts, and two counts of one
//! topic may be from different moments.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::bag::TopicId;

/// What was sent on one topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TopicCounts {
    /// Messages sent in their turn.
    pub sent: u64,
    /// Payload bytes of those messages.
    pub bytes: u64,
    /// How many of those messages were late.
    pub late: u64,
    /// Messages and refills that the output could not take.
    pub dropped: u64,
    /// Latched messages sent again after a jump.
    pub refilled: u64,
    /// Messages and refills that were not sent because the topic was muted.
    pub muted: u64,
}

/// A count that only one thread writes at a time.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds to it. Only the thread that writes may call this.
    #[inline]
    pub fn add(&self, more: u64) {
        let count = self.0.load(Ordering::Relaxed);
        self.0.store(count.wrapping_add(more), Ordering::Relaxed);
    }

    /// Sets it. Only the thread that writes may call this.
    pub fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }

    /// The count; other threads may see an earlier one.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counts of one topic.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) sent: Count,
    pub(crate) bytes: Count,
    pub(crate) late: Count,
    pub(crate) dropped: Count,
    pub(crate) refilled: Count,
    pub(crate) muted: Count,
    is_muted: AtomicBool,
}

/// The counts of all topics. Clones share one table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(Arc<[Row]>);

impl Tally {
    /// A table of zeros for this many topics.
    pub(crate) fn new(topics: usize) -> Self {
        Self((0..topics).map(|_| Row::default()).collect())
    }

    /// The counts of a topic; only the player's thread may add to them.
    #[inline]
    pub(crate) fn row(&self, topic: TopicId) -> Option<&Row> {
        self.0.get(topic.index())
    }

    /// Whether a topic is muted; `false` for unknown topics.
    #[inline]
    pub(crate) fn is_muted(&self, topic: TopicId) -> bool {
        let row = self.row(topic);
        row.is_some_and(|row| row.is_muted.load(Ordering::Relaxed))
    }

    pub(crate) fn set_muted(&self, topic: TopicId, is_muted: bool) {
        if let Some(row) = self.row(topic) {
            row.is_muted.store(is_muted, Ordering::Relaxed);
        }
    }

    /// Replaces the counts of a topic.
    pub(crate) fn set(&self, topic: TopicId, counts: TopicCounts) {
        if let Some(row) = self.row(topic) {
            row.sent.set(counts.sent);
            row.bytes.set(counts.bytes);
            row.late.set(counts.late);
            row.dropped.set(counts.dropped);
            row.refilled.set(counts.refilled);
            row.muted.set(counts.muted);
        }
    }

    /// One row per topic of the bag, with its current counts.
    pub(crate) fn counts(&self) -> Vec<TopicCounts> {
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
