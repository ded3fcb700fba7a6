//! [`When`] and [`WhenRange`]: times in a recording as a person writes them, absolute or relative to it;
//! [`parse_span`].
//!
//! Used for the flags of the command line and for windows in files of expectations. A date without an offset is local
//! time: then the time zone of the system is looked up.

use std::str::FromStr;

use super::duration::Duration;
use super::point::{Ros, Time};
use super::range::TimeRange;

/// How much of a text is shown in an error, in characters.
const MAX_SHOWN: usize = 200;

/// A value that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{shown}` is not {wanted}")]
pub struct Unreadable {
    /// The text, escaped and shortened.
    shown: String,
    wanted: &'static str,
}

impl Unreadable {
    /// The text is not what was wanted, in words: `a span of time: write …`.
    pub fn new(text: &str, wanted: &'static str) -> Self {
        let kept: String = text.chars().take(MAX_SHOWN).collect();
        Self {
            shown: kept.escape_debug().to_string(),
            wanted,
        }
    }
}

/// Nanoseconds in 64 bits.
const WITHIN: &str = "a time between the years 1678 and 2261, as ROS has it";
const A_TIME: &str = "a time: write nanoseconds, seconds, RFC 3339 (2026-01-31T12:00:00Z; without Z local time), \
                      +10s from the start, -5s from the end, or 50%";
const A_POSITION: &str = "a position from 0% to 100%";
const A_SPAN: &str = "a span of time: write seconds (1.5), or with a unit (500ms, 2m, 1h30m)";

/// A time in a recording, absolute or relative to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum When {
    /// This very time.
    At(Time<Ros>),
    /// So long after the start.
    AfterStart(Duration),
    /// So long before the end.
    BeforeEnd(Duration),
    /// So far on the way from the start to the end, 0 … 1.
    Fraction(f64),
}

impl When {
    /// The time in a recording that covers `range`; it may lie outside.
    pub fn in_range(self, range: TimeRange) -> Time<Ros> {
        match self {
            Self::At(t) => t,
            Self::AfterStart(span) => range.start().saturating_add(span),
            Self::BeforeEnd(span) => range.stop().saturating_add(-span),
            Self::Fraction(fraction) => {
                let span = range.duration().mul_f64(fraction);
                range.start().saturating_add(span.unwrap_or(Duration::MAX))
            }
        }
    }
}

impl FromStr for When {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let text = text.trim();
        let refuse = || Unreadable::new(text, A_TIME);
        if let Some(span) = text.strip_prefix('+') {
            return parse_span(span).map(Self::AfterStart).map_err(|_| refuse());
        }
        if let Some(span) = text.strip_prefix('-') {
            return parse_span(span).map(Self::BeforeEnd).map_err(|_| refuse());
        }
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.trim().parse().map_err(|_| refuse())?;
            return if (0.0..=100.0).contains(&percent) {
                Ok(Self::Fraction(percent / 100.0))
            } else {
                Err(Unreadable::new(text, A_POSITION))
            };
        }
        if let Ok(whole) = text.parse::<i64>() {
            // Eleven digits of seconds are the year 5138; as nanoseconds they are a minute and a half.
            let is_seconds = text.len() <= 11;
            let nanos = if is_seconds {
                whole.checked_mul(1_000_000_000)
            } else {
                Some(whole)
            };
            return nanos
                .map(|nanos| Self::At(Time::from_nanos(nanos)))
                .ok_or_else(|| Unreadable::new(text, WITHIN));
        }
        if let Ok(stamp) = text.parse::<jiff::Timestamp>() {
            return i64::try_from(stamp.as_nanosecond())
                .map(|nanos| Self::At(Time::from_nanos(nanos)))
                .map_err(|_| Unreadable::new(text, WITHIN));
        }
        if let Ok(local) = text.parse::<jiff::civil::DateTime>() {
            let stamp = local
                .to_zoned(jiff::tz::TimeZone::system())
                .map_err(|_| refuse())?
                .timestamp();
            let nanos =
                i64::try_from(stamp.as_nanosecond()).map_err(|_| Unreadable::new(text, WITHIN))?;
            return Ok(Self::At(Time::from_nanos(nanos)));
        }
        decimal_seconds(text)
            .map(|nanos| Self::At(Time::from_nanos(nanos)))
            .ok_or_else(refuse)
    }
}

/// Decimal seconds with up to nine decimals, exactly: a float has too few digits for a time.
fn decimal_seconds(text: &str) -> Option<i64> {
    let number = text.strip_suffix('s').unwrap_or(text);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 || whole.is_empty() {
        return None;
    }
    let nanos: i64 = format!("{fraction:0<9}").parse().ok()?;
    whole
        .parse::<i64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(nanos)
}

