//! [`FoundMessages`]: messages that were searched for, and the warnings and errors that nodes reported.

use crate::bag::TopicId;
use crate::find::Severity;
use crate::time::{Ros, Time};

/// The most messages of a search that are kept.
pub(crate) const MOST_FOUND: usize = 10_000;

/// A message that was found.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundMessage {
    /// Its topic.
    pub topic: TopicId,
    /// Its time in the order of the recording.
    pub time: Time<Ros>,
    /// How bad it is, if it is an alert.
    pub severity: Option<Severity>,
    /// The values by which it was found; fit for a terminal.
    pub text: String,
}

/// The messages that a search found, in the order of time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FoundMessages {
    /// The expression; empty for alerts.
    pub expression: String,
    /// The messages, at most ten thousand.
    pub messages: Vec<FoundMessage>,
    /// The part of the recording that was searched, from 0 to 1.
    pub share: f64,
    /// Whether the search has ended.
    pub has_ended: bool,
    /// Why not all messages were found, if that is so.
    pub problem: Option<String>,
}
