//! [`Wall`]: the one place of the player that reads the machine's clock and waits for it.

use std::time::Instant;

use crossbeam_utils::sync::Parker;

use crate::time::{Duration, Steady, Time};

/// The last stretch of a wait is spun: a sleeping core takes about this long to wake.
const SPIN: Duration = Duration::from_micros(60);

/// The monotonic clock, counted from when it was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wall {
    origin: Instant,
}

impl Wall {
    #[expect(
        clippy::disallowed_methods,
        reason = "the rim of the player: here its instants come from"
    )]
    pub(super) fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    /// Never before an earlier answer.
    pub(super) fn now(self) -> Time<Steady> {
        Time::from_nanos(Duration::from(self.origin.elapsed()).as_nanos())
    }

    /// Returns at `deadline`, or earlier if the parker was woken or is about to be spun to its end.
    pub(super) fn wait(self, deadline: Time<Steady>, parker: &Parker) {
        let left = deadline.saturating_since(self.now());
        if left > SPIN {
            parker.park_timeout(left.saturating_sub(SPIN).to_std());
            return;
        }
        while self.now() < deadline {
            std::hint::spin_loop();
        }
    }
}

/// Asks the system to wake this thread when it is due and not up to 50 µs later, its default.
pub(super) fn wake_precisely() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1)) {
        tracing::debug!("timer slack stays at its default: {error}");
    }
}
