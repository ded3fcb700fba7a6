//! Formats numbers for people, and file names for JSON.

use std::path::{Path, PathBuf};

use indicatif::{HumanBytes, HumanCount};
use serde::{Serialize as _, Serializer};

use crate::untrusted::Foreign;

/// `1234567` as `1,234,567`.
pub fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// `1 message`, `1,234 messages`.
pub(crate) fn plural(number: u64, word: &str) -> String {
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
