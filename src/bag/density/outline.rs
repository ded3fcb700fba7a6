//! [`Outline`]: what a recording looks like over time, as values for screens and reports.
//!
//! Made by `passes.rs`, counted by message indexes and estimated where these do not say.

/// What a recording looks like.
#[derive(Clone, PartialEq, Debug)]
pub struct Outline {
    /// One a topic, by its id.
    pub topics: Vec<TopicOutline>,
}

/// What a topic looks like.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicOutline {
    /// How many messages lie in each of as many equal parts of the range; a fraction where a chunk was
    /// spread.
    pub density: Vec<f64>,
    /// The payload bytes of all messages, as far as indexes tell sizes: definitions between messages are
    /// counted with those before them. `None` if no index tells.
    pub bytes: Option<u64>,
}
