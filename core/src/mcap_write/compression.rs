//! [`Compressor`]: compresses new chunks.

use std::io::{self, Write as _};

use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
use zstd::DEFAULT_COMPRESSION_LEVEL;
use zstd::bulk;

/// How a chunk is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// As a frame of LZ4.
    Lz4,
    /// As a frame of Zstandard.
    Zstd,
}

impl Compression {
    /// The compression of this name; chunks of any other name cannot be opened.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "lz4" => Self::Lz4,
            "zstd" => Self::Zstd,
            _ => Self::None,
        }
    }

    /// Its name in a chunk.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

/// Compresses one chunk after the other.
pub struct Compressor {
    zstd_level: i32,
    zstd: Option<bulk::Compressor<'static>>,
}

impl Default for Compressor {
    /// The default level of zstd, 3.
    fn default() -> Self {
        Self::with_zstd_level(DEFAULT_COMPRESSION_LEVEL)
    }
}

impl Compressor {
    /// With a level of zstd, from 1 to 22.
    pub const fn with_zstd_level(level: i32) -> Self {
        Self {
            zstd_level: level,
            zstd: None,
        }
    }

    /// The compressed bytes; without compression they are the same.
    pub(crate) fn compress(&mut self, how: Compression, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        match how {
            Compression::None => Ok(bytes),
            Compression::Lz4 => {
                let info = FrameInfo::new()
                    .block_size(BlockSize::Max4MB)
                    .block_mode(BlockMode::Independent)
                    .content_size(Some(bytes.len() as u64));
                let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
                encoder.write_all(&bytes)?;
                encoder.finish().map_err(io::Error::other)
            }
            Compression::Zstd => {
                let zstd = match &mut self.zstd {
                    Some(zstd) => zstd,
                    None => self.zstd.insert(bulk::Compressor::new(self.zstd_level)?),
                };
                zstd.compress(&bytes)
            }
        }
    }
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compressor").finish_non_exhaustive()
    }
}
