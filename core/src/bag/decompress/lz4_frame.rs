//! [`unlz4`]: decompresses LZ4 frames, each block straight into its place in the chunk.
//!
//! `lz4_flex` decodes the blocks. Its reader of frames is not used: it decompresses into a buffer of its own, copies
//! the result and computes checksums of what the checksum of the chunk covers, which takes half as long again.
//!
//! Source: "LZ4 Frame Format Description", version 1.6.4.

use std::ops::RangeInclusive;

use lz4_flex::block::{DecompressError, decompress_into, decompress_into_with_dict};
use xxhash_rust::xxh32::xxh32;

use super::codec::{Input, bad, unreadable};
use super::memory::Filling;
use crate::bag::damage::Fault;

const FRAME: u32 = 0x184d_2204;
/// Frames whose content is not for decoders.
const SKIPPABLE: RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;

/// The flags of a frame.
const VERSION: u8 = 0b1100_0000;
const VERSION_1: u8 = 0b0100_0000;
const INDEPENDENT_BLOCKS: u8 = 0b0010_0000;
const BLOCK_CHECKSUMS: u8 = 0b0001_0000;
const CONTENT_SIZE: u8 = 0b0000_1000;
const CONTENT_CHECKSUM: u8 = 0b0000_0100;
const RESERVED: u8 = 0b0000_0010;
const DICTIONARY: u8 = 0b0000_0001;

/// The length of a block is marked with this bit if the block is not compressed.
const STORED: u32 = 1 << 31;
/// How far back a block may refer to the blocks before it.
const WINDOW: usize = 64 << 10;
const CHECKSUM: usize = 4;
const TOO_LARGE: &str = "lz4: a block is larger than its frame allows";

/// Whether the checksums in frames are verified.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Checksums {
    Verify,
    /// For a chunk that has a checksum of its own, which covers the same bytes.
    Skip,
}

/// Whether a frame with this magic and these flags has checksums of its content or of all its blocks.
pub(super) fn has_checksum(magic: [u8; 4], flags: u8) -> bool {
    u32::from_le_bytes(magic) == FRAME && flags & (CONTENT_CHECKSUM | BLOCK_CHECKSUMS) != 0
}

/// Decompresses all frames.
pub(super) fn unlz4(
    compressed: impl Input,
    bytes: &mut Filling,
    checksums: Checksums,
) -> Result<(), Fault> {
    let mut reader = Reader {
        compressed,
        buffer: Vec::new(),
    };
    let mut has_frame = false;
    while !reader.is_at_end() {
        match reader.u32()? {
            FRAME => {
                let frame = Frame::read(&mut reader, bytes.len(), checksums)?;
                frame.read_blocks(&mut reader, bytes)?;
            }
            magic if SKIPPABLE.contains(&magic) => {
                let length = reader.u32()?;
                reader.skip(length)?;
            }
            _ if has_frame => return Err(bad("lz4: bytes after the last frame")),
            _ => return Err(bad("lz4: no frame")),
        }
        has_frame = true;
    }
    Ok(())
}

/// Reads the parts of frames.
struct Reader<I> {
    compressed: I,
    buffer: Vec<u8>,
}

impl<I: Input> Reader<I> {
    fn is_at_end(&self) -> bool {
        self.compressed.left() == 0
    }

    /// The next bytes. `length` is at most that of the largest block and its checksum.
    fn bytes(&mut self, length: usize) -> Result<&[u8], Fault> {
        if self.compressed.left() < length as u64 {
            return Err(bad("lz4: the frame is cut off"));
        }
        let bytes = self.compressed.next(length, &mut self.buffer);
        bytes.map_err(|error| unreadable(&error))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    fn skip(&mut self, length: u32) -> Result<(), Fault> {
        let mut left = length as usize;
        while left > 0 {
            let piece = left.min(WINDOW);
            self.bytes(piece)?;
            left -= piece;
        }
        Ok(())
    }
}

/// A frame, as its header describes it.
#[derive(Debug)]
struct Frame {
    /// Whether blocks may refer to those before them.
    is_linked: bool,
    has_block_checksums: bool,
    has_content_checksum: bool,
    content_size: Option<u64>,
    /// In bytes, compressed and decompressed.
    largest_block: usize,
    /// Where its content begins in the chunk.
    start: usize,
    checksums: Checksums,
}

impl Frame {
    fn read(
        reader: &mut Reader<impl Input>,
        start: usize,
        checksums: Checksums,
    ) -> Result<Self, Fault> {
        let fixed: [u8; 2] = reader.array()?;
        let mut header = fixed.to_vec();
        let [flags, block_size] = fixed;
        if flags & VERSION != VERSION_1 || flags & RESERVED != 0 {
            return Err(bad("lz4: a frame of an unknown version"));
        }
        let largest_block = match block_size {
            0x40 => 64 << 10,
            0x50 => 256 << 10,
            0x60 => 1 << 20,
            0x70 => 4 << 20,
            _ => return Err(bad("lz4: a frame of an unknown block size")),
        };
        let content_size = if flags & CONTENT_SIZE == 0 {
            None
        } else {
            let size: [u8; 8] = reader.array()?;
            header.extend(size);
            Some(u64::from_le_bytes(size))
        };
        if flags & DICTIONARY != 0 {
            return Err(bad("lz4: a frame needs a dictionary"));
        }
        let [checksum] = reader.array()?;
        let [_, expected, ..] = xxh32(&header, 0).to_le_bytes();
        if checksum != expected {
            return Err(bad("lz4: the header of a frame fails its checksum"));
        }
        Ok(Self {
            is_linked: flags & INDEPENDENT_BLOCKS == 0,
            has_block_checksums: flags & BLOCK_CHECKSUMS != 0,
            has_content_checksum: flags & CONTENT_CHECKSUM != 0,
            content_size,
            largest_block,
            start,
            checksums,
        })
    }

