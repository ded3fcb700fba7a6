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
    checked: Instant,
}

impl Patience {
    pub(crate) fn new() -> Self {
        Self {
            left: PATIENCE,
            checked: instant(),
        }
    }

    /// How long to wait before the next check; `None` when the time is up.
    pub(crate) fn slice(&mut self) -> Option<Duration> {
        let now = instant();
        let passed = now.saturating_duration_since(self.checked).min(SLICE);
        (self.left, self.checked) = (self.left.saturating_sub(passed), now);
        (!self.left.is_zero()).then_some(SLICE.min(self.left))
    }
}

/// Polls a condition that has no notification.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let mut patience = Patience::new();
    while !is_so() {
        assert!(patience.slice().is_some(), "timed out waiting for {what}");
        look_again();
    }
}

/// The interval of polling.
pub(crate) fn look_again() {
    // Nothing is ever sent: this ends by its time-out.
    let _ = crossbeam_channel::never::<()>().recv_timeout(Duration::from_millis(5));
}

#[expect(
    clippy::disallowed_methods,
    reason = "time limits of waits: those of tests, and those that are documented"
)]
pub(crate) fn instant() -> Instant {
    Instant::now()
}
