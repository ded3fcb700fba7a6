//! [`WaitQueue`]: what threads wait on under a clock's lock; it counts those that wait and have not been woken.
//! [`Look`]: the result of a waiter's check.
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
    asleep: AtomicUsize,
    /// The count over all wait queues of the clock.
    all_asleep: Arc<AtomicUsize>,
    rings: AtomicUsize,
}

impl WaitQueue {
    pub(crate) fn new(all_asleep: &Arc<AtomicUsize>) -> Arc<Self> {
        Arc::new(Self {
            condvar: Condvar::new(),
            asleep: AtomicUsize::new(0),
            all_asleep: Arc::clone(all_asleep),
            rings: AtomicUsize::new(0),
        })
    }

    /// Wakes all waiters; from now on they do not count as waiting, even before they run. Does nothing if there are
    /// none: notifying a condition variable is a system call.
    pub(crate) fn ring(&self) {
        let asleep = self.asleep.swap(0, Relaxed);
        if asleep > 0 {
            self.rings.fetch_add(1, Relaxed);
            self.all_asleep.fetch_sub(asleep, Relaxed);
            self.condvar.notify_all();
        }
    }

    /// Waits until it is woken, for `at_most` at the longest. May return early.
    pub(crate) fn wait<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        at_most: Option<std::time::Duration>,
    ) -> MutexGuard<'a, T> {
        let rings = self.rings.load(Relaxed);
        self.asleep.fetch_add(1, Relaxed);
        self.all_asleep.fetch_add(1, Relaxed);
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
        if self.rings.load(Relaxed) == rings {
            self.asleep.fetch_sub(1, Relaxed);
            self.all_asleep.fetch_sub(1, Relaxed);
        }
        guard
    }
}

/// The result of a waiter's check.
pub(crate) enum Look<T> {
    Done(T),
    Again {
        at: Option<Time<Ros>>,
        steady: Option<Time<Steady>>,
    },
}
