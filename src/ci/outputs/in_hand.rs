//! [`InHand`]: whether messages were received and not handed on yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts the messages that a receiving thread has taken and not handed on yet. While there is one, more may wait
/// behind it on the same link, and the thread may sleep. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct InHand(Arc<AtomicUsize>);

/// A message that is counted until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Held<'a>(&'a AtomicUsize);

impl InHand {
    /// Counts a message.
    pub fn hold(&self) -> Held<'_> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Held(&self.0)
    }

    /// Whether all messages have been handed on.
    pub fn is_empty(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
