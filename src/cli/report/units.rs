//! Formats numbers for people.

use crate::time::Duration;
use indicatif::{HumanBytes, HumanCount};

/// `1234567` as `1,234,567`.
pub fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// `1 message`, `1,234 messages`.
pub fn plural(number: u64, word: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {word}{s}", count(number))
}

/// A size in bytes with a binary unit and two decimals: `2.91 MiB`; below 1 KiB without decimals.
pub fn bytes(number: u64) -> String {
    HumanBytes(number).to_string()
}

/// Microseconds as milliseconds with the significant digits.
pub(crate) fn millis(micros: f64) -> String {
    format!("{:.3} ms", micros / 1e3)
}

/// A factor between clocks: `×0.50`; below a tenth with four decimals. In ASCII `x0.50`.
pub(crate) fn factor(factor: f64, is_ascii: bool) -> String {
    let decimals = if factor.abs() < 0.1 { 4 } else { 2 };
    format!("{}{factor:.decimals$}", times(is_ascii))
}

/// The sign before a factor.
pub(crate) const fn times(is_ascii: bool) -> char {
    if is_ascii { 'x' } else { '×' }
}

/// `1:02:03.4`, `02:03.4`; with a minus sign before the start.
pub fn minutes_seconds(span: Duration) -> String {
    let sign = if span.is_negative() { "-" } else { "" };
    let tenths = span.as_nanos().unsigned_abs() / 100_000_000;
    let (hours, minutes, seconds, tenth) = (
        tenths / 36_000,
        tenths / 600 % 60,
        tenths / 10 % 60,
        tenths % 10,
    );
    let hours = if hours > 0 {
        format!("{hours}:")
    } else {
        String::new()
    };
    format!("{sign}{hours}{minutes:02}:{seconds:02}.{tenth}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_two_decimals_or_four_below_a_tenth() {
        for (number, text) in [
            (1.0, "×1.00"),
            (0.9885, "×0.99"),
            (-10.0, "×-10.00"),
            (0.1, "×0.10"),
            (0.0333, "×0.0333"),
            (-0.001, "×-0.0010"),
        ] {
            assert_eq!(factor(number, false), text);
            assert_eq!(factor(number, true), text.replace('×', "x"));
        }
    }
}
