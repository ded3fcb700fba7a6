//! [`Speed`]: the playback factor as an exact integer.
//!
//! It is in millionths, so that it has exact equality and no NaN. It is not zero, because a pause is not speed 0. The
//! sign is the direction. With a float, wake instants would be wrong by a nanosecond (see `docs/design.md`).

use std::fmt;
use std::num::NonZeroI32;
use std::str::FromStr;

/// A playback factor in millionths, ±0.001 … ±1000, both ends included; the sign is the direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Speed(NonZeroI32);

/// A playback factor that is not a valid [`Speed`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("rate {0}")]
pub struct InvalidSpeed(String);

const ALLOWED: &str = "between 0.001 and 1000 (or −0.001 and −1000 to play backwards)";

impl InvalidSpeed {
    fn not_within(factor: f64) -> Self {
        Self(format!("{factor} is not {ALLOWED}"))
    }
}

impl Speed {
    /// As recorded, forwards.
    pub const NORMAL: Self = Self(NonZeroI32::new(Self::ONE).expect("not zero"));
    const ONE: i32 = 1_000_000;
    const LEAST: i32 = Self::ONE / 1_000;
    const MOST: i32 = Self::ONE * 1_000;

    /// A factor of `millionths`/1,000,000.
    ///
    /// # Errors
    /// If it is not within ±0.001 … ±1000, both ends included.
    #[inline]
    pub fn from_millionths(millionths: i32) -> Result<Self, InvalidSpeed> {
        let refuse = || InvalidSpeed::not_within(f64::from(millionths) / f64::from(Self::ONE));
        if !(Self::LEAST..=Self::MOST).contains(&millionths.saturating_abs()) {
            return Err(refuse());
        }
        NonZeroI32::new(millionths).map(Self).ok_or_else(refuse)
    }

    /// The factor nearest to `factor`, in millionths.
    ///
    /// ```
    /// # use bagplay_core as bagplay;
    /// use bagplay::time::Speed;
    /// assert_eq!(Speed::from_f64(0.5)?.millionths(), 500_000);
    /// assert!(Speed::from_f64(-2.0)?.is_reverse());
    /// assert!(Speed::from_f64(0.0).is_err()); // a pause is no speed
    /// # Ok::<(), bagplay::time::InvalidSpeed>(())
    /// ```
    ///
    /// # Errors
    /// If it is NaN or, when rounded, not within ±0.001 … ±1000, both ends included.
    pub fn from_f64(factor: f64) -> Result<Self, InvalidSpeed> {
        let millionths = (factor * f64::from(Self::ONE)).round();
        let most = f64::from(Self::MOST);
        if !(-most..=most).contains(&millionths) {
            return Err(InvalidSpeed::not_within(factor));
        }
        #[expect(clippy::cast_possible_truncation, reason = "range checked above")]
        Self::from_millionths(millionths as i32).map_err(|_| InvalidSpeed::not_within(factor))
    }

    /// The nearest speed to any factor, of the same direction; of 0, the slowest one forwards. `None` for NaN.
    pub fn nearest(factor: f64) -> Option<Self> {
        let [least, most] =
            [Self::LEAST, Self::MOST].map(|it| f64::from(it) / f64::from(Self::ONE));
        let size = factor.abs().clamp(least, most);
        Self::from_f64(if factor < 0.0 { -size } else { size }).ok()
    }

    /// The factor in millionths.
    #[inline]
    pub const fn millionths(self) -> i32 {
        self.0.get()
    }

    /// The factor as a float, exact to the sixth decimal.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0.get()) / f64::from(Self::ONE)
    }

    /// Whether it plays backwards.
    #[inline]
    pub const fn is_reverse(self) -> bool {
        self.0.get() < 0
    }

    /// The same speed in the other direction.
    #[must_use]
    #[inline]
    pub const fn reversed(self) -> Self {
        Self(NonZeroI32::new(-self.0.get()).expect("negation of a non-zero within ±1e9"))
    }

    /// The span of log time that `wall` nanoseconds cover, rounded towards zero; its sign is that of the speed.
    #[inline]
    pub(crate) fn scale(self, wall: i128) -> i128 {
        wall * i128::from(self.0.get()) / i128::from(Self::ONE)
    }

    /// The least number of wall nanoseconds that cover `log` nanoseconds of log time.
    #[inline]
    pub(crate) fn unscale(self, log: u128) -> i128 {
        let wall = (log * u128::from(Self::ONE.unsigned_abs()))
            .div_ceil(u128::from(self.0.get().unsigned_abs()));
        i128::try_from(wall).expect("at most 2^64 · 1e6")
    }
}

impl FromStr for Speed {
    type Err = InvalidSpeed;

    fn from_str(text: &str) -> Result<Self, InvalidSpeed> {
        let factor: f64 = text
            .trim()
            .parse()
            .map_err(|_| InvalidSpeed(format!("`{text}` is not a number {ALLOWED}")))?;
        Self::from_f64(factor)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_f64().fmt(f)
    }
}

impl fmt::Debug for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "×{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accepted_range_is_closed_and_zero_is_not_in_it() {
        let cases = [
            ("1", Some(1_000_000)),
            ("0.5", Some(500_000)),
            ("-2", Some(-2_000_000)),
            ("0.001", Some(1_000)),
            ("-1000", Some(-1_000_000_000)),
            ("0", None),
            ("-0", None),
            ("0.0009", None),
            ("1000.1", None),
            ("nan", None),
            ("inf", None),
            ("fast", None),
            ("", None),
            ("1e300", None),
        ];
        for (text, millionths) in cases {
            assert_eq!(
                text.parse::<Speed>().ok().map(Speed::millionths),
                millionths,
                "{text}"
            );
        }
    }

    #[test]
    fn the_nearest_speed_has_the_same_direction() {
        for (factor, nearest) in [
            (0.5, Some(500_000)),
            (-3.0, Some(-3_000_000)),
            (0.0, Some(1_000)),
            (-0.0, Some(1_000)),
            (-1e-9, Some(-1_000)),
            (1e300, Some(1_000_000_000)),
            (f64::NEG_INFINITY, Some(-1_000_000_000)),
            (f64::NAN, None),
        ] {
            let speed = Speed::nearest(factor).map(Speed::millionths);
            assert_eq!(speed, nearest, "{factor}");
        }
    }

    #[test]
    fn the_error_shows_what_was_given_and_what_is_allowed() {
        let allowed = "between 0.001 and 1000 (or −0.001 and −1000 to play backwards)";
        for (text, expected) in [
            ("0", format!("rate 0 is not {allowed}")),
            ("1e-9", format!("rate 0.000000001 is not {allowed}")),
            ("-2000", format!("rate -2000 is not {allowed}")),
            ("0.5x", format!("rate `0.5x` is not a number {allowed}")),
        ] {
            assert_eq!(text.parse::<Speed>().unwrap_err().to_string(), expected);
        }
    }
}
