//! [`Mark`]: a named moment of a recording, and [`MarksError`]: why marks cannot be read or written.
//!
//! Plain values, used by the list of marks and by the file in which they are kept.

use std::io;
use std::path::PathBuf;

use crate::time::{Ros, Time};
use crate::untrusted::{Foreign, YamlError};

/// A named moment of a recording.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mark {
    /// Its time, in the order of the recording.
    pub time: Time<Ros>,
    /// Its name; may be empty.
    pub name: String,
}

/// Why marks cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarksError {
    /// The file exists but cannot be read.
    #[error("{}: marks cannot be read: {source}", Foreign::path(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file contains something other than marks.
    #[error(
        "{}: {source}; hint: repair it or move it away; it is not changed",
        Foreign::path(path)
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and in which line.
        source: YamlError,
    },
    /// They cannot be written, neither beside the recording nor in the state directory.
    #[error("{}: marks cannot be written: {source}", Foreign::path(path))]
    Unwritable {
        /// The path that was tried last.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There is no recording to which the marks could belong.
    #[error("there is no recording to keep marks for")]
    NoRecording,
}
