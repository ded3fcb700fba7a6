//! [`parse_span`]: spans of wall time in scenarios.

use crate::time::Duration;

/// More than zero: seconds, or a number with units, such as `1m 30s`.
pub(super) fn parse_span(text: &str) -> Option<Duration> {
    let text = text.trim();
    let span = if let Ok(secs) = text.parse() {
        Duration::from_secs_f64(secs)?
    } else {
        let span: jiff::SignedDuration = text.parse().ok()?;
        Duration::from_nanos(i64::try_from(span.as_nanos()).ok()?)
    };
    Some(span).filter(|span| *span > Duration::ZERO)
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
            ("1m 30s", Some(90_000)),
            ("inf", None),
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
