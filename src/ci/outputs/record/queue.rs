//! [`Queue`]: messages on their way to the file, bounded by their bytes. Adding one never waits. A thread that has
//! added one then waits until the queue has room for it, up to a time limit.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::ci::outputs::arrival::Arrival;

/// What a message takes besides its payload.
const OVERHEAD: usize = 128;

/// With so many bytes waiting, the taker is woken. With fewer it comes by itself, so that a message that is alone does
/// not cost the change to another thread.
const WORTH_WAKING: usize = 256 << 10;

/// Messages for one taker.
#[derive(Debug)]
pub(super) struct Queue {
    most_bytes: usize,
    longest_wait: Duration,
    state: Mutex<State>,
    room: Condvar,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Arrival>,
    waiting_bytes: usize,
    /// The bytes of what waits, and of what was taken and is not done with.
    bytes: usize,
    /// No room was made within the limit: until there is some, nothing is added and no thread waits.
    is_stuck: bool,
    /// How many wait for room.
    waiting_for_room: usize,
    is_closed: bool,
}

/// What a taker gets.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) messages: VecDeque<Arrival>,
    /// Whether nothing will follow.
    pub(super) is_last: bool,
    /// Whether a thread waits for room, or has waited in vain.
    pub(super) is_full: bool,
}

/// How many bytes a message counts.
pub(super) fn size_of(arrival: &Arrival) -> usize {
    arrival.payload.len().saturating_add(OVERHEAD)
}

impl Queue {
    /// A message of any size finds room in an empty queue.
    pub(super) fn new(most_bytes: usize, longest_wait: Duration) -> Self {
        Self {
            most_bytes,
            longest_wait,
            state: Mutex::default(),
            room: Condvar::new(),
            changed: Condvar::new(),
        }
    }

    /// Adds a message without waiting; returns whether it was added. It is added even if there is no room, unless a
    /// thread has waited for room in vain. The thread that adds one then [waits](Self::wait_for_room), so there is one
    /// such message per thread.
    pub(super) fn add(&self, arrival: Arrival) -> bool {
        let size = size_of(&arrival);
        let mut state = self.state();
        if self.has_room(&state, size) {
            state.is_stuck = false;
        }
        let is_added = !state.is_stuck && !state.is_closed;
        if is_added {
            state.bytes = state.bytes.saturating_add(size);
            state.waiting.push_back(arrival);
            let before = state.waiting_bytes;
            state.waiting_bytes = before.saturating_add(size);
            // A taker looks at what waits before it waits itself.
            if before < WORTH_WAKING && state.waiting_bytes >= WORTH_WAKING {
                self.changed.notify_one();
            }
        }
        is_added
    }

    /// Waits until there is no more than fits, up to the limit. To be called after [`Self::add`], without a lock.
    pub(super) fn wait_for_room(&self) {
        let mut state = self.state();
        let is_full = |state: &mut State| {
            state.bytes > self.most_bytes && !state.is_stuck && !state.is_closed
        };
        if !is_full(&mut state) {
            return;
        }
        state.waiting_for_room += 1;
        self.changed.notify_one();
        let waited = self
            .room
            .wait_timeout_while(state, self.longest_wait, is_full);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting_for_room -= 1;
        if is_full(&mut state) {
            state.is_stuck = true;
            drop(state);
            self.room.notify_all();
        }
    }

    /// Takes all that waits, after `longest`, or earlier if it is much. Its bytes count until they are
    /// [released](Self::release).
    pub(super) fn take(&self, longest: Duration) -> Taken {
        let is_idle = |state: &mut State| {
            let is_urgent = state.waiting_for_room > 0 || state.is_stuck;
            let is_little = state.waiting_bytes < WORTH_WAKING && !is_urgent;
            let is_empty = state.waiting.is_empty();
            (is_little || is_empty) && !state.is_closed
        };
        let waited = self
            .changed
            .wait_timeout_while(self.state(), longest, is_idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiting_bytes = 0;
        Taken {
            messages: std::mem::take(&mut state.waiting),
            is_last: state.is_closed,
            is_full: state.waiting_for_room > 0 || state.is_stuck,
        }
    }

    /// So many bytes of what was taken are done with.
    pub(super) fn release(&self, bytes: usize) {
        let mut state = self.state();
        state.bytes = state.bytes.saturating_sub(bytes);
        drop(state);
        self.room.notify_all();
    }

    /// Nothing is added any more.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
        self.room.notify_all();
    }

    fn has_room(&self, state: &State, size: usize) -> bool {
        state.bytes == 0 || state.bytes.saturating_add(size) <= self.most_bytes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ros::{PublishedTopic, Publisher, Qos};
    use crate::time::Time;

    fn arrival(size: usize) -> Arrival {
        let topic = PublishedTopic {
            number: 0,
            name: "/a".to_owned(),
            type_name: String::new(),
            type_hash: None,
            qos: Qos::default(),
        };
        Arrival {
            topic: Arc::new(topic),
            position: Time::ZERO,
            publisher: Publisher::unknown(),
            sequence: None,
            source_time: None,
            payload: vec![0; size].into(),
        }
    }

    #[test]
    fn a_full_queue_refuses_and_takes_again_once_there_is_room() {
        let queue = Queue::new(3 * (OVERHEAD + 100), Duration::ZERO);
        let put = || {
            let is_added = queue.add(arrival(100));
            queue.wait_for_room();
            is_added
        };
        assert_eq!(
            [put(), put(), put(), put(), put(), put()],
            [true, true, true, true, false, false]
        );
        let taken = queue.take(Duration::ZERO);
        assert_eq!(taken.messages.len(), 4);
        assert!(taken.is_full && !taken.is_last);
        assert!(!put(), "what was taken still counts");
        queue.release(2 * (OVERHEAD + 100));
        assert!(put());
        assert_eq!(queue.take(Duration::ZERO).messages.len(), 1);
        queue.release(3 * (OVERHEAD + 100));
        assert!(queue.add(arrival(1000)), "it is empty");
        queue.close();
        assert!(!put() && queue.take(Duration::MAX).is_last);
    }

    #[test]
    fn a_taker_is_woken_when_much_waits_and_gets_less_when_its_time_has_come() {
        let queue = Queue::new(usize::MAX, Duration::from_secs(600));
        std::thread::scope(|scope| {
            let putter = scope.spawn(|| (0..2).all(|_| queue.add(arrival(WORTH_WAKING / 2))));
            let taken = queue.take(Duration::from_secs(600));
            assert_eq!(taken.messages.len(), 2);
            assert!(putter.join().unwrap());
        });
        queue.add(arrival(1));
        assert_eq!(queue.take(Duration::from_millis(1)).messages.len(), 1);
    }

    #[test]
    fn whoever_has_added_waits_for_room() {
        let queue = Queue::new(OVERHEAD + 100, Duration::from_secs(600));
        std::thread::scope(|scope| {
            let putter = scope.spawn(|| {
                (0..100).all(|_| {
                    let is_added = queue.add(arrival(100));
                    queue.wait_for_room();
                    is_added
                })
            });
            let mut taken = 0;
            while taken < 100 {
                // The last one comes alone.
                for message in queue.take(Duration::from_millis(100)).messages {
                    taken += 1;
                    queue.release(size_of(&message));
                }
            }
            assert!(putter.join().unwrap());
        });
    }

    #[test]
    fn a_wait_ends_when_the_queue_is_closed() {
        let queue = Queue::new(1, Duration::from_secs(600));
        assert!(queue.add(arrival(100)));
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| queue.wait_for_room());
            queue.close();
            waiter.join().unwrap();
        });
    }
}
