//! [`FindError`]: an expression that does not fit a recording.

use crate::untrusted::Foreign;

/// An expression that does not fit a recording. Nothing has been read then.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// A topic that was not recorded.
    #[error(
        "no topic `{}` in the recording; {}",
        Foreign::text(name),
        Foreign::text(others)
    )]
    UnknownTopic {
        /// The name.
        name: String,
        /// The topic that may be meant, or those that there are, in words.
        others: String,
    },
    /// A pattern that matches no topic.
    #[error(
        "no topic in the recording matches the whole of `{}`; {}",
        Foreign::text(pattern),
        Foreign::text(others)
    )]
    NoMatch {
        /// The pattern.
        pattern: String,
        /// The topics that there are, in words.
        others: String,
    },
    /// A topic whose messages cannot be decoded.
    #[error("{}: its messages cannot be searched: {reason}", Foreign::text(topic))]
    Undecodable {
        /// The topic.
        topic: String,
        /// Why, fit for a terminal.
        reason: String,
    },
    /// A field that the messages of a topic do not have, or a value with which it cannot be compared.
    #[error("{}: {reason}", Foreign::text(topic))]
    Field {
        /// The topic.
        topic: String,
        /// What is wrong, fit for a terminal.
        reason: String,
    },
}
