//! The MCAP format: records, message indexes, and where chunks are. Used by the indexes, the walk and the decompressor.

pub(crate) mod chunk_ref;
pub(crate) mod frame;
pub(crate) mod limits;
pub(crate) mod message_index;
pub(crate) mod parse;
pub(crate) mod record;
pub(crate) mod resync;
pub(crate) mod window;
