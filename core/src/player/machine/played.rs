//! [`Played`]: how far playback of the current cue has come, by the keys of messages.

use crate::bag::Key;
use crate::time::Segment;

/// The furthest messages since the last jump or lap. If messages are out of order, the last one is not always
/// the furthest.
#[derive(Debug, Default)]
pub(super) struct Played {
    /// Of the messages that were taken from the cue, muted or not.
    taken: Option<Key>,
    /// Of the messages that were given to the output.
    sent: Option<Key>,
}

impl Played {
    /// A message was taken.
    #[inline]
    pub(super) fn take(&mut self, key: Key, segment: Segment) {
        self.taken = Some(further(self.taken, key, segment));
    }

    /// A message was given to the output.
    #[inline]
    pub(super) fn send(&mut self, key: Key, segment: Segment) {
        self.sent = Some(further(self.sent, key, segment));
    }

    /// Playback begins elsewhere.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The furthest message that was taken.
    pub(super) fn taken(&self) -> Option<Key> {
        self.taken
    }

    /// The furthest message that was given to the output; the furthest one taken, if all of them were muted.
    pub(super) fn sent_or_taken(&self) -> Option<Key> {
        self.sent.or(self.taken)
    }
}

/// The key that is further in the direction of play; at equal times the new one.
#[inline]
fn further(known: Option<Key>, key: Key, segment: Segment) -> Key {
    known
        .filter(|known| segment.is_before(key.time, known.time))
        .unwrap_or(key)
}
