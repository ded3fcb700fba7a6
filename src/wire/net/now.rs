//! The clocks of this machine: the only place in `wire` that reads them.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since the Unix epoch, clamped to 0 and `i64::MAX`.
#[expect(
    clippy::disallowed_methods,
    reason = "the source timestamp is the moment of the put"
)]
pub(crate) fn unix_nanos() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
        })
}

/// The present instant of the monotonic clock.
#[expect(
    clippy::disallowed_methods,
    reason = "how long a put takes is known only by looking"
)]
pub(crate) fn steady() -> Instant {
    Instant::now()
}
