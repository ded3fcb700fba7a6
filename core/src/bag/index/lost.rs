//! [`Lost`]: how much of a part of a recording is lost because of damage.

use std::fmt;

use super::damaged_part::DamagedPart;
use crate::bag::message::TopicId;
use crate::time::TimeRange;

/// How much of some topics is lost within a range because of damage, as far as the damage is known. Displayed as
/// `2 damaged parts, up to 40 messages lost`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost {
    /// How many damaged parts touch the range and had, or may have had, messages of the topics; at least one.
    pub parts: u64,
    /// How many messages the damaged chunks have, those that are outside the range, of other topics, or could be read
    /// included; `None` if that is not known of every part.
    pub messages: Option<u64>,
}

impl Lost {
    /// What these parts take from the topics that `is_one` names, within a closed range; `None` if they take nothing.
    pub fn of<'a>(
        parts: impl IntoIterator<Item = &'a DamagedPart>,
        range: TimeRange,
        is_one: impl Fn(TopicId) -> bool,
    ) -> Option<Self> {
        let parts = parts.into_iter().filter(|part| {
            let has_one = part.topics.iter().any(|topic| is_one(*topic));
            part.range.intersection(range).is_some() && (part.topics.is_empty() || has_one)
        });
        let none = Self {
            parts: 0,
            messages: Some(0),
        };
        let lost = parts.fold(none, |lost, part| Self {
            parts: lost.parts + 1,
            messages: lost
                .messages
                .zip(part.messages)
                .map(|(sum, more)| sum.saturating_add(more)),
        });
        (lost.parts > 0).then_some(lost)
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = |count| if count == 1 { "" } else { "s" };
        write!(f, "{} damaged part{}, ", self.parts, s(self.parts))?;
        match self.messages {
            Some(messages) => write!(f, "up to {messages} message{} lost", s(messages)),
            None => write!(f, "number of lost messages not known"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bag::damage::{Damage, DamageKind};
    use crate::bag::index::damaged_part::DamageExtent;
    use crate::time::Time;

    #[test]
    fn only_parts_in_the_range_with_one_of_the_topics_count() {
        let range = |from, to| TimeRange::between(Time::from_millis(from), Time::from_millis(to));
        let part = |times, topics: &[u32], messages| DamagedPart {
            damage: Damage {
                file: "x.mcap".into(),
                offset: 0,
                kind: DamageKind::Checksum,
                detail: String::new(),
            },
            at: 0,
            range: times,
            extent: DamageExtent::Chunk,
            topics: topics.iter().copied().map(TopicId).collect(),
            messages,
        };
        let parts = [
            part(range(10, 20), &[0, 2], Some(1)),
            part(range(30, 40), &[1], Some(20)),
            part(range(50, 60), &[], None),
        ];
        let said = |within, topics: &[u32]| {
            let lost = Lost::of(&parts, within, |topic| topics.contains(&topic.0));
            lost.map(|lost| lost.to_string())
        };
        let due = |text: &str| Some(text.to_owned());
        assert_eq!(said(range(0, 9), &[0, 1, 2]), None);
        assert_eq!(
            said(range(20, 49), &[2]),
            due("1 damaged part, up to 1 message lost")
        );
        assert_eq!(
            said(range(20, 49), &[0, 1]),
            due("2 damaged parts, up to 21 messages lost")
        );
        let unknown = "2 damaged parts, number of lost messages not known";
        assert_eq!(said(range(40, 50), &[1]), due(unknown));
        assert_eq!(said(range(0, 49), &[3]), None);
    }
}
