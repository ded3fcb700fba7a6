//! [`Place`]: the time of the log that was sent last, for other threads: where an output that arrives now belongs.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::time::{Ros, Time};

/// The log time of the last clock or message that was sent. It does not depend on when a thread looks at it, as the position
/// of a player that rolls does.
#[derive(Debug)]
pub struct Place(AtomicI64);

impl Place {
    /// At the start of a run.
    pub fn new(start: Time<Ros>) -> Self {
        Self(AtomicI64::new(start.as_nanos()))
    }

    /// The log time.
    pub fn get(&self) -> Time<Ros> {
        Time::from_nanos(self.0.load(Ordering::Acquire))
    }

    /// To be called before what has this time is sent.
    pub(super) fn set(&self, time: Time<Ros>) {
        self.0.store(time.as_nanos(), Ordering::Release);
    }
}