/// A span that is not negative: seconds, or a number with units.
pub fn parse_span(text: &str) -> Result<Duration, Unreadable> {
    let text = text.trim();
    let refuse = || Unreadable::new(text, A_SPAN);
    let span = if let Ok(secs) = text.parse::<f64>() {
        Duration::from_secs_f64(secs).ok_or_else(refuse)?
    } else {
        let span: jiff::SignedDuration = text.parse().map_err(|_| refuse())?;
        Duration::from_nanos(i64::try_from(span.as_nanos()).map_err(|_| refuse())?)
    };
    if span.is_negative() {
        Err(refuse())
    } else {
        Ok(span)
    }
}

/// Two times, `A..B`; either may be missing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WhenRange {
    /// Where it begins; the start of the recording if missing.
    pub from: Option<When>,
    /// Where it ends; the end of the recording if missing.
    pub to: Option<When>,
}

impl FromStr for WhenRange {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let (from, to) = text
            .split_once("..")
            .ok_or_else(|| Unreadable::new(text, "a range: write A..B with two times"))?;
        let parse = |part: &str| {
            if part.trim().is_empty() {
                Ok(None)
            } else {
                part.parse().map(Some)
            }
        };
        Ok(Self {
            from: parse(from)?,
            to: parse(to)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_within_the_recording() {
        for text in ["200%", "-1%", "100.1%"] {
            let refused = text.parse::<When>().unwrap_err().to_string();
            let is_span = text.starts_with('-');
            assert_eq!(
                refused.contains("a position from 0% to 100%"),
                !is_span,
                "{refused}"
            );
        }
    }

    #[test]
    fn times_come_in_all_the_usual_forms() {
        let at = |nanos| Some(When::At(Time::from_nanos(nanos)));
        let cases = [
            ("+10s", Some(When::AfterStart(Duration::from_secs(10)))),
            ("+1.5", Some(When::AfterStart(Duration::from_millis(1500)))),
            ("-5s", Some(When::BeforeEnd(Duration::from_secs(5)))),
            ("50%", Some(When::Fraction(0.5))),
            ("1700000000", at(1_700_000_000_000_000_000)),
            ("1700000000.000000001", at(1_700_000_000_000_000_001)),
            ("12s", at(12_000_000_000)),
            ("1700000000000000001", at(1_700_000_000_000_000_001)),
            ("2023-11-14T22:13:20Z", at(1_700_000_000_000_000_000)),
            ("2023-11-14T23:13:20.5+01:00", at(1_700_000_000_500_000_000)),
            ("150%", None),
            ("soon", None),
            ("", None),
            ("+", None),
            ("1.0000000000001", None),
            ("--5", None),
        ];
        for (text, when) in cases {
            assert_eq!(text.parse::<When>().ok(), when, "{text}");
        }
    }

    #[test]
    fn a_time_that_ros_does_not_have_is_refused_as_such() {
        for text in ["99999999999", "2300-01-01T00:00:00Z", "1600-01-01T00:00:00"] {
            let error = text.parse::<When>().unwrap_err().to_string();
            assert!(error.contains("the years 1678 and 2261"), "{error}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_shown_escaped_and_shortened() {
        let text = format!("\u{1b}[2J{}", "x".repeat(10_000));
        let error = text.parse::<When>().unwrap_err().to_string();
        assert!(error.starts_with("`\\u{1b}[2Jxxx"), "{error}");
        assert!(error.chars().count() < 500 && !error.contains('\u{1b}'));
    }

    #[test]
    fn relative_times_resolve_against_the_recording() {
        let range = TimeRange::between(Time::from_nanos(1_000), Time::from_nanos(2_000));
        for (when, nanos) in [
            ("50%", 1_500),
            ("+0.0000001", 1_100),
            ("-0.0000001", 1_900),
            ("0%", 1_000),
            ("100%", 2_000),
        ] {
            assert_eq!(
                when.parse::<When>().unwrap().in_range(range).as_nanos(),
                nanos,
                "{when}"
            );
        }
    }

    #[test]
    fn spans_are_seconds_or_have_units() {
        for (text, millis) in [
            ("1.5", Some(1_500)),
            ("500ms", Some(500)),
            ("2m", Some(120_000)),
            ("1h30m", Some(5_400_000)),
            ("-1", None),
            ("x", None),
            ("nan", None),
        ] {
            assert_eq!(
                parse_span(text).ok(),
                millis.map(Duration::from_millis),
                "{text}"
            );
        }
    }

    #[test]
    fn a_range_has_two_ends_of_which_either_may_be_missing() {
        let range: WhenRange = "+1s..".parse().unwrap();
        assert_eq!(
            (range.from, range.to),
            (Some(When::AfterStart(Duration::from_secs(1))), None)
        );
        assert!("1s".parse::<WhenRange>().is_err());
    }
}
