//! [`Time`]: a point of time of one of three kinds; mixing kinds does not compile.
//!
//! [`Ros`] time is what `/clock` says and what a recording is stamped with, [`System`] time is the
//! Unix clock, [`Steady`] time only ever increases and starts nowhere in particular. Eight bytes,
//! `Copy`, ordered. There is no multiplication of points of time.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Add, Sub};

use super::duration::Duration;

/// A kind of time: [`Ros`], [`System`] or [`Steady`].
pub trait Kind: Copy + Ord + std::hash::Hash + fmt::Debug + Send + Sync + 'static {
    /// The kind's name, as it is shown in debug output.
    const NAME: &'static str;
}

/// Log time: what a recording is stamped with and what `/clock` says.
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

/// A point of time in nanoseconds since the start of its kind (requirements T3, T4).
///
/// ```compile_fail
/// use bagplay::time::{Ros, Steady, Time};
/// let _ = Time::<Ros>::from_nanos(1) < Time::<Steady>::from_nanos(2); // different kinds
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time<K: Kind> {
    nanos: i64,
    kind: PhantomData<K>,
}

impl<K: Kind> Time<K> {
    /// The start of the kind. For ROS time it means "uninitialised" (requirement T20).
    pub const ZERO: Self = Self::from_nanos(0);
    /// The latest point that can be written.
    pub const MAX: Self = Self::from_nanos(i64::MAX);
    /// The earliest point that can be written.
    pub const MIN: Self = Self::from_nanos(i64::MIN);

    /// The point `nanos` nanoseconds after the start of the kind.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self {
            nanos,
            kind: PhantomData,
        }
    }

    /// Nanoseconds since the start of the kind.
    pub const fn as_nanos(self) -> i64 {
        self.nanos
    }

    /// The point `span` later, or `None` on overflow.
    pub const fn checked_add(self, span: Duration) -> Option<Self> {
        match self.nanos.checked_add(span.as_nanos()) {
            Some(nanos) => Some(Self::from_nanos(nanos)),
            None => None,
        }
    }

    /// The point `span` later, held at the ends of the range.
    #[must_use]
    pub const fn saturating_add(self, span: Duration) -> Self {
        Self::from_nanos(self.nanos.saturating_add(span.as_nanos()))
    }

    /// The span from `earlier` to `self`, held at the ends of the range; negative if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }

    /// Whole seconds (rounded down) and the nanoseconds on top of them, `0 ≤ nanosec < 1e9`.
    pub fn to_sec_nanosec(self) -> (i64, u32) {
        let nanosec = self.nanos.rem_euclid(1_000_000_000);
        (
            self.nanos.div_euclid(1_000_000_000),
            u32::try_from(nanosec).expect("below 1e9"),
        )
    }
}

impl Time<Ros> {
    /// A stamp as MCAP stores it. rosbag2 casts a negative stamp to unsigned, so the upper half of
    /// the unsigned range reads as negative; [`Time::to_mcap`] is the exact inverse.
    #[expect(
        clippy::cast_possible_wrap,
        reason = "the wrap is rosbag2's convention"
    )]
    pub const fn from_mcap(stamp: u64) -> Self {
        Self::from_nanos(stamp as i64)
    }

    /// The stamp as MCAP stores it.
    #[expect(clippy::cast_sign_loss, reason = "the wrap is rosbag2's convention")]
    pub const fn to_mcap(self) -> u64 {
        self.nanos as u64
    }
}

impl<K: Kind> Add<Duration> for Time<K> {
    type Output = Self;

    /// # Panics
    /// On overflow; see [`Time::checked_add`].
    fn add(self, span: Duration) -> Self {
        self.checked_add(span).expect("time fits in 292 years")
    }
}

impl<K: Kind> Sub for Time<K> {
    type Output = Duration;

    /// # Panics
    /// On overflow; see [`Time::saturating_since`].
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(
            self.nanos
                .checked_sub(earlier.nanos)
                .expect("span fits in 292 years"),
        )
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