    fn read_blocks(
        &self,
        reader: &mut Reader<impl Input>,
        bytes: &mut Filling,
    ) -> Result<(), Fault> {
        while !reader.is_at_end() {
            let length = reader.u32()?;
            if length == 0 {
                return self.end(reader, bytes);
            }
            self.read_block(length, reader, bytes)?;
        }
        // The mark of its end is missing, and so is a checksum of the content. The size of the chunk is compared later.
        Ok(())
    }

    fn read_block(
        &self,
        length: u32,
        reader: &mut Reader<impl Input>,
        bytes: &mut Filling,
    ) -> Result<(), Fault> {
        let is_stored = length & STORED != 0;
        let length = (length & !STORED) as usize;
        if length > self.largest_block {
            return Err(bad(TOO_LARGE));
        }
        let checksum_length = usize::from(self.has_block_checksums) * CHECKSUM;
        let (block, checksum) = reader.bytes(length + checksum_length)?.split_at(length);
        let is_sound = || xxh32(block, 0).to_le_bytes() == *checksum;
        let is_verified = self.has_block_checksums && self.checksums == Checksums::Verify;
        if is_verified && !is_sound() {
            return Err(bad("lz4: a block fails its checksum"));
        }
        if is_stored {
            return if bytes.append(block) {
                Ok(())
            } else {
                Err(too_many(bytes))
            };
        }
        let mut is_room_for_largest = false;
        let added = bytes.append_with(self.largest_block, |before, room| {
            is_room_for_largest = room.len() == self.largest_block;
            if !self.is_linked {
                return decompress_into(block, room);
            }
            let window = before.len().saturating_sub(WINDOW).max(self.start);
            let window = before.get(window..).unwrap_or_default();
            decompress_into_with_dict(block, room, window)
        });
        added.map_err(|error| match error {
            DecompressError::OutputTooSmall { .. } if is_room_for_largest => bad(TOO_LARGE),
            DecompressError::OutputTooSmall { .. } => too_many(bytes),
            error => bad(format!("lz4: {error}")),
        })
    }

    /// Checks what follows the last block.
    fn end(&self, reader: &mut Reader<impl Input>, bytes: &Filling) -> Result<(), Fault> {
        let content = bytes.from(self.start);
        let size = content.len() as u64;
        if let Some(declared) = self.content_size.filter(|declared| *declared != size) {
            return Err(bad(format!(
                "lz4: a frame holds {size} bytes, not {declared}"
            )));
        }
        if self.has_content_checksum {
            let checksum = reader.u32()?;
            if self.checksums == Checksums::Verify && checksum != xxh32(content, 0) {
                return Err(bad("lz4: the content of a frame fails its checksum"));
            }
        }
        Ok(())
    }
}

fn too_many(bytes: &Filling) -> Fault {
    bad(format!("chunk holds more than {} bytes", bytes.size()))
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read, Write as _};

    use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
    use proptest::prelude::*;

    use super::*;

