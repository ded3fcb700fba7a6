//! Time limits of waits in tests.

use std::time::{Duration, Instant};

/// Longer than any wait takes on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// The most that counts between two checks: a machine that was suspended was not waiting.
const SLICE: Duration = Duration::from_millis(500);

/// The remaining time of one wait.
#[derive(Debug)]
pub(crate) struct Patience {
    left: Duration,
    looked: Instant,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Self {
            left: PATIENCE,
            looked: instant(),
        }
    }

    /// How long to wait before the next check; `None` when the time is up.
    pub(crate) fn slice(&mut self) -> Option<Duration> {
        let now = instant();
        let gone = now.saturating_duration_since(self.looked).min(SLICE);
        (self.left, self.looked) = (self.left.saturating_sub(gone), now);
        (!self.left.is_zero()).then_some(SLICE.min(self.left))
    }
}

/// Polls a condition that has no notification.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let mut patience = Patience::new();
    while !is_so() {
        assert!(patience.slice().is_some(), "never came to {what}");
        look_again();
    }
}

/// The interval of polling.
pub(crate) fn look_again() {
    // Nothing is sent: the time-out ends this.
    let _ = crossbeam_channel::never::<()>().recv_timeout(Duration::from_millis(5));
}

#[expect(
    clippy::disallowed_methods,
    reason = "a deadline for what should have come long before"
)]
fn instant() -> Instant {
    Instant::now()
}
