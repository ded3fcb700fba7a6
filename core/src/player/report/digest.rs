//! [`Digest`]: one number for all messages that a run sent. For a run from the start without seeks, steps back
//! and muted topics, anyone can compute it from the file.
//!
//! XXH3-128 over each message in the order it was sent: topic in UTF-8, one zero byte, log time, publish time
//! and payload length as 64-bit little-endian, payload. Messages that the output dropped count, and so do
//! messages that are played again after a jump. Messages of muted topics, messages that a step back jumps to,
//! refills, laps after the first and the clock do not count.

use xxhash_rust::xxh3::Xxh3;

use crate::bag::Message;

/// A running digest of messages.
#[derive(Clone, Default)]
pub struct Digest(Box<Xxh3>);

impl Digest {
    /// Adds a message; `topic` is the recorded name of its topic.
    pub fn add(&mut self, topic: &str, message: &Message) {
        self.0.update(topic.as_bytes());
        self.0.update(&[0]);
        self.0.update(&message.log_time.to_mcap().to_le_bytes());
        self.0.update(&message.publish_time.to_mcap().to_le_bytes());
        self.0.update(&(message.payload.len() as u64).to_le_bytes());
        self.0.update(&message.payload);
    }

    /// The digest so far, as 32 hex digits.
    pub fn hex(&self) -> String {
        format!("{:032x}", self.0.digest128())
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Digest").field(&self.hex()).finish()
    }
}
