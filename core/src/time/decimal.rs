//! Reads seconds with up to nine decimals exactly: `-12.000000001`.
//!
//! Used by the `FromStr` of [`Time`](super::point::Time) and [`Duration`](super::duration::Duration). No float is
//! involved, so a displayed value is read back to the nanosecond.

/// The text is not a number of seconds, or the number does not fit.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a number of seconds with at most nine decimals within 292 years")]
pub struct InvalidSeconds(pub(super) String);

/// Nanoseconds from seconds in decimal digits.
pub(super) fn nanos(text: &str) -> Result<i64, InvalidSeconds> {
    read(text.trim()).ok_or_else(|| InvalidSeconds(text.to_owned()))
}

fn read(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || fraction.len() > 9 {
        return None;
    }
    let whole: i128 = whole.parse::<i64>().ok()?.into();
    let fraction: i128 = format!("{fraction:0<9}").parse::<i64>().ok()?.into();
    i64::try_from(sign * (whole * 1_000_000_000 + fraction)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_to_the_nanosecond_and_nothing_else_is() {
        for (text, read) in [
            ("0", Some(0)),
            ("1.5", Some(1_500_000_000)),
            ("-0.000000001", Some(-1)),
            (" 1700000000.000000001 ", Some(1_700_000_000_000_000_001)),
            ("9223372036.854775807", Some(i64::MAX)),
            ("-9223372036.854775808", Some(i64::MIN)),
            ("9223372036.854775808", None),
            ("99999999999999999999", None),
            ("1.0000000001", None),
            ("1.", None),
            (".5", None),
            ("--1", None),
            ("1e9", None),
            ("", None),
        ] {
            assert_eq!(nanos(text).ok(), read, "{text}");
        }
        let error = nanos("soon").unwrap_err().to_string();
        assert!(error.starts_with("`soon` is not a number"), "{error}");
    }
}
