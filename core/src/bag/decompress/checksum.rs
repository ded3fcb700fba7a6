//! [`has_checksum`]: whether a checksum tells if the contents of a chunk are as they were written.

use super::codec::Codec;
use super::lz4_frame;
use super::uncompressed::header;
use crate::bag::mcap::chunk_ref::ChunkRef;
use crate::bag::open::source::Source;

/// How many bytes of compressed data have the flags of the first frame: its magic and a byte.
const HEAD: u64 = 5;
/// The frames of zstd (RFC 8878, 3.1.1): magic, and the flag of a content checksum in the descriptor.
const ZSTD_FRAME: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
const ZSTD_CHECKSUM: u8 = 0b0000_0100;

/// Whether the contents of a chunk have a checksum, which is compared when the chunk is opened: in its header, or in
/// the first frame of its compressed data. False for messages outside chunks, and if there is no chunk.
pub(crate) fn has_checksum(source: &Source, chunk: &ChunkRef) -> bool {
    let Some((header, at)) = header(source, chunk) else {
        return false;
    };
    if header.uncompressed_crc != 0 {
        return true;
    }
    let head = source.read(at, header.compressed_size.min(HEAD));
    let Ok(head) = head else { return false };
    let Some((magic, [flags])) = head.split_first_chunk() else {
        return false;
    };
    match Codec::named(&header.compression) {
        Ok(Codec::Zstd) => *magic == ZSTD_FRAME && flags & ZSTD_CHECKSUM != 0,
        Ok(Codec::Lz4) => lz4_frame::has_checksum(*magic, *flags),
        Ok(Codec::None) | Err(_) => false,
    }
}
