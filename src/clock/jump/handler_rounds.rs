//! [`Gate`]: the calls that wait until the handlers of a jump are done, round by round; [`Running`]: the handler that
//! runs.
//!
//! A call that waits for a round of handlers gets the lock before the next round begins, however fast the jumps follow
//! each other.

use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::sync::{AtomicBool, Ordering};
use crate::time::Duration;

/// A call that waits longer than this logs which handler it waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// How many rounds are over.
    rounds: u64,
    /// How many calls wait for the current round.
    waiting: usize,
    /// How many calls waited for the last round and have not had the lock since.
    passing: usize,
    /// How many threads wait to begin a round until those calls have had the lock.
    pub(crate) held_up: usize,
}

/// Identifies the round that a call waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket(u64);

impl Gate {
    pub(crate) const fn join(&mut self) -> Ticket {
        self.waiting += 1;
        Ticket(self.rounds)
    }

    /// Whether the round that it waits for is over.
    pub(crate) const fn is_over(&self, ticket: Ticket) -> bool {
        ticket.0 != self.rounds
    }

    /// The call no longer waits.
    pub(crate) const fn leave(&mut self, ticket: Ticket) {
        if self.is_over(ticket) {
            self.passing -= 1;
        } else {
            self.waiting -= 1;
        }
    }

    /// The round is over.
    pub(crate) const fn open(&mut self) {
        self.rounds += 1;
        self.passing += std::mem::replace(&mut self.waiting, 0);
    }

    /// Whether the next round may begin.
    pub(crate) const fn is_clear(&self) -> bool {
        self.passing == 0
    }
}

/// Where a handler was registered.
#[derive(Debug)]
pub(crate) struct Place {
    at: &'static Location<'static>,
    is_told: AtomicBool,
}

impl Place {
    #[track_caller]
    pub(crate) fn here() -> Arc<Self> {
        Arc::new(Self {
            at: Location::caller(),
            is_told: AtomicBool::new(false),
        })
    }
}

/// The handler that other threads wait for. (It has a lock of its own; no other lock is taken under it.)
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<Option<Arc<Place>>>);

impl Running {
    pub(crate) fn set(&self, place: Option<Arc<Place>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    /// Logs that a call has waited long for this handler; once for each handler.
    pub(crate) fn tell(&self) {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = place.clone() else {
            return;
        };
        if !place.is_told.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "a call of a clock has waited for {PATIENCE} for the jump handler that was registered at {}; if the \
                 handler needs a lock that this caller holds, neither goes on\nhint: ask for the time before taking \
                 the lock, or use try_now()",
                place.at
            );
        }
    }
}
