//! [`Time`]: a point of time of one of three kinds; code that mixes kinds does not compile.
//!
//! [`Ros`] time is what `/clock` publishes and what the messages of a recording are stamped with, [`System`] time is
//! the Unix clock, [`Steady`] time only increases and starts at an arbitrary instant. A time is eight bytes, `Copy` and
//! ordered. Points of time cannot be added or multiplied.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use super::decimal::{InvalidSeconds, nanos};
use super::duration::Duration;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Ros {}
    impl Sealed for super::System {}
    impl Sealed for super::Steady {}
}

/// A kind of time: [`Ros`], [`System`] or [`Steady`]; there are no others.
pub trait Kind:
    sealed::Sealed + Copy + Ord + std::hash::Hash + fmt::Debug + Send + Sync + 'static
{
    /// The kind's name in debug output.
    const NAME: &'static str;
}

/// Log time: what the messages of a recording are stamped with and what `/clock` publishes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ros {}
/// The system clock, counted from the Unix epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum System {}
/// The monotonic clock of this machine, counted from an arbitrary start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Steady {}

impl Kind for Ros {
    const NAME: &'static str = "ros";
}
impl Kind for System {
    const NAME: &'static str = "system";
}
impl Kind for Steady {
    const NAME: &'static str = "steady";
}

/// A point of time in nanoseconds since the start of its kind.
///
/// ```compile_fail
/// use bagplay::time::{Ros, Steady, Time};
/// let _ = Time::<Ros>::from_nanos(1) < Time::<Steady>::from_nanos(2); // different kinds
/// ```
///
/// ```compile_fail
/// use bagplay::time::{Ros, System, Time};
/// let _ = Time::<Ros>::from_nanos(1) - Time::<System>::from_nanos(2); // see `Time::assume_ros`
/// ```
///
/// ```compile_fail
/// use bagplay::time::{Ros, Time};
/// let _ = Time::<Ros>::from_nanos(1) + Time::<Ros>::from_nanos(2); // points do not add up
/// ```
///
/// ```compile_fail
/// use bagplay::time::{Ros, Time};
/// let _ = Time::<Ros>::from_nanos(1) * 2; // nor do they multiply
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time<K: Kind> {
    nanos: i64,
    kind: PhantomData<K>,
}

impl<K: Kind> Time<K> {
    /// The start of the kind. For ROS time it means "uninitialised".
    pub const ZERO: Self = Self::from_nanos(0);
    /// The latest point that can be represented.
    pub const MAX: Self = Self::from_nanos(i64::MAX);
    /// The earliest point that can be represented.
    pub const MIN: Self = Self::from_nanos(i64::MIN);

