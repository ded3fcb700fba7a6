//! Parses sizes; times and spans are parsed by `time`.

pub use crate::time::{Unreadable, When, WhenRange, parse_span};

const A_SIZE: &str = "a size: write bytes, or with a unit (64MiB, 500k, 1G)";

/// A number of bytes: plain, with SI units (k, M, G) or binary ones (Ki, Mi, Gi), `B` optional.
pub fn parse_size(text: &str) -> Result<u64, Unreadable> {
    let refuse = || Unreadable::new(text, A_SIZE);
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale: u64 = match unit
        .trim()
        .trim_end_matches(['b', 'B'])
        .to_ascii_lowercase()
        .as_str()
    {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "ki" => 1 << 10,
        "mi" => 1 << 20,
        "gi" => 1 << 30,
        _ => return Err(refuse()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(scale).ok_or_else(refuse);
    }
    let number: f64 = number.parse().map_err(|_| refuse())?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a size with a fraction is approximate, and digits alone are not negative"
    )]
    Ok((number * scale as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_know_si_and_binary_units() {
        for (text, bytes) in [
            ("64MiB", Some(64 << 20)),
            ("500k", Some(500_000)),
            ("1.5G", Some(1_500_000_000)),
            ("7", Some(7)),
            ("1TB", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(parse_size(text).ok(), bytes, "{text}");
        }
    }
}
