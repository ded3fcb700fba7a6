//! [`OutputTopic`]: what is known of a topic that the system under test published.

use serde::{Deserialize, Serialize};

/// A topic that the system under test published.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputTopic {
    /// Its name.
    pub topic: String,
    /// Its type.
    pub type_name: String,
    /// How many messages were received.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many were lost on the way here, by their sequence numbers: between the first and the last message of each
    /// publisher. What was lost after the last one is not known.
    pub lost: u64,
    /// How many messages publishers had published before the first one that was received. Counted only for publishers
    /// that appeared during a run that started the program.
    pub earlier: u64,
    /// How many were received more than once: the second time and later.
    pub repeated: u64,
    /// How many were received after a later message of their publisher.
    pub reordered: u64,
    /// How many were received, but could not be recorded.
    pub unrecorded: u64,
    /// Its publishers, at most 100: first those of which a message is lost, earlier, repeated or reordered.
    pub publishers: Vec<OutputPublisher>,
}

/// A publisher of an output that could not be received.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Unreceived {
    /// The topic.
    pub topic: String,
    /// The full name of the publisher's node.
    pub node: String,
    /// Why.
    pub why: String,
}

/// A publisher of an output. The counts are those of [`OutputTopic`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputPublisher {
    /// The full name of its node; empty if it is not known.
    pub node: String,
    /// How many of its messages were received.
    pub messages: u64,
    /// How many are lost.
    pub lost: u64,
    /// How many are earlier than the first one.
    pub earlier: u64,
    /// How many were repeated.
    pub repeated: u64,
    /// How many came after a later one.
    pub reordered: u64,
}
