//! [`Waiting`]: the messages that wait for one subscriber, and the rules for them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::ros1::options::SlowSubscriber;
use crate::ros1::system::{Budget, Share};

/// The most bytes that wait for a subscriber, unless one message has more.
const MOST_BYTES: usize = 16 << 20;
/// The most bytes that wait for all subscribers together. When they do, one message may wait for each.
pub(crate) const MOST_TOGETHER: usize = 256 << 20;
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

/// A message that waits or is being written, and its part of what all may have waiting.
#[derive(Debug)]
pub(super) struct QueuedMessage {
    pub(super) message: Bytes,
    share: Share,
}

impl QueuedMessage {
    /// Its part alone: for a copy of the message.
    pub(super) fn into_share(self) -> Share {
        self.share
    }
}

/// What waits for a subscriber, and its state.
#[derive(Debug)]
pub(super) struct Waiting {
    /// What waits for all subscribers.
    together: Arc<Budget>,
    pub(super) queue: VecDeque<QueuedMessage>,
    /// How many messages at the front of the queue are copies, or small.
    pub(super) copies: usize,
    /// Those in the queue and those that are being written.
    pub(super) bytes: usize,
    pub(super) messages: usize,
    /// Nothing is added any more; what waits is written.
    pub(super) is_ending: bool,
    pub(super) is_closed: bool,
    pub(super) away: Option<Away>,
    /// It had not taken everything in time before a jump: jumps do not wait for it until it has.
    pub(super) is_passed_over: bool,
}

/// A subscriber that is stuck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Away {
    pub(super) since: Instant,
    pub(super) lost: u64,
}

impl Waiting {
    pub(super) fn new(together: Arc<Budget>) -> Self {
        Self {
            together,
            queue: VecDeque::new(),
            copies: 0,
            bytes: 0,
            messages: 0,
            is_ending: false,
            is_closed: false,
            away: None,
            is_passed_over: false,
        }
    }

    pub(super) fn has_room(&self, bytes: usize, rules: &QueueRules) -> bool {
        // Beside what is being written, one message of any size may wait.
        self.queue.is_empty()
            || (self.messages < rules.most_messages
                && self.bytes + bytes <= MOST_BYTES
                && self.together.has(bytes))
    }

    pub(super) fn push(&mut self, message: Bytes) {
        self.bytes += message.len();
        self.messages += 1;
        let share = self.together.take_over(message.len());
        self.queue.push_back(QueuedMessage { message, share });
    }

    /// Whether a jump waits for it.
    pub(super) fn is_awaited(&self) -> bool {
        let is_over = self.is_closed || self.away.is_some() || self.is_passed_over;
        self.messages > 0 && !is_over
    }

    /// Removes all that is not being written; returns how many messages that were.
    pub(super) fn empty(&mut self) -> u64 {
        let mut count = 0;
        while self.drop_oldest() {
            count += 1;
        }
        count
    }

    /// Removes the message that waits longest; returns whether there was one.
    pub(super) fn drop_oldest(&mut self) -> bool {
        let oldest = self.pop();
        if let Some(held) = &oldest {
            self.taken(1, held.message.len());
        }
        oldest.is_some()
    }

    pub(super) fn pop(&mut self) -> Option<QueuedMessage> {
        self.copies = self.copies.saturating_sub(1);
        self.queue.pop_front()
    }

    /// Copies one message of the queue; false if all are copies.
    pub(super) fn copy_one(&mut self) -> bool {
        let Some(QueuedMessage { message, .. }) = self.queue.get_mut(self.copies) else {
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
        if self.messages == 0 {
            self.is_passed_over = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_queues_together_have_a_limit_and_one_message_may_always_wait() {
        let together = Budget::new(10);
        let rules = QueueRules {
            slow_subscriber: SlowSubscriber::Wait,
            stall_timeout: Duration::from_secs(1),
            most_messages: 100,
        };
        let [mut one, mut other] = [(); 2].map(|()| Waiting::new(Arc::clone(&together)));
        one.push(Bytes::from_static(b"12345678"));
        assert!(one.has_room(2, &rules) && !one.has_room(3, &rules));
        assert!(other.has_room(3, &rules));
        other.push(Bytes::from_static(b"123"));
        assert!(!other.has_room(1, &rules) && !one.has_room(1, &rules));
        assert_eq!(one.empty(), 1);
        assert!(other.has_room(7, &rules) && !other.has_room(8, &rules));
        // Also at the end of a connection.
        drop(other);
        assert!(together.has(10));
    }
}
