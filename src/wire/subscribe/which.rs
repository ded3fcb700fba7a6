//! [`Which`]: what to receive; [`Subscribed`]: what is received; [`NotReceived`]: what cannot be.

/// What to receive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which {
    /// The topics with these names, whoever publishes them.
    Named(Vec<String>),
    /// All topics that nodes of other sessions publish, but `/clock`, `/rosout` and `/parameter_events`.
    OfOthers,
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
