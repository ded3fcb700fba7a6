//! [`parse_span`]: spans of wall time in scenarios.

use crate::time::Duration;

/// More than zero: seconds, or a number with `ms`, `s`, `m` or `h`.
pub(super) fn parse_span(text: &str) -> Option<Duration> {
    let text = text.trim();
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let with_unit = units
        .iter()
        .find_map(|(unit, secs)| Some((text.strip_suffix(unit)?, *secs)));
    let (number, secs) = with_unit.unwrap_or((text, 1.0));
    let number: f64 = number.trim_end().parse().ok()?;
    Duration::from_secs_f64(number * secs).filter(|span| *span > Duration::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_in_all_units() {
        for (text, millis) in [
            ("90", Some(90_000)),
            ("1.5 s", Some(1_500)),
            ("250ms", Some(250)),
            ("10m", Some(600_000)),
            ("2h", Some(7_200_000)),
            ("0", None),
            ("-1s", None),
            ("nan", None),
            ("infm", None),
            ("1e300h", None),
            ("", None),
            ("soon", None),
        ] {
            assert_eq!(
                parse_span(text),
                millis.map(Duration::from_millis),
                "{text}"
            );
        }
    }
}
