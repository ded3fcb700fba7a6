//! [`BagError`]: why a recording cannot be opened, with the errors of directories and of compressed files in it.

use std::io;
use std::path::PathBuf;

use super::rosbag2::DirectoryError;
use super::spool::SpoolError;
use crate::untrusted::Foreign;

/// Why a recording cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum BagError {
    /// The file cannot be opened.
    #[error("{}: cannot be opened", Foreign::path(path))]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is not a file that can be read at any place.
    #[error(
        "{}: {found}, not an MCAP recording; hint: {hint}",
        Foreign::path(path)
    )]
    NotAFile {
        /// What was named.
        path: PathBuf,
        /// What it is.
        found: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// The file cannot be read.
    #[error("{}: cannot read at byte {offset}", Foreign::path(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// Where, in bytes from its start.
        offset: u64,
        /// What the system says.
        source: io::Error,
    },
    /// The file is something else.
    #[error(
        "{}: not an MCAP recording: {found} at byte 0; hint: {hint}",
        Foreign::path(path)
    )]
    NotMcap {
        /// The file.
        path: PathBuf,
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
