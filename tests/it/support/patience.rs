//! How long a test waits for what has to come.

use std::time::{Duration, Instant};

/// Longer than anything here takes on a loaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks no more than this counts: a machine that stood still was not waiting.
const SLICE: Duration = Duration::from_millis(500);

/// What is left of the patience of one wait.
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

    /// How long to wait before the next look; `None` when it is enough.
    pub(crate) fn slice(&mut self) -> Option<Duration> {
        let now = instant();
        let gone = now.saturating_duration_since(self.looked).min(SLICE);
        (self.left, self.looked) = (self.left.saturating_sub(gone), now);
        (!self.left.is_zero()).then_some(SLICE.min(self.left))
    }
}

/// Waits for a condition that tells nobody of itself.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let mut patience = Patience::new();
    while !is_so() {
        assert!(patience.slice().is_some(), "never came to {what}");
        look_again();
    }
}

/// A moment later: how often a condition that tells nobody of itself is looked at.
pub(crate) fn look_again() {
    // Nobody sends: it is the time limit that ends this.
    let _ = crossbeam_channel::never::<()>().recv_timeout(Duration::from_millis(5));
}

#[expect(
    clippy::disallowed_methods,
    reason = "a deadline for what should have come long before"
)]
fn instant() -> Instant {
    Instant::now()
}
