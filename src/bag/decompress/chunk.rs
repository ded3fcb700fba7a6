//! Chunks: reads one from the file, decompresses it, and checks its size and checksum.
//!
//! Declared sizes are not trusted: more than a codec can produce from the compressed bytes ([`most`]) is refused, and
//! so is anything above [`MAX_CHUNK`]. Of a large chunk only the decompressed bytes are in memory: the compressed bytes
//! are read in pieces.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use lz4_flex::frame::FrameDecoder;
use mcap::records::op;
use zstd::bulk::Decompressor;
use zstd::zstd_safe::{DCtx, DParameter, InBuffer, get_error_name, get_frame_content_size};

use super::budget::{CountedBytes, Meter, Permit};
use super::memory::Filling;
use crate::bag::damage::{DamageKind, Fault};
use crate::bag::mcap::chunk_ref::{ChunkRef, Storage};
use crate::bag::mcap::limits::MAX_CHUNK;
use crate::bag::mcap::parse::{self, ChunkRecord, LONGEST_CHUNK_HEADER};
use crate::bag::mcap::record::{FRAME, Fields, Short};
use crate::bag::open::source::Source;

/// The largest chunk whose compressed bytes are read all at once: 16 MiB.
const MOST_COMPRESSED: u64 = 16 << 20;
/// The size of a piece.
const PIECE: usize = 128 << 10;
/// The base 2 logarithm of the largest window that zstd's decoder accepts.
const LARGEST_WINDOW: u32 = if cfg!(target_pointer_width = "64") {
    31
} else {
    30
};
/// Any chunk may decompress to `MAX_SMALL`; a larger result may be at most `MAX_RATIO` times the compressed size. So a
/// decompression bomb of zeros is refused and a chunk of huge messages is not.
const MAX_SMALL: u64 = 64 << 20;
const MAX_RATIO: u64 = 64;

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
            let read = |bytes: &mut [u8]| source.read_into(offset, bytes);
            unpacked.bytes.fill(read).map_err(|it| unreadable(&it))?;
            return unpacked.checked(0);
        }
        if chunk.length > MOST_COMPRESSED || is_likely_uncompressed(chunk) {
            return read_in_pieces(source, chunk, meter);
        }
        self.compressed.resize(length, 0);
        source
            .read_into(offset, &mut self.compressed)
            .map_err(|error| unreadable(&error))?;
        let (frame, body) = self
            .compressed
            .split_at_checked(FRAME)
            .ok_or_else(|| Fault::framing("there is no chunk where the index says"))?;
        check_frame(frame, body.len() as u64)?;
        let chunk = parse::chunk(body)
            .map_err(|_| Fault::framing("chunk is shorter than its header says"))?;
        meter.count_decompression();
        decompress(&mut self.zstd, chunk, meter)
    }
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

/// Whether the index says that the chunk is as long as its records and a header. Then its bytes need not pass through the
/// buffer for compressed ones.
fn is_likely_uncompressed(chunk: &ChunkRef) -> bool {
    let rest = chunk.length.checked_sub(chunk.uncompressed);
    rest.is_some_and(|rest| rest <= (FRAME + LONGEST_CHUNK_HEADER) as u64)
}

