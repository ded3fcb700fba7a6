//! [`Mark`]: a named moment of a recording, and [`MarksError`]: why marks cannot be read or kept.
//!
//! Plain values, used by the list of marks and by the file in which they are kept.

use std::io;
use std::path::PathBuf;

use crate::time::{Ros, Time};
use crate::untrusted::{Foreign, YamlError};

/// A named moment of a recording.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mark {
    /// When, in the time that the recording is ordered by.
    pub time: Time<Ros>,
    /// What is there; may be empty.
    pub name: String,
}

/// Why marks cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum MarksError {
    /// The file is there and cannot be read.
    #[error("{}: marks cannot be read: {source}", Foreign::path(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file holds something else than marks.
    #[error(
        "{}: {source}; hint: mend it or move it away, it is left as it is",
        Foreign::path(path)
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and in which line.
        source: YamlError,
    },
    /// They cannot be written, neither beside the recording nor elsewhere.
    #[error("{}: marks cannot be written: {source}", Foreign::path(path))]
    Unwritable {
        /// Where that was tried last.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// There is no recording that they could be kept with.
    #[error("marks of no recording cannot be kept")]
    Nowhere,
}
