//! [`span_text`], [`seconds_text`]: spans as they are shown to people, with milliseconds. Parts of a millisecond are
//! left out everywhere, so that a time that is shown is never after the time that is meant: played from there, the
//! message is among those that are played.

use super::duration::Duration;

/// `00:12.184`, `1:02:03.004`; never with a sign. Parts of a millisecond are left out.
pub fn span_text(span: Duration) -> String {
    let millis = span.as_nanos().unsigned_abs() / 1_000_000;
    let (hours, minutes) = (millis / 3_600_000, millis / 60_000 % 60);
    let (seconds, millis) = (millis / 1000 % 60, millis % 1000);
    let hours = if hours > 0 {
        format!("{hours}:")
    } else {
        String::new()
    };
    format!("{hours}{minutes:02}:{seconds:02}.{millis:03}")
}

/// `12.184`, `-0.500`: seconds. Parts of a millisecond are left out.
pub fn seconds_text(span: Duration) -> String {
    let millis = span.as_nanos().unsigned_abs() / 1_000_000;
    let sign = if span.is_negative() && millis > 0 {
        "-"
    } else {
        ""
    };
    format!("{sign}{}.{:03}", millis / 1000, millis % 1000)
}

/// The same with a sign in every case: `+12.184`, `-0.500`.
pub fn signed_seconds_text(span: Duration) -> String {
    let text = seconds_text(span);
    if text.starts_with('-') {
        text
    } else {
        format!("+{text}")
    }
}

/// [`span_text`] with a sign: `+00:12.184`, `−00:12.184`.
pub fn signed_span_text(span: Duration) -> String {
    let sign = if span.is_negative() { '−' } else { '+' };
    format!("{sign}{}", span_text(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_an_hour_show_hours() {
        for (nanos, text) in [
            (12_184_999_999, "00:12.184"),
            (3_723_004_000_000, "1:02:03.004"),
            (-5_000_000_000, "00:05.000"),
        ] {
            assert_eq!(span_text(Duration::from_nanos(nanos)), text);
        }
        assert_eq!(signed_span_text(Duration::from_secs(-5)), "−00:05.000");
        assert_eq!(signed_span_text(Duration::from_secs(5)), "+00:05.000");
    }

    #[test]
    fn seconds_are_cut_to_the_same_millisecond_as_spans() {
        for (nanos, text, signed) in [
            (12_184_999_999, "12.184", "+12.184"),
            (999_999, "0.000", "+0.000"),
            (-999_999, "0.000", "+0.000"),
            (-3_600_500_000_000, "-3600.500", "-3600.500"),
        ] {
            let span = Duration::from_nanos(nanos);
            assert_eq!(
                (seconds_text(span), signed_seconds_text(span)),
                (text.to_owned(), signed.to_owned())
            );
        }
    }
}
