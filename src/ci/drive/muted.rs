//! [`Muted`]: topics that are not sent any more, because another node began to publish them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::time::{Ros, Time};

/// A topic that is not sent any more, because another node began to publish it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MutedTopic {
    /// Its name on the network.
    pub topic: String,
    /// The node that publishes it.
    pub node: String,
    /// The log time that was sent last when it began.
    pub since: Time<Ros>,
    /// How many messages were not sent.
    pub unsent: u64,
}

/// Topics that are not sent any more, by their names on the network.
#[derive(Debug, Default)]
pub(super) struct Muted {
    is_any: AtomicBool,
    topics: Mutex<BTreeMap<String, MutedTopic>>,
}

impl Muted {
    /// The new entry; `None` if it is muted already.
    pub(super) fn add(&self, topic: &str, node: &str, since: Time<Ros>) -> Option<MutedTopic> {
        let mut topics = self.topics();
        if topics.contains_key(topic) {
            return None;
        }
        let muted = MutedTopic {
            topic: topic.to_owned(),
            node: node.to_owned(),
            since,
            unsent: 0,
        };
        topics.insert(topic.to_owned(), muted.clone());
        self.is_any.store(true, Ordering::Release);
        Some(muted)
    }

    /// Whether a message of this topic is left out; counts it.
    pub(super) fn leaves_out(&self, topic: &str) -> bool {
        if !self.is_any.load(Ordering::Acquire) {
            return false;
        }
        let mut topics = self.topics();
        let Some(muted) = topics.get_mut(topic) else {
            return false;
        };
        muted.unsent += 1;
        true
    }

    pub(super) fn all(&self) -> Vec<MutedTopic> {
        self.topics().values().cloned().collect()
    }

    fn topics(&self) -> MutexGuard<'_, BTreeMap<String, MutedTopic>> {
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
