//! [`StepSearch`]: the search for the message that a step leads to, with a cue of its own.

use bytes::Bytes;

use crate::bag::{Cue, CuePoll, Cued, Damage, Message, TopicId};

/// Where a step goes, seen in the direction of play.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Ahead,
    Back,
}

/// A search for the message that is `left` messages further.
#[derive(Debug)]
pub(crate) struct StepSearch {
    way: Way,
    /// Only messages of this topic; `None` for all topics that are not muted.
    topic: Option<TopicId>,
    left: u64,
    cue: Cue,
    /// The last message found so far; see [`StepSearch::keep`].
    found: Option<Message>,
}

/// What a search has come to.
pub(crate) enum Searched {
    /// Nothing more has been read yet.
    Pending,
    /// There is more to read.
    More,
    /// A place that cannot be read.
    Damage(Damage),
    /// All messages that were searched for are found.
    Found,
    /// There are fewer messages.
    End,
}

impl StepSearch {
    /// A search in `cue`, which reads messages of `topic` alone if there is one.
    pub(crate) fn new(way: Way, topic: Option<TopicId>, left: u64, cue: Cue) -> Self {
        Self {
            way,
            topic,
            left,
            cue,
            found: None,
        }
    }

    pub(crate) fn way(&self) -> Way {
        self.way
    }

    /// Extends the search by `more` messages; `false` if it is a search of another kind.
    pub(crate) fn extend(&mut self, way: Way, topic: Option<TopicId>, more: u64) -> bool {
        let is_alike = (self.way, self.topic) == (way, topic);
        if is_alike {
            self.left = self.left.saturating_add(more);
        }
        is_alike
    }

    /// Continues with what the cue has read.
    pub(crate) fn poll(&mut self, is_muted: impl Fn(TopicId) -> bool) -> Searched {
        match self.cue.poll() {
            CuePoll::Pending => Searched::Pending,
            CuePoll::Item(Cued::Message(message)) => {
                if self.topic.is_some() || !is_muted(message.topic) {
                    self.left = self.left.saturating_sub(1);
                    self.keep(message);
                }
                if self.left > 0 {
                    Searched::More
                } else {
                    Searched::Found
                }
            }
            CuePoll::Item(Cued::Damage(damage)) => Searched::Damage(damage),
            CuePoll::Item(Cued::Refill(_)) => Searched::More,
            CuePoll::End => Searched::End,
        }
    }

    /// The last message that was found, and the topic that was searched.
    pub(crate) fn into_found(self) -> (Option<TopicId>, Option<Message>) {
        (self.topic, self.found)
    }

    /// Keeps a message that was found, but does not hold its chunk while the search goes on. A search that
    /// holds a chunk would wait for the next one forever if all other bytes belong to the cue that is played.
    fn keep(&mut self, message: Message) {
        let payload = match self.way {
            // Playback will read it again in its turn.
            Way::Ahead => Bytes::new(),
            Way::Back if self.left > 0 => Bytes::copy_from_slice(&message.payload),
            Way::Back => message.payload,
        };
        self.found = Some(Message { payload, ..message });
    }
}
