//! [`Publisher`] and [`PublishedTopic`]: who publishes a message, and what.

use std::fmt;
use std::sync::Arc;

use super::qos::Qos;
use crate::untrusted::Foreign;

/// A publisher in one run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Publisher {
    /// The full name of the node; empty if it is not known.
    pub node: Arc<str>,
    /// The identity that its messages carry, another one in each run; zero for messages that carry none.
    pub gid: [u8; 16],
    /// Whether it was there before anything was received: then it may have published before.
    pub was_there: bool,
}

impl Publisher {
    /// For messages that do not tell who published them.
    pub fn unknown() -> Self {
        Self::nameless([0; 16])
    }

    /// One whose node is not known.
    pub fn nameless(gid: [u8; 16]) -> Self {
        Self {
            node: Arc::from(""),
            gid,
            was_there: true,
        }
    }
}

/// The name of the node.
impl fmt::Display for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node: &str = if self.node.is_empty() {
            "an unknown node"
        } else {
            &self.node
        };
        Foreign::text(node).fmt(f)
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
        let of = |node: &str| Publisher {
            node: Arc::from(node),
            ..Publisher::unknown()
        };
        assert_eq!(of("/a/b").to_string(), "/a/b");
        assert_eq!(Publisher::unknown().to_string(), "an unknown node");
        assert!(!of("/a\u{1b}").to_string().contains('\u{1b}'));
    }
}
