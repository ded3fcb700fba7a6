//! [`YamlError`]: why a YAML text cannot be read.

use super::limits::MAX_TEXT;

/// Why a YAML text cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum YamlError {
    /// It is longer than any text that this program has a use for.
    #[error("it is longer than the {MAX_TEXT} bytes that are read")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
    /// It is not YAML, does not have the expected form, or expands to too much.
    #[error("line {line}: {reason}")]
    Malformed {
        /// The line, from 1.
        line: u64,
        /// What is wrong, in one line.
        reason: String,
    },
}

impl YamlError {
    /// An error at a line, from 1. Of `reason` the first line is kept.
    pub(crate) fn at(line: u64, reason: &str) -> Self {
        let reason = reason.lines().next().unwrap_or_default();
        let reason = reason.replace(char::is_control, " ");
        Self::Malformed { line, reason }
    }
}

/// A key as an error shows it: without control characters, and shortened if it is long.
pub(crate) fn shown(key: &str) -> String {
    key.escape_debug().take(80).collect()
}
