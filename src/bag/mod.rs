//! Recordings: opening, the ordered walk, the read-ahead.
//!
//! [`Bag::open`] reads summaries, or files through that have none; [`Bag::cursor`] walks messages in order, in either direction;
//! [`Cues`] does so ahead of the player on its own thread, within a byte budget; [`Bag::latched`]
//! finds what a late joiner would be given. Nothing here trusts what a file declares: every length is
//! checked against what encloses it, and damage is yielded and passed over.

mod budget;
mod check;
mod chunk;
mod contents;
mod crew;
mod cue;
mod cursor;
mod definitions;
mod draft;
mod entries;
mod error;
mod head;
mod index;
mod inputs;
mod latched;
mod listing;
mod marks;
mod message;
mod message_index;
mod metadata;
mod open_chunk;
mod opening;
mod outline;
mod pool;
mod priority;
mod qos;
mod qos_overrides;
mod reach;
mod record;
mod recording;
mod resync;
mod rosbag2;
mod scan;
mod selection;
mod sidecar;
mod source;
mod spool;
mod summary;
mod survey;
mod text_file;
mod topic;
mod topics;
mod trust;
mod waiting;
mod window;
mod worker;
mod yaml;

pub use budget::Usage;
pub use contents::FileSummary;
pub use cue::{Cue, CueAt, CueFeed, CuePoll, Cued, Cues, Waker};
pub use cursor::Cursor;
pub use error::{BagError, Damage, DamageKind};
pub use index::IndexOrigin;
pub use listing::Missing;
pub use marks::{Mark, Marks, MarksError};
pub use message::{Key, Message, TopicId};
pub use metadata::{CompressionMode, Metadata, MetadataError, MetadataTopic};
pub use opening::{MessageOrder, Opening, Progress};
pub use outline::{Outline, TopicOutline};
pub use priority::step_back;
pub use qos::{Durability, History, Liveliness, MOST_KEPT, Qos, QosDuration, Reliability};
pub use qos_overrides::{QosOverrides, QosOverridesError};
pub use reach::Reach;
pub use recording::Bag;
pub use rosbag2::{Directory, DirectoryError, Note};
pub use selection::{Direction, Selection, StartAt};
pub use spool::{SpoolError, Spooled, spool};
pub use text_file::{read_start, read_text};
pub use topic::{Schema, Topic};
pub use yaml::YamlError;
