//! The clocks of this machine: the only place in `wire` that reads them.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since the Unix epoch, clamped to 0 and `i64::MAX`.
#[inline]
pub(crate) fn unix_nanos() -> i64 {
    let now = clock_gettime(ClockId::Realtime);
    let nanos = now.tv_sec.saturating_mul(1_000_000_000);
    nanos.saturating_add(now.tv_nsec).max(0)
}

/// The present instant of the monotonic clock.
#[expect(
    clippy::disallowed_methods,
    reason = "how long a put takes is known only by looking"
)]
pub(crate) fn steady() -> Instant {
    Instant::now()
}

/// The monotonic clock for spans. Only differences of its readings mean something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SpanClock {
    /// To the nanosecond.
    Exact,
    /// At the kernel's last tick, up to [`TICK`] ago; much cheaper to read. Exact on systems other than Linux.
    Coarse,
}

#[cfg(target_os = "linux")]
const COARSE: ClockId = ClockId::MonotonicCoarse;
#[cfg(not(target_os = "linux"))]
const COARSE: ClockId = ClockId::Monotonic;

/// The longest time between two ticks of a kernel (100 Hz).
const TICK: Duration = Duration::from_millis(10);

impl SpanClock {
    /// The cheapest one whose error is at most a hundredth of `span`.
    pub(crate) fn for_spans_of(span: Duration) -> Self {
        if span < TICK * 100 {
            Self::Exact
        } else {
            Self::Coarse
        }
    }

    /// The error of a difference of two readings.
    pub(crate) fn error(self) -> Duration {
        match self {
            Self::Exact => Duration::ZERO,
            Self::Coarse => TICK,
        }
    }

    /// The present reading.
    #[inline]
    pub(crate) fn read(self) -> Duration {
        let now = clock_gettime(match self {
            Self::Exact => ClockId::Monotonic,
            Self::Coarse => COARSE,
        });
        Duration::try_from(now).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_spans_are_measured_exactly_and_long_ones_to_a_hundredth() {
        let millis = Duration::from_millis;
        assert_eq!(SpanClock::for_spans_of(millis(999)), SpanClock::Exact);
        let coarse = SpanClock::for_spans_of(millis(1000));
        assert_eq!(coarse, SpanClock::Coarse);
        assert_eq!(coarse.error(), millis(10));
        let readings = [coarse, SpanClock::Exact].map(SpanClock::read);
        assert!(
            readings[1].saturating_sub(readings[0]) < millis(1000),
            "{readings:?}"
        );
    }
}
