//! The records, chunks and summary of an MCAP file as bytes, for files that are written record by record.
//!
//! The writer of crate mcap can neither copy a chunk nor keep ids, and its compression builds parts of zstd that
//! nothing here uses.

mod chunk;
mod compression;
mod encode;
mod summary;

pub use chunk::NewMessage;
pub use chunk::{CHUNK_BYTES, Indexes, OpenChunk};
pub use compression::{Compression, Compressor};
pub use encode::{Encoder, LIBRARY};
pub(crate) use summary::ChunkPlace;
pub use summary::Summary;
