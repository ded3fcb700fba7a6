//! [`Outline`]: what a recording looks like over time, told by its message indexes alone.
//!
//! No chunk is opened. Up to [`EXACT`] messages every entry is looked at; beyond that the entries of some
//! thousand chunks stand for all, so that a recording of any size is outlined in the same time. Where
//! there are no message indexes, what is known of a chunk is spread over its span.

use super::contents::{Chunk, Contents};
use super::message::TopicId;
use super::message_index;
use super::opening::MessageOrder;
use super::record::{FRAME, MESSAGE_HEADER};
use crate::time::{Ros, Time, TimeRange};

/// Up to so many messages all of them are looked at: 32 MB of message indexes.
const EXACT: u64 = 2_000_000;
/// Beyond, about so many chunks are.
const SAMPLE: usize = 1000;

/// What a recording looks like.
#[derive(Clone, PartialEq, Debug)]
pub struct Outline {
    /// One a topic, by its id.
    pub topics: Vec<TopicOutline>,
}

/// What a topic looks like.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TopicOutline {
    /// How many messages lie in each of as many equal parts of the recording; a fraction where a chunk
    /// was spread.
    pub density: Vec<f64>,
    /// The payload bytes of all messages, as far as indexes tell sizes: definitions between messages are
    /// counted with those before them. `None` if no index tells.
    pub bytes: Option<u64>,
}

/// A topic while it is outlined.
#[derive(Clone, Debug)]
struct Row {
    density: Vec<f64>,
    bytes: u64,
    /// How many messages told their size.
    sized: u64,
}

pub(super) fn outline(contents: &Contents, range: Option<TimeRange>, parts: usize) -> Outline {
    let row = Row {
        density: vec![0.0; parts],
        bytes: 0,
        sized: 0,
    };
    let mut rows = vec![row; contents.topics.len()];
    let messages = contents.files.iter().map(|file| file.message_count);
    let messages = messages.fold(0_u64, |sum, count| {
        sum.saturating_add(count.unwrap_or(EXACT))
    });
    let order = &contents.forward.chunks;
    let step = if messages <= EXACT {
        1
    } else {
        (order.len() / SAMPLE).max(1)
    };
    let grid = range.map(|range| Grid { range, parts });
    for id in order.iter().step_by(step) {
        if let Some(grid) = grid {
            take(contents, contents.chunk(*id), grid, &mut rows);
        }
    }
    let topics = rows.into_iter().zip(&contents.topics).map(|(row, topic)| {
        let all = topic.message_count.unwrap_or(row.sized);
        let bytes = (row.sized > 0)
            .then(|| u128::from(row.bytes) * u128::from(all) / u128::from(row.sized));
        let bytes = bytes.or((all == 0).then_some(0));
        let seen: f64 = row.density.iter().sum();
        let scale = match topic.message_count {
            Some(count) if step > 1 && seen > 0.0 => precise(count) / seen,
            _ => 1.0,
        };
        TopicOutline {
            density: row.density.iter().map(|part| part * scale).collect(),
            bytes: bytes.and_then(|bytes| u64::try_from(bytes).ok()),
        }
    });
    Outline {
        topics: topics.collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn precise(count: u64) -> f64 {
    count as f64
}

/// The recording in equal parts.
#[derive(Clone, Copy)]
struct Grid {
    range: TimeRange,
    parts: usize,
}

impl Grid {
    fn part(self, time: Time<Ros>) -> usize {
        let span = i128::from(self.range.duration().as_nanos()) + 1;
        let into = i128::from(time.saturating_since(self.range.start()).as_nanos());
        let part = into * i128::try_from(self.parts).unwrap_or(i128::MAX) / span;
        usize::try_from(part)
            .unwrap_or(0)
            .min(self.parts.saturating_sub(1))
    }
}

fn take(contents: &Contents, chunk: &Chunk, grid: Grid, rows: &mut [Row]) {
    let source = &contents.input(chunk.input).source;
    // Where each message begins in the chunk, so that the next one tells how long it is.
    let mut starts: Vec<(u32, usize)> = Vec::new();
    let mut is_whole = !chunk.place.message_indexes.is_empty();
    for indexed in &chunk.place.message_indexes {
        let topic = contents.topic_of(chunk.input, indexed.channel);
        let Some(row) = topic.and_then(|id| rows.get_mut(id.index())) else {
            is_whole = false;
            continue;
        };
        // Message indexes know only when messages were received.
        let entries = (contents.order == MessageOrder::Received)
            .then(|| message_index::read(source, &chunk.place, indexed.channel))
            .flatten();
        if let Some(entries) = entries {
            let topic = topic.map_or(usize::MAX, TopicId::index);
            for (time, start) in entries {
                row.add(grid.part(time), 1.0);
                starts.push((start, topic));
            }
        } else {
            is_whole = false;
            let (from, to) = (grid.part(chunk.place.start), grid.part(chunk.place.end));
            let parts = u32::try_from(to.saturating_sub(from) + 1).unwrap_or(u32::MAX);
            let share = f64::from(indexed.count.max(1)) / f64::from(parts);
            for part in from..=to {
                row.add(part, share);
            }
        }
    }
    if !is_whole {
        return;
    }
    starts.sort_unstable();
    let ends = starts.iter().skip(1).map(|(start, _)| u64::from(*start));
    let ends = ends.chain([chunk.place.uncompressed]);
    for ((start, topic), end) in starts.iter().zip(ends) {
        let record = end.saturating_sub(u64::from(*start));
        let payload = record.saturating_sub((FRAME + MESSAGE_HEADER) as u64);
        if let Some(row) = rows.get_mut(*topic) {
            row.bytes = row.bytes.saturating_add(payload);
            row.sized += 1;
        }
    }
}

impl Row {
    fn add(&mut self, part: usize, count: f64) {
        if let Some(slot) = self.density.get_mut(part) {
            *slot += count;
        }
    }
}
