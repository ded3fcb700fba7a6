//! [`Cut`]: which part of a recording is written, and how.

use std::path::Path;

use crate::bag::{Bag, Selection};
use crate::time::TimeRange;

/// A part of a bag that is to be written as a recording of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The log times of its messages, both ends included.
    pub range: TimeRange,
    /// The topics; all of them are defined in the cut, also those without a message in the range.
    pub topics: Selection,
    /// Whether the latched state from before the range is added.
    pub latched: LatchedState,
    /// In which form messages are written.
    pub payloads: Payloads,
    /// Whether chunks are opened before they are copied as they are.
    pub chunks: CopiedChunks,
    /// What is written.
    pub form: CutForm,
    /// What becomes of an earlier recording in the place of the cut.
    pub existing: Existing,
}

impl Cut {
    /// This range of all topics of a bag, with the latched state, as a file that must not exist yet.
    pub fn new(bag: &Bag, range: TimeRange) -> Self {
        Self {
            range,
            topics: Selection::all(bag),
            latched: LatchedState::default(),
            payloads: Payloads::default(),
            chunks: CopiedChunks::default(),
            form: CutForm::default(),
            existing: Existing::default(),
        }
    }
}

/// Whether a cut has what a late joiner would have received at its start: of each latched topic the last messages from
/// before the range, as [`Bag::latched`] finds them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LatchedState {
    /// They come first, with the start of the range as their log time; publish times are as recorded.
    #[default]
    Added,
    /// The cut has only messages of the range.
    LeftOut,
}

/// In which form messages are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Payloads {
    /// As they are recorded.
    #[default]
    AsRecorded,
    /// ROS 1 messages as CDR, with the ROS 2 form of their types; all others as they are recorded. Topics without such
    /// a form are left out ([`Written::refused`](super::Written::refused)).
    Ros1AsCdr,
}

/// Whether chunks are opened before they are copied as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CopiedChunks {
    /// They are not, which is faster: damage inside of them is copied, too, and is not reported.
    #[default]
    Unchecked,
    /// They are decompressed, their checksums compared and their messages counted: damage is not copied.
    Checked,
}

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CutForm {
    /// An MCAP file.
    #[default]
    File,
    /// A rosbag2 directory: an MCAP file and a `metadata.yaml`.
    Rosbag2,
}

impl CutForm {
    /// A directory if the name ends with a slash, otherwise a file.
    pub fn of(out: &Path) -> Self {
        if out.as_os_str().as_encoded_bytes().ends_with(b"/") {
            Self::Rosbag2
        } else {
            Self::File
        }
    }
}

/// What becomes of an earlier recording in the place of the cut. An input of the cut is never replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Existing {
    /// It is kept, and nothing is written.
    #[default]
    Kept,
    /// It is replaced when the cut is whole. A directory is replaced only if it is empty, or has only a
    /// `metadata.yaml` and files that this lists.
    Replaced,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_at_the_end_means_a_directory() {
        for (out, form) in [
            ("part.mcap", CutForm::File),
            ("a/part", CutForm::File),
            ("part/", CutForm::Rosbag2),
        ] {
            assert_eq!(CutForm::of(Path::new(out)), form, "{out}");
        }
    }
}
