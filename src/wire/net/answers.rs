//! [`Answers`]: when queries have had their last answer.
//!
//! zenoh's own channel of answers holds 256, and the query hangs if there are more. So queries have callbacks. zenoh
//! drops a callback after its last answer, and with it the [`Open`] that it holds.

use std::convert::Infallible;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, bounded};

/// The answers to one or more queries.
#[derive(Debug)]
pub(crate) struct Answers(Receiver<Infallible>);

/// Held by the callback of each of these queries.
#[derive(Clone, Debug)]
pub(crate) struct Open(Sender<Infallible>);

impl Open {
    /// Does nothing. A `move` closure that calls it owns this value.
    pub(crate) fn hold(&self) {
        let _ = &self.0;
    }
}

impl Answers {
    /// A value for the callbacks of queries, and the answers to all queries whose callbacks hold it.
    pub(crate) fn pending() -> (Open, Self) {
        let (open, closed) = bounded(0);
        (Open(open), Self(closed))
    }

    /// Whether all answers have come, or no session was asked.
    pub(crate) fn are_complete(&self) -> bool {
        self.0.try_recv() == Err(TryRecvError::Disconnected)
    }

    /// Waits until all answers have come, for `longest` at most; returns whether they have.
    pub(crate) fn wait(&self, longest: Duration) -> bool {
        self.0.recv_timeout(longest) == Err(RecvTimeoutError::Disconnected)
    }
}