/// Decompresses a chunk while its bytes are read, or reads the bytes of an uncompressed one to where they stay.
fn read_in_pieces(
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
    let at = chunk.offset + FRAME as u64 + parse::chunk_header_length(&header);
    let end = at + header.compressed_size;
    let data = Section { source, at, end };
    meter.count_decompression();
    let (compressed, size) = (header.compressed_size, header.uncompressed_size);
    let mut unpacked = room(codec, compressed, size, meter)?;
    let bytes = &mut unpacked.bytes;
    match codec {
        Codec::None if data.left() == size => {
            let read = |bytes: &mut [u8]| source.read_into(at, bytes);
            bytes.fill(read).map_err(|error| unreadable(&error))?;
        }
        Codec::None => {}
        Codec::Lz4 => unlz4(data, bytes)?,
        Codec::Zstd => unzstd_in_pieces(data, bytes)?,
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

/// Compressed bytes, and how many are left.
trait Input: Read {
    fn left(&self) -> u64;
}

impl Input for Section<'_> {
    fn left(&self) -> u64 {
        Section::left(self)
    }
}

impl Input for &[u8] {
    fn left(&self) -> u64 {
        self.len() as u64
    }
}

fn unreadable(error: &std::io::Error) -> Fault {
    let detail = format!("chunk cannot be read: {error}");
    Fault::new(DamageKind::Unreadable, detail)
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
        Codec::None => drop(bytes.append(data)),
        Codec::Lz4 => unlz4(data, bytes)?,
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
        let permit = meter.permit(declared);
        let size = usize::try_from(declared).unwrap_or(usize::MAX);
        let bytes = Filling::new(size, meter.memory())
            .map_err(|error| Fault::new(DamageKind::TooLarge, error.to_string()))?;
        Ok(Self { bytes, permit })
    }

    /// The decompressed bytes, if they have the declared length and the checksum matches.
    fn checked(self, crc: u32) -> Result<CountedBytes, Fault> {
        let Self { bytes, permit } = self;
        let size = bytes.size();
        let bytes = bytes.finish().map_err(|length| {
            let detail = format!("chunk holds {length} bytes, not {size}");
            Fault::new(DamageKind::Compression, detail)
        })?;
        // Zero means that the writer did not compute one (the default of rosbag2).
        if crc != 0 && crc != crc32fast::hash(&bytes) {
            return Err(Fault::new(
                DamageKind::Checksum,
                "chunk fails its checksum and is skipped",
            ));
        }
        Ok(CountedBytes { bytes, permit })
    }
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Codec {
    None,
    Lz4,
    Zstd,
}

impl Codec {
    fn named(name: &str) -> Result<Self, Fault> {
        match name {
            "" | "none" => Ok(Self::None),
            "lz4" => Ok(Self::Lz4),
            "zstd" => Ok(Self::Zstd),
            _ => {
                let detail = format!("unknown compression {name:?}");
                Err(Fault::new(DamageKind::Compression, detail))
            }
        }
    }
}

/// The most that `compressed` bytes can decompress to, at most [`MAX_CHUNK`].
fn most(codec: Codec, compressed: u64) -> u64 {
    let bound = match codec {
        Codec::None => compressed,
        // A length extension byte adds at most 255 bytes.
        Codec::Lz4 => compressed.saturating_mul(255).saturating_add(64),
        // A block takes at least three bytes and holds at most 128 KiB.
        Codec::Zstd => (compressed / 3 + 1).saturating_mul(128 << 10),
    };
    let plausible = compressed.saturating_mul(MAX_RATIO).max(MAX_SMALL);
    bound.min(plausible).min(MAX_CHUNK)
}

fn unlz4(compressed: impl Input, bytes: &mut Filling) -> Result<(), Fault> {
    let bad = |detail: String| Fault::new(DamageKind::Compression, detail);
    let mut decoder = FrameDecoder::new(compressed);
    let mut left = None;
    loop {
        let block = decoder
            .fill_buf()
            .map_err(|error| bad(format!("lz4: {error}")))?;
        if block.is_empty() {
            // The end of a frame. Another one may follow; each must consume input.
            let rest = decoder.get_ref().left();
            if rest == 0 {
                return Ok(());
            }
            if left == Some(rest) {
                return Err(bad("lz4: bytes after the last frame".to_owned()));
            }
            left = Some(rest);
            continue;
        }
        let length = block.len();
        if !bytes.append(block) {
            return Err(bad(format!("chunk holds more than {} bytes", bytes.size())));
        }
        decoder.consume(length);
    }
}

/// Decompresses frames that are read in pieces. `bytes` has room for all of them and is not moved, so the decoder uses
/// it as its window: a frame may declare any window and takes no memory for it.
fn unzstd_in_pieces(mut compressed: impl Input, bytes: &mut Filling) -> Result<(), Fault> {
    let bad = |detail: String| Fault::new(DamageKind::Compression, detail);
    let broken = |code| bad(format!("zstd: {}", get_error_name(code)));
    let decoder = DCtx::try_create();
    let mut decoder = decoder.ok_or_else(|| bad("zstd: no memory for a decoder".to_owned()))?;
    for parameter in [
        DParameter::StableOutBuffer(true),
        DParameter::WindowLogMax(LARGEST_WINDOW),
    ] {
        decoder.set_parameter(parameter).map_err(broken)?;
    }
    let mut piece = vec![0; PIECE];
    // How many bytes the decoder still needs; 0 at the end of a frame.
    let mut needed = 0;
    loop {
        let length = compressed.read(&mut piece).map_err(|it| unreadable(&it))?;
        if length == 0 {
            break;
        }
        let mut input = InBuffer::around(piece.get(..length).unwrap_or_default());
        while input.pos() < length {
            let (before, read) = (bytes.len(), input.pos());
            needed = bytes
                .unzstd_piece(&mut decoder, &mut input)
                .map_err(broken)?;
            if (bytes.len(), input.pos()) == (before, read) {
                return Err(bad(format!("chunk holds more than {} bytes", bytes.size())));
            }
        }
    }
    if needed != 0 {
        return Err(bad("zstd: the last frame is cut off".to_owned()));
    }
    Ok(())
}

fn unzstd(
    zstd: &mut Option<Decompressor<'static>>,
    compressed: &[u8],
    bytes: &mut Filling,
) -> Result<(), Fault> {
    let bad = |detail: String| Fault::new(DamageKind::Compression, detail);
    if compressed.is_empty() {
        return Ok(());
    }
    // The first frame may declare its size. If that is more than the whole, refuse it before decompressing anything.
    if let Ok(Some(first)) = get_frame_content_size(compressed)
        && first > bytes.size() as u64
    {
        let size = bytes.size();
        return Err(bad(format!("chunk holds {first} bytes, not {size}")));
    }
    let decompressor = match zstd {
        Some(decompressor) => decompressor,
        None => zstd.insert(Decompressor::new().map_err(|error| bad(error.to_string()))?),
    };
    let unzstd = bytes.unzstd(decompressor, compressed);
    unzstd.map_err(|error| bad(format!("zstd: {error}")))
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}
