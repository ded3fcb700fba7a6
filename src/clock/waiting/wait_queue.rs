//! [`WaitQueue`]: what threads wait for under a clock's lock; counts those that nobody has woken yet. [`Look`]: what
//! they find when they do.
//!
//! Every bell belongs to one clock. It is rung, waited for and counted under that clock's lock alone: so no
//! wake-up is lost, and the order of the counts needs no model.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use crate::clock::sync::{Condvar, MutexGuard};
use crate::time::{Ros, Steady, Time};

#[derive(Debug)]
pub(crate) struct WaitQueue {
    condvar: Condvar,
    asleep: AtomicUsize,
    /// Of all bells of the clock.
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

    /// Wakes all; they are asleep no more, also while they have not run yet. Where nobody sleeps it costs nothing:
    /// to notify a condition variable is a system call.
    pub(crate) fn ring(&self) {
        let asleep = self.asleep.swap(0, Relaxed);
        if asleep > 0 {
            self.rings.fetch_add(1, Relaxed);
            self.all_asleep.fetch_sub(asleep, Relaxed);
            self.condvar.notify_all();
        }
    }

    /// Until it is rung, or for `at_most`; or for less.
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

/// What a waiter found.
pub(crate) enum Look<T> {
    Done(T),
    Again {
        at: Option<Time<Ros>>,
        steady: Option<Time<Steady>>,
    },
}
