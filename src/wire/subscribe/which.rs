//! [`Which`]: what to receive; [`Subscribed`]: what is received; [`NotReceived`]: what cannot be.

use crate::wire::dialect::plan::CLOCK;

/// What to receive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// The topics with these names, whoever publishes them.
    Named(Vec<String>),
    /// All topics that nodes of other sessions publish, but `/clock`, `/rosout` and `/parameter_events`.
    OfOthers,
}

/// What nearly every node publishes about itself, and the clock: received only if it is named.
const OF_EVERY_NODE: [&str; 3] = [CLOCK, "/rosout", "/parameter_events"];

impl Which {
    /// Whether a topic of this full name is received, if another node publishes it.
    pub fn receives(&self, topic: &str) -> bool {
        match self {
            Self::Named(names) => names.iter().any(|name| name == topic),
            Self::OfOthers => !OF_EVERY_NODE.contains(&topic),
        }
    }
}

/// A publisher whose messages cannot be received.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NotReceived {
    /// The topic.
    pub topic: String,
    /// The full name of the publisher's node.
    pub node: String,
    /// Why, in words that follow "because".
    pub why: String,
}

/// A publisher whose messages are received.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Subscribed {
    /// The topic.
    pub topic: String,
    /// The full name of the publisher's node.
    pub node: String,
}