    /// Bytes that are not in memory.
    struct InFile<'a>(&'a [u8]);

    impl Read for InFile<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Input for InFile<'_> {
        fn left(&self) -> u64 {
            self.0.len() as u64
        }
    }

    /// What the frames hold, at most `size` bytes, or what is wrong. It is the same in memory and in a file, in a new
    /// buffer and in a used one.
    fn unlz4_with(compressed: &[u8], size: usize, checksums: Checksums) -> Result<Vec<u8>, String> {
        let new = |spare| Filling::on_heap(size, spare).expect("memory");
        let result = |filling: &Filling, unpacked: Result<(), Fault>| match unpacked {
            Ok(()) => Ok(filling.from(0).to_vec()),
            Err(fault) => Err(fault.detail),
        };
        let mut first = new(None);
        let unpacked = unlz4(compressed, &mut first, checksums);
        let first = result(&first, unpacked);
        let mut second = new(Some(vec![0xa5; size + 3]));
        let unpacked = unlz4(InFile(compressed), &mut second, checksums);
        assert_eq!(first, result(&second, unpacked));
        first
    }

    fn verified(compressed: &[u8], size: usize) -> Result<Vec<u8>, String> {
        unlz4_with(compressed, size, Checksums::Verify)
    }

    fn frame(info: FrameInfo, content: &[u8]) -> Vec<u8> {
        frame_of(info, &[content.to_vec()])
    }

    /// A frame with a block of its own for the rest of each part.
    fn frame_of(info: FrameInfo, parts: &[Vec<u8>]) -> Vec<u8> {
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        for part in parts {
            encoder.write_all(part).expect("in memory");
            encoder.flush().expect("in memory");
        }
        encoder.finish().expect("in memory")
    }

    /// It stops after each frame, and two frames of different kinds make the same reader panic in debug builds.
    fn by_another_reader(mut compressed: &[u8]) -> Result<Vec<u8>, String> {
        let mut all = Vec::new();
        while !compressed.is_empty() {
            let mut decoder = FrameDecoder::new(compressed);
            let read = decoder.read_to_end(&mut all);
            read.map_err(|error| error.to_string())?;
            compressed = decoder.into_inner();
        }
        Ok(all)
    }

    /// Bytes that do not compress.
    fn noise(seed: u8, length: usize) -> Vec<u8> {
        let next = |it: &u64| Some(it.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
        let states = std::iter::successors(Some(u64::from(seed)), next);
        states.map(|it| it.to_le_bytes()[7]).take(length).collect()
    }

    /// Parts that compress or not. The same noise may come again, within the window or behind it.
    fn content() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let part = prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..300),
            (any::<u8>(), 0..70_000_usize).prop_map(|(byte, length)| vec![byte; length]),
            (0..3_u8, 0..100_000_usize).prop_map(|(seed, length)| noise(seed, length)),
        ];
        proptest::collection::vec(part, 0..6)
    }

    fn info() -> impl Strategy<Value = FrameInfo> {
        let sizes = [
            BlockSize::Max64KB,
            BlockSize::Max256KB,
            BlockSize::Max1MB,
            BlockSize::Max4MB,
        ];
        let size = proptest::sample::select(sizes.to_vec());
        let mode = prop_oneof![Just(BlockMode::Independent), Just(BlockMode::Linked)];
        (size, mode, any::<bool>(), any::<bool>()).prop_map(|(size, mode, blocks, content)| {
            FrameInfo::new()
                .block_size(size)
                .block_mode(mode)
                .block_checksums(blocks)
                .content_checksum(content)
        })
    }

    proptest! {
        #[test]
        fn frames_hold_what_was_written(
            frames in proptest::collection::vec((info(), content(), any::<bool>()), 0..3),
        ) {
            let (mut compressed, mut all) = (Vec::new(), Vec::new());
            for (info, parts, is_sized) in frames {
                let content = parts.concat();
                let size = is_sized.then_some(content.len() as u64);
                compressed.extend(frame_of(info.content_size(size), &parts));
                all.extend(content);
            }
            prop_assert_eq!(verified(&compressed, all.len()), Ok(all.clone()));
            prop_assert_eq!(unlz4_with(&compressed, all.len(), Checksums::Skip), Ok(all.clone()));
            if let Some(less) = all.len().checked_sub(1) {
                let error = format!("chunk holds more than {less} bytes");
                prop_assert_eq!(verified(&compressed, less), Err(error));
            }
        }

        /// The reader of `lz4_flex` is the second opinion.
        #[test]
        fn what_is_accepted_of_changed_frames_is_what_another_reader_has(
            frames in [(info(), content()), (info(), content())],
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            cut in proptest::option::weighted(0.25, any::<prop::sample::Index>()),
        ) {
            let frames = frames.map(|(info, parts)| frame_of(info, &parts));
            let size = 1 << 20;
            let mut compressed = frames.concat();
            for (at, byte) in changes {
                let at = at.index(compressed.len());
                compressed[at] = byte;
            }
            if let Some(cut) = cut {
                compressed.truncate(cut.index(compressed.len()));
            }
            if let Ok(accepted) = verified(&compressed, size) {
                prop_assert_eq!(Ok(accepted), by_another_reader(&compressed));
            }
        }

        #[test]
        fn any_block_ends_in_content_or_an_error(
            info in info(),
            blocks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..60), 0..4),
            is_cut in any::<bool>(),
        ) {
            let mut bytes = frame(info, b"");
            bytes.truncate(7);
            for block in blocks {
                bytes.extend(u32::try_from(block.len()).map(u32::to_le_bytes).unwrap_or_default());
                bytes.extend(block);
            }
            bytes.truncate(bytes.len() - usize::from(is_cut));
            for checksums in [Checksums::Verify, Checksums::Skip] {
                if let Ok(content) = unlz4_with(&bytes, 1000, checksums) {
                    prop_assert!(content.len() <= 1000);
                }
            }
        }
    }

    #[test]
    fn a_frame_begins_without_a_window() {
        let linked = FrameInfo::new().block_mode(BlockMode::Linked);
        let first = frame(linked.clone(), b"first frame");
        let mut second = frame(linked, b"");
        second.truncate(7);
        // Four bytes from five bytes back, then one byte as it is.
        let block = [0x00, 5, 0, 0x10, b'.'];
        second.extend([&[5, 0, 0, 0][..], &block, &[0; 4]].concat());
        let both = [first, second].concat();
        let error = verified(&both, 100).expect_err("there is nothing five bytes back");
        assert!(error.starts_with("lz4: "), "{error}");
    }

    #[test]
    fn a_block_that_is_too_large_is_named() {
        let info = FrameInfo::new().block_size(BlockSize::Max256KB);
        let mut compressed = frame(info, &vec![7; 70_000]);
        // The header of a frame with blocks of at most 64 KiB.
        compressed[5] = 0x40;
        compressed[6] = xxh32(&compressed[4..6], 0).to_le_bytes()[1];
        assert_eq!(verified(&compressed, 100_000), Err(TOO_LARGE.to_owned()));
        let few = "chunk holds more than 60000 bytes".to_owned();
        assert_eq!(verified(&compressed, 60_000), Err(few));
    }

    #[test]
    fn checksums_are_verified_unless_the_chunk_has_its_own() {
        let content: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let info = FrameInfo::new().block_size(BlockSize::Max64KB);
        for (info, from_end, error) in [
            (
                info.clone().content_checksum(true),
                1,
                "lz4: the content of a frame fails its checksum",
            ),
            (
                info.block_checksums(true),
                5,
                "lz4: a block fails its checksum",
            ),
        ] {
            let mut compressed = frame(info, &content);
            let at = compressed.len() - from_end;
            compressed[at] ^= 1;
            let size = content.len();
            assert_eq!(verified(&compressed, size), Err(error.to_owned()));
            let skipped = unlz4_with(&compressed, size, Checksums::Skip);
            assert_eq!(skipped, Ok(content.clone()));
        }
    }

    #[test]
    fn frames_for_others_are_skipped_and_what_is_no_frame_is_an_error() {
        let sound = frame(FrameInfo::new(), b"sound");
        let other = [&SKIPPABLE.start().to_le_bytes()[..], &[3, 0, 0, 0], b"any"].concat();
        let all = [&other[..], &sound, &other, &sound, &other].concat();
        assert_eq!(verified(&all, 10), Ok(b"soundsound".to_vec()));
        assert_eq!(verified(b"", 0), Ok(Vec::new()));

        let after = [&sound[..], b"rest"].concat();
        let dictionary = |header: &mut [u8]| header[4] |= DICTIONARY;
        let version = |header: &mut [u8]| header[4] ^= VERSION;
        let block_size = |header: &mut [u8]| header[5] = 0x30;
        let checksum = |header: &mut [u8]| header[6] ^= 1;
        let block = |header: &mut [u8]| header[9] = 1;
        let changed = |change: &dyn Fn(&mut [u8])| {
            let mut frame = sound.clone();
            change(&mut frame);
            frame
        };
        for (compressed, error) in [
            (after, "lz4: bytes after the last frame"),
            (b"none".to_vec(), "lz4: no frame"),
            (changed(&dictionary), "lz4: a frame needs a dictionary"),
            (changed(&version), "lz4: a frame of an unknown version"),
            (
                changed(&block_size),
                "lz4: a frame of an unknown block size",
            ),
            (
                changed(&checksum),
                "lz4: the header of a frame fails its checksum",
            ),
            (
                changed(&block),
                "lz4: a block is larger than its frame allows",
            ),
            (sound[..13].to_vec(), "lz4: the frame is cut off"),
            (other[..9].to_vec(), "lz4: the frame is cut off"),
        ] {
            assert_eq!(verified(&compressed, 10), Err(error.to_owned()));
        }
        let sized = frame(FrameInfo::new().content_size(Some(5)), b"sound");
        let mut sized = sized;
        sized[6] = 4;
        sized[14] = xxh32(&sized[4..14], 0).to_le_bytes()[1];
        let error = "lz4: a frame holds 5 bytes, not 4".to_owned();
        assert_eq!(verified(&sized, 10), Err(error));
    }
}