    /// The point `nanos` nanoseconds after the start of the kind.
    #[inline]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self {
            nanos,
            kind: PhantomData,
        }
    }

    /// The point `micros` microseconds after the start of the kind, limited to the range.
    pub const fn from_micros(micros: i64) -> Self {
        Self::from_nanos(Duration::from_micros(micros).as_nanos())
    }

    /// The point `millis` milliseconds after the start of the kind, limited to the range.
    pub const fn from_millis(millis: i64) -> Self {
        Self::from_nanos(Duration::from_millis(millis).as_nanos())
    }

    /// The point `secs` whole seconds after the start of the kind, limited to the range.
    pub const fn from_secs(secs: i64) -> Self {
        Self::from_nanos(Duration::from_secs(secs).as_nanos())
    }

    /// Nanoseconds since the start of the kind.
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.nanos
    }

    /// The point `span` later, or `None` on overflow.
    #[inline]
    pub const fn checked_add(self, span: Duration) -> Option<Self> {
        match self.nanos.checked_add(span.as_nanos()) {
            Some(nanos) => Some(Self::from_nanos(nanos)),
            None => None,
        }
    }

    /// The point `span` later, limited to the range.
    #[must_use]
    #[inline]
    pub const fn saturating_add(self, span: Duration) -> Self {
        Self::from_nanos(self.nanos.saturating_add(span.as_nanos()))
    }

    /// The point `span` earlier, or `None` on overflow.
    #[inline]
    pub const fn checked_sub(self, span: Duration) -> Option<Self> {
        match self.nanos.checked_sub(span.as_nanos()) {
            Some(nanos) => Some(Self::from_nanos(nanos)),
            None => None,
        }
    }

    /// The point `span` earlier, limited to the range.
    #[must_use]
    #[inline]
    pub const fn saturating_sub(self, span: Duration) -> Self {
        Self::from_nanos(self.nanos.saturating_sub(span.as_nanos()))
    }

    /// The span from `earlier` to `self`, or `None` on overflow.
    #[inline]
    pub const fn checked_since(self, earlier: Self) -> Option<Duration> {
        match self.nanos.checked_sub(earlier.nanos) {
            Some(nanos) => Some(Duration::from_nanos(nanos)),
            None => None,
        }
    }

    /// The span from `earlier` to `self`, limited to the range of [`Duration`]; negative if `earlier` is later.
    #[inline]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }

    /// The span between two points without its sign; [`Duration::MAX`] at most.
    #[must_use]
    #[inline]
    pub const fn abs_diff(self, other: Self) -> Duration {
        if self.nanos < other.nanos {
            other.saturating_since(self)
        } else {
            self.saturating_since(other)
        }
    }

    /// The point `secs` seconds after the start of the kind, rounded to the nearest nanosecond; `None` if `secs` is not
    /// a number or exceeds ±292 years.
    pub fn from_secs_f64(secs: f64) -> Option<Self> {
        Duration::from_secs_f64(secs).map(|since| Self::from_nanos(since.as_nanos()))
    }

    /// Seconds since the start of the kind, rounded to the nearest `f64`. For today's Unix time the error is 0.12 µs at
    /// most.
    pub fn as_secs_f64(self) -> f64 {
        Duration::from_nanos(self.nanos).as_secs_f64()
    }

    /// Whole seconds (rounded down) and the remaining nanoseconds, `0 ≤ nanosec < 1e9`.
    pub fn to_sec_nanosec(self) -> (i64, u32) {
        let nanosec = self.nanos.rem_euclid(1_000_000_000);
        (
            self.nanos.div_euclid(1_000_000_000),
            u32::try_from(nanosec).expect("below 1e9"),
        )
    }
}

impl Time<System> {
    /// The same instant as ROS time. Correct only for times taken while no time source is active, because ROS time is
    /// then system time. Nothing checks this; the name says that it is assumed.
    pub const fn assume_ros(self) -> Time<Ros> {
        Time::from_nanos(self.nanos)
    }
}

impl From<SystemTime> for Time<System> {
    /// Limited to the range.
    fn from(std: SystemTime) -> Self {
        match std.duration_since(UNIX_EPOCH) {
            Ok(since) => Self::ZERO.saturating_add(since.into()),
            Err(before) => i64::try_from(before.duration().as_nanos())
                .map_or(Self::MIN, |nanos| Self::from_nanos(-nanos)),
        }
    }
}

impl From<Time<System>> for SystemTime {
    fn from(time: Time<System>) -> Self {
        let from_epoch = std::time::Duration::from_nanos(time.nanos.unsigned_abs());
        if time.nanos < 0 {
            UNIX_EPOCH - from_epoch
        } else {
            UNIX_EPOCH + from_epoch
        }
    }
}

impl Time<Ros> {
    /// The same instant as system time: the inverse of [`Time::assume_ros`], correct under the same condition.
    pub const fn assume_system(self) -> Time<System> {
        Time::from_nanos(self.nanos)
    }

