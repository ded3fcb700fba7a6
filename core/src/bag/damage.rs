//! [`Damage`]: a damaged place in a recording, which is skipped.
//!
//! It is yielded once, among the messages, and playback continues. A recording that cannot be played at all is a
//! [`BagError`](crate::bag::open::error::BagError). A [`Fault`] is damage whose file and offset are not known yet.

use std::fmt;

use crate::untrusted::{FileName, Foreign};

/// What is wrong with a damaged place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum DamageKind {
    /// The end is missing: the recorder was killed, or the file was truncated.
    Truncated,
    /// A part of the recording is missing.
    Missing,
    /// The system could not read it.
    Unreadable,
    /// The checksum of a chunk does not match.
    Checksum,
    /// The checksum of all data of a file does not match. It does not tell where the fault is.
    DataSection,
    /// It does not decompress to the declared size.
    Compression,
    /// It declares more than a chunk may hold, or more than its bytes can hold.
    TooLarge,
    /// A length or opcode is wrong.
    Framing,
    /// Messages belong to a channel that is not defined.
    UnknownChannel,
    /// A channel is defined twice with different content; the first definition counts.
    ChannelConflict,
    /// Messages lie outside the times that the index gives; they are played out of order.
    Times,
    /// The index is wrong about this place.
    Index,
    /// Not the fault of the file: this program could not read on.
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
            Self::DataSection => "data-section",
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
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Damage {
    /// The file.
    pub file: FileName,
    /// Offset of the chunk, or of the record if it is known, in bytes.
    pub offset: u64,
    /// The kind of damage.
    pub kind: DamageKind,
    /// What exactly is wrong, and how much is lost.
    pub detail: String,
}

/// What makes a damaged place another one than others, however often it is met: file, offset, and kind of damage.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DamagedPlace(FileName, u64, DamageKind);

impl Damage {
    /// The place.
    pub fn place(&self) -> DamagedPlace {
        DamagedPlace(self.file.clone(), self.offset, self.kind)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            offset,
            detail,
            ..
        } = self;
        let detail = Foreign::text(detail);
        // The damage is the whole file, or has no place in it.
        if self.kind == DamageKind::Missing || *offset == 0 {
            write!(f, "{file}: {detail}")
        } else {
            write!(f, "{file}: byte {offset}: {detail}")
        }
    }
}

/// Damage before its file and chunk are known.
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
