//! Decompresses single chunks, and bounds the decompressed bytes in memory.
//!
//! `chunk.rs` reads a chunk and decompresses it (`codec.rs`, `lz4_frame.rs`) into what `memory.rs` has room for;
//! `budget.rs` counts the
//! bytes, `spares.rs` keeps buffers for the next chunks. `checksum.rs` tells which chunks have a checksum.

pub(crate) mod budget;
pub(crate) mod checksum;
pub(crate) mod chunk;
pub(crate) mod codec;
mod lz4_frame;
pub(crate) mod memory;
mod spares;
pub(crate) mod uncompressed;
