//! Chunks, decompressed: one chunk, the bytes of all that are alive, and threads that decompress ahead.

pub(crate) mod budget;
pub(crate) mod chunk;
pub(crate) mod decompressors;
pub(crate) mod uncompressed;
