//! [`Place`]: the time of the log that was sent last, for other threads: where an output that arrives now belongs.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::time::{Ros, Time};

/// The log time of the last clock or message that was sent. It does not depend on when a thread looks at it, as the
/// position of a player that rolls does.
#[derive(Debug)]
pub struct Place {
    at: AtomicI64,
    has_begun: AtomicBool,
}

impl Place {
    /// At the start of a run. Without `has_begun` the run has no place before something is sent.
    pub fn new(start: Time<Ros>, has_begun: bool) -> Self {
        Self {
            at: AtomicI64::new(start.as_nanos()),
            has_begun: AtomicBool::new(has_begun),
        }
    }

    /// The log time: that of the start before anything is sent.
    pub fn get(&self) -> Time<Ros> {
        Time::from_nanos(self.at.load(Ordering::Acquire))
    }

    /// The log time; `None` before the run has begun: what arrives then does not belong to it.
    pub fn of_arrival(&self) -> Option<Time<Ros>> {
        self.has_begun().then(|| self.get())
    }

    /// Whether the run has begun.
    pub fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Acquire)
    }

    /// The run begins, although nothing has been sent.
    pub(super) fn begin(&self) {
        self.has_begun.store(true, Ordering::Release);
    }

    /// To be called before what has this time is sent.
    pub(super) fn set(&self, time: Time<Ros>) {
        self.at.store(time.as_nanos(), Ordering::Release);
        self.begin();
    }
}
