//! Reads the messages of a bag in order, in either direction.
//!
//! `cursor.rs` is the walk; `chunks_ahead.rs` finds the chunks of a position. The order is that of `Key`
//! (`bag/message.rs`). `stored.rs` reads a bag in the order of its files, for copying.

pub(crate) mod chunks_ahead;
pub(crate) mod cursor;
pub(crate) mod decompressors;
pub(crate) mod entries;
pub(crate) mod head;
pub(crate) mod loader;
pub(crate) mod open_chunk;
pub(crate) mod sealed;
pub(crate) mod selection;
pub(crate) mod spill;
pub(crate) mod stored;
