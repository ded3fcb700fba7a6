//! [`TimeRange`]: a closed span of log time; `start ≤ stop` in both directions of play.

use super::duration::Duration;
use super::point::{Ros, Time};

/// A closed range of log time: both ends belong to it.
///
/// ```
/// # use bagplay_core as bagplay;
/// use bagplay::time::{Duration, Time, TimeRange};
/// let range = TimeRange::between(Time::from_secs(9), Time::from_secs(3)); // in either order
/// assert_eq!((range.start(), range.duration()), (Time::from_secs(3), Duration::from_secs(6)));
/// assert!(range.contains(Time::from_secs(9)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TimeRange {
    start: Time<Ros>,
    stop: Time<Ros>,
}

impl TimeRange {
    /// All times.
    pub const ALL: Self = Self {
        start: Time::MIN,
        stop: Time::MAX,
    };

    /// The closed range between two times, given in either order.
    #[inline]
    pub fn between(a: Time<Ros>, b: Time<Ros>) -> Self {
        Self {
            start: a.min(b),
            stop: a.max(b),
        }
    }

    /// The earliest point of the range.
    #[inline]
    pub const fn start(self) -> Time<Ros> {
        self.start
    }

    /// The latest point of the range.
    #[inline]
    pub const fn stop(self) -> Time<Ros> {
        self.stop
    }

    /// The span from the first point to the last.
    #[inline]
    pub const fn duration(self) -> Duration {
        self.stop.saturating_since(self.start)
    }

    /// Whether `t` lies in the range, ends included.
    #[inline]
    pub fn contains(self, t: Time<Ros>) -> bool {
        self.start <= t && t <= self.stop
    }

    /// The point of the range that is nearest to `t`.
    #[inline]
    pub fn clamp(self, t: Time<Ros>) -> Time<Ros> {
        t.clamp(self.start, self.stop)
    }

    /// What both ranges cover; `None` if they have no point in common.
    #[inline]
    pub fn intersection(self, other: Self) -> Option<Self> {
        let (start, stop) = (self.start.max(other.start), self.stop.min(other.stop));
        (start <= stop).then_some(Self { start, stop })
    }

    /// The smallest range that contains both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            start: self.start.min(other.start),
            stop: self.stop.max(other.stop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(a: i64, b: i64) -> TimeRange {
        TimeRange::between(Time::from_nanos(a), Time::from_nanos(b))
    }

    #[test]
    fn ends_are_ordered_and_belong_to_the_range() {
        assert_eq!(range(9, 3), range(3, 9));
        assert!(
            range(3, 9).contains(Time::from_nanos(3)) && range(3, 9).contains(Time::from_nanos(9))
        );
        assert_eq!(range(3, 9).clamp(Time::from_nanos(12)), Time::from_nanos(9));
    }

    #[test]
    fn ranges_that_touch_share_a_point() {
        assert_eq!(range(0, 3).intersection(range(3, 9)), Some(range(3, 3)));
        assert_eq!(range(0, 3).intersection(range(4, 9)), None);
        assert_eq!(range(0, 3).union(range(7, 9)), range(0, 9));
    }
}
