//! Decompresses single chunks, and bounds the decompressed bytes in memory.
//!
//! `chunk.rs` reads a chunk and decompresses it (`codec.rs`) into what `memory.rs` has room for; `budget.rs` counts the
//! bytes.

pub(crate) mod budget;
pub(crate) mod chunk;
pub(crate) mod codec;
pub(crate) mod memory;
pub(crate) mod uncompressed;
