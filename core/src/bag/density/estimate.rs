//! [`Estimate`]: an outline while it is made, used by `passes.rs`: what is counted, and estimates for the rest.
//!
//! A message that a message index lists is counted at its time. The messages of a chunk of which only the number is
//! known are spread evenly over the span of the chunk. If not even the number is known, each topic is expected to have
//! messages in proportion to the size of the chunk. As soon as chunks all over the range have been looked at, estimates
//! are scaled to the number of messages that the files declare for the topic, if the range is the whole recording.

use std::collections::BTreeSet;

use super::outline::{Outline, TopicOutline};
use crate::bag::index::contents::{Chunk, Contents};
use crate::bag::index::topic::Topic;
use crate::bag::mcap::message_index;
use crate::bag::mcap::record::{FRAME, MESSAGE_HEADER};
use crate::bag::message::TopicId;
use crate::bag::open::options::MessageOrder;
use crate::time::{Ros, Time, TimeRange};

/// Reading a message index counts as as much work as this many entries.
const READ: usize = 200;

/// How many entries of message indexes are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries {
    /// Message indexes are read whole as long as this many entries are left.
    pub(crate) left: u64,
    /// After that, about this many entries are read of each chunk.
    pub(crate) each: u64,
}

/// An outline while it is made.
pub(crate) struct Estimate<'a> {
    contents: &'a Contents,
    grid: Grid,
    estimates: Vec<TopicEstimate>,
    entries: Entries,
    /// Made when it is first needed.
    prior: Option<Prior>,
    /// The sampling stride: every `step`th chunk of the range is looked at.
    step: usize,
    /// Up to `frontier`, every `stride`th of those has been looked at; after it, every `2 * stride`th.
    pub(crate) stride: usize,
    /// How far this pass has come, in parts of the grid.
    frontier: f64,
    /// Whether nothing after the frontier has been looked at.
    pub(crate) is_first_pass: bool,
    /// Whether chunks all over the range have been looked at.
    pub(crate) is_all_over: bool,
    pub(crate) is_finished: bool,
    /// The work since the last result was reported, in entries.
    pub(crate) work: usize,
}

impl<'a> Estimate<'a> {
    pub(crate) fn new(contents: &'a Contents, grid: Grid, step: usize, entries: Entries) -> Self {
        let estimate = TopicEstimate {
            density: vec![0.0; grid.parts],
            bytes: 0,
            sized: 0,
            is_guessed: false,
        };
        Self {
            contents,
            grid,
            estimates: vec![estimate; contents.topics.len()],
            entries,
            prior: None,
            step,
            stride: 1,
            frontier: 0.0,
            is_first_pass: true,
            is_all_over: false,
            is_finished: false,
            work: 0,
        }
    }

    /// The outline, as far as it is known.
    pub(crate) fn outline(&self) -> Outline {
        let files = self.contents.files.iter().filter_map(|file| file.range);
        let all = files.reduce(TimeRange::union);
        let is_all = all.is_none_or(|all| self.grid.range.union(all) == self.grid.range);
        let estimates = self.estimates.iter().zip(&self.contents.topics);
        let topics = estimates.map(|(estimate, topic)| {
            let count = topic.message_count.filter(|_| is_all);
            self.topic(estimate, count)
        });
        Outline {
            topics: topics.collect(),
        }
    }

    /// The outline of a topic. `count` is the number of its messages in the range, if that is known.
    fn topic(&self, estimate: &TopicEstimate, count: Option<u64>) -> TopicOutline {
        let is_whole = self.is_finished && self.step == 1 && !estimate.is_guessed;
        let weighed = |(part, seen): (usize, &f64)| seen * self.weight(part);
        let mut density: Vec<f64> = estimate.density.iter().enumerate().map(weighed).collect();
        let seen: f64 = density.iter().sum();
        if let Some(count) = count
            && !is_whole
            && self.is_all_over
            && seen > 0.0
        {
            let scale = precise(count) / seen;
            for part in &mut density {
                *part *= scale;
            }
        }
        let all = count.unwrap_or(rounded(seen));
        let bytes = (estimate.sized > 0)
            .then(|| u128::from(estimate.bytes) * u128::from(all) / u128::from(estimate.sized));
        let bytes = bytes.or((all == 0 && self.is_finished && !estimate.is_guessed).then_some(0));
        TopicOutline {
            density,
            bytes: bytes.and_then(|bytes| u64::try_from(bytes).ok()),
        }
    }

    /// How many messages each message that was seen in the part represents.
    fn weight(&self, part: usize) -> f64 {
        let stride = precise((self.stride * self.step) as u64);
        if self.is_first_pass || self.is_finished {
            return stride;
        }
        // This much of the part has been passed; in the rest only half as many messages were seen.
        let passed = (self.frontier - precise(part as u64)).clamp(0.0, 1.0);
        2.0 * stride / (1.0 + passed)
    }

