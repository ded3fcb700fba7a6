//! The codecs of chunks: zstd, lz4, and none. Each decompresses into a [`Filling`] of the declared size, and no
//! further.

use std::io::{BufRead, Read};

use lz4_flex::frame::FrameDecoder;
use zstd::bulk::Decompressor;
use zstd::zstd_safe::{DCtx, DParameter, InBuffer, get_error_name, get_frame_content_size};

use super::memory::Filling;
use crate::bag::damage::{DamageKind, Fault};
use crate::bag::mcap::limits::MAX_CHUNK;

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

/// Compressed bytes, and how many are left.
pub(super) trait Input: Read {
    fn left(&self) -> u64;
}

impl Input for &[u8] {
    fn left(&self) -> u64 {
        self.len() as u64
    }
}

pub(super) fn unreadable(error: &std::io::Error) -> Fault {
    let detail = format!("chunk cannot be read: {error}");
    Fault::new(DamageKind::Unreadable, detail)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Codec {
    None,
    Lz4,
    Zstd,
}

impl Codec {
    pub(crate) fn named(name: &str) -> Result<Self, Fault> {
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
pub(super) fn most(codec: Codec, compressed: u64) -> u64 {
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

pub(super) fn unlz4(compressed: impl Input, bytes: &mut Filling) -> Result<(), Fault> {
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
pub(super) fn unzstd_in_pieces(
    mut compressed: impl Input,
    bytes: &mut Filling,
) -> Result<(), Fault> {
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

pub(super) fn unzstd(
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
