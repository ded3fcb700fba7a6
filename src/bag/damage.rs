//! [`Damage`]: a place in an otherwise sound recording that was skipped.
//!
//! It is yielded once, among the messages, and playing goes on. What cannot be played at all is a
//! [`BagError`](crate::bag::open::error::BagError). A [`Fault`] is damage of which file and offset are not known yet.

use std::fmt;
use std::path::PathBuf;

use crate::untrusted::Foreign;

/// What is wrong with a damaged place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DamageKind {
    /// The end is missing: the recorder was killed, or the file was cut.
    Truncated,
    /// A part of the recording is not there at all.
    Missing,
    /// The system could not read it.
    Unreadable,
    /// The checksum differs.
    Checksum,
    /// It does not decompress to what it declares.
    Compression,
    /// It declares more than any chunk may hold, or than its bytes can.
    TooLarge,
    /// A length or opcode is wrong.
    Framing,
    /// Messages belong to a channel that nothing defines.
    UnknownChannel,
    /// A channel is defined twice, differently; the first definition holds.
    ChannelConflict,
    /// Messages lie outside the times that the index gives; they come out of order.
    Times,
    /// The index is wrong about this place.
    Index,
    /// Not the file's fault: this program could not read on.
    Internal,
}

impl DamageKind {
    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
            Self::Checksum => "checksum",
            Self::Compression => "compression",
            Self::TooLarge => "too-large",
            Self::Framing => "framing",
            Self::UnknownChannel => "unknown-channel",
            Self::ChannelConflict => "channel-conflict",
            Self::Times => "times",
            Self::Index => "index",
            Self::Internal => "internal",
        }
    }
}

/// A damaged place that was skipped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// Where, in bytes from its start: the chunk, or the record if it is known.
    pub offset: u64,
    /// What kind of damage.
    pub kind: DamageKind,
    /// What exactly is wrong, and how much is lost.
    pub detail: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, detail, .. } = self;
        let (file, detail) = (Foreign::path(&self.file), Foreign::text(detail));
        write!(f, "{file}: {detail}")?;
        match self.kind {
            // All of it is.
            DamageKind::Missing => Ok(()),
            _ => write!(f, " at byte {offset}"),
        }
    }
}

/// Damage before it is known which file and chunk it belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: DamageKind,
    pub(crate) detail: String,
}

impl Fault {
    pub(crate) fn new(kind: DamageKind, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { kind, detail }
    }

    pub(crate) fn framing(detail: impl Into<String>) -> Self {
        Self::new(DamageKind::Framing, detail)
    }
}