    pub(crate) fn add_chunk(&mut self, chunk: &Chunk) {
        let (contents, grid) = (self.contents, self.grid);
        self.frontier = grid.parts_to(chunk.place.latest());
        let source = &contents.input(chunk.input).source;
        let prior = &mut self.prior;
        if chunk.place.message_indexes.is_empty() {
            let prior = prior.get_or_insert_with(|| Prior::of(contents));
            for topic in prior.topics.get(chunk.input as usize).into_iter().flatten() {
                let count = prior.expected(*topic, chunk).filter(|count| *count > 0.0);
                if let Some((estimate, count)) = self.estimates.get_mut(topic.index()).zip(count) {
                    estimate.is_guessed = true;
                    estimate.spread(grid, chunk, count);
                }
            }
            return;
        }
        // Where each message begins in the chunk. The next one gives its length.
        let mut starts: Vec<(u32, usize)> = Vec::new();
        let mut is_whole = true;
        for indexed in &chunk.place.message_indexes {
            let topic = contents.topic_of(chunk.input, indexed.channel);
            let estimate = topic.and_then(|id| Some((id, self.estimates.get_mut(id.index())?)));
            let Some((topic, estimate)) = estimate else {
                is_whole = false;
                continue;
            };
            // Message indexes list log times only.
            let share = self.entries.each / chunk.place.message_indexes.len() as u64;
            let most = (self.entries.left.max(share), share);
            let sample = (contents.order == MessageOrder::Received)
                .then(|| message_index::sample(source, &chunk.place, indexed.channel, most))
                .flatten();
            self.work += READ;
            if let Some(sample) = sample {
                let looked_at = sample.entries.len() as u64;
                self.work += sample.entries.len();
                self.entries.left = self.entries.left.saturating_sub(looked_at);
                is_whole &= sample.is_whole();
                estimate.is_guessed |= !sample.is_whole();
                let each = precise(sample.all) / precise(looked_at.max(1));
                for (time, start) in sample.entries {
                    let is_inside = grid.range.contains(time);
                    if is_inside {
                        estimate.add(grid.part(time), each);
                    }
                    // A message outside the range still marks the end of the one before it.
                    starts.push((start, if is_inside { topic.index() } else { usize::MAX }));
                }
            } else {
                is_whole = false;
                let count = if indexed.count > 0 {
                    f64::from(indexed.count)
                } else {
                    estimate.is_guessed = true;
                    let prior = prior.get_or_insert_with(|| Prior::of(contents));
                    prior.expected(topic, chunk).unwrap_or(1.0)
                };
                estimate.spread(grid, chunk, count);
            }
        }
        if is_whole {
            self.measure(starts, chunk.place.uncompressed);
        }
    }

