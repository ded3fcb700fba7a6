//! [`NodePatience`]: a node that is stuck on one topic is not waited for on its other topics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// How many connections of one node are stuck: messages to them are dropped.
#[derive(Debug, Default)]
pub(crate) struct NodePatience {
    stuck: AtomicUsize,
}

impl NodePatience {
    /// Whether one of its connections is stuck.
    pub(super) fn is_used_up(&self) -> bool {
        self.stuck.load(Ordering::Relaxed) > 0
    }

    /// A connection is stuck. To be followed by one call of [`NodePatience::is_back`].
    pub(super) fn is_stuck(&self) {
        self.stuck.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection that was stuck is not any more, or is closed.
    pub(super) fn is_back(&self) {
        self.stuck.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The nodes that are connected, by name.
#[derive(Debug, Default)]
pub(crate) struct Patiences {
    nodes: Mutex<BTreeMap<String, Weak<NodePatience>>>,
}

impl Patiences {
    /// That of a node.
    pub(crate) fn of(&self, node: &str) -> Arc<NodePatience> {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.retain(|_, known| known.strong_count() > 0);
        if let Some(known) = nodes.get(node).and_then(Weak::upgrade) {
            return known;
        }
        let patience = Arc::new(NodePatience::default());
        nodes.insert(node.to_owned(), Arc::downgrade(&patience));
        patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_one_node_share_their_patience() {
        let patiences = Patiences::default();
        let (one, same, other) = (patiences.of("/a"), patiences.of("/a"), patiences.of("/b"));
        one.is_stuck();
        assert!(same.is_used_up() && !other.is_used_up());
        same.is_stuck();
        one.is_back();
        assert!(one.is_used_up());
        same.is_back();
        assert!(!one.is_used_up());
        // A node that comes again is another one.
        one.is_stuck();
        drop((one, same));
        assert!(!patiences.of("/a").is_used_up());
    }
}
