//! Recordings: opening, the ordered walk, the read-ahead.
//!
//! [`Bag::open`] reads summaries, or files through that have none; [`Bag::cursor`] walks messages in order, in either direction;
//! [`Cues`] does so ahead of the player on its own thread, within a byte budget; [`Bag::latched`]
//! finds what a late joiner would be given. Nothing here trusts what a file declares: every length is
//! checked against what encloses it, and damage is yielded and passed over.

mod damage;
mod decompress;
mod density;
mod index;
mod latched;
mod mcap;
mod message;
mod open;
mod read_ahead;
mod recording;
mod walk;

pub use damage::{Damage, DamageKind};
pub use decompress::budget::Usage;
pub use density::outline::{Outline, TopicOutline};
pub use index::contents::FileSummary;
pub use index::file::file_index::IndexOrigin;
pub use index::topic::{Schema, Topic};
pub use message::{Key, Message, TopicId};
pub use open::error::BagError;
pub use open::metadata::{CompressionMode, Metadata, MetadataError, MetadataTopic};
pub use open::natural_order::Missing;
pub use open::options::{MessageOrder, Opening, Progress};
pub use open::rosbag2::{Directory, DirectoryError, Note};
pub use open::spool::{SpoolError, Spooled, spool};
pub use read_ahead::cue::{Cue, CueFeed, CuePoll, Cues};
pub use read_ahead::priority::step_back;
pub use read_ahead::progress::Reach;
pub use read_ahead::request::{CueAt, Cued, Waker};
pub use recording::Bag;
pub use walk::cursor::Cursor;
pub use walk::selection::{Direction, Selection, StartAt};
