//! Wall time of runs: the only file of this folder that reads a clock.

use std::time::Instant;

/// The present instant.
#[expect(
    clippy::disallowed_methods,
    reason = "time limits of processes are in wall time"
)]
pub(super) fn now() -> Instant {
    Instant::now()
}
