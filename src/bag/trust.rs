//! Whether a summary that can be read can also be believed: it is compared with itself and with a sample of
//! the chunks. One that contradicts them is not used, and the file is read through instead.

use super::index::ChunkRef;
use super::record::{ChunkHeader, FRAME, MESSAGE_HEADER, op};
use super::source::Source;
use super::summary::{Usable, times};

/// How many chunks are asked, evenly over the file: all of most. A thousand small reads take a millisecond.
const SAMPLE: usize = 1024;
/// What a chunk record may hold behind its data, which readers are to ignore.
pub(super) const SLACK: u64 = 64;

/// What is wrong with a summary; `None` if nothing is known to be.
pub(super) fn contradiction(source: &Source, usable: &Usable) -> Option<String> {
    let index = &usable.index;
    let listed = index.chunks.len();
    if let Some(statistics) = &index.statistics {
        let counted = statistics.chunks as usize;
        if listed > 0 && counted != listed {
            return Some(format!("the index lists {listed} of {counted} chunks"));
        }
        let is_listed = |channel: u16| {
            let mut chunks = index.chunks.iter();
            chunks.any(|chunk| chunk.message_indexes.iter().any(|it| it.channel == channel))
        };
        let is_told = |chunk: &ChunkRef| !chunk.message_indexes.is_empty();
        let counts = statistics.per_channel.iter();
        let mut used = counts.filter(|(_, count)| **count > 0);
        if listed > 0
            && index.chunks.iter().all(is_told)
            && let Some((channel, _)) = used.find(|(channel, _)| !is_listed(**channel))
        {
            return Some(format!(
                "no chunk is listed for channel {channel}, which has messages"
            ));
        }
    }
    let step = listed.div_ceil(SAMPLE).max(1);
    let mut sample = index.chunks.iter().step_by(step).chain(index.chunks.last());
    let at = sample.find(|chunk| is_other(source, chunk))?.offset;
    Some(format!("the index says otherwise than the chunk at {at}"))
}

/// How many bytes of message indexes can stand behind a chunk with so many channels, whatever is declared.
pub(super) fn most_indexes(uncompressed: u64, channels: usize) -> u64 {
    let messages = uncompressed / (FRAME + MESSAGE_HEADER) as u64;
    let frames = channels as u64 * (FRAME as u64 + 6 + SLACK);
    messages.saturating_mul(16).saturating_add(frames)
}

/// Takes over the sizes that the sample says; without them nobody knows what opening a chunk takes.
pub(super) fn correct_sizes(source: &Source, chunks: &mut [ChunkRef]) {
    let step = chunks.len().div_ceil(SAMPLE).max(1);
    for (i, chunk) in chunks.iter_mut().enumerate() {
        // What is in a chunk that the index calls empty would never be looked at.
        if (i % step == 0 || chunk.is_empty())
            && let Some(said) = header(source, chunk)
        {
            chunk.uncompressed = said.uncompressed;
        }
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

/// Whether a chunk gives other times than its index, or ends before. One that cannot be read does not.
fn is_other(source: &Source, chunk: &ChunkRef) -> bool {
    header(source, chunk).is_some_and(|said| {
        times(said.start, said.end) != (chunk.start, chunk.end)
            || said.rest(chunk.length - FRAME as u64) > SLACK
    })
}
