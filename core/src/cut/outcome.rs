//! [`CutOutcome`]: what was written; [`CutProgress`]: how far writing has come.

use std::path::PathBuf;

use crate::bag::{Damage, LookUp, Topic, TopicId};
use crate::time::TimeRange;
use crate::transcode::{NoRos2Form, TranscodeError};

/// How far a cut has come, in bytes of the chunks that it reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CutProgress {
    /// How many bytes were read, or passed over.
    pub done: u64,
    /// How many there are.
    pub of: u64,
    /// The search for latched messages, which comes first; `None` when it is over.
    pub look_up: Option<LookUp>,
}

/// What became of a cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CutOutcome {
    /// It was written.
    Written(Written),
    /// The callback for progress ended it; nothing was written.
    Cancelled,
}

/// A cut that was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// The file or directory.
    pub path: PathBuf,
    /// The size of its MCAP file in bytes.
    pub bytes: u64,
    /// How many messages of the range it has.
    pub messages: u64,
    /// How many messages from before the range were added.
    pub latched: u64,
    /// The first and last log time in it, both included.
    pub range: TimeRange,
    /// The selected topics that it has, by their ids in the bag.
    pub topics: Vec<TopicShare>,
    /// The selected topics that it does not have, because their messages cannot be transcoded.
    pub refused: Vec<RefusedTopic>,
    /// All topics of the bag that was cut, by their ids, in the form in which the cut has them.
    pub forms: Vec<Topic>,
    /// How many chunks were copied as they are.
    pub copied_chunks: u64,
    /// How many of these were not checked: they may have damage.
    pub unchecked_chunks: u64,
    /// How many new chunks were written.
    pub new_chunks: u64,
    /// How many attachments it has.
    pub attachments: u64,
    /// How many metadata records it has.
    pub metadata: u64,
    /// What could not be read and is not in it, each place once, beginning with what was found when the bag was opened.
    pub damage: Vec<Damage>,
}

/// How many messages of a topic a cut has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopicShare {
    /// The topic in the bag that was cut.
    pub id: TopicId,
    /// Messages of the range.
    pub messages: u64,
    /// Messages from before the range.
    pub latched: u64,
    /// Messages that are left out, because they are no messages of the recorded type and cannot be transcoded.
    pub left_out: u64,
    /// Why the first of those is left out.
    pub reason: Option<TranscodeError>,
}

/// A topic that is left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusedTopic {
    /// The topic in the bag that was cut.
    pub id: TopicId,
    /// How many messages it has that would be in the cut.
    pub messages: u64,
    /// Why it cannot be transcoded.
    pub reason: NoRos2Form,
}

impl TopicShare {
    /// No messages.
    pub(crate) const fn none(id: TopicId) -> Self {
        Self {
            id,
            messages: 0,
            latched: 0,
            left_out: 0,
            reason: None,
        }
    }
}
