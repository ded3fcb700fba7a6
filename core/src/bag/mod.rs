//! Recordings: opening them, reading them in order, and reading ahead.
//!
//! [`Bag::open`] reads the summaries of files; a file without one is read through. [`Bag::cursor`] reads messages in
//! order, in either direction. [`Cues`] read ahead of the player on threads of their own, within a byte budget.
//! [`Bag::latched`] finds what a late joiner would receive. No declared length is trusted: each is checked against the
//! enclosing length. Damage is yielded and skipped. [`Bag::open_sources`] reads from whatever implements [`ReadAt`].

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

#[doc(hidden)]
pub use self::mcap::parse::SchemaRecord;
pub use damage::{Damage, DamageKind, DamagedPlace};
pub use decompress::budget::Usage;
pub use decompress::memory::{ChunkBuffer, ChunkMemory};
pub use density::hole::{Hole, Silent, holes_beside};
pub use density::hole_finder::HoleFinder;
pub use density::outline::{Outline, TopicOutline};
pub use density::timing::{RecordedRate, Timing};
pub use index::contents::FileSummary;
pub use index::damaged_part::{DamageExtent, DamagedPart};
pub use index::file::file_index::IndexOrigin;
pub use index::full_check::FullCheck;
pub use index::known_damage::KnownDamage;
pub use index::lost::Lost;
pub use index::topic::{Schema, Topic};
pub use message::{Key, Message, PublisherId, TopicId};
pub use open::error::BagError;
pub use open::file_pool::file_identity;
pub use open::metadata::{CompressionMode, Metadata, MetadataError, MetadataTopic};
pub use open::natural_order::Missing;
pub use open::options::{MessageOrder, Opening, Progress};
pub use open::read_at::{Cost, ReadAt};
pub use open::rosbag2::{Directory, DirectoryError, Note};
pub use open::spool::{SpoolError, Spooled, spool};
pub use read_ahead::cue::{Cue, CueFeed, CuePoll, Cues};
pub use read_ahead::priority::step_back;
pub use read_ahead::progress::{LookUp, Reach};
pub use read_ahead::request::{CueAt, Cued, Waker};
pub use recording::Bag;
pub use walk::cursor::Cursor;
pub(crate) use walk::sealed::SealedChunk;
pub use walk::selection::{Direction, Selection, StartAt};
pub(crate) use walk::stored::{
    Definition, LastOpened, OpenedChunk, OtherHead, Stored, StoredChunk, StoredMessage,
};
