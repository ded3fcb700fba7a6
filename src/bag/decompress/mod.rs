//! Decompresses single chunks, and bounds the decompressed bytes in memory.
//!
//! `chunk.rs` decompresses; `budget.rs` counts the bytes.

pub(crate) mod budget;
pub(crate) mod chunk;
pub(crate) mod uncompressed;
