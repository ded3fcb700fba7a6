//! Decompresses single chunks, and bounds the decompressed bytes in memory.

pub(crate) mod budget;
pub(crate) mod chunk;
pub(crate) mod uncompressed;
