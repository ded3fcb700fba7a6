//! [`HoleFinder`]: finds holes in messages that come in the order of time.
//!
//! The usual period of a topic is the length that 95 of 100 spans between its messages do not exceed, rounded up by a
//! sixteenth at most. A hole is a span of more than [`PERIODS`] usual periods and more than [`LEAST`]. The span from
//! the start of the recording to the first message of a topic can be a hole, too, and that from its last message to
//! the end. Topics that are latched, or that have fewer than [`FEWEST`] messages, have no holes. Nor have topics that
//! are silent for more than half of the time between their first and last message, or have messages for less than
//! [`SHORTEST`]: their messages come in bursts. If no topic has a message in four fifths of a hole, that part becomes a
//! hole of the whole recording.

use hdrhistogram::Histogram;

use super::hole::{Hole, LEAST, PERIODS, Silent, covering};
use crate::bag::index::topic::Topic;
use crate::bag::message::TopicId;
use crate::time::{Duration, Ros, Time, TimeRange};

/// With fewer messages a topic has no usual period.
const FEWEST: u64 = 10;
/// With messages for less time, holes not counted, a topic has no usual period.
const SHORTEST: Duration = Duration::from_secs(1);
/// Longer spans count as this long in the usual period.
const LONGEST: Duration = Duration::from_secs(3600);
/// If more spans than these are longer than [`LEAST`], holes are not looked for: they would take 32 MB.
const MOST_SPANS: usize = 2_000_000;

/// Finds holes in messages that come in the order of time.
#[derive(Clone, Debug)]
pub struct HoleFinder {
    range: TimeRange,
    topics: Vec<Spans>,
    /// Of the messages of all topics.
    all: Spans,
    /// How many long spans were found.
    found: usize,
}

/// The spans between the messages of a topic.
#[derive(Clone, Debug, Default)]
struct Spans {
    /// Whether a usual period is determined.
    is_measured: bool,
    messages: u64,
    first: Option<Time<Ros>>,
    last: Option<Time<Ros>>,
    /// The lengths of the first spans in microseconds, until there are enough for `lengths`: there may be thousands of
    /// topics with few messages.
    early: Vec<u64>,
    lengths: Option<Histogram<u32>>,
    /// The spans that are longer than [`LEAST`].
    long: Vec<TimeRange>,
}

impl HoleFinder {
    /// For a recording with these topics. `range` is closed and usually contains all messages; it says from when and
    /// until when messages are expected.
    pub fn new(topics: &[Topic], range: TimeRange) -> Self {
        let spans = |topic: &Topic| Spans {
            is_measured: !topic.is_latched,
            ..Spans::default()
        };
        Self {
            range,
            topics: topics.iter().map(spans).collect(),
            all: Spans::default(),
            found: 0,
        }
    }

    /// Adds the next message. An earlier time than that of the message before counts as the same time. A topic that
    /// `new` was not given is ignored.
    pub fn add(&mut self, topic: TopicId, time: Time<Ros>) {
        if self.found > MOST_SPANS {
            return;
        }
        let Some(spans) = self.topics.get_mut(topic.index()) else {
            return;
        };
        self.found += spans.add(time) + self.all.add(time);
        if self.found > MOST_SPANS {
            self.topics = Vec::new();
            self.all = Spans::default();
        }
    }

    /// The holes, in the order of their starts; `None` if more than two million spans are longer than 0.1 s.
    pub fn finish(mut self) -> Option<Vec<Hole>> {
        if self.found > MOST_SPANS {
            return None;
        }
        if let Some([before, after]) = self.all.ends(self.range) {
            self.all.long.insert(0, before);
            self.all.long.push(after);
        }
        let with_messages = self.topics.iter().filter(|spans| spans.messages > 0);
        let is_single = with_messages.count() == 1;
        let mut holes = Vec::new();
        for (id, spans) in (0..).zip(&self.topics) {
            let Some((ranges, period)) = spans.holes(self.range) else {
                continue;
            };
            let id = TopicId(id);
            holes.extend(ranges.into_iter().map(|range| {
                let gap = if is_single {
                    None
                } else {
                    covering(range, &self.all.long)
                };
                match gap {
                    Some(range) => Hole {
                        silent: Silent::Recording,
                        range,
                    },
                    None => Hole {
                        silent: Silent::Topic { id, period },
                        range,
                    },
                }
            }));
        }
        holes.sort_unstable_by_key(|hole| (hole.range.start(), hole.silent));
        holes.dedup();
        Some(holes)
    }
}

impl Spans {
    /// Returns how many long spans this message ends.
    fn add(&mut self, time: Time<Ros>) -> usize {
        self.messages += 1;
        let Some(last) = self.last else {
            (self.first, self.last) = (Some(time), Some(time));
            return 0;
        };
        let time = time.max(last);
        self.last = Some(time);
        let span = time.saturating_since(last);
        if self.is_measured {
            self.measure(span);
        }
        if span <= LEAST {
            return 0;
        }
        self.long.push(TimeRange::between(last, time));
        1
    }

