//! [`Skipped`]: a topic that was not played.

use serde::Serialize;

use crate::cli::plan::LeftOut;

/// A topic that was not played, or not sent on one of several wires.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(in crate::cli::report) struct Skipped {
    pub(in crate::cli::report) topic: String,
    /// In the whole recording, as far as it says so.
    pub(in crate::cli::report) messages: Option<u64>,
    pub(in crate::cli::report) reason: String,
    #[serde(skip)]
    pub(in crate::cli::report) is_loss: bool,
}

impl Skipped {
    /// Whether there are messages of it that should have been sent, or may be.
    pub(in crate::cli::report) fn is_unsent(&self) -> bool {
        self.is_loss && self.messages != Some(0)
    }
}

impl From<LeftOut> for Skipped {
    fn from(left_out: LeftOut) -> Self {
        Self {
            topic: left_out.topic,
            messages: left_out.messages,
            reason: left_out.reason,
            is_loss: left_out.is_loss,
        }
    }
}
