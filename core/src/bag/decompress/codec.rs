//! The codecs of chunks by their names, and zstd; `lz4_frame.rs` has lz4. Each decompresses into a [`Filling`] of the
//! declared size, and no further.

use std::io::{self, Read};

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

    /// The next `length` bytes. If they are not in memory, they are read into `buffer`.
    fn next<'a>(&'a mut self, length: usize, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        let (bytes, _) = buffer.split_at_mut(length);
        self.read_exact(bytes)?;
        Ok(bytes)
    }
}

impl Input for &[u8] {
    fn left(&self) -> u64 {
        self.len() as u64
    }

    fn next<'a>(&'a mut self, length: usize, _: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        let bytes = self.split_off(..length);
        bytes.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// A chunk that its codec cannot decompress.
pub(super) fn bad(detail: impl Into<String>) -> Fault {
    Fault::new(DamageKind::Compression, detail)
}

pub(super) fn unreadable(error: &io::Error) -> Fault {
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

/// Decompresses frames that are read in pieces. `bytes` has room for all of them and is not moved, so the decoder uses
/// it as its window: a frame may declare any window and takes no memory for it.
pub(super) fn unzstd_in_pieces(
    mut compressed: impl Input,
    bytes: &mut Filling,
) -> Result<(), Fault> {
    let broken = |code| bad(format!("zstd: {}", get_error_name(code)));
    let decoder = DCtx::try_create();
    let mut decoder = decoder.ok_or_else(|| bad("zstd: no memory for a decoder"))?;
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
        return Err(bad("zstd: the last frame is cut off"));
    }
    Ok(())
}

pub(super) fn unzstd(
    zstd: &mut Option<Decompressor<'static>>,
    compressed: &[u8],
    bytes: &mut Filling,
) -> Result<(), Fault> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 3 * PIECE;

    /// What frames of zstd hold, as far as it fits `size` bytes: all at once and in pieces, each in new memory and in
    /// used memory that is a little longer.
    fn unzstd_in_all_ways(compressed: &[u8], size: usize) -> Vec<Result<Vec<u8>, String>> {
        let mut results = Vec::new();
        for spare in [None, Some(vec![0xa5; size + size / 8])] {
            for is_whole in [true, false] {
                let mut bytes = Filling::on_heap(size, spare.clone()).expect("memory");
                let unpacked = if is_whole {
                    unzstd(&mut None, compressed, &mut bytes)
                } else {
                    unzstd_in_pieces(compressed, &mut bytes)
                };
                let unpacked = unpacked.map_err(|fault| fault.detail);
                results.push(unpacked.and_then(|()| {
                    let bytes = bytes.finish();
                    bytes.map_or_else(|length| Err(length.to_string()), |it| Ok(it.to_vec()))
                }));
            }
        }
        results
    }

    #[test]
    fn frames_of_zstd_are_the_same_in_new_and_in_used_memory() {
        let content: Vec<u8> = (0..SIZE).map(|at| (at * at / 7).to_le_bytes()[0]).collect();
        let frame = |part: &[u8]| {
            let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).expect("memory");
            encoder.include_checksum(true).expect("a known parameter");
            std::io::Write::write_all(&mut encoder, part).expect("in memory");
            encoder.finish().expect("in memory")
        };
        let (first, second) = content.split_at(PIECE + 5);
        let several = [frame(first), frame(b""), frame(second), frame(b"")].concat();
        for compressed in [frame(&content), several] {
            for result in unzstd_in_all_ways(&compressed, SIZE) {
                assert!(
                    result.as_ref() == Ok(&content),
                    "{:?}",
                    result.map(|it| it.len())
                );
            }
            for result in unzstd_in_all_ways(&compressed, SIZE + 1) {
                assert_eq!(result.map(|it| it.len()), Err(SIZE.to_string()));
            }
            for result in unzstd_in_all_ways(&compressed, SIZE - 1) {
                result.expect_err("it holds more");
            }
        }
    }
}
