//! [`DamagedParts`]: the parts of the recording that are lost because of damage, as far as they are known.

use crate::bag::{DamagedPart, TopicId};
use crate::time::{Steady, Time, TimeRange};
use crate::tui::pacing::INTERVAL;

/// The parts of the recording that are lost because of damage, as far as they are known.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct DamagedParts {
    /// In the order of their starts.
    list: Vec<DamagedPart>,
    /// How many damaged places were known when they were asked for, and when; `None` before that.
    asked: Option<(u64, Time<Steady>)>,
}

impl DamagedParts {
    /// Whether they are to be asked for now that so many damaged places are known: at the start, and if there are more,
    /// at most five times a second. True counts as asked.
    pub(crate) fn are_to_be_asked_for(&mut self, known: u64, now: Time<Steady>) -> bool {
        let is_due = self
            .asked
            .is_none_or(|(then, at)| then != known && now.saturating_since(at) >= INTERVAL);
        if is_due {
            self.asked = Some((known, now));
        }
        is_due
    }

    /// How many damaged places there were when they were asked for.
    pub(crate) fn places(&self) -> u64 {
        self.asked.map_or(0, |(known, _)| known)
    }

    /// Replaces them.
    pub(crate) fn take(&mut self, found: Vec<DamagedPart>) {
        self.list = found;
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[DamagedPart] {
        &self.list
    }

    /// Those that touch `shown`; with a topic, only those in which it had messages or in which that is not known.
    pub(crate) fn touching(
        &self,
        shown: TimeRange,
        topic: Option<TopicId>,
    ) -> impl Iterator<Item = &DamagedPart> {
        let parts = self.list.iter();
        let parts = parts.filter(move |part| part.range.intersection(shown).is_some());
        parts.filter(move |part| topic.is_none_or(|topic| part.concerns(topic)))
    }

    /// The times of these within `shown`.
    pub(crate) fn within(
        &self,
        shown: TimeRange,
        topic: Option<TopicId>,
    ) -> impl Iterator<Item = TimeRange> {
        let parts = self.touching(shown, topic);
        parts.filter_map(move |part| part.range.intersection(shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::{Damage, DamageExtent, DamageKind};

    fn range(from: i64, to: i64) -> TimeRange {
        TimeRange::between(Time::from_millis(from), Time::from_millis(to))
    }

    #[test]
    fn damage_concerns_the_topics_of_its_chunk() {
        let mut parts = DamagedParts::default();
        let asked = [(0, 0), (0, 500), (1, 500), (2, 600), (2, 700)];
        let asked =
            asked.map(|(known, at)| parts.are_to_be_asked_for(known, Time::from_millis(at)));
        assert_eq!(asked, [true, false, true, false, true]);
        assert_eq!(parts.places(), 2);
        let part = |range, topics: &[u32]| DamagedPart {
            damage: Damage {
                file: "x.mcap".into(),
                offset: 0,
                kind: DamageKind::Checksum,
                detail: String::new(),
            },
            at: 0,
            range,
            extent: DamageExtent::Chunk,
            topics: topics.iter().copied().map(TopicId).collect(),
            messages: None,
        };
        parts.take(vec![
            part(range(10, 20), &[0, 2]),
            part(range(30, 40), &[]),
            part(range(50, 60), &[1]),
        ]);
        let found = |shown, topic: Option<u32>| {
            let found = parts.within(shown, topic.map(TopicId));
            found.collect::<Vec<_>>()
        };
        let all = range(0, 100);
        assert_eq!(found(all, Some(0)), [range(10, 20), range(30, 40)]);
        assert_eq!(found(all, Some(1)), [range(30, 40), range(50, 60)]);
        assert_eq!(found(all, None).len(), 3);
        assert_eq!(found(range(15, 35), None), [range(15, 20), range(30, 35)]);
    }
}
