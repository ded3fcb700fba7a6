//! [`Publisher`] and [`PublishedTopic`]: who publishes a message, in terms that are the same in each run of the same programs.

use std::fmt;
use std::sync::Arc;

use super::qos::Qos;
use crate::untrusted::Foreign;

/// A publisher, by its node and its place among that node's publishers of the same topic.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Publisher {
    /// The full name of the node; empty if the message does not tell who published it.
    pub node: Arc<str>,
    /// How many publishers of the same topic the node had made before this one.
    pub rank: u32,
}

impl Publisher {
    /// For messages that do not tell who published them.
    pub fn unknown() -> Self {
        Self {
            node: Arc::from(""),
            rank: 0,
        }
    }
}

/// `/node`; from the second publisher of a node on with its number from 1: `/node (2)`.
impl fmt::Display for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node: &str = if self.node.is_empty() {
            "an unknown node"
        } else {
            &self.node
        };
        Foreign::text(node).fmt(f)?;
        match self.rank {
            0 => Ok(()),
            rank => write!(f, " ({})", u64::from(rank) + 1),
        }
    }
}

/// A topic that is received: its name with one type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PublishedTopic {
    /// Counts the received topics, from 0.
    pub number: usize,
    /// The full name.
    pub name: String,
    /// The type, `package/msg/Name`.
    pub type_name: String,
    /// The type hash, `RIHS01_…`; `None` if it is unknown.
    pub type_hash: Option<String>,
    /// The profile that its first known publisher offers.
    pub qos: Qos,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publisher_is_shown_by_its_node() {
        let of = |node: &str, rank| Publisher {
            node: Arc::from(node),
            rank,
        };
        assert_eq!(of("/a/b", 0).to_string(), "/a/b");
        assert_eq!(of("/a", 1).to_string(), "/a (2)");
        assert_eq!(Publisher::unknown().to_string(), "an unknown node");
        assert!(!of("/a\u{1b}", 0).to_string().contains('\u{1b}'));
    }
}
