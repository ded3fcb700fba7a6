//! Wall time of a program under test: the only file of this folder that reads a clock, and that waits for nothing else.

use std::time::{Duration, Instant};

/// The present instant.
#[expect(
    clippy::disallowed_methods,
    reason = "a program under test runs in wall time"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// Waits before other processes are looked at again: nothing tells when the last process of a group has ended.
pub(super) fn pause(span: Duration) {
    // Nothing is ever sent: this ends by its time limit.
    let _ = crossbeam_channel::never::<()>().recv_timeout(span);
}
