//! [`Rule`]: what one expectation does with the messages of a recording, and [`Outcome`], what it says in the end.

use std::fmt;

use bytes::Bytes;

use super::topics::TopicKey;
use crate::time::{Ros, Time, TimeRange};
use crate::untrusted::Foreign;

/// What a message is for a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Role {
    /// A message of the topic that is judged.
    Subject,
    /// A message that something is expected after.
    Trigger,
    /// Transforms between frames.
    Transforms {
        /// Whether they hold at all times.
        is_static: bool,
    },
}

/// A message that passes a rule.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Its log time. The times of successive messages do not descend.
    pub(crate) at: Time<Ros>,
    pub(crate) topic: TopicKey,
    pub(crate) payload: Bytes,
}

/// What an expectation is about.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// The topic, or what else is judged, as it begins each sentence.
    pub(crate) subject: String,
    /// The times of the messages that are judged.
    pub(crate) window: TimeRange,
    /// The part of the window that was played; it has two ends.
    pub(crate) span: TimeRange,
    /// ` within A..B`, if there is a window.
    pub(crate) within: String,
    /// The time from which sentences count.
    pub(crate) origin: Time<Ros>,
}

impl Scope {
    /// A time of the log in a sentence: `+12.5s` from the start of the recording.
    pub(crate) fn at(&self, time: Time<Ros>) -> String {
        let since = time.saturating_since(self.origin);
        let sign = if since.is_negative() { "" } else { "+" };
        format!("{sign}{since}")
    }

    /// A sentence about the subject.
    pub(crate) fn says(&self, what: impl fmt::Display) -> String {
        format!("{}: {what}", Foreign::text(&self.subject))
    }
}

/// What became of an expectation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It holds; the text says what was found.
    Holds(String),
    /// It does not hold, because of this.
    Fails(String),
    /// It cannot be decided, because of this.
    Unknown(String),
    /// There was no message to judge.
    NoMessage,
}

/// An expectation while messages pass.
pub(crate) trait Rule {
    /// A message passes.
    fn message(&mut self, role: Role, seen: &Seen);

    /// All messages have passed.
    fn finish(self: Box<Self>) -> Outcome;
}

/// `no message`, `1 message`, `2 messages`.
pub(crate) fn messages(count: u64) -> String {
    counted(count, "message")
}

/// The same of other things.
pub(crate) fn counted(count: u64, what: &str) -> String {
    match count {
        0 => format!("no {what}"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
