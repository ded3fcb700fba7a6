//! [`WaitQueue`]: a condition variable under a clock's lock that counts the threads that wait and have not been woken.
//! [`Check`]: the result of a waiter's check.
//!
//! Every wait queue belongs to one clock. It is woken, waited on and counted only under that clock's lock: so no
//! wake-up is lost, and the memory ordering of the counts needs no model.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use crate::clock::sync::{Condvar, MutexGuard};
use crate::time::{Ros, Steady, Time};

#[derive(Debug)]
pub(crate) struct WaitQueue {
    condvar: Condvar,
    /// How many threads wait and have not been woken.
    waiting: AtomicUsize,
    /// The count over all wait queues of the clock.
    all_waiting: Arc<AtomicUsize>,
    /// How often waiting threads were woken.
    wakes: AtomicUsize,
}

impl WaitQueue {
    pub(crate) fn new(all_waiting: &Arc<AtomicUsize>) -> Arc<Self> {
        Arc::new(Self {
            condvar: Condvar::new(),
            waiting: AtomicUsize::new(0),
            all_waiting: Arc::clone(all_waiting),
            wakes: AtomicUsize::new(0),
        })
    }

    /// Wakes all waiters; from now on they do not count as waiting, even before they run. Does nothing if there are
    /// none: notifying a condition variable is a system call.
    #[inline]
    pub(crate) fn wake(&self) {
        let waiting = self.waiting.swap(0, Relaxed);
        if waiting > 0 {
            self.wakes.fetch_add(1, Relaxed);
            self.all_waiting.fetch_sub(waiting, Relaxed);
            self.condvar.notify_all();
        }
    }

    /// Waits until it is woken, for `at_most` at the longest. May return early.
    pub(crate) fn wait<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        at_most: Option<std::time::Duration>,
    ) -> MutexGuard<'a, T> {
        let wakes = self.wakes.load(Relaxed);
        self.waiting.fetch_add(1, Relaxed);
        self.all_waiting.fetch_add(1, Relaxed);
        let guard = match at_most {
            Some(at_most) => {
                self.condvar
                    .wait_timeout(guard, at_most)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
            None => self
                .condvar
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner),
        };
        if self.wakes.load(Relaxed) == wakes {
            self.waiting.fetch_sub(1, Relaxed);
            self.all_waiting.fetch_sub(1, Relaxed);
        }
        guard
    }
}

/// The result of a waiter's check.
pub(crate) enum Check<T> {
    Done(T),
    /// Check again when the clock shows `at`, or at `deadline` by the steady clock; after a wake-up in any case.
    Again {
        at: Option<Time<Ros>>,
        deadline: Option<Time<Steady>>,
    },
}

#[cfg(all(test, not(model)))]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_notified_if_nobody_waits() {
        let all = Arc::new(AtomicUsize::new(0));
        let queue = WaitQueue::new(&all);
        for _ in 0..3 {
            queue.wake();
        }
        assert_eq!((queue.wakes.load(Relaxed), all.load(Relaxed)), (0, 0));
        let lock = crate::clock::sync::Mutex::new(());
        let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        drop(queue.wait(guard, Some(std::time::Duration::from_nanos(1))));
        queue.wake();
        assert_eq!((queue.wakes.load(Relaxed), all.load(Relaxed)), (0, 0));
    }
}
