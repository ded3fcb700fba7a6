//! Chunks: reads one from the file, decompresses it, and checks its size and checksum.
//!
//! Declared sizes are not trusted: more than a codec can produce from the compressed bytes ([`most`]) is refused, and
//! so is anything above [`MAX_CHUNK`]. Of a large chunk only the decompressed bytes are in memory: the compressed bytes
//! are read in pieces.

use std::io::{self, Read};
use std::sync::Arc;

use mcap::records::op;
use zstd::bulk::Decompressor;

use super::budget::{CountedBytes, Meter, Permit};
use super::codec::{Codec, Input, most, unreadable, unzstd, unzstd_in_pieces};
use super::lz4_frame::{Checksums, unlz4};
use super::memory::Filling;
use crate::bag::damage::{DamageKind, Fault};
use crate::bag::mcap::chunk_ref::{ChunkRef, Storage};
use crate::bag::mcap::limits::MAX_CHUNK;
use crate::bag::mcap::parse::{self, ChunkRecord, LONGEST_CHUNK_HEADER};
use crate::bag::mcap::record::{FRAME, Fields, Short};
use crate::bag::open::source::Source;

/// The largest chunk whose compressed bytes are read all at once: 16 MiB.
const MOST_COMPRESSED: u64 = 16 << 20;
/// The checksum of a chunk whose writer did not compute one (the default of rosbag2).
const NO_CRC: u32 = 0;

/// Reads chunks. Keeps what it can use again for the next chunk.
#[derive(Default)]
pub(crate) struct Decoder {
    zstd: Option<Decompressor<'static>>,
    compressed: Vec<u8>,
}

impl Decoder {
    /// The decompressed records of a chunk, or the records of a run as they are in the file.
    pub(crate) fn read(
        &mut self,
        source: &Source,
        chunk: &ChunkRef,
        meter: &Arc<Meter>,
    ) -> Result<CountedBytes, Fault> {
        let (offset, length) = (chunk.offset, chunk.length);
        if !source.holds(offset, length) || length > MAX_CHUNK {
            let detail = format!("chunk of {length} bytes does not fit the file");
            return Err(Fault::new(DamageKind::TooLarge, detail));
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if chunk.storage == Storage::OutsideChunks {
            meter.count_decompression();
            let mut unpacked = Unpacked::new(length as u64, meter)?;
            unpacked.read_from(source, offset)?;
            return unpacked.checked(NO_CRC);
        }
        if chunk.length > MOST_COMPRESSED {
            return read_large(source, chunk, meter);
        }
        if is_likely_uncompressed(chunk) {
            return self.read_in_place(source, chunk, meter);
        }
        self.compressed.resize(length, 0);
        source
            .read_into(offset, &mut self.compressed)
            .map_err(|error| unreadable(&error))?;
        let chunk = record(&self.compressed)?;
        meter.count_decompression();
        decompress(&mut self.zstd, chunk, meter)
    }

    /// Reads the record of a chunk to where its bytes stay, with one request. If they are compressed after all, they
    /// are decompressed from there.
    fn read_in_place(
        &mut self,
        source: &Source,
        chunk: &ChunkRef,
        meter: &Arc<Meter>,
    ) -> Result<CountedBytes, Fault> {
        let mut unpacked = Unpacked::new(chunk.length, meter)?;
        unpacked.read_from(source, chunk.offset)?;
        let mut owned = unpacked.checked(NO_CRC)?;
        let ChunkRecord { header, data } = record(&owned.bytes)?;
        meter.count_decompression();
        let size = data.len() as u64;
        if Codec::named(&header.compression)? != Codec::None || header.uncompressed_size != size {
            return decompress(&mut self.zstd, ChunkRecord { header, data }, meter);
        }
        check_crc(header.uncompressed_crc, data)?;
        let start = FRAME + parse::chunk_header_length(&header);
        let end = start + data.len();
        owned.bytes.keep(start..end);
        Ok(owned)
    }
}

/// The parts of the record of a chunk.
fn record(bytes: &[u8]) -> Result<ChunkRecord<'_>, Fault> {
    let (frame, body) = bytes
        .split_at_checked(FRAME)
        .ok_or_else(|| Fault::framing("there is no chunk where the index says"))?;
    check_frame(frame, body.len() as u64)?;
    parse::chunk(body).map_err(|_| Fault::framing("chunk is shorter than its header says"))
}

fn check_frame(frame: &[u8], length: u64) -> Result<(), Fault> {
    let mut fields = Fields(frame.get(1..).unwrap_or_default());
    if frame.first() != Some(&op::CHUNK) {
        return Err(Fault::framing("no chunk where the index says"));
    }
    // A longer declared length does no harm: the header of the chunk says where its data end.
    if fields.u64().is_ok_and(|said| said < length) {
        return Err(Fault::framing("chunk is shorter than the index says"));
    }
    Ok(())
}

/// Whether the index says that the chunk is as long as its records and a header. Then its bytes need not pass through
/// the buffer for compressed ones.
fn is_likely_uncompressed(chunk: &ChunkRef) -> bool {
    let rest = chunk.length.checked_sub(chunk.uncompressed);
    rest.is_some_and(|rest| rest <= (FRAME + LONGEST_CHUNK_HEADER) as u64)
}

