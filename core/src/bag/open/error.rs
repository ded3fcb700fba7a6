//! [`BagError`]: why a recording cannot be opened, including the errors of directories and of compressed files.

use std::io;
use std::path::PathBuf;

use super::rosbag2::DirectoryError;
use super::spool::SpoolError;
use crate::untrusted::{FileName, Foreign};

/// Why a recording cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BagError {
    /// The file cannot be opened.
    #[error("{}: cannot be opened", Foreign::path(path))]
    Open {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// It is not a file with random access.
    #[error(
        "{}: {found}, not an MCAP recording; hint: {hint}",
        Foreign::path(path)
    )]
    NotAFile {
        /// The path that was named.
        path: PathBuf,
        /// What it is.
        found: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// The file cannot be read.
    #[error("{file}: byte {offset}: cannot be read")]
    Io {
        /// The file.
        file: FileName,
        /// Where, in bytes from its start.
        offset: u64,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not an MCAP recording.
    #[error("{file}: byte 0: not an MCAP recording: {found}; hint: {hint}")]
    NotMcap {
        /// The file.
        file: FileName,
        /// What it is.
        found: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// A rosbag2 directory that cannot be played.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A compressed recording that cannot be unpacked.
    #[error(transparent)]
    Packed(#[from] SpoolError),
}
