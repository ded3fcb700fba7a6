//! Checks a summary that could be read: compares it with itself and with a sample of the chunks. If it contradicts
//! them, it is not used, and the file is read through instead.

use mcap::records::{ChunkHeader, Statistics, op};

use super::file_index::FileIndex;
use super::summary_section::Usable;
use super::verify_chunks;
use crate::bag::damage::DamageKind;
use crate::bag::mcap::chunk_ref::ChunkRef;
use crate::bag::mcap::limits::SLACK;
use crate::bag::mcap::parse::{self, LONGEST_CHUNK_HEADER, times};
use crate::bag::mcap::record::FRAME;
use crate::bag::open::source::Source;

/// What is wrong with a summary; `None` if nothing was found. The headers of a sample of the chunks are read, in most
/// files of all ([`verify_chunks::sample_step`]); of a remote file only those that are at hand. A thousand small reads
/// take a millisecond. Chunk sizes from the headers read replace those of the index, because the memory for opening a
/// chunk is planned with them.
pub(crate) fn contradiction(source: &Source, usable: &mut Usable) -> Option<String> {
    let index = &mut usable.index;
    let listed = index.chunks.len();
    if let Some(statistics) = index.statistics.as_ref().filter(|_| listed > 0) {
        let counted = statistics.chunk_count as usize;
        if counted != listed {
            return Some(format!("the index lists {listed} of {counted} chunks"));
        }
    }
    let mut sizes = Vec::new();
    let step = verify_chunks::sample_step(listed);
    for (i, chunk) in index.chunks.iter_mut().enumerate() {
        // A chunk that the index declares empty is always checked: otherwise its messages would never be read.
        let is_sampled = (i % step == 0 || i + 1 == listed) && is_at_hand(source, chunk);
        let is_asked = is_sampled || chunk.is_empty();
        // A header that cannot be read contradicts nothing.
        let Some(said) = is_asked.then(|| header(source, chunk)).flatten() else {
            continue;
        };
        let ends_before = parse::bytes_after_chunk_data(&said, chunk.length - FRAME as u64) > SLACK;
        if ends_before || times(said.message_start_time, said.message_end_time) != chunk.times {
            let at = chunk.offset;
            return Some(format!("the index contradicts the chunk at {at}"));
        }
        if chunk.uncompressed != said.uncompressed_size {
            sizes.push((chunk.offset, chunk.uncompressed, said.uncompressed_size));
            chunk.uncompressed = said.uncompressed_size;
        }
    }
    if let Some((at, told, said)) = sizes.first() {
        let detail = format!(
            "the index gives a chunk {told} bytes decompressed, the chunk itself {said}{}",
            more(sizes.len() - 1)
        );
        index.report(source, *at, (DamageKind::Index, detail));
    }
    None
}

/// Compares the statistics with the number of messages in the chunks, if that is known for every chunk, and reports
/// missing messages. If these numbers were counted in the chunks themselves, they then replace the statistics. A file
/// without statistics gets them from its chunks.
pub(crate) fn compare_statistics(source: &Source, index: &mut FileIndex) {
    let Some(found) = verify_chunks::counted(index) else {
        return;
    };
    let Some(told) = &index.statistics else {
        index.statistics = Some(found);
        return;
    };
    let fewer = |(id, told): (&u16, &u64)| {
        let found = found.channel_message_counts.get(id).copied().unwrap_or(0);
        (found < *told).then_some((*id, *told, found))
    };
    let detail = if told.message_count > found.message_count {
        let (told, found) = (told.message_count, found.message_count);
        format!("the statistics give {told} messages, {found} were found")
    } else if let Some((id, told, found)) = told.channel_message_counts.iter().find_map(fewer) {
        format!("the statistics give channel {id} {told} messages, {found} were found")
    } else {
        return;
    };
    let is_seen = |chunk: &ChunkRef| chunk.message_indexes.iter().all(|it| it.offset == 0);
    if index.chunks.iter().all(is_seen) {
        index.statistics = Some(Statistics {
            message_start_time: told.message_start_time,
            message_end_time: told.message_end_time,
            ..found
        });
    }
    let at = index.data_end.map_or(0, |(at, _)| at);
    index.report(source, at, (DamageKind::Index, detail));
}

/// The text for the number of other chunks that are affected.
fn more(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "; the same applies to 1 other chunk".to_owned(),
        count => format!("; the same applies to {count} other chunks"),
    }
}

/// Whether it takes no request over a network to read the header of a listed chunk.
fn is_at_hand(source: &Source, chunk: &ChunkRef) -> bool {
    source.is_at_hand(chunk.offset, head_length(chunk))
}

/// How many bytes of a chunk can be its header, with its frame.
fn head_length(chunk: &ChunkRef) -> u64 {
    let body = chunk.length - FRAME as u64;
    FRAME as u64 + body.min(LONGEST_CHUNK_HEADER as u64)
}

/// The header of a listed chunk, if there is a chunk.
fn header(source: &Source, chunk: &ChunkRef) -> Option<ChunkHeader> {
    let body = chunk.length - FRAME as u64;
    let head = source.read(chunk.offset, head_length(chunk)).ok()?;
    if head.first() != Some(&op::CHUNK) {
        return None;
    }
    parse::chunk_header(head.get(FRAME..)?, body).ok()
}
