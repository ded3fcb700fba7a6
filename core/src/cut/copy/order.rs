//! [`in_order`]: the order in which the chunks of several files are written to one.
//!
//! Messages with equal times keep the order of the inputs. A reader of the cut takes them by their places, so a chunk
//! has to come after all chunks of earlier inputs with which it has a time in common. Beyond that, chunks are written
//! by their start, so that recordings that were made at the same time are not one behind the other.

use std::collections::VecDeque;

use crate::bag::StoredChunk;
use crate::time::{Ros, Time, TimeRange};

/// The chunks of all inputs in the order in which they are written. The order within an input is kept.
pub(crate) fn in_order(inputs: Vec<Vec<StoredChunk>>) -> Vec<StoredChunk> {
    let mut all = Vec::with_capacity(inputs.iter().map(Vec::len).sum());
    let mut queues: Vec<Queue> = inputs.into_iter().map(Queue::new).collect();
    loop {
        let mut best: Option<(Time<Ros>, usize)> = None;
        // The earliest start of what is left of the inputs before.
        let mut before = Time::MAX;
        let mut is_any_before = false;
        for (input, queue) in queues.iter().enumerate() {
            let Some((chunk, earliest)) = queue.chunks.front() else {
                continue;
            };
            let stop = chunk.times.map_or(Time::MAX, TimeRange::stop);
            let is_free = !is_any_before || stop < before;
            let start = chunk.times.map_or(Time::MIN, TimeRange::start);
            if is_free && best.is_none_or(|(earlier, _)| start < earlier) {
                best = Some((start, input));
            }
            before = before.min(*earliest);
            is_any_before = true;
        }
        // The first input that has chunks left is always free.
        let next = best.and_then(|(_, input)| queues.get_mut(input)?.chunks.pop_front());
        match next {
            Some((chunk, _)) => all.push(chunk),
            None => return all,
        }
    }
}

/// What is left of an input: its chunks, each with the earliest start of it and all that follow.
struct Queue {
    chunks: VecDeque<(StoredChunk, Time<Ros>)>,
}

impl Queue {
    fn new(chunks: Vec<StoredChunk>) -> Self {
        let mut earliest = Time::MAX;
        let mut queue = VecDeque::with_capacity(chunks.len());
        for chunk in chunks.into_iter().rev() {
            let start = chunk.times.map_or(Time::MIN, TimeRange::start);
            earliest = earliest.min(start);
            queue.push_front((chunk, earliest));
        }
        Self { chunks: queue }
    }
}
