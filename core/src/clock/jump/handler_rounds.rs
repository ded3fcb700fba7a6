//! [`HandlerRounds`]: the calls that wait until the handlers of a jump are done; [`RunningHandler`]: the handler that
//! runs. A round is one run of the handlers that `now()` in other threads waits for.
//!
//! A call that waits for a round of handlers gets the lock before the next round begins, however fast the jumps follow
//! each other.

use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::sync::{AtomicBool, Ordering};
use crate::time::Duration;

/// A call that waits longer than this logs which handler it waits for.
pub(crate) const WARN_AFTER: Duration = Duration::from_secs(1);

/// Counts the rounds of one clock and the calls that wait for them.
#[derive(Debug, Default)]
pub(crate) struct HandlerRounds {
    /// How many rounds are over.
    finished: u64,
    /// How many calls wait for the current round.
    waiting: usize,
    /// How many calls waited for the last round and have not had the lock since.
    released: usize,
    /// How many threads wait to begin a round until those calls have had the lock.
    pub(crate) waiting_to_begin: usize,
}

/// Identifies the round that a call waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round(u64);

impl HandlerRounds {
    /// A call waits for the current round.
    pub(crate) const fn begin_wait(&mut self) -> Round {
        self.waiting += 1;
        Round(self.finished)
    }

    /// Whether this round is over.
    #[inline]
    pub(crate) const fn is_over(&self, round: Round) -> bool {
        round.0 != self.finished
    }

    /// A call no longer waits for this round.
    pub(crate) const fn end_wait(&mut self, round: Round) {
        if self.is_over(round) {
            self.released -= 1;
        } else {
            self.waiting -= 1;
        }
    }

    /// The current round is over.
    pub(crate) const fn finish(&mut self) {
        self.finished += 1;
        self.released += std::mem::replace(&mut self.waiting, 0);
    }

    /// Whether the next round may begin.
    #[inline]
    pub(crate) const fn may_begin(&self) -> bool {
        self.released == 0
    }
}

/// Where a handler was registered.
#[derive(Debug)]
pub(crate) struct RegisteredAt {
    location: &'static Location<'static>,
    is_warned: AtomicBool,
}

impl RegisteredAt {
    #[track_caller]
    pub(crate) fn here() -> Arc<Self> {
        Arc::new(Self {
            location: Location::caller(),
            is_warned: AtomicBool::new(false),
        })
    }
}

/// The handler that other threads wait for. It has a lock of its own; no other lock is taken under that one.
#[derive(Debug, Default)]
pub(crate) struct RunningHandler(Mutex<Option<Arc<RegisteredAt>>>);

impl RunningHandler {
    pub(crate) fn set(&self, registered_at: Option<Arc<RegisteredAt>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = registered_at;
    }

    /// Logs that a call has waited for [`WARN_AFTER`] for this handler; once for each handler.
    pub(crate) fn warn_once(&self) {
        let registered_at = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(registered_at) = registered_at.clone() else {
            return;
        };
        if !registered_at.is_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "a call of a clock has waited for {WARN_AFTER} for the jump handler that was registered at {}; if the \
                 handler needs a lock that this caller holds, neither goes on\nhint: ask for the time before taking \
                 the lock, or use try_now()",
                registered_at.location
            );
        }
    }
}
