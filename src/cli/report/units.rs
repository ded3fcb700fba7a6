//! Formats numbers for people, and file names for JSON.

use std::path::{Path, PathBuf};

use serde::{Serialize as _, Serializer};

use crate::untrusted::Foreign;

/// `1234567` as `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(",")
}

/// `1 message`, `1,234 messages`.
pub(crate) fn plural(number: u64, word: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {word}{s}", count(number))
}

/// A size in bytes with a binary unit and three or four digits: `2.91 MiB`.
#[expect(clippy::cast_precision_loss, reason = "four digits are shown")]
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut size, mut unit) = (number as f64, 0);
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        (size, unit) = (size / 1024.0, unit + 1);
    }
    let decimals = if unit == 0 || size >= 100.0 {
        0
    } else {
        2 - usize::from(size >= 10.0)
    };
    format!("{size:.decimals$} {}", UNITS[unit])
}

/// Microseconds as milliseconds with the significant digits.
pub(crate) fn millis(micros: f64) -> String {
    format!("{:.3} ms", micros / 1e3)
}

/// The name of a file, with `\xNN` for bytes that are not valid UTF-8, which JSON cannot hold.
pub(crate) fn path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => to.serialize_str(text),
        None => to.collect_str(&Foreign::path(path)),
    }
}

/// The same for several names.
pub(crate) fn paths<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
    struct Name<'a>(&'a Path);

    impl serde::Serialize for Name<'_> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            path(self.0, to)
        }
    }

    let names: Vec<Name<'_>> = paths.iter().map(|path| Name(path)).collect();
    names.serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_come_in_groups() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn sizes_have_a_unit() {
        for (number, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.50 KiB"),
            (3 << 20, "3.00 MiB"),
            (50 << 30, "50.0 GiB"),
            (999 << 40, "999 TiB"),
        ] {
            assert_eq!(bytes(number), text);
        }
    }
}
