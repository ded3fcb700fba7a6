//! [`Gate`]: the calls that wait until the handlers of a jump are done, round by round; and which handler runs.
//!
//! Whoever waits for a round of handlers has its turn before the next round begins, however fast jumps follow each
//! other.

use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::sync::{AtomicBool, Ordering};
use crate::time::Duration;

/// A call that waits longer than this says what for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// How many rounds are over.
    rounds: u64,
    /// How many calls wait for the one that runs.
    waiting: usize,
    /// How many waited for the last one and have not had the lock since.
    passing: usize,
    /// How many threads wait until those have passed.
    pub(crate) held_up: usize,
}

/// Of a call that waits for a round.
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

    /// It waits no more.
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

/// The handler that others wait for. (A lock of its own, held for no other.)
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<Option<Arc<Place>>>);

impl Running {
    pub(crate) fn set(&self, place: Option<Arc<Place>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    /// That a call has waited for it for long; once for each handler.
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
