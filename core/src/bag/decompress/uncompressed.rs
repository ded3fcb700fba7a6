//! [`UncompressedRecords`]: single records of an uncompressed chunk, read without the rest of the chunk.

use mcap::records::{ChunkHeader, op};

use crate::bag::mcap::chunk_ref::{ChunkRef, Storage};
use crate::bag::mcap::parse::{self, LONGEST_CHUNK_HEADER};
use crate::bag::mcap::record::{FRAME, Fields};
use crate::bag::open::source::Source;

/// The longest record that is read: 1 MiB.
const LONGEST: u64 = 1 << 20;

/// The header of a chunk, and where its data start in the file; `None` if there is no chunk there.
pub(crate) fn header(source: &Source, chunk: &ChunkRef) -> Option<(ChunkHeader, u64)> {
    if chunk.storage != Storage::Chunk {
        return None;
    }
    let left = source.len.saturating_sub(chunk.offset);
    let longest = (FRAME + LONGEST_CHUNK_HEADER) as u64;
    let head = source.read(chunk.offset, longest.min(left)).ok()?;
    let (frame, body) = head.split_at_checked(FRAME)?;
    let length = chunk.length.checked_sub(FRAME as u64)?;
    let header = parse::chunk_header(body, length).ok()?;
    let at = chunk.offset + (FRAME + parse::chunk_header_length(&header)) as u64;
    (frame.first() == Some(&op::CHUNK)).then_some((header, at))
}

/// The records of a chunk that has neither compression nor checksum: reading all of it would check nothing more.
pub(crate) struct UncompressedRecords<'a> {
    source: &'a Source,
    at: u64,
    length: u64,
}

impl<'a> UncompressedRecords<'a> {
    /// `None` if it is not a chunk, if it has compression or a checksum, or if it differs from its header.
    pub(crate) fn of(source: &'a Source, chunk: &ChunkRef) -> Option<Self> {
        let (header, at) = header(source, chunk)?;
        let is_plain = matches!(header.compression.as_str(), "" | "none")
            && header.uncompressed_crc == 0
            && header.compressed_size == header.uncompressed_size;
        is_plain.then_some(Self {
            source,
            at,
            length: header.compressed_size,
        })
    }

    /// The record at this offset; `None` if it is not inside the chunk, or is longer than [`LONGEST`].
    pub(crate) fn record(&self, offset: u32) -> Option<Vec<u8>> {
        let offset = u64::from(offset);
        let left = self.length.checked_sub(offset)?;
        let at = self.at.checked_add(offset)?;
        let frame = self.source.read(at, (FRAME as u64).min(left)).ok()?;
        let body = Fields(frame.get(1..)?).u64().ok()?;
        let length = body.checked_add(FRAME as u64)?;
        let is_inside = length <= left.min(LONGEST);
        is_inside.then(|| self.source.read(at, length).ok())?
    }
}
