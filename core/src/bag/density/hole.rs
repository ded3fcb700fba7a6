//! [`Hole`]: a time in which a topic that has messages at a steady rate, or every topic, has none.

use std::collections::HashMap;

use crate::bag::index::damaged_part::DamagedPart;
use crate::bag::message::TopicId;
use crate::time::{Duration, TimeRange};

/// A hole is longer than this many usual periods.
pub(crate) const PERIODS: i64 = 5;
/// A hole is longer than this. At 1 kHz five periods are within the delays of a busy machine.
pub(crate) const LEAST: Duration = Duration::from_millis(100);

/// A time without messages of one topic, or of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hole {
    /// What is silent.
    pub silent: Silent,
    /// Open: there is a message at each end, unless that end is the start or the end of the recording, or the
    /// edge of damage. Longer than 0.1 s.
    pub range: TimeRange,
}

/// What is silent in a hole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Silent {
    /// All topics: nothing was recorded, or nothing of it can be read.
    Recording,
    /// A topic.
    Topic {
        /// The topic.
        id: TopicId,
        /// The mean time between its messages outside of its holes.
        period: Duration,
    },
}

impl Hole {
    /// Whether a topic has no messages in it. A hole of the recording concerns every topic.
    pub fn concerns(&self, topic: TopicId) -> bool {
        match self.silent {
            Silent::Recording => true,
            Silent::Topic { id, .. } => id == topic,
        }
    }

    /// The spans of it that these times leave, as far as each is long enough for a hole. The times are in order and
    /// do not overlap.
    fn beside(self, lost: &[TimeRange]) -> Vec<Self> {
        let first = lost.partition_point(|lost| lost.stop() < self.range.start());
        let lost = lost.iter().skip(first);
        let mut lost = lost
            .take_while(|lost| lost.start() <= self.range.stop())
            .peekable();
        if lost.peek().is_none() {
            return vec![self];
        }
        let longest = match self.silent {
            Silent::Recording => LEAST,
            Silent::Topic { period, .. } => {
                Duration::from_nanos(period.as_nanos().saturating_mul(PERIODS)).max(LEAST)
            }
        };
        let end = TimeRange::between(self.range.stop(), self.range.stop());
        let mut reached = self.range.start();
        let mut left = Vec::new();
        for lost in lost.chain([&end]) {
            if lost.start().saturating_since(reached) > longest {
                let range = TimeRange::between(reached, lost.start());
                left.push(Self { range, ..self });
            }
            reached = reached.max(lost.stop());
        }
        left
    }
}

/// Finds the time range that covers at least four fifths of `range`. `times` are sorted and do not overlap.
pub(crate) fn covering(range: TimeRange, times: &[TimeRange]) -> Option<TimeRange> {
    let half = Duration::from_nanos(range.duration().as_nanos() / 2);
    let middle = range.start().saturating_add(half);
    let after = times.partition_point(|time| time.start() <= middle);
    let time = times.get(after.checked_sub(1)?)?;
    let shared = time.intersection(range)?.duration().as_nanos();
    let is_most = i128::from(shared) * 5 >= i128::from(range.duration().as_nanos()) * 4;
    is_most.then_some(*time)
}

/// What is left of holes without the times of these parts, in which messages are lost because of damage; in the
/// order of their starts. The rest of a topic's hole is dropped if a hole of the recording covers four fifths of it.
pub fn holes_beside(holes: &[Hole], parts: &[DamagedPart]) -> Vec<Hole> {
    if parts.is_empty() {
        return holes.to_vec();
    }
    let mut lost: HashMap<Option<TopicId>, Vec<TimeRange>> = HashMap::new();
    let mut left: Vec<Hole> = Vec::new();
    for hole in holes {
        let topic = match hole.silent {
            Silent::Recording => None,
            Silent::Topic { id, .. } => Some(id),
        };
        let concerns = |part: &&DamagedPart| topic.is_none_or(|topic| part.concerns(topic));
        let lost = lost.entry(topic);
        let lost = lost.or_insert_with(|| union(parts.iter().filter(concerns)));
        left.extend(hole.beside(lost));
    }
    left.sort_unstable_by_key(|hole| (hole.range.start(), hole.silent));
    let of_recording = left.iter().filter(|hole| hole.silent == Silent::Recording);
    let of_recording: Vec<TimeRange> = of_recording.map(|hole| hole.range).collect();
    let is_of_recording = |hole: &Hole| covering(hole.range, &of_recording).is_some();
    left.retain(|hole| hole.silent == Silent::Recording || !is_of_recording(hole));
    left
}

/// The times of some parts, in order; those that overlap are one.
fn union<'a>(parts: impl Iterator<Item = &'a DamagedPart>) -> Vec<TimeRange> {
    let mut ranges: Vec<TimeRange> = parts.map(|part| part.range).collect();
    ranges.sort_unstable_by_key(|range| (range.start(), range.stop()));
    let mut union: Vec<TimeRange> = Vec::new();
    for range in ranges {
        match union.last_mut() {
            Some(last) if range.start() <= last.stop() => *last = last.union(range),
            _ => union.push(range),
        }
    }
    union
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::damage::{Damage, DamageKind};
    use crate::bag::index::damaged_part::DamageExtent;
    use crate::time::Time;

    #[test]
    fn holes_are_what_damage_leaves_of_them() {
        let range = |from, to| TimeRange::between(Time::from_millis(from), Time::from_millis(to));
        let part = |times, topic| DamagedPart {
            damage: Damage {
                file: "x.mcap".into(),
                offset: 0,
                kind: DamageKind::Checksum,
                detail: String::new(),
            },
            at: 0,
            range: times,
            extent: DamageExtent::Chunk,
            topics: vec![TopicId(topic)],
            messages: None,
        };
        let topic = |range| Hole {
            silent: Silent::Topic {
                id: TopicId(1),
                period: Duration::from_millis(100),
            },
            range,
        };
        let hole = topic(range(1_000, 4_000));
        let left = |parts: &[DamagedPart]| {
            let left = holes_beside(&[hole], parts).into_iter();
            left.map(|hole| {
                (
                    hole.range.start().as_nanos() / 1_000_000,
                    hole.range.stop().as_nanos() / 1_000_000,
                )
            })
            .collect::<Vec<_>>()
        };
        let whole = part(range(1_100, 3_900), 1);
        assert_eq!(left(std::slice::from_ref(&whole)), []);
        // Of another topic, at one end, and with a hole left before, between or after.
        assert_eq!(left(&[]), [(1_000, 4_000)]);
        assert_eq!(left(&[part(range(1_100, 3_900), 2)]), [(1_000, 4_000)]);
        assert_eq!(left(&[part(range(4_000, 5_000), 1)]), [(1_000, 4_000)]);
        assert_eq!(left(&[part(range(1_600, 3_900), 1)]), [(1_000, 1_600)]);
        assert_eq!(left(&[part(range(1_100, 3_400), 1)]), [(3_400, 4_000)]);
        let first = part(range(900, 2_000), 1);
        assert_eq!(left(&[part(range(2_500, 3_600), 1), first.clone()]), []);
        let between = [part(range(2_501, 3_600), 1), first.clone()];
        assert_eq!(left(&between), [(2_000, 2_501)]);
        // What is left is one of the recording.
        let of_all = Hole {
            silent: Silent::Recording,
            range: range(2_100, 4_000),
        };
        assert_eq!(holes_beside(&[hole, of_all], &[first]), [of_all]);
        assert!(holes_beside(&[of_all], &[whole]).is_empty());
    }
}
