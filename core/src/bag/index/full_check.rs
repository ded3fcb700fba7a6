//! Checks that playback does not make: the checksums of data sections, and indexes against their chunks.

use std::collections::BTreeMap;
use std::ops::Range;

use super::contents::Contents;
use crate::bag::damage::{Damage, DamageKind, Fault};
use crate::bag::decompress::budget::Meter;
use crate::bag::decompress::checksum::has_checksum;
use crate::bag::decompress::chunk::Decoder;
use crate::bag::decompress::uncompressed;
use crate::bag::index::file::inspect::count;
use crate::bag::mcap::chunk_ref::{ChunkRef, Storage};
use crate::bag::mcap::message_index;
use crate::bag::open::source::Source;

/// How many bytes are read at once.
const PIECE: u64 = 1 << 20;

/// What is found by checks that playback does not make.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FullCheck {
    /// The damage.
    pub damage: Vec<Damage>,
    /// How many chunks have messages.
    pub chunks: u64,
    /// How many of these could be read, and have contents that no checksum covers: neither one of the chunk, nor of its
    /// compression, nor of the whole data section.
    pub unverified_chunks: u64,
    /// Whether there are messages outside chunks that no checksum covers.
    pub has_unverified_rest: bool,
}

/// The checksums of data sections.
#[derive(Debug)]
pub(crate) struct Sections {
    pub(crate) damage: Vec<Damage>,
    /// For each file, whether a checksum covers its whole data section and matches.
    pub(crate) verified: Vec<bool>,
}

/// Opens every chunk and compares its contents with its indexes. `verified`: for each file, whether a checksum of all
/// its data was compared.
pub(crate) fn chunks(contents: &Contents, verified: &[bool]) -> FullCheck {
    let mut check = FullCheck::default();
    let (mut decoder, meter) = (Decoder::default(), Meter::reusing());
    for chunk in &contents.chunks {
        let source = &contents.input(chunk.input).source;
        let is_chunk = chunk.place.storage == Storage::Chunk;
        check.chunks += u64::from(is_chunk);
        match decoder.read(source, &chunk.place, &meter) {
            Ok(owned) => {
                let is_covered = verified.get(chunk.input as usize) == Some(&true);
                let is_verified = is_covered || has_checksum(source, &chunk.place);
                check.unverified_chunks += u64::from(is_chunk && !is_verified);
                check.has_unverified_rest |= !is_chunk && !is_verified;
                let counts = count(&owned.bytes, contents.order).counts;
                let counts = counts
                    .iter()
                    .map(|(id, count)| (*id, u64::from(*count)))
                    .collect();
                let wrong = wrong_index(source, &chunk.place, &counts);
                check.damage.extend(wrong.map(|detail| {
                    let fault = Fault::new(DamageKind::Index, detail);
                    contents.damage(chunk, fault)
                }));
            }
            Err(fault) => check.damage.push(contents.damage(chunk, fault)),
        }
    }
    check
}

/// What is wrong in the indexes of a chunk.
fn wrong_index(source: &Source, place: &ChunkRef, counts: &BTreeMap<u16, u64>) -> Option<String> {
    if place.message_indexes.is_empty() {
        return None;
    }
    let listed = |channel: u16| {
        let found = place.message_indexes.iter();
        found.into_iter().any(|it| it.channel == channel)
    };
    if let Some(channel) = counts.keys().find(|channel| !listed(**channel)) {
        return Some(format!(
            "chunk has messages of channel {channel}, its index lists none"
        ));
    }
    for indexed in place.message_indexes.iter().filter(|it| it.offset != 0) {
        let channel = indexed.channel;
        let there = counts.get(&channel).copied().unwrap_or(0);
        match message_index::read(source, place, channel) {
            Some(entries) if entries.len() as u64 == there => {}
            Some(entries) => {
                let told = entries.len();
                return Some(format!(
                    "message index of channel {channel} lists {told} of {there} messages"
                ));
            }
            None => {
                return Some(format!(
                    "message index of channel {channel} is not where the index says"
                ));
            }
        }
    }
    None
}

/// Compares the data sections with their checksums, if they have one.
pub(crate) fn data_sections(contents: &Contents) -> Sections {
    let mut damage = Vec::new();
    let mut verified = vec![false; contents.inputs.len()];
    for ((id, input), is_verified) in (0..).zip(&contents.inputs).zip(&mut verified) {
        let Some((end, checksum)) = input.data_end.filter(|(_, checksum)| *checksum != 0) else {
            continue;
        };
        let found = |kind, detail| Damage {
            file: input.source.name.clone(),
            offset: end,
            kind,
            detail,
        };
        let without_chunks = || {
            let data = chunk_data(contents, id)?;
            sum(&input.source, end, &data).ok()
        };
        match sum(&input.source, end, &[]) {
            Ok(sum) if sum == checksum => *is_verified = true,
            // Crate mcap (0.26) leaves the data of chunks out of this checksum if it writes them without checksums.
            Ok(_) if without_chunks() == Some(checksum) => {}
            Ok(_) => damage.push(found(
                DamageKind::DataSection,
                "the data section fails its checksum".to_owned(),
            )),
            Err(error) => damage.push(found(
                DamageKind::Unreadable,
                format!("the data section cannot be read: {error}"),
            )),
        }
    }
    Sections { damage, verified }
}

/// Where the data of the chunks of a file are, in order; `None` if a chunk has a checksum.
fn chunk_data(contents: &Contents, input: u32) -> Option<Vec<Range<u64>>> {
    let source = &contents.input(input).source;
    let chunks = contents.chunks.iter();
    let chunks = chunks.filter(|it| it.input == input && it.place.storage == Storage::Chunk);
    let data = chunks.map(|chunk| {
        let (header, at) = uncompressed::header(source, &chunk.place)?;
        (header.uncompressed_crc == 0).then(|| at..at + header.compressed_size)
    });
    let mut data: Vec<Range<u64>> = data.collect::<Option<_>>()?;
    data.sort_unstable_by_key(|it| it.start);
    Some(data)
}

/// The checksum of the bytes up to `end`, without these ranges.
fn sum(source: &Source, end: u64, left_out: &[Range<u64>]) -> std::io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut at = 0;
    for range in left_out.iter().chain([&(end..end)]) {
        let stop = range.start.min(end);
        while at < stop {
            let length = PIECE.min(stop - at);
            hasher.update(&source.read(at, length)?);
            at += length;
        }
        at = at.max(range.end);
    }
    Ok(hasher.finalize())
}
