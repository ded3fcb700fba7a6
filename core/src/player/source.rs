//! [`Source`]: what a player plays: the names of the topics, and a function that starts a cue over them.

use std::fmt;

use crate::bag::{Cue, CueAt, Cues, KnownDamage, TopicId};

/// What a player plays. The digest takes the names of the topics from here.
pub struct Source {
    topics: Vec<String>,
    known: KnownDamage,
    start: Box<dyn FnMut(CueAt) -> Cue + Send>,
}

impl Source {
    /// A bag, read through its cues.
    pub fn of(mut cues: Cues) -> Self {
        let topics = cues.bag().topics().iter();
        Self {
            topics: topics.map(|topic| topic.name.clone()).collect(),
            known: cues.bag().known_damage(),
            start: Box::new(move |at| cues.start(at)),
        }
    }

    /// No topics and no messages: the player is a clock and nothing else.
    pub fn empty() -> Self {
        Self::new([""; 0], |_| Cue::from_items([]))
    }

    /// Topics of these names, the first of which is `TopicId(0)`, read through cues that `start` makes.
    /// Messages of other topics are sent but not counted.
    pub fn new<T: Into<String>>(
        topics: impl IntoIterator<Item = T>,
        start: impl FnMut(CueAt) -> Cue + Send + 'static,
    ) -> Self {
        Self {
            topics: topics.into_iter().map(Into::into).collect(),
            known: KnownDamage::default(),
            start: Box::new(start),
        }
    }

    /// How many topics there are.
    pub(super) fn topics(&self) -> usize {
        self.topics.len()
    }

    /// All damaged places of the recording that are known, also those that another reader has found.
    pub(super) fn known_damage(&self) -> KnownDamage {
        self.known.clone()
    }

    /// The recorded name of a topic.
    #[inline]
    pub(super) fn name(&self, topic: TopicId) -> Option<&str> {
        self.topics.get(topic.index()).map(String::as_str)
    }

    /// Starts a cue.
    pub(super) fn start(&mut self, at: CueAt) -> Cue {
        (self.start)(at)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("topics", &self.topics)
            .finish_non_exhaustive()
    }
}