    fn measure(&mut self, span: Duration) {
        let micros = span.min(LONGEST).as_nanos().unsigned_abs() / 1_000;
        if let Some(lengths) = &mut self.lengths {
            // It grows as far as necessary, so no length is refused.
            let _ = lengths.record(micros);
            return;
        }
        self.early.push(micros);
        if self.messages >= FEWEST {
            let mut lengths = Histogram::new(1).expect("one digit is allowed");
            for micros in std::mem::take(&mut self.early) {
                let _ = lengths.record(micros);
            }
            self.lengths = Some(lengths);
        }
    }

    /// From the start of the recording to the first message, and from the last one to the end.
    fn ends(&self, recording: TimeRange) -> Option<[TimeRange; 2]> {
        let (first, last) = (self.first?, self.last?);
        let before = TimeRange::between(recording.start().min(first), first);
        let after = TimeRange::between(last, recording.stop().max(last));
        Some([before, after])
    }

    /// The holes and the mean period outside of them; `None` if there is no usual period.
    fn holes(&self, recording: TimeRange) -> Option<(Vec<TimeRange>, Duration)> {
        let (first, last) = (self.first?, self.last?);
        let usual = self.lengths.as_ref()?.value_at_quantile(0.95);
        let usual = i64::try_from(usual).unwrap_or(i64::MAX).saturating_add(1);
        let limit = Duration::from_micros(usual.saturating_mul(PERIODS)).max(LEAST);
        let is_hole = |span: &TimeRange| span.duration() > limit;
        let inner: Vec<TimeRange> = self.long.iter().copied().filter(is_hole).collect();
        let lengths = inner.iter().map(|hole| hole.duration().as_nanos());
        let silent: i64 = lengths.fold(0, i64::saturating_add);
        let heard = last.saturating_since(first).as_nanos();
        let heard = heard.saturating_sub(silent);
        if heard < silent || heard < SHORTEST.as_nanos() {
            return None;
        }
        let spans = self.messages - 1 - inner.len() as u64;
        let period = heard / i64::try_from(spans).unwrap_or(i64::MAX).max(1);
        let ends = self.ends(recording)?.into_iter().filter(is_hole);
        Some((
            ends.chain(inner.iter().copied()).collect(),
            Duration::from_nanos(period),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topics(count: usize) -> Vec<Topic> {
        let topic = Topic {
            name: "/a".to_owned(),
            schema: None,
            encoding: "cdr".to_owned(),
            offered_qos: Vec::new(),
            type_hash: None,
            ros1_md5: None,
            is_latched: false,
            message_count: None,
        };
        vec![topic; count]
    }

    fn at(millis: i64) -> Time<Ros> {
        Time::from_millis(millis)
    }

    #[test]
    fn a_time_before_that_of_the_last_message_counts_as_the_same() {
        let mut finder = HoleFinder::new(&topics(1), TimeRange::between(at(0), at(3_000)));
        for n in 0..30 {
            finder.add(TopicId(0), at(n * 100));
            finder.add(TopicId(0), at(n * 100 - 50));
            // No topic of the recording.
            finder.add(TopicId(1), at(n * 1_000));
        }
        assert_eq!(finder.finish(), Some(Vec::new()));
    }

    #[test]
    fn a_silence_of_all_topics_at_an_end_is_one_of_the_recording() {
        let range = TimeRange::between(at(-4_000), at(10_000));
        let mut finder = HoleFinder::new(&topics(2), range);
        for n in 0..60 {
            finder.add(TopicId(0), at(n * 100));
            finder.add(TopicId(1), at(n * 100 + 10));
        }
        let holes = finder.finish().unwrap();
        let of_all = |from, to| Hole {
            silent: Silent::Recording,
            range: TimeRange::between(at(from), at(to)),
        };
        assert_eq!(holes, [of_all(-4_000, 0), of_all(5_910, 10_000)]);
    }

    #[test]
    fn holes_are_not_looked_for_among_millions_of_long_spans() {
        let range = TimeRange::between(at(0), at(1_000_000_000));
        let mut finder = HoleFinder::new(&topics(1), range);
        // Each span is one of the topic and one of all.
        let messages = i64::try_from(MOST_SPANS / 2).unwrap() + 1;
        for n in 0..messages {
            finder.add(TopicId(0), at(n * 101));
        }
        assert!(finder.clone().finish().is_some());
        finder.add(TopicId(0), at(messages * 101));
        finder.add(TopicId(0), at(messages * 102));
        assert_eq!(finder.finish(), None);
    }
}
