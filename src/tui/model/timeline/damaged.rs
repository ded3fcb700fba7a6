//! [`DamagedParts`]: the parts of the recording that are lost because of damage, as far as they are known.

use crate::bag::{DamagedPart, TopicId};
use crate::time::{Steady, Time, TimeRange};
use crate::tui::pacing::INTERVAL;

/// The parts of the recording that are lost because of damage, as far as they are known.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct DamagedParts {
    list: Vec<DamagedPart>,
    /// How many damaged places the player had met when they were asked for, and when; `None` before that.
    asked: Option<(u64, Time<Steady>)>,
}

impl DamagedParts {
    /// Whether they are to be asked for now that the player has met so many damaged places: at the start, and if there
    /// are more, at most five times a second. True counts as asked.
    pub(crate) fn are_to_be_asked_for(&mut self, met: u64, now: Time<Steady>) -> bool {
        let is_due = self
            .asked
            .is_none_or(|(known, at)| known != met && now.saturating_since(at) >= INTERVAL);
        if is_due {
            self.asked = Some((met, now));
        }
        is_due
    }

    /// Replaces them.
    pub(crate) fn take(&mut self, found: Vec<DamagedPart>) {
        self.list = found;
    }

    /// The times that are damaged within `shown`; with a topic, only where it had messages or where that is not known.
    pub(crate) fn within(
        &self,
        shown: TimeRange,
        topic: Option<TopicId>,
    ) -> impl Iterator<Item = TimeRange> {
        let concerns = move |part: &&DamagedPart| {
            let topics = &part.topics;
            topic.is_none_or(|topic| topics.is_empty() || topics.contains(&topic))
        };
        let parts = self.list.iter().filter(concerns);
        parts.filter_map(move |part| part.range.intersection(shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: i64, to: i64) -> TimeRange {
        TimeRange::between(Time::from_millis(from), Time::from_millis(to))
    }

    #[test]
    fn damage_concerns_the_topics_of_its_chunk() {
        let mut parts = DamagedParts::default();
        let asked = [(0, 0), (0, 500), (1, 500), (2, 600), (2, 700)];
        let asked = asked.map(|(met, at)| parts.are_to_be_asked_for(met, Time::from_millis(at)));
        assert_eq!(asked, [true, false, true, false, true]);
        let part = |range, topics: &[u32]| DamagedPart {
            chunk: 0,
            range,
            topics: topics.iter().copied().map(TopicId).collect(),
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
