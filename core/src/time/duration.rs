//! [`Duration`]: a signed span in nanoseconds, shared by all kinds of time.
//!
//! The difference of two points of time is a duration. Arithmetic is available checked and saturating; the operators
//! panic on overflow. The range is ±292 years.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};
use std::str::FromStr;

use super::decimal::{InvalidSeconds, nanos};

const NANOS_PER_SEC: i64 = 1_000_000_000;

/// A signed span of time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(i64);

impl Duration {
    /// A span of length zero.
    pub const ZERO: Self = Self(0);
    /// The longest positive span, about 292 years.
    pub const MAX: Self = Self(i64::MAX);
    /// The longest negative span, about −292 years.
    pub const MIN: Self = Self(i64::MIN);

    /// A span of `nanos` nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds, saturating.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A span of `millis` milliseconds, saturating.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of `secs` whole seconds, saturating.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(NANOS_PER_SEC))
    }

    /// A span of `secs` seconds, rounded to the nearest nanosecond; `None` if it is not a number or
    /// beyond ±292 years.
    pub fn from_secs_f64(secs: f64) -> Option<Self> {
        nearest(secs * 1e9)?;
        // The product above checks the range; by itself it would be up to 128 ns off for today's Unix time.
        let (whole, fraction) = (nearest(secs.trunc())?, nearest(secs.fract() * 1e9)?);
        Some(Self::from_secs(whole.0).saturating_add(fraction))
    }

    /// The span in nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The span in whole microseconds, rounded towards zero.
    pub const fn as_micros(self) -> i64 {
        self.0 / 1_000
    }

    /// The span in whole milliseconds, rounded towards zero.
    pub const fn as_millis(self) -> i64 {
        self.0 / 1_000_000
    }

    /// The span in whole seconds, rounded towards zero.
    pub const fn as_secs(self) -> i64 {
        self.0 / NANOS_PER_SEC
    }

    /// The span in seconds, rounded to the nearest `f64`.
    #[expect(clippy::cast_precision_loss, reason = "the name promises a float")]
    pub fn as_secs_f64(self) -> f64 {
        // Added separately: the total of nanoseconds has more digits than a float can hold.
        self.as_secs() as f64 + (self.0 % NANOS_PER_SEC) as f64 / 1e9
    }

    /// Whether the span is negative.
    #[inline]
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// The sum, or `None` on overflow.
    #[inline]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// The sum, limited to the range.
    #[must_use]
    #[inline]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or `None` on overflow.
    #[inline]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// The span with the opposite sign, or `None` for [`Duration::MIN`].
    pub const fn checked_neg(self) -> Option<Self> {
        match self.0.checked_neg() {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// The span without its sign, or `None` for [`Duration::MIN`].
    pub const fn checked_abs(self) -> Option<Self> {
        match self.0.checked_abs() {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// `factor` times the span, or `None` on overflow.
    pub const fn checked_mul(self, factor: i64) -> Option<Self> {
        match self.0.checked_mul(factor) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// `factor` times the span, limited to the range.
    #[must_use]
    #[inline]
    pub const fn saturating_mul(self, factor: i64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// The span divided by `divisor`, rounded towards zero; `None` if `divisor` is zero, or on overflow.
    pub const fn checked_div(self, divisor: i64) -> Option<Self> {
        match self.0.checked_div(divisor) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// `factor` times the span, rounded to the nearest nanosecond as far as `f64` is exact (2^53 ns); `None` if the
    /// factor is not finite or the product exceeds ±292 years.
    #[expect(clippy::cast_precision_loss, reason = "the factor is a float")]
    pub fn mul_f64(self, factor: f64) -> Option<Self> {
        nearest(self.0 as f64 * factor).filter(|_| factor.is_finite())
    }

    /// The difference, limited to the range.
    #[must_use]
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The difference of two spans without its sign; [`Duration::MAX`] at most.
    #[must_use]
    pub const fn abs_diff(self, other: Self) -> Self {
        if self.0 < other.0 {
            other.saturating_sub(self)
        } else {
            self.saturating_sub(other)
        }
    }

    /// The span without its sign, limited to the range.
    #[must_use]
    #[inline]
    pub const fn saturating_abs(self) -> Self {
        Self(self.0.saturating_abs())
    }

    /// The same span as the standard library's unsigned type; zero if it is negative.
    #[inline]
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(u64::try_from(self.0).unwrap_or(0))
    }
}

/// The float rounded to whole nanoseconds, if the result fits.
fn nearest(nanos: f64) -> Option<Duration> {
    let nanos = nanos.round();
    // 2^63 itself is representable as f64 but not as i64.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "range checked on the line before"
    )]
    (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0)
        .contains(&nanos)
        .then_some(Duration(nanos as i64))
}

impl From<std::time::Duration> for Duration {
    /// Saturates at [`Duration::MAX`].
    fn from(std: std::time::Duration) -> Self {
        Self(i64::try_from(std.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl Add for Duration {
    type Output = Self;

    /// # Panics
    /// On overflow; see [`Duration::checked_add`].
    #[inline]
    fn add(self, other: Self) -> Self {
        self.checked_add(other).expect("duration fits in 292 years")
    }
}

impl Sub for Duration {
    type Output = Self;

    /// # Panics
    /// On overflow; see [`Duration::checked_sub`].
    #[inline]
    fn sub(self, other: Self) -> Self {
        self.checked_sub(other).expect("duration fits in 292 years")
    }
}

impl AddAssign for Duration {
    /// # Panics
    /// On overflow.
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Duration {
    /// # Panics
    /// On overflow.
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<i64> for Duration {
    type Output = Self;

    /// # Panics
    /// On overflow; see [`Duration::checked_mul`].
    fn mul(self, factor: i64) -> Self {
        self.checked_mul(factor)
            .expect("duration fits in 292 years")
    }
}

impl MulAssign<i64> for Duration {
    /// # Panics
    /// On overflow.
    fn mul_assign(&mut self, factor: i64) {
        *self = *self * factor;
    }
}

impl Div<i64> for Duration {
    type Output = Self;

    /// # Panics
    /// By zero and on overflow; see [`Duration::checked_div`].
    fn div(self, divisor: i64) -> Self {
        self.checked_div(divisor)
            .expect("the divisor is not zero, the duration fits in 292 years")
    }
}

impl Div for Duration {
    type Output = f64;

    /// The ratio of the two spans. Division by [`Duration::ZERO`] gives infinity, or NaN for zero by zero, as with
    /// floats.
    #[expect(clippy::cast_precision_loss, reason = "the quotient is a float")]
    fn div(self, other: Self) -> f64 {
        self.0 as f64 / other.0 as f64
    }
}

impl Sum for Duration {
    /// # Panics
    /// On overflow.
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl<'a> Sum<&'a Self> for Duration {
    /// # Panics
    /// On overflow.
    fn sum<I: Iterator<Item = &'a Self>>(spans: I) -> Self {
        spans.copied().sum()
    }
}

impl DivAssign<i64> for Duration {
    /// # Panics
    /// By zero and on overflow.
    fn div_assign(&mut self, divisor: i64) {
        *self = *self / divisor;
    }
}

impl Neg for Duration {
    type Output = Self;

    /// Saturates: the negation of [`Duration::MIN`] is [`Duration::MAX`].
    fn neg(self) -> Self {
        Self(self.0.checked_neg().unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Duration {
    /// Seconds with as many decimals as necessary: `-1.5s`, `0s`, `12.000000001s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.unsigned_abs();
        let (secs, nanos) = (magnitude / 1_000_000_000, magnitude % 1_000_000_000);
        let sign = if self.0 < 0 { "-" } else { "" };
        let digits = format!("{nanos:09}");
        match digits.trim_end_matches('0') {
            "" => write!(f, "{sign}{secs}s"),
            fraction => write!(f, "{sign}{secs}.{fraction}s"),
        }
    }
}

impl FromStr for Duration {
    type Err = InvalidSeconds;

    /// Reads what [`Display`](fmt::Display) writes; the `s` is optional: `-1.5s`, `12`.
    fn from_str(text: &str) -> Result<Self, InvalidSeconds> {
        let trimmed = text.trim();
        nanos(trimmed.strip_suffix('s').unwrap_or(trimmed))
            .map(Self)
            .map_err(|_| InvalidSeconds(text.to_owned()))
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_round_to_the_nearest_nanosecond_and_refuse_what_does_not_fit() {
        for (secs, nanos) in [
            (0.1, Some(100_000_000)),
            (-1.5, Some(-1_500_000_000)),
            (1e10, None),
            (f64::NAN, None),
        ] {
            assert_eq!(
                Duration::from_secs_f64(secs).map(Duration::as_nanos),
                nanos,
                "{secs}"
            );
        }
    }

    #[test]
    fn display_shows_sign_and_only_the_digits_that_matter() {
        for (nanos, text) in [
            (0, "0s"),
            (-1_500_000_000, "-1.5s"),
            (12_000_000_001, "12.000000001s"),
        ] {
            assert_eq!(Duration::from_nanos(nanos).to_string(), text);
        }
    }

    #[test]
    fn the_ends_of_the_range_hold() {
        assert_eq!(-Duration::MIN, Duration::MAX);
        assert_eq!(Duration::MIN.saturating_abs(), Duration::MAX);
        assert_eq!(Duration::MAX.checked_add(Duration::from_nanos(1)), None);
        assert_eq!(
            Duration::MAX.saturating_add(Duration::from_nanos(1)),
            Duration::MAX
        );
    }
}
