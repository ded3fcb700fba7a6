//! [`RawOutput`]: the player's way out to plain zenoh, for those who are no ROS 2 nodes.
//!
//! The key is the topic's name without its first slash, the payload the recorded bytes in whatever encoding,
//! and there is nothing else: no tokens, no attachments.

use crate::bag::Message;
use crate::output::{Delivery, Occasion, Output};
use crate::time::{Ros, Segment, Time};

use super::monitor::Monitor;
use super::output::Publishing;

/// Puts payloads on plain keys. The clock, if served, is CDR on `clock`.
#[derive(Debug)]
pub struct RawOutput(pub(super) Publishing);

impl RawOutput {
    /// Counts, to be read from other threads. Subscribers are known only as matching: plain ones have no tokens.
    pub fn monitor(&self) -> Monitor {
        self.0.monitor()
    }
}

impl Output for RawOutput {
    fn segment(&mut self, segment: &Segment) {
        self.0.segment(segment);
    }

    fn clock(&mut self, time: Time<Ros>) {
        self.0.clock(time);
    }

    fn message(&mut self, message: &Message, _: Occasion) -> Delivery {
        self.0.message(message)
    }

    fn flush(&mut self) {}
}
