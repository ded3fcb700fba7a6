//! Chunks, decompressed: one chunk, and the budget for the bytes of all that are alive.

pub(crate) mod budget;
pub(crate) mod chunk;
pub(crate) mod uncompressed;
