//! Makes the outline of a recording: which chunks are looked at, in which order, and when results are reported.
//!
//! No chunk is opened. Up to [`EXACT`] messages, every entry of every message index is read. Beyond that, about a
//! thousand chunks are sampled, and of a large message index only some entries, so a recording of any size takes about
//! the same time. The first pass covers the whole range with a wide stride; each later pass halves the stride. Every
//! result that is reported is an estimate of the whole; `estimate.rs` makes it.

use std::ops::ControlFlow;

use super::estimate::{Entries, Estimate, Grid};
use super::outline::Outline;
use crate::bag::index::contents::Contents;
use crate::time::TimeRange;

/// Up to this many messages, all are looked at: 32 MB of message indexes.
const EXACT: u64 = 2_000_000;
/// Message indexes are read whole up to this many entries in all; after that, about [`EXACT`] more are sampled.
const WHOLE: u64 = 2 * EXACT;
/// Beyond [`EXACT`] messages, about this many chunks are looked at.
const SAMPLE: usize = 1000;
/// The fewest chunks that give a useful result.
const FEW: usize = 32;
/// The most work between two results, in entries: about ten milliseconds.
const MUCH: usize = 400_000;

/// Outlines the messages in `range` and gives results to `report`: first from chunks all over the range, then also
/// from the chunks between them. Ends early when `report` breaks; otherwise the last result has all that is known.
pub(crate) fn outline(
    contents: &Contents,
    (range, parts): (TimeRange, usize),
    report: &mut dyn FnMut(&Outline) -> ControlFlow<()>,
) {
    let is_near = |id: &&u32| {
        let place = &contents.chunk(**id).place;
        place.earliest() <= range.stop() && range.start() <= place.latest()
    };
    let all = &contents.forward.chunks;
    let near: Vec<u32> = all.iter().filter(is_near).copied().collect();
    let step = sampled(contents, near.len());
    let chunks: Vec<u32> = near.into_iter().step_by(step).collect();
    let entries = Entries {
        left: WHOLE,
        each: EXACT / (chunks.len() as u64).max(1),
    };
    let mut estimate = Estimate::new(contents, Grid { range, parts }, step, entries);
    let (mut seen, mut unreported) = (0, 0);
    let coarse = coarse(chunks.len());
    for Visit { place, stride } in visits(chunks.len(), coarse) {
        estimate.add_chunk(contents.chunk(chunks[place]));
        (estimate.stride, estimate.is_first_pass) = (stride, stride == coarse);
        (seen, unreported) = (seen + 1, unreported + 1);
        estimate.is_all_over = seen >= chunks.len().div_ceil(coarse);
        // The more is known, the less one chunk changes, so results are reported at growing intervals.
        let is_worth_it = estimate.is_all_over && unreported >= FEW.max(seen / FEW);
        let is_worth_it = is_worth_it || estimate.work >= MUCH;
        if is_worth_it && seen < chunks.len() {
            (unreported, estimate.work) = (0, 0);
            if report(&estimate.outline()).is_break() {
                return;
            }
        }
    }
    (estimate.is_all_over, estimate.is_finished, estimate.stride) = (true, true, 1);
    // This is the last result, so the answer does not matter.
    let _ = report(&estimate.outline());
}

/// The stride at which chunks are sampled; 1 for all of them.
fn sampled(contents: &Contents, chunks: usize) -> usize {
    let messages = contents.files.iter().map(|file| file.message_count);
    let messages = messages.fold(0_u64, |sum, count| {
        sum.saturating_add(count.unwrap_or(EXACT))
    });
    let all = contents.forward.chunks.len().max(1) as u128;
    let here = u128::from(messages) * chunks as u128 / all;
    if here <= u128::from(EXACT) {
        1
    } else {
        (chunks / SAMPLE).max(1)
    }
}

/// A chunk to look at, by its place in the list. Up to this place, every `stride`th chunk has been looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Visit {
    place: usize,
    stride: usize,
}

/// The stride of the first pass over this many places; a power of two.
fn coarse(places: usize) -> usize {
    let mut stride = 1;
    while places / (2 * stride) >= FEW {
        stride *= 2;
    }
    stride
}

/// All places, each once: every `first`th, then those in the middle between them, and so on.
fn visits(places: usize, first: usize) -> impl Iterator<Item = Visit> {
    let coarse = (0..places).step_by(first).map(move |place| Visit {
        place,
        stride: first,
    });
    let strides = std::iter::successors(Some(first), |stride| Some(stride / 2));
    let finer = strides
        .take_while(|stride| *stride > 1)
        .flat_map(move |wide| {
            let stride = wide / 2;
            let between = (stride..places).step_by(wide);
            between.map(move |place| Visit { place, stride })
        });
    coarse.chain(finer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_visited_once_and_the_first_visits_are_spread_evenly() {
        for places in [0, 1, 2, 31, 64, 65, 100, 1000, 4097] {
            let first = coarse(places);
            let all: Vec<Visit> = visits(places, first).collect();
            let mut gone: Vec<usize> = all.iter().map(|visit| visit.place).collect();
            let early: Vec<usize> = gone.iter().copied().take(places.div_ceil(first)).collect();
            assert!(early.iter().all(|place| place % first == 0), "{places}");
            assert!(early.len() < 2 * FEW + 2, "{places}");
            gone.sort_unstable();
            assert!(gone.into_iter().eq(0..places), "{places}");
            assert!(all.is_sorted_by_key(|visit| std::cmp::Reverse(visit.stride)));
            assert!(all.last().is_none_or(|visit| visit.stride == 1));
        }
    }
}
