//! [`Muted`]: topics that are not sent any more, because the system under test publishes them itself.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Topics that are not sent any more, by their names on the network.
#[derive(Debug, Default)]
pub(super) struct Muted {
    is_any: AtomicBool,
    topics: Mutex<BTreeSet<String>>,
}

impl Muted {
    /// False if it is muted already.
    pub(super) fn add(&self, topic: &str) -> bool {
        let is_new = self.topics().insert(topic.to_owned());
        self.is_any.store(true, Ordering::Release);
        is_new
    }

    pub(super) fn has(&self, topic: &str) -> bool {
        self.is_any.load(Ordering::Acquire) && self.topics().contains(topic)
    }

    fn topics(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
