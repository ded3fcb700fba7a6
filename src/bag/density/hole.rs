//! [`Hole`]: a time in which a topic that has messages at a steady rate, or every topic, has none.

use crate::bag::message::TopicId;
use crate::time::{Duration, TimeRange};

/// A time without messages of one topic, or of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hole {
    /// What is silent.
    pub silent: Silent,
    /// Open: there is a message at each end, unless that end is the start or the end of the recording. Longer than
    /// 0.1 s.
    pub range: TimeRange,
}

/// What is silent in a hole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Silent {
    /// All topics: nothing was recorded, or nothing of it can be read.
    Recording,
    /// A topic.
    Topic {
        /// The topic.
        id: TopicId,
        /// The mean time between its messages outside of its holes.
        period: Duration,
    },
}

impl Hole {
    /// Whether a topic has no messages in it. A hole of the recording concerns every topic.
    pub fn concerns(&self, topic: TopicId) -> bool {
        match self.silent {
            Silent::Recording => true,
            Silent::Topic { id, .. } => id == topic,
        }
    }
}
