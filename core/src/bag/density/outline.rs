//! [`Outline`]: the density of messages in a recording over time, as values for screens and reports.
//!
//! Made by `passes.rs`: counted from message indexes, and estimated where there are none.

/// The density of messages in a recording.
#[derive(Clone, PartialEq, Debug)]
pub struct Outline {
    /// One for each topic, by its id.
    pub topics: Vec<TopicOutline>,
}

/// The density of messages of a topic.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicOutline {
    /// The number of messages in each of the equal parts of the range. Fractions come from chunks whose messages were
    /// spread.
    pub density: Vec<f64>,
    /// The payload bytes of all messages, computed from the indexes. Definitions between messages are counted with the
    /// message before them. `None` if no index gives sizes.
    pub bytes: Option<u64>,
}
