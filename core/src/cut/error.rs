//! [`CutError`]: why a cut is not written.

use std::io;
use std::path::PathBuf;

use super::outcome::RefusedTopic;
use crate::bag::Damage;
use crate::time::{Ros, Time};
use crate::untrusted::{FileName, Foreign};

/// Why a cut is not written. In every case the target is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CutError {
    /// No message is in the range.
    #[error("no message of the selected topics between {start} s and {stop} s")]
    Empty {
        /// The start of the range.
        start: Time<Ros>,
        /// The end of the range.
        stop: Time<Ros>,
        /// What could not be read: messages may have been there.
        damage: Vec<Damage>,
        /// The selected topics that are left out, because they cannot be transcoded.
        refused: Vec<RefusedTopic>,
    },
    /// The bag is ordered by publish time.
    #[error(
        "a recording that is ordered by publish time cannot be cut; hint: open it in the order of log time"
    )]
    Order,
    /// The target is one of the recordings that are cut.
    #[error("{} would replace the recording {file}", Foreign::path(path))]
    IsInput {
        /// The target.
        path: PathBuf,
        /// The recording.
        file: FileName,
    },
    /// Something is there.
    #[error("{} exists already", Foreign::path(path))]
    Exists {
        /// The target.
        path: PathBuf,
    },
    /// What is there must not be replaced, whatever was asked.
    #[error("{} is not replaced: {why}", Foreign::path(path))]
    NotReplaceable {
        /// The target.
        path: PathBuf,
        /// What it is.
        why: String,
    },
    /// The target cannot be written.
    #[error("{} cannot be written", Foreign::path(path))]
    Write {
        /// The target.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The inputs together have more channels or schemas than a file can have.
    #[error("the recordings together define over 65535 {what}, more than one file can have")]
    TooMany {
        /// `channels` or `schemas`.
        what: &'static str,
    },
}
