//! [`Jump`]: how long messages from before a jump of the clock may wait to be sent.

use std::time::{Duration, Instant};

/// If no put had to wait for this long, everything that waited before has been sent: it is enough for all that
/// zenoh queues at 16 Mbit/s.
pub(super) const SETTLED: Duration = Duration::from_millis(500);
/// After this time it has been sent even if large messages wait all the time: enough below 2 Mbit/s.
const LONGEST: Duration = Duration::from_secs(5);

/// A jump of the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    pub(super) at: Instant,
    /// When a put last had to wait for room; at first, the time of the jump.
    pub(super) waited: Instant,
}

impl Jump {
    /// Whether what was put before it has been sent.
    pub(super) fn is_settled(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.waited) >= SETTLED
            || now.saturating_duration_since(self.at) >= LONGEST
    }
}
