//! Times and durations in the form of ROS messages: whole seconds and nanoseconds, 32 bits each.
//!
//! ROS 1 `time` is unsigned (ends in 2106), ROS 2 `builtin_interfaces/Time` has signed seconds (ends in 2038); both
//! durations are signed. Reading normalises nanosecond fields of a second or more and cannot fail. Writing returns an
//! error for a value that does not fit, where the client libraries wrap around.

use super::duration::Duration;
use super::point::{Ros, Time};

const NANOS_PER_SEC: i64 = 1_000_000_000;

/// The value does not fit into the message's 32-bit seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{value} does not fit the message: its seconds end at {ends}")]
pub struct DoesNotFit {
    value: Duration,
    ends: &'static str,
}

/// Seconds rounded down and the remaining nanoseconds, `0 ≤ nanosec < 1e9`.
fn split(nanos: i64) -> (i64, u32) {
    let nanosec = u32::try_from(nanos.rem_euclid(NANOS_PER_SEC)).expect("below 1e9");
    (nanos.div_euclid(NANOS_PER_SEC), nanosec)
}

fn narrow<S: TryFrom<i64>>(nanos: i64, ends: &'static str) -> Result<(S, u32), DoesNotFit> {
    let (sec, nanosec) = split(nanos);
    let value = Duration::from_nanos(nanos);
    S::try_from(sec)
        .map(|sec| (sec, nanosec))
        .map_err(|_| DoesNotFit { value, ends })
}

impl Time<Ros> {
    /// From `builtin_interfaces/Time`. Negative seconds are times before the epoch, as they occur in recordings.
    /// Nanoseconds of a second and more are carried.
    pub const fn from_ros2(sec: i32, nanosec: u32) -> Self {
        Self::from_nanos(sec as i64 * NANOS_PER_SEC + nanosec as i64)
    }

    /// The fields `sec` and `nanosec` (below 1e9) of `builtin_interfaces/Time`.
    ///
    /// # Errors
    /// Before 1901-12-13 and from 2038-01-19 on, where the seconds do not fit into 32 bits.
    pub fn to_ros2(self) -> Result<(i32, u32), DoesNotFit> {
        narrow(self.as_nanos(), "2147483647 (in 2038)")
    }

    /// From a ROS 1 `time`. Nanoseconds of a second and more are carried.
    pub const fn from_ros1(sec: u32, nsec: u32) -> Self {
        Self::from_nanos(sec as i64 * NANOS_PER_SEC + nsec as i64)
    }

    /// The fields `sec` and `nsec` (below 1e9) of a ROS 1 `time`.
    ///
    /// # Errors
    /// Before 1970 and from 2106-02-07 on, where the seconds do not fit into 32 bits without a sign.
    pub fn to_ros1(self) -> Result<(u32, u32), DoesNotFit> {
        narrow(self.as_nanos(), "0 and 4294967295 (in 2106)")
    }
}

impl Duration {
    /// From `builtin_interfaces/Duration`. The nanoseconds are always added, so (−1, 5e8) is minus half a second.
    pub const fn from_ros2(sec: i32, nanosec: u32) -> Self {
        Self::from_nanos(sec as i64 * NANOS_PER_SEC + nanosec as i64)
    }

    /// The fields `sec` (rounded down) and `nanosec` (below 1e9) of `builtin_interfaces/Duration`.
    ///
    /// # Errors
    /// If the seconds do not fit into 32 bits: beyond 68 years.
    pub fn to_ros2(self) -> Result<(i32, u32), DoesNotFit> {
        narrow(self.as_nanos(), "±2147483648")
    }

    /// As [`Duration::to_ros2`], limited to the range of the message: from (−2147483648, 0) to (2147483647, 999999999).
    pub fn to_ros2_saturating(self) -> (i32, u32) {
        self.to_ros2().unwrap_or(if self.is_negative() {
            (i32::MIN, 0)
        } else {
            (i32::MAX, 999_999_999)
        })
    }

    /// From a ROS 1 `duration`; the two fields may differ in sign.
    pub const fn from_ros1(sec: i32, nsec: i32) -> Self {
        Self::from_nanos(sec as i64 * NANOS_PER_SEC + nsec as i64)
    }

    /// The fields `sec` (rounded down) and `nsec` (0 ≤ `nsec` < 1e9) of a ROS 1 `duration`.
    ///
    /// # Errors
    /// If the seconds do not fit into 32 bits: beyond 68 years.
    pub fn to_ros1(self) -> Result<(i32, i32), DoesNotFit> {
        let (sec, nsec) = self.to_ros2()?;
        Ok((sec, i32::try_from(nsec).expect("below 1e9")))
    }
}