    /// Reads a stamp as MCAP stores it. rosbag2 casts a negative stamp to unsigned, so the upper half of the unsigned
    /// range is read as negative; [`Time::to_mcap`] is the exact inverse.
    #[expect(
        clippy::cast_possible_wrap,
        reason = "the wrap is rosbag2's convention"
    )]
    #[inline]
    pub const fn from_mcap(stamp: u64) -> Self {
        Self::from_nanos(stamp as i64)
    }

    /// The stamp as MCAP stores it.
    #[expect(clippy::cast_sign_loss, reason = "the wrap is rosbag2's convention")]
    #[inline]
    pub const fn to_mcap(self) -> u64 {
        self.nanos as u64
    }
}

impl<K: Kind> Add<Duration> for Time<K> {
    type Output = Self;

    /// # Panics
    /// On overflow; see [`Time::checked_add`].
    #[inline]
    fn add(self, span: Duration) -> Self {
        self.checked_add(span).expect("time fits in 292 years")
    }
}

impl<K: Kind> Add<Time<K>> for Duration {
    type Output = Time<K>;

    /// # Panics
    /// On overflow; see [`Time::checked_add`].
    #[inline]
    fn add(self, time: Time<K>) -> Time<K> {
        time + self
    }
}

impl<K: Kind> Sub<Duration> for Time<K> {
    type Output = Self;

    /// # Panics
    /// On overflow; see [`Time::checked_sub`].
    #[inline]
    fn sub(self, span: Duration) -> Self {
        self.checked_sub(span).expect("time fits in 292 years")
    }
}

impl<K: Kind> AddAssign<Duration> for Time<K> {
    /// # Panics
    /// On overflow.
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl<K: Kind> SubAssign<Duration> for Time<K> {
    /// # Panics
    /// On overflow.
    #[inline]
    fn sub_assign(&mut self, span: Duration) {
        *self = *self - span;
    }
}

impl<K: Kind> Sub for Time<K> {
    type Output = Duration;

    /// # Panics
    /// On overflow; see [`Time::checked_since`].
    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        self.checked_since(earlier).expect("span fits in 292 years")
    }
}

impl<K: Kind> fmt::Display for Time<K> {
    /// Seconds since the start of the kind, always with nine decimals: `1700000000.000000001`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.nanos.unsigned_abs();
        let sign = if self.nanos < 0 { "-" } else { "" };
        write!(
            f,
            "{sign}{}.{:09}",
            magnitude / 1_000_000_000,
            magnitude % 1_000_000_000
        )
    }
}

impl<K: Kind> FromStr for Time<K> {
    type Err = InvalidSeconds;

    /// Reads what [`Display`](fmt::Display) writes: seconds with at most nine decimals, exactly.
    fn from_str(text: &str) -> Result<Self, InvalidSeconds> {
        nanos(text).map(Self::from_nanos)
    }
}

impl<K: Kind> fmt::Debug for Time<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{self}", K::NAME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_eight_bytes() {
        assert_eq!(size_of::<Time<Ros>>(), 8);
    }

    #[test]
    fn seconds_round_down_also_before_zero() {
        for (nanos, parts) in [
            (0, (0, 0)),
            (1_500_000_000, (1, 500_000_000)),
            (-1, (-1, 999_999_999)),
        ] {
            assert_eq!(Time::<Ros>::from_nanos(nanos).to_sec_nanosec(), parts);
        }
    }

    #[test]
    fn a_stamp_survives_the_way_through_mcap() {
        for stamp in [0, 1, u64::MAX, 1 << 63] {
            assert_eq!(Time::from_mcap(stamp).to_mcap(), stamp);
        }
        assert_eq!(Time::from_mcap(u64::MAX), Time::from_nanos(-1));
    }

    #[test]
    fn display_keeps_nine_decimals() {
        assert_eq!(
            Time::<Ros>::from_nanos(1_700_000_000_000_000_001).to_string(),
            "1700000000.000000001"
        );
        assert_eq!(
            format!("{:?}", Time::<Steady>::from_nanos(-5)),
            "steady:-0.000000005"
        );
    }
}
