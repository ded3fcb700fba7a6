//! Whether a summary that can be read is also right: it is compared with itself and with a sample of the chunks.
//! One that contradicts them is not used, and the file is read through instead.

use super::file_index::FileIndex;
use super::summary_section::Usable;
use super::verify_chunks;
use crate::bag::damage::DamageKind;
use crate::bag::mcap::chunk_ref::ChunkRef;
use crate::bag::mcap::limits::SLACK;
use crate::bag::mcap::record::{ChunkHeader, FRAME, Statistics, op, times};
use crate::bag::open::read_at::Source;

/// How many chunk headers are read, evenly over the file: all of them in most files. A thousand small reads take a
/// millisecond.
const SAMPLE: usize = 1024;

/// What is wrong with a summary; `None` if nothing is known to be. Then the sizes that the sample gives are
/// taken over: without them nobody knows what opening a chunk takes.
pub(crate) fn contradiction(source: &Source, usable: &mut Usable) -> Option<String> {
    let index = &mut usable.index;
    let listed = index.chunks.len();
    if let Some(statistics) = index.statistics.as_ref().filter(|_| listed > 0) {
        let counted = statistics.chunks as usize;
        if counted != listed {
            return Some(format!("the index lists {listed} of {counted} chunks"));
        }
    }
    let mut sizes = Vec::new();
    let step = listed.div_ceil(SAMPLE).max(1);
    for (i, chunk) in index.chunks.iter_mut().enumerate() {
        // What is in a chunk that the index calls empty would never be looked at.
        let is_asked = i % step == 0 || i + 1 == listed || chunk.is_empty();
        // One that cannot be read says nothing.
        let Some(said) = is_asked.then(|| header(source, chunk)).flatten() else {
            continue;
        };
        let ends_before = said.rest(chunk.length - FRAME as u64) > SLACK;
        if ends_before || times(said.start, said.end) != chunk.times {
            let at = chunk.offset;
            return Some(format!("the index says otherwise than the chunk at {at}"));
        }
        if chunk.uncompressed != said.uncompressed {
            sizes.push((chunk.offset, chunk.uncompressed, said.uncompressed));
            chunk.uncompressed = said.uncompressed;
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

/// Compares the statistics with the messages of all chunks, if each chunk gives its number of messages, and reports
/// messages that are missing. Numbers that were counted in the chunks themselves then replace the statistics. A file
/// without statistics is given those of its chunks.
pub(crate) fn compare_statistics(source: &Source, index: &mut FileIndex) {
    let Some(found) = verify_chunks::counted(index) else {
        return;
    };
    let Some(told) = &index.statistics else {
        index.statistics = Some(found);
        return;
    };
    let fewer = |(id, told): (&u16, &u64)| {
        let found = found.per_channel.get(id).copied().unwrap_or(0);
        (found < *told).then_some((*id, *told, found))
    };
    let detail = if told.messages > found.messages {
        let (told, found) = (told.messages, found.messages);
        format!("the statistics give {told} messages, {found} were found")
    } else if let Some((id, told, found)) = told.per_channel.iter().find_map(fewer) {
        format!("the statistics give channel {id} {told} messages, {found} were found")
    } else {
        return;
    };
    let is_seen = |chunk: &ChunkRef| chunk.message_indexes.iter().all(|it| it.offset == 0);
    if index.chunks.iter().all(is_seen) {
        let times = told.times;
        index.statistics = Some(Statistics { times, ..found });
    }
    let at = index.data_end.map_or(0, |(at, _)| at);
    index.report(source, at, (DamageKind::Index, detail));
}

/// How many others something holds of.
fn more(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => "; so it is with 1 other chunk".to_owned(),
        count => format!("; so it is with {count} other chunks"),
    }
}

/// What a listed chunk says of itself, if there is one.
fn header(source: &Source, chunk: &ChunkRef) -> Option<ChunkHeader> {
    let body = chunk.length - FRAME as u64;
    let head = FRAME as u64 + body.min(ChunkHeader::LONGEST as u64);
    let head = source.read(chunk.offset, head).ok()?;
    if head.first() != Some(&op::CHUNK) {
        return None;
    }
    ChunkHeader::parse(head.get(FRAME..)?, body).ok()
}
