//! [`Hole`]: a time in which a topic that has messages at a steady rate, or every topic, has none.

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
    /// Open: there is a message at each end, unless that end is the start or the end of the recording. Longer than
    /// 0.1 s.
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

    /// Whether there is a hole only because of damage: what these parts leave of it is too short to be a hole.
    pub fn is_because_of(&self, parts: &[DamagedPart]) -> bool {
        let longest = match self.silent {
            Silent::Recording => LEAST,
            Silent::Topic { period, .. } => {
                Duration::from_nanos(period.as_nanos().saturating_mul(PERIODS)).max(LEAST)
            }
        };
        let concerns = |part: &&DamagedPart| match self.silent {
            Silent::Recording => true,
            Silent::Topic { id, .. } => part.concerns(id),
        };
        let lost = parts.iter().filter(concerns);
        let lost = lost.filter_map(|part| part.range.intersection(self.range));
        let mut lost: Vec<TimeRange> = lost.collect();
        lost.sort_unstable_by_key(|range| (range.start(), range.stop()));
        let mut reached = self.range.start();
        for range in &lost {
            if range.start().saturating_since(reached) > longest {
                return false;
            }
            reached = reached.max(range.stop());
        }
        !lost.is_empty() && self.range.stop().saturating_since(reached) <= longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::damage::{Damage, DamageKind};
    use crate::bag::index::damaged_part::DamageExtent;
    use crate::time::Time;

    #[test]
    fn damage_explains_a_hole_of_which_it_leaves_too_little() {
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
        let silent = Silent::Topic {
            id: TopicId(1),
            period: Duration::from_millis(100),
        };
        let hole = Hole {
            silent,
            range: range(1_000, 4_000),
        };
        let explained = |parts: &[DamagedPart]| hole.is_because_of(parts);
        let whole = part(range(1_100, 3_900), 1);
        assert!(explained(std::slice::from_ref(&whole)));
        // Of another topic, at one end, and with a hole left before, between or after.
        assert!(!explained(&[]) && !explained(&[part(range(1_100, 3_900), 2)]));
        assert!(!explained(&[part(range(4_000, 5_000), 1)]));
        assert!(!explained(&[part(range(1_600, 3_900), 1)]));
        assert!(!explained(&[part(range(1_100, 3_400), 1)]));
        let first = part(range(900, 2_000), 1);
        assert!(explained(&[part(range(2_500, 3_600), 1), first.clone()]));
        assert!(!explained(&[part(range(2_501, 3_600), 1), first]));
        let of_all = Hole {
            silent: Silent::Recording,
            ..hole
        };
        assert!(of_all.is_because_of(&[whole]));
        assert!(!of_all.is_because_of(&[part(range(1_101, 3_900), 2)]));
    }
}