/// Decompresses a chunk while its bytes are read.
fn read_large(
    source: &Source,
    chunk: &ChunkRef,
    meter: &Arc<Meter>,
) -> Result<CountedBytes, Fault> {
    let short = |Short| Fault::framing("chunk is shorter than its header says");
    let head = source
        .read(chunk.offset, (FRAME + LONGEST_CHUNK_HEADER) as u64)
        .map_err(|error| unreadable(&error))?;
    let (frame, body) = head.split_at_checked(FRAME).ok_or(Short).map_err(short)?;
    let length = chunk.length - FRAME as u64;
    check_frame(frame, length)?;
    // This checks that the data end inside the chunk.
    let header = parse::chunk_header(body, length).map_err(short)?;
    let codec = Codec::named(&header.compression)?;
    let at = chunk.offset + (FRAME + parse::chunk_header_length(&header)) as u64;
    let end = at + header.compressed_size;
    let data = Section { source, at, end };
    meter.count_decompression();
    let (compressed, size) = (header.compressed_size, header.uncompressed_size);
    let mut unpacked = room(codec, compressed, size, meter)?;
    match codec {
        Codec::None if data.left() == size => unpacked.read_from(source, at)?,
        Codec::None => return Err(wrong_size(data.left(), size)),
        Codec::Lz4 => unlz4(
            data,
            &mut unpacked.bytes,
            checksums(header.uncompressed_crc),
        )?,
        Codec::Zstd => unzstd_in_pieces(data, &mut unpacked.bytes)?,
    }
    unpacked.checked(header.uncompressed_crc)
}

/// Bytes of a file that are read in sequence.
struct Section<'a> {
    source: &'a Source,
    at: u64,
    end: u64,
}

impl Section<'_> {
    fn left(&self) -> u64 {
        self.end - self.at
    }
}

impl Read for Section<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.left()).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        let (filled, _) = buffer.split_at_mut(length);
        self.source.read_into(self.at, filled)?;
        self.at += length as u64;
        Ok(length)
    }
}

impl Input for Section<'_> {
    fn left(&self) -> u64 {
        Section::left(self)
    }
}

fn decompress(
    zstd: &mut Option<Decompressor<'static>>,
    chunk: ChunkRecord<'_>,
    meter: &Arc<Meter>,
) -> Result<CountedBytes, Fault> {
    let ChunkRecord { header, data } = chunk;
    let declared = header.uncompressed_size;
    let codec = Codec::named(&header.compression)?;
    let mut unpacked = room(codec, data.len() as u64, declared, meter)?;
    let bytes = &mut unpacked.bytes;
    match codec {
        Codec::None if !bytes.append(data) => {
            return Err(wrong_size(data.len() as u64, declared));
        }
        Codec::None => {}
        Codec::Lz4 => unlz4(data, bytes, checksums(header.uncompressed_crc))?,
        Codec::Zstd => unzstd(zstd, data, bytes)?,
    }
    unpacked.checked(header.uncompressed_crc)
}

/// The buffer for a decompressed chunk, with its permit.
struct Unpacked {
    bytes: Filling,
    permit: Permit,
}

impl Unpacked {
    fn new(declared: u64, meter: &Arc<Meter>) -> Result<Self, Fault> {
        let size = usize::try_from(declared).unwrap_or(usize::MAX);
        if let Some(bytes) = Filling::provided(size, meter.memory()) {
            let permit = meter.permit(declared);
            return Ok(Self { bytes, permit });
        }
        let (permit, spare) = meter.permit_with_spare(size);
        let bytes = Filling::on_heap(size, spare)
            .map_err(|error| Fault::new(DamageKind::TooLarge, error.to_string()))?;
        Ok(Self { bytes, permit })
    }

    /// Fills it with the bytes of the file from `offset` on.
    fn read_from(&mut self, source: &Source, offset: u64) -> Result<(), Fault> {
        let read = |bytes: &mut [u8]| source.read_into(offset, bytes);
        self.bytes.fill(read).map_err(|error| unreadable(&error))
    }

    /// The decompressed bytes, if they have the declared length and the checksum matches.
    fn checked(self, crc: u32) -> Result<CountedBytes, Fault> {
        let Self { bytes, permit } = self;
        let size = bytes.size() as u64;
        let bytes = bytes.finish();
        let bytes = bytes.map_err(|length| wrong_size(length as u64, size))?;
        check_crc(crc, &bytes)?;
        Ok(CountedBytes::new(bytes, permit))
    }
}

/// A chunk with a checksum of its own needs none of the codec's.
fn checksums(uncompressed_crc: u32) -> Checksums {
    if uncompressed_crc == NO_CRC {
        Checksums::Verify
    } else {
        Checksums::Skip
    }
}

fn wrong_size(length: u64, declared: u64) -> Fault {
    let detail = format!("chunk holds {length} bytes, not {declared}");
    Fault::new(DamageKind::Compression, detail)
}

fn check_crc(crc: u32, bytes: &[u8]) -> Result<(), Fault> {
    if crc == NO_CRC || crc == crc32fast::hash(bytes) {
        return Ok(());
    }
    let detail = "chunk fails its checksum and is skipped";
    Err(Fault::new(DamageKind::Checksum, detail))
}

/// A buffer of the declared size, if that many compressed bytes can hold it.
fn room(codec: Codec, data: u64, declared: u64, meter: &Arc<Meter>) -> Result<Unpacked, Fault> {
    if declared > most(codec, data) {
        let detail = format!(
            "chunk declares {declared} bytes, more than its {data} compressed ones can hold"
        );
        return Err(Fault::new(DamageKind::TooLarge, detail));
    }
    Unpacked::new(declared, meter)
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}
