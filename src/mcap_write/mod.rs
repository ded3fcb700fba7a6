//! The records, chunks and summary of an MCAP file as bytes, for files that are written record by record.
//!
//! The writer of crate mcap can neither copy a chunk nor keep ids, and its compression builds parts of zstd that
//! nothing here uses.

mod chunk;
mod compression;
mod encode;
mod summary;

#[cfg(feature = "ci")]
pub(crate) use chunk::NewMessage;
pub(crate) use chunk::{CHUNK_BYTES, Indexes, OpenChunk};
pub(crate) use compression::{Compression, Compressor};
pub(crate) use encode::{Encoder, LIBRARY};
pub(crate) use summary::{ChunkPlace, Summary};