    /// Adds up payload sizes: a message ends where the next one or the end of the chunk is.
    fn measure(&mut self, mut starts: Vec<(u32, usize)>, chunk_end: u64) {
        starts.sort_unstable();
        let ends = starts.iter().skip(1).map(|(start, _)| u64::from(*start));
        let ends = ends.chain([chunk_end]);
        for ((start, topic), end) in starts.iter().zip(ends) {
            let record = end.saturating_sub(u64::from(*start));
            let payload = record.saturating_sub((FRAME + MESSAGE_HEADER) as u64);
            if let Some(estimate) = self.estimates.get_mut(*topic) {
                estimate.bytes = estimate.bytes.saturating_add(payload);
                estimate.sized += 1;
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are below 2^53")]
fn precise(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a sum of counts, which are not negative"
)]
fn rounded(count: f64) -> u64 {
    count.round() as u64
}

/// A range in equal parts.
#[derive(Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) range: TimeRange,
    pub(crate) parts: usize,
}

impl Grid {
    /// The place of a time, in parts.
    fn parts_to(self, time: Time<Ros>) -> f64 {
        let into = time.saturating_since(self.range.start()).as_secs_f64();
        let span = self.range.duration().as_secs_f64() + 1e-9;
        into / span * precise(self.parts as u64)
    }

    /// The part that contains a time; for a time outside, the nearest part.
    fn part(self, time: Time<Ros>) -> usize {
        let span = i128::from(self.range.duration().as_nanos()) + 1;
        let into = i128::from(time.saturating_since(self.range.start()).as_nanos()).max(0);
        let part = into * i128::try_from(self.parts).unwrap_or(i128::MAX) / span;
        usize::try_from(part)
            .unwrap_or(0)
            .min(self.parts.saturating_sub(1))
    }
}

/// The outline of one topic while it is made.
#[derive(Clone, Debug)]
struct TopicEstimate {
    density: Vec<f64>,
    bytes: u64,
    /// The number of messages whose size is known.
    sized: u64,
    /// Whether the number includes estimates, or messages extrapolated from a sample.
    is_guessed: bool,
}

/// What is expected of chunks without an index.
struct Prior {
    /// Messages of each topic per byte, over the chunks that may have some; `None` if the number of messages is
    /// unknown.
    rates: Vec<Option<f64>>,
    /// The topics of each file.
    topics: Vec<BTreeSet<TopicId>>,
}

impl Prior {
    fn of(contents: &Contents) -> Self {
        let inputs = contents.inputs.iter();
        let topics: Vec<BTreeSet<TopicId>> = inputs
            .map(|input| input.channels.topics().collect())
            .collect();
        let mut bytes = vec![0.0; contents.topics.len()];
        for chunk in &contents.chunks {
            let told = chunk.channels().map(|channels| {
                let topics = channels.filter_map(|it| contents.topic_of(chunk.input, it));
                topics.collect::<BTreeSet<TopicId>>()
            });
            let any = topics.get(chunk.input as usize);
            for topic in told.as_ref().or(any).into_iter().flatten() {
                if let Some(bytes) = bytes.get_mut(topic.index()) {
                    *bytes += precise(chunk.place.uncompressed);
                }
            }
        }
        let rate = |(topic, bytes): (&Topic, f64)| {
            let count = precise(topic.message_count?);
            Some(if bytes > 0.0 { count / bytes } else { 0.0 })
        };
        let rates = contents.topics.iter().zip(bytes).map(rate).collect();
        Self { rates, topics }
    }

    /// The expected number of messages of the topic in a chunk that may have some, in proportion to its size.
    fn expected(&self, topic: TopicId, chunk: &Chunk) -> Option<f64> {
        let rate = self.rates.get(topic.index()).copied().flatten();
        rate.map(|rate| rate * precise(chunk.place.uncompressed))
    }
}

impl TopicEstimate {
    fn add(&mut self, part: usize, count: f64) {
        if let Some(slot) = self.density.get_mut(part) {
            *slot += count;
        }
    }

    /// Adds messages of which only the chunk is known, spread evenly over its span. Those outside the range are left
    /// out.
    fn spread(&mut self, grid: Grid, chunk: &Chunk, count: f64) {
        let span = chunk.place.times.unwrap_or(TimeRange::ALL);
        let Some(inside) = grid.range.intersection(span) else {
            return;
        };
        let nanos = |range: TimeRange| range.duration().as_secs_f64() + 1e-9;
        let (from, to) = (grid.part(inside.start()), grid.part(inside.stop()));
        let parts = u32::try_from(to.saturating_sub(from) + 1).unwrap_or(u32::MAX);
        let share = count * nanos(inside) / nanos(span) / f64::from(parts);
        for part in from..=to {
            self.add(part, share);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::open::options::Opening;

    #[test]
    fn a_sample_of_index_entries_estimates_the_counts() {
        let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/demo.mcap");
        let contents = Contents::open(&[demo], &Opening::default()).expect("the demo is sound");
        let files = contents.files.iter().filter_map(|file| file.range);
        let range = files.reduce(TimeRange::union).expect("it has messages");
        let grid = Grid { range, parts: 4 };
        let drawn = |entries: Entries| {
            let mut estimate = Estimate::new(&contents, grid, 1, entries);
            for chunk in &contents.chunks {
                estimate.add_chunk(chunk);
            }
            (estimate.is_all_over, estimate.is_finished) = (true, true);
            let reads: usize = contents
                .chunks
                .iter()
                .map(|it| it.place.message_indexes.len())
                .sum();
            (estimate.outline(), estimate.work - reads * READ)
        };
        let most = Entries {
            left: u64::MAX,
            each: 0,
        };
        let (whole, all) = drawn(most);
        let (some, few) = drawn(Entries { left: 0, each: 0 });
        assert!(few < all * 3 / 4, "{few} of {all}");
        for (some, whole) in some.topics.iter().zip(&whole.topics) {
            let count: f64 = whole.density.iter().sum();
            let estimate: f64 = some.density.iter().sum();
            assert!((estimate - count).abs() < 1e-6, "{estimate} for {count}");
            for (some, whole) in some.density.iter().zip(&whole.density) {
                assert!((some - whole).abs() <= count / 20.0, "{some} for {whole}");
            }
        }
        // Message indexes that were read before the limit are whole, so sizes are known.
        let (half, some) = drawn(Entries {
            left: all as u64 / 2,
            each: 0,
        });
        assert!(few < some && some < all, "{some}");
        assert!(half.topics.iter().any(|topic| topic.bytes.is_some()));
    }
}
