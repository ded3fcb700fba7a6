//! Numbers and times as reports show them.

use jiff::Timestamp;

use super::record::Spans;
use crate::untrusted::Foreign;

/// What replaces a number that is none.
const NONE: &str = "–";

/// Text from a recording, a peer or a file name, on one line and without control characters.
pub(super) fn shown(text: &str) -> String {
    Foreign::text(text).to_string()
}

/// The same, with at most this many characters.
pub(super) fn shortened(text: &str, characters: usize) -> String {
    Foreign::text(text).at_most(characters).to_string()
}

/// `1234567` as `1,234,567`.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The sum; the largest number if it is larger.
pub(super) fn total(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

/// `1 run`, `1,234 runs`.
pub(super) fn plural(number: usize, word: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    let number = u64::try_from(number).unwrap_or(u64::MAX);
    format!("{} {word}{s}", count(number))
}

/// A span of wall time with three digits: `0.042 ms`, `12.4 ms`, `1.24 s`, `2 min 5 s`.
pub(super) fn millis(span: f64) -> String {
    match span {
        ms if !ms.is_finite() => NONE.to_owned(),
        ms if ms < 999.5 => format!("{} ms", digits(ms)),
        ms if ms < 59_950.0 => format!("{} s", digits(ms / 1e3)),
        ms => {
            let seconds = (ms / 1e3).round();
            format!(
                "{:.0} min {:.0} s",
                (seconds / 60.0).floor(),
                seconds % 60.0
            )
        }
    }
}

/// `p50 1.20 ms, p99 5.31 ms, max 6.00 ms`.
pub(super) fn distribution(spans: &Spans) -> String {
    let Spans { p50, p99, max, .. } = *spans;
    format!(
        "p50 {}, p99 {}, max {}",
        millis(p50),
        millis(p99),
        millis(max)
    )
}

/// A number with three digits, and no more than three decimals.
pub(super) fn digits(number: f64) -> String {
    match number.abs() {
        size if size < 0.9995 => format!("{number:.3}"),
        size if size < 9.995 => format!("{number:.2}"),
        size if size < 99.95 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

/// A size with a binary unit: `512 B`, `2.91 MiB`.
pub(super) fn bytes(number: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if number < 1024 {
        return format!("{number} B");
    }
    let mut size = approximate(i128::from(number)) / 1024.0;
    let mut unit = 0;
    while size >= 999.5 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{} {}", digits(size), UNITS[unit])
}

/// A span of log time in seconds with milliseconds: `30.000 s`.
pub(super) fn seconds(span_ns: i128) -> String {
    format!("{:.3} s", approximate(span_ns) / 1e9)
}

/// A log time from the start of what was played on: `12.400000 s`; without a start, since the epoch.
pub(super) fn log_time(at_ns: i64, start_ns: Option<i64>) -> String {
    match start_ns {
        Some(start) => {
            let offset = i128::from(at_ns) - i128::from(start);
            format!("{:.6} s", approximate(offset) / 1e9)
        }
        None => format!("{at_ns} ns"),
    }
}

/// The nearest float of an integer.
#[expect(
    clippy::cast_precision_loss,
    reason = "shown with far fewer digits than a float has"
)]
pub(super) fn approximate(number: i128) -> f64 {
    number as f64
}

/// A point of time in UTC with milliseconds: `2026-11-23 21:34:27.125 UTC`.
pub(super) fn timestamp(unix_ns: i64) -> String {
    Timestamp::from_nanosecond(i128::from(unix_ns)).map_or_else(
        |_| NONE.to_owned(),
        |time| time.strftime("%Y-%m-%d %H:%M:%S%.3f UTC").to_string(),
    )
}

/// The same by ISO 8601 without an offset, as JUnit files have it: `2026-11-23T21:34:27`.
pub(super) fn iso_timestamp(unix_ns: i64) -> Option<String> {
    let time = Timestamp::from_nanosecond(i128::from(unix_ns)).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%S").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(plural(1, "run"), "1 run");
        assert_eq!(plural(2000, "run"), "2,000 runs");
        for (ms, text) in [
            (0.0, "0.000 ms"),
            (0.0416, "0.042 ms"),
            (5.333, "5.33 ms"),
            (9.996, "10.0 ms"),
            (312.4, "312 ms"),
            (999.7, "1.00 s"),
            (12_340.0, "12.3 s"),
            (125_000.0, "2 min 5 s"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(millis(ms), text);
        }
        for (number, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KiB"),
            (3_051_000, "2.91 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(bytes(number), text);
        }
    }

    #[test]
    fn times_are_in_utc() {
        assert_eq!(seconds(30_000_000_000), "30.000 s");
        assert_eq!(log_time(12_400_000_000, Some(400_000_000)), "12.000000 s");
        assert_eq!(log_time(i64::MIN, Some(0)), "-9223372036.854776 s");
        assert_eq!(log_time(5, None), "5 ns");
        let time = 1_700_000_000_125_000_000;
        assert_eq!(timestamp(time), "2023-11-14 22:13:20.125 UTC");
        assert_eq!(iso_timestamp(time).as_deref(), Some("2023-11-14T22:13:20"));
        assert_eq!(timestamp(0), "1970-01-01 00:00:00.000 UTC");
        assert_eq!(timestamp(i64::MIN), "1677-09-21 00:12:43.145 UTC");
    }
}
