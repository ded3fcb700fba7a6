//! [`millis_of`]: seconds as whole milliseconds.

use std::time::Duration;

/// Seconds as milliseconds, rounded down; 0 if negative or not a number, and the greatest number if it does not fit.
pub(super) fn millis_of(secs: f64) -> u64 {
    match Duration::try_from_secs_f64(secs) {
        Ok(span) => u64::try_from(span.as_millis()).unwrap_or(u64::MAX),
        Err(_) if secs > 0.0 => u64::MAX,
        Err(_) => 0,
    }
}
