//! Times as they are shown: [`TimeFormat`] for points, [`span`] for spans.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::time::{Duration, Ros, Time};
pub(crate) use crate::time::{signed_span_text as signed, span_text as span};

/// How points in time are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeFormat {
    /// In the zone of this machine.
    #[default]
    Local,
    /// In UTC.
    Utc,
    /// Seconds since 1970, as ROS writes them.
    Seconds,
}

impl TimeFormat {
    /// The next format, cyclically.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::Local => Self::Utc,
            Self::Utc => Self::Seconds,
            Self::Seconds => Self::Local,
        }
    }

    /// The time of day with milliseconds and the zone, or seconds.
    pub fn show(self, time: Time<Ros>, zone: &TimeZone) -> String {
        match self {
            Self::Local => zoned(time, zone.clone(), "%H:%M:%S%.3f %Z"),
            Self::Utc => zoned(time, TimeZone::UTC, "%H:%M:%S%.3f UTC"),
            Self::Seconds => seconds(time),
        }
    }

    /// The same with tenths of seconds.
    pub fn show_tenths(self, time: Time<Ros>, zone: &TimeZone) -> String {
        match self {
            Self::Local => zoned(time, zone.clone(), "%H:%M:%S%.1f %Z"),
            Self::Utc => zoned(time, TimeZone::UTC, "%H:%M:%S%.1f UTC"),
            Self::Seconds => {
                let tenths = time.as_nanos().div_euclid(100_000_000);
                let sign = if tenths < 0 { "-" } else { "" };
                let tenths = tenths.unsigned_abs();
                format!("{sign}{}.{} s", tenths / 10, tenths % 10)
            }
        }
    }

    /// The same after its date, if the format has one.
    pub fn show_date(self, time: Time<Ros>, zone: &TimeZone) -> String {
        match self {
            Self::Local => zoned(time, zone.clone(), "%Y-%m-%d %H:%M:%S%.3f %Z"),
            Self::Utc => zoned(time, TimeZone::UTC, "%Y-%m-%d %H:%M:%S%.3f UTC"),
            Self::Seconds => seconds(time),
        }
    }

    /// The zone of times of day that are typed.
    pub fn zone(self, local: &TimeZone) -> TimeZone {
        match self {
            Self::Local => local.clone(),
            Self::Utc | Self::Seconds => TimeZone::UTC,
        }
    }
}

/// A span with tenths of seconds: `00:12.1`.
pub(crate) fn span_tenths(of: Duration) -> String {
    let mut text = span(of);
    // The last of three decimals.
    text.truncate(text.len() - 2);
    text
}

fn zoned(time: Time<Ros>, zone: TimeZone, format: &str) -> String {
    match Timestamp::from_nanosecond(time.as_nanos().into()) {
        Ok(stamp) => stamp.to_zoned(zone).strftime(format).to_string(),
        Err(_) => seconds(time),
    }
}

fn seconds(time: Time<Ros>) -> String {
    let millis = time.as_nanos().div_euclid(1_000_000);
    let sign = if millis < 0 { "-" } else { "" };
    let millis = millis.unsigned_abs();
    format!("{sign}{}.{:03} s", millis / 1000, millis % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_shown_in_each_format() {
        let time = Time::from_nanos(1_700_000_000_184_999_999);
        let berlin = TimeZone::get("Europe/Berlin").unwrap_or(TimeZone::UTC);
        assert_eq!(TimeFormat::Utc.show(time, &berlin), "22:13:20.184 UTC");
        assert_eq!(
            TimeFormat::Utc.show_date(time, &berlin),
            "2023-11-14 22:13:20.184 UTC"
        );
        assert_eq!(TimeFormat::Seconds.show(time, &berlin), "1700000000.184 s");
        assert_eq!(TimeFormat::Utc.show_tenths(time, &berlin), "22:13:20.1 UTC");
        assert_eq!(
            TimeFormat::Seconds.show_tenths(time, &berlin),
            "1700000000.1 s"
        );
        assert_eq!(span_tenths(Duration::from_millis(72_199)), "01:12.1");
        let fixed = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(TimeFormat::Local.show(time, &fixed), "00:13:20.184 +02");
        for time_format in [TimeFormat::Local, TimeFormat::Utc, TimeFormat::Seconds] {
            for time in [Time::MIN, Time::MAX, Time::ZERO] {
                assert!(!time_format.show(time, &fixed).is_empty());
            }
        }
    }
}
