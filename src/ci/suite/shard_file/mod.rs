//! The file that a shard writes: a line for each case, as it ends.

mod lines;
pub(super) mod read;
mod write;

pub use lines::{End, Header, Line, Planned, SCHEMA, Why};
pub use read::{ShardFile, ShardFileError};
pub use write::ShardWriter;
