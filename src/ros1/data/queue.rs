//! [`Waiting`]: the messages that wait for one subscriber, and the rules for them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::ros1::options::SlowSubscriber;

/// The most bytes that wait for a subscriber, unless one message has more.
const MOST_BYTES: usize = 16 << 20;
/// Smaller messages are copied for all subscribers: a slice keeps its whole chunk in memory.
pub(super) const COPIED: usize = 64 << 10;

/// What happens to messages for a subscriber that does not keep up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueRules {
    pub(crate) slow_subscriber: SlowSubscriber,
    /// How long a message waits for a subscriber that takes nothing.
    pub(crate) stall_timeout: Duration,
    /// The most messages that wait.
    pub(crate) most_messages: usize,
}

/// What became of a message for one subscriber.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Queued {
    /// It will be written.
    Taken,
    /// This many messages are dropped: older ones instead of it, or itself, because the subscriber is stuck.
    Lost(u64),
    /// It is dropped after it has waited for the stall timeout.
    Stalled,
    /// The connection is closed.
    Closed,
}

/// What waits for a subscriber, and its state.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) queue: VecDeque<Bytes>,
    /// How many messages at the front of the queue are copies, or small.
    pub(super) copies: usize,
    /// Those in the queue and those that are being written.
    pub(super) bytes: usize,
    pub(super) messages: usize,
    /// Nothing is added any more; what waits is written.
    pub(super) is_ending: bool,
    pub(super) is_closed: bool,
    pub(super) away: Option<Away>,
}

/// A subscriber that is stuck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Away {
    pub(super) since: Instant,
    pub(super) lost: u64,
}

impl Waiting {
    pub(super) fn has_room(&self, bytes: usize, rules: &QueueRules) -> bool {
        // Beside what is being written, one message of any size may wait.
        self.queue.is_empty()
            || (self.messages < rules.most_messages && self.bytes + bytes <= MOST_BYTES)
    }

    pub(super) fn push(&mut self, message: Bytes) {
        self.bytes += message.len();
        self.messages += 1;
        self.queue.push_back(message);
    }

    pub(super) fn pop(&mut self) -> Option<Bytes> {
        self.copies = self.copies.saturating_sub(1);
        self.queue.pop_front()
    }

    /// Copies one message of the queue; false if all are copies.
    pub(super) fn copy_one(&mut self) -> bool {
        let Some(message) = self.queue.get_mut(self.copies) else {
            return false;
        };
        if message.len() >= COPIED {
            *message = Bytes::copy_from_slice(message);
        }
        self.copies += 1;
        true
    }

    pub(super) fn taken(&mut self, messages: usize, bytes: usize) {
        self.messages -= messages;
        self.bytes -= bytes;
    }
}
